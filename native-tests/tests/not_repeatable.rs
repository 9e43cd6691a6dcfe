//! Tests that are not repeatable in one process: each run automatically gets its own process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use planted::process;
use sim::Runner;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};

/// Adds one in two steps.
fn loses(count: &AtomicU32) {
    let value = count.load(SeqCst);
    count.store(value + 1, SeqCst);
}

/// Adds one.
fn adds(count: &AtomicU32) {
    count.fetch_add(1, SeqCst);
}

/// The number after two threads have added one, with `steps` steps before.
fn after(steps: u32, add: fn(&AtomicU32)) -> u32 {
    let count = Arc::new(AtomicU32::new(0));
    let other = count.clone();
    (0..steps).for_each(|_| _ = count.load(SeqCst));
    let thread = thread::spawn(move || add(&other));
    add(&count);
    thread.join().unwrap();
    count.load(SeqCst)
}

/// The same with a number of steps from a static of C, which no run restores.
fn after_calls(add: fn(&AtomicU32)) {
    assert_eq!(after(process::number_of_calls() % 7, add), 2);
}

/// Set in the processes that the tests below start.
const STARTED: &str = "STARTED_BY_NOT_REPEATABLE";

/// Fails after three earlier runs of its process, in the same way whenever it is repeated there.
fn fails_after_others(add: fn(&AtomicU32)) {
    let calls = process::number_of_calls();
    assert!(calls < 3, "it has run {calls} times");
    assert_eq!(after(3, add), 2, "an update is lost");
}

#[sim::test(native, seeds = 20)]
fn a_test_passes_whose_runs_pass_alone() {
    fails_after_others(adds);
}

#[sim::test(native, seeds = 2000)]
fn loses_an_update_and_fails_after_others() {
    if std::env::var_os(STARTED).is_some() {
        // Rare enough for other runs to come first.
        let count = Arc::new(AtomicU32::new(0));
        let other = count.clone();
        let thread = thread::spawn(move || (0..20).for_each(|_| adds(&other)));
        let late = count.load(SeqCst) == 20;
        thread.join().unwrap();
        fails_after_others(if late { loses } else { adds });
    }
}

#[test]
fn the_failure_of_a_test_that_is_made_again_is_shown() {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "loses_an_update_and_fails_after_others"]).env(STARTED, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(101), "{text}");
    assert_eq!(text.matches("FAILED  not_repeatable::loses_an_update").count(), 1, "{text}");
    for said in ["an update is lost", "SIM_REPLAY=", "SIM_ISOLATE=process", "does not fail alone"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("it has run"), "{text}");
    // The test is not marked as ignored.
    assert!(!text.contains("--include-ignored"), "{text}");
}

fn runner() -> Runner {
    let name = thread::current().name().unwrap_or("not_repeatable").to_owned();
    let out = std::env::temp_dir().join(format!("unpause-not-repeatable-{}", std::process::id()));
    Runner::new().name(name).hermetic().seeds(0..200).strategy("random").out(out)
}

/// Returns `true` if the report says that each run had its own process.
fn tells(report: &Report) -> bool {
    let screen = text(report, &Style::default());
    let notes = report.notes.iter().filter(|note| note.contains("SIM_ISOLATE=process")).count();
    assert_eq!(screen.matches("a process of its own").count(), notes, "{screen}");
    notes == 1
}

fn outcome(report: &Report) -> &Outcome {
    &report.finding.as_ref().expect("a failure is found").run.outcome
}

#[test]
fn a_failure_that_is_not_repeatable_is_found_again_with_a_process_for_each_run() {
    let report = runner().run_native(|| after_calls(loses));
    assert!(matches!(outcome(&report), Outcome::Failed(Failure::Panic { .. })), "{report:?}");
    assert!(tells(&report) && report.finding.as_ref().is_some_and(|found| found.shrunk.is_some()));
}

#[test]
fn a_right_program_that_is_not_repeatable_passes() {
    // The engine takes the decisions of a run that passes again, too.
    let right = runner().run_native(|| after_calls(adds));
    assert!(right.passed() && right.runs == 200 && tells(&right), "{right:?}");
}

#[test]
fn repeatable_programs_need_no_process() {
    let right = runner().run_native(|| assert_eq!(after(3, adds), 2));
    assert!(right.passed() && !tells(&right));
    let failing = runner().run_native(|| assert_eq!(after(3, loses), 2));
    assert!(matches!(outcome(&failing), Outcome::Failed(Failure::Panic { .. })));
    assert!(!tells(&failing));
}

#[test]
fn the_users_own_choice_counts() {
    let report = runner().isolate("run").run_native(|| after_calls(loses));
    let is_difference = |failure: &Failure| {
        matches!(failure, Failure::NonDeterminism { .. } | Failure::Diverged { .. })
    };
    let Outcome::Failed(failure) = outcome(&report) else { panic!("it passed") };
    assert!(is_difference(failure) && !tells(&report), "{failure:?}");
}
