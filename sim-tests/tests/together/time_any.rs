//! A virtual time that moves at any moment, as a task of the run.

use std::sync::Arc;

use sim::report::{Report, Style, text};
use sim::run::Failure;
use sim::time::{Duration, sleep, timeout};
use sim::{Mutex, Runner};
use sim_tests::seeds::{failure, passes, runner};

const SECOND: Duration = Duration::from_secs(1);

fn screen(report: &Report) -> String {
    let screen = text(report, &Style { width: 200, ..Style::default() });
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Asserts that work of a few steps is done within a second.
async fn in_time() {
    let work = async {
        sim::task::yield_now().await;
        sim::task::yield_now().await;
    };
    assert!(timeout(SECOND, work).await.is_ok(), "late");
}

#[cfg_attr(feature = "sim", test)]
fn a_timeout_that_races_with_its_work_is_found_if_time_moves_at_any_moment() {
    passes("time last", async || in_time().await);
    for strategy in ["exhaustive", "portfolio", "random", "pct", "preemptions"] {
        let any = || runner("time any").strategy(strategy).seeds(0..1_000).clock("any");
        let report = any().run(async || in_time().await);
        let screen = screen(&report);
        let finding = report.finding.unwrap_or_else(|| panic!("{strategy}: {screen}"));
        assert!(screen.contains("0.0 clock"), "{screen}");
        assert!(screen.contains("move_time clock 0s → 1s"), "{screen}");
        assert!(finding.run.time_moves.is_empty(), "its moves are steps");
        let trace = finding.trace_file.expect("a trace is written");
        let again = any().replay(&trace).run(async || in_time().await);
        assert_eq!(again.finding.expect("it fails again").run.outcome, finding.run.outcome);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_over_a_time_that_moves_at_any_moment_is_a_proof() {
    let report = runner("time any proof").strategy("exhaustive").clock("any").run(async || {
        let lock = Arc::new(Mutex::new(0));
        let other = sim::spawn({
            let lock = lock.clone();
            async move {
                let mut held = lock.lock().await;
                sim::task::yield_now().await;
                *held += 1;
            }
        });
        let in_time = timeout(SECOND, lock.lock()).await.is_ok();
        sim::sometimes!(in_time, "in time");
        sim::sometimes!(!in_time, "too late");
        other.await.unwrap();
    });
    let screen = screen(&report);
    assert!(report.passed() && report.searched.unwrap().is_proof(), "{screen}");
    assert!(report.warnings.is_empty() && report.notes.is_empty(), "{screen}");
}

#[cfg_attr(feature = "sim", test)]
fn the_clock_is_in_no_deadlock() {
    let report = runner("time any deadlock").clock("any").seeds(0..10).run(async || {
        sleep(SECOND).await;
        std::future::pending::<()>().await;
    });
    let Failure::Deadlock { waits } = failure(&report.finding.expect("it fails").run) else {
        panic!("no deadlock");
    };
    assert_eq!(waits.len(), 1, "{waits:?}");
}

#[sim::test(clock = "any", seeds = 50, must_fail)]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
async fn an_attribute_sets_the_clock() {
    in_time().await;
}

#[test]
fn another_word_for_the_clock_is_refused() {
    let error = Runner::new().hermetic().clock("often").try_run(async || {}).unwrap_err();
    assert!(error.to_string().contains("`last`, `any`, or `late:K`"), "{error}");
}

/// The service answers three pings, each in a few steps. The client gives up after the second late ping.
async fn three_pings(patience: u32) {
    let mut late = 0;
    for _ in 0..3 {
        let answer = async {
            sim::task::yield_now().await;
            sim::task::yield_now().await;
        };
        late += u32::from(timeout(SECOND, answer).await.is_err());
        assert!(late < patience, "gave up");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_bound_on_early_moves_finds_what_needs_as_many_and_no_more() {
    for strategy in ["exhaustive", "portfolio", "random", "pct", "preemptions"] {
        let late =
            |name: &str, clock: &str| runner(name).strategy(strategy).seeds(0..2_000).clock(clock);
        // The planted bug: one late answer is not tolerated.
        let report = late("late 1", "late:1").run(async || three_pings(1).await);
        let finding = report.finding.unwrap_or_else(|| panic!("{strategy}"));
        let moves = |run: &sim::run::Run| {
            run.events.iter().filter(|event| event.op.name == "move_time").count()
        };
        assert_eq!(moves(&finding.run), 1, "{strategy}");
        let trace = finding.trace_file.expect("a trace is written");
        let again = late("late 1", "late:1").replay(&trace).run(async || three_pings(1).await);
        assert_eq!(again.finding.expect("it fails again").run.outcome, finding.run.outcome);
        // Two late answers are two moves.
        let report = late("late 1 of 2", "late:1").run(async || three_pings(2).await);
        assert!(report.passed(), "{strategy}");
        let report = late("late 2", "late:2").run(async || three_pings(2).await);
        let finding = report.finding.unwrap_or_else(|| panic!("{strategy}"));
        assert_eq!(moves(&finding.run), 2, "{strategy}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_failure_that_needs_no_early_move_is_shrunk_to_a_run_without_a_clock() {
    let report = runner("late shrunk").clock("late:3").seeds(0..200).run(async || {
        sleep(SECOND).await;
        let count = Arc::new(sim::Atomic::new(0));
        let add = |_| {
            let count = count.clone();
            async move {
                let old = count.load(sim::Ordering::SeqCst).await;
                count.store(old + 1, sim::Ordering::SeqCst).await;
            }
        };
        sim::map_concurrently(0..2, add).await;
        assert_eq!(count.load(sim::Ordering::SeqCst).await, 2);
    });
    let run = report.finding.expect("an update is lost").run;
    assert!(run.tasks.iter().all(|task| task.name.as_deref() != Some("clock")), "{:?}", run.tasks);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_names_its_bound_on_early_moves() {
    let search = |clock: &str| runner("late proof").strategy("exhaustive").clock(clock);
    let report = search("late:2").run(async || three_pings(3).await);
    let shown = screen(&report);
    assert!(report.passed() && !report.searched.as_ref().unwrap().is_proof(), "{shown}");
    assert!(shown.contains("with at most 2 early time moves"), "{shown}");
    assert!(shown.contains("runs with more early time moves were not tried"), "{shown}");
    // The bound is larger than the number of deadlines.
    let report = search("late:4").run(async || three_pings(4).await);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{}", screen(&report));
}

/// A proof says that it depends on the clock, but only if a task waits for a time.
#[cfg_attr(feature = "sim", test)]
fn a_proof_names_its_assumption_about_the_time() {
    const TEXT: &str = "time advances only when no task can step";
    let search = |clock: &str| runner("timed proof").strategy("exhaustive").clock(clock);
    let assumes = |report: Report| {
        let searched = report.searched.unwrap();
        assert!(searched.is_proof());
        searched.waits_for_time && searched.assumption().is_some_and(|text| text.contains(TEXT))
    };
    assert!(assumes(search("last").run(in_time)));
    assert!(!assumes(search("last").run(async || sim::task::yield_now().await)));
    let beside = async || {
        let other = sim::spawn(async { sim::task::yield_now().await });
        sleep(SECOND).await;
        other.await.unwrap();
    };
    assert!(assumes(search("last").run(beside)));
    assert!(!assumes(search("any").run(beside)));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_with_two_bounds_names_both() {
    let search = runner("late and bounded").strategy("preemptions:1").clock("late:1");
    let report = search.run(async || {
        let word = Arc::new(sim::Atomic::new(0_u8));
        let adds = |word: Arc<sim::Atomic<u8>>| async move {
            for _ in 0..2 {
                // Each wait has its own deadline, so the second wait can be late, too.
                let _ = timeout(SECOND, word.fetch_add(1, sim::Ordering::SeqCst)).await;
            }
        };
        let other = sim::spawn(adds(word.clone()));
        adds(word).await;
        other.await.unwrap();
    });
    let (shown, searched) = (screen(&report), report.searched.as_ref().unwrap());
    assert!(report.passed() && searched.complete && !searched.is_proof(), "{shown}");
    // The search completed the requested bound. `cargo unpause merge` says the same about its results.
    assert!(searched.fell_short().is_none() && searched.beyond.is_empty(), "{shown}");
    let bounds = "runs with at most 1 preemption and at most 1 early time move";
    assert!(shown.contains(bounds), "{shown}");
    assert!(shown.contains("with more preemptions or early time moves were not tried"), "{shown}");
}

#[sim::test(clock = "late:1", seeds = 50, must_fail)]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
async fn an_attribute_bounds_the_early_moves() {
    in_time().await;
}
