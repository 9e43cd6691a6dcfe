//! The bounded searches, from outside: the runs within a bound and beyond it, and their reports.
//! The suite that every search of the registry passes.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sim::Ordering::SeqCst;
use sim::check::picture::screen::percent;
use sim::report::{Bound, Report, Searched, Size, Style, text};
use sim::run::{Failure, Outcome};
use sim::strategy::{SEARCHES, STRATEGIES};
use sim::{Atomic, Runner, SIMULATED};
use sim_tests::fingerprint::Fingerprint;
use sim_tests::programs::{PROGRAMS, program};
use sim_tests::seeds::failure;

fn search(name: &str) -> Runner {
    let out = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bounded");
    Runner::new().hermetic().strategy(name).out(out).name("bounded")
}

/// The screen as one line: a sentence may be wrapped.
fn screen(report: &Report) -> String {
    let screen = text(report, &Style::default());
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn through(report: &Report) -> Option<u32> {
    let bound = report.searched.as_ref().and_then(|searched| searched.bound.as_ref());
    bound.expect("it left runs out").through
}

/// Fails if one load comes before the first store, and the other load comes between the two stores. The failure needs a
/// switch between the loads and a switch between the stores. In the fixed variant, no task sees the value in between.
async fn two_switches(fixed: bool) {
    let word = Arc::new(Atomic::new(0u8));
    let other = word.clone();
    let reader = sim::spawn(async move {
        let first = other.load(SeqCst).await;
        let second = other.load(SeqCst).await;
        assert!(first != 0 || second != 1, "seen between two stores");
    });
    let writer = sim::spawn(async move {
        if !fixed {
            word.store(1, SeqCst).await;
        }
        word.store(2, SeqCst).await;
    });
    reader.await.unwrap();
    writer.await.unwrap();
}

/// Runs tasks that each execute `steps` steps on their own word.
async fn busy(tasks: usize, steps: usize) {
    let tasks = Vec::from_iter((0..tasks).map(|_| {
        sim::spawn(async move {
            let word = Atomic::new(0u8);
            for _ in 0..steps {
                word.fetch_add(1, SeqCst).await;
            }
        })
    }));
    for task in tasks {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_bug_of_two_switches_is_found_within_two_and_not_within_one() {
    for (name, what) in [("preemptions", "preemption"), ("delays", "delay")] {
        for bound in 0..=1 {
            let report = search(&format!("{name}:{bound}")).run(async || two_switches(false).await);
            assert!(report.passed(), "{name}:{bound}");
            let searched = report.searched.clone().unwrap();
            assert!(searched.complete && !searched.is_proof(), "{searched:?}");
            let expected = Bound { what: what.to_owned(), through: Some(bound) };
            assert_eq!(searched.bound, Some(expected));
        }
        for most in ["", ":2", ":5"] {
            let report = search(&format!("{name}{most}")).run(async || two_switches(false).await);
            assert_eq!(through(&report), Some(1), "all with one were run before it was found");
            let said = screen(&report);
            assert!(said.contains(&format!("none with at most 1 {what} fails")), "{said}");
            let found = report.finding.expect("it fails");
            assert!(matches!(failure(&found.run), Failure::Panic { .. }));
            assert_eq!(found.original.preemptions, 2, "{name}{most}");
            let trace = found.trace_file.expect("a trace is written");
            let again = search(name).replay(&trace).run(async || two_switches(false).await);
            assert_eq!(again.finding.expect("it fails again").run.outcome, found.run.outcome);
        }
        let report = search(&format!("{name}:2")).run(async || two_switches(true).await);
        assert!(report.passed(), "the fixed one passes");
    }
}

#[cfg_attr(feature = "sim", test)]
fn the_screen_says_which_bound_was_reached() {
    let report = search("preemptions:1").run(async || busy(2, 3).await);
    // Without a preemption there are three runs: the first task, then the body or the second task; or the second task,
    // then the first. A preemption may occur in three places: in the first task; in the second task before the first;
    // in the second task after the first.
    let (runs, steps) = (report.runs, report.steps);
    let searched = report.searched.clone().unwrap();
    assert_eq!((runs, searched.repeated), (3 + 3 + 2 * 3 + 3, 3));
    let expected = format!(
        "passed bounded: explored all 15 runs with at most 1 preemption, {steps} steps (3 runs repeated \
         to reach those with the same prefix) NOT A PROOF: runs with more preemptions were not tried"
    );
    assert_eq!(screen(&report), expected);
    let report = search("delays:0").run(async || busy(3, 3).await);
    assert!(screen(&report).contains("explored the only run with no delay"), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn runs_of_all_costs_count_for_conditions_and_steps() {
    let body = async || {
        sim::cover!(true, 100, "each run");
        busy(2, 2).await;
    };
    for name in ["preemptions:1", "preemptions", "delays:2"] {
        let report = search(name).run(body);
        assert!(report.passed(), "{name}: {}", screen(&report));
        let mut steps = 0;
        search(name).each_run(body, |run| steps += run.steps.len() as u64);
        assert_eq!(report.steps, steps, "{name}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_left_nothing_out_is_a_proof() {
    // Two tasks with three steps each have 20 orders. If the first task ends first, the body may await it before any
    // remaining step of the second task.
    for name in ["preemptions", "preemptions:8", "delays", "delays:8"] {
        let report = search(name).run(async || busy(2, 2).await);
        let searched = report.searched.clone().unwrap();
        assert!(searched.is_proof() && searched.bound.is_none(), "{name}: {searched:?}");
        assert_eq!(report.runs, 35, "{name}");
        assert!(screen(&report).contains("explored all 35 interleavings"), "{}", screen(&report));
    }
}

/// Records the first number in memory that no run sees, and then waits forever.
async fn notes(first: &Cell<u8>, number: u8) {
    if first.get() == 0 {
        first.set(number);
    }
    std::future::pending().await
}

/// Fails if the second branch is polled before the first, although neither does an operation. Fixed, any order will do.
async fn branches_that_note(fixed: bool) {
    let first = Cell::new(0);
    sim::select! {
        () = notes(&first, 1) => {}
        () = notes(&first, 2) => {}
        () = sim::task::yield_now() => {}
    }
    assert!(fixed || first.get() == 1, "the second branch came first");
}

#[cfg_attr(feature = "sim", test)]
fn orders_of_branches_without_operations_are_explored() {
    for name in ["preemptions:0", "preemptions", "delays:0", "delays"] {
        let report = search(name).run(async || branches_that_note(false).await);
        let shown = screen(&report);
        let found = report.finding.unwrap_or_else(|| panic!("{name} explored one order only"));
        assert!(matches!(failure(&found.run), Failure::Panic { .. }), "{name}");
        // The order decides the failure, so the screen shows it.
        assert!(shown.contains("draw 1 below 3"), "{name}: {shown}");
        let report = search(name).run(async || branches_that_note(true).await);
        assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{name}");
        // There is one run for each branch that may be polled first.
        assert_eq!(report.runs, 3, "{name}");
    }
}

/// A task opens a window and closes it, and another task must not look in between. Before and after that, tasks compete
/// for a word in millions of orders. An exhaustive search reverses the first and the last steps long before the steps
/// in the middle.
async fn window_in_a_crowd(fixed: bool) {
    let (window, word) = (Arc::new(Atomic::new(0u8)), Arc::new(Atomic::new(0u8)));
    let compete = |word: Arc<Atomic<u8>>| async move {
        for _ in 0..6 {
            word.fetch_add(1, SeqCst).await;
        }
    };
    let (other, own, others) = (window.clone(), word.clone(), word.clone());
    let opens = sim::spawn(async move {
        compete(own.clone()).await;
        window.store(1, SeqCst).await;
        window.store(if fixed { 1 } else { 2 }, SeqCst).await;
        compete(own).await;
    });
    let looks = sim::spawn(async move {
        compete(others).await;
        assert!(fixed || other.load(SeqCst).await != 1, "seen open");
    });
    let crowd = [(); 2].map(|()| sim::spawn(compete(word.clone())));
    for task in [opens, looks].into_iter().chain(crowd) {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_will_not_be_through_goes_on_within_a_bound() {
    let search = || search("exhaustive").seeds(0..20_000);
    let report = search().run(|| window_in_a_crowd(false));
    let found = report.finding.as_deref().expect("one preemption is enough");
    assert!(matches!(failure(&found.run), Failure::Panic { .. }));
    assert_eq!(found.original.preemptions, 1);
    let number = found.run.seed.0;
    assert!((10_000..20_000).contains(&number), "not by the search itself: {number}");
    let searched = report.searched.as_ref().unwrap();
    let fallback = &searched.fallback.as_ref().unwrap().searched;
    assert_eq!(fallback.bound.as_ref().unwrap().through, Some(0));
    assert!(screen(&report).contains("; none with no preemption fails"), "{}", screen(&report));

    // The trace gives the same failure under all other settings, and the number of the run does, too.
    let trace = found.trace_file.as_ref().unwrap();
    let again = search().replay(trace).run(|| window_in_a_crowd(false));
    assert_eq!(again.finding.unwrap().run.outcome, found.run.outcome);
    let run = search().run_seed(number, || window_in_a_crowd(false));
    assert_eq!(Size::of(&run), found.original);
    let alone = search().seed(number).run(|| window_in_a_crowd(false));
    assert_eq!(alone.finding.unwrap().run.steps, found.run.steps);
}

#[cfg_attr(feature = "sim", test)]
fn what_the_search_and_its_fallback_did_is_said() {
    let report = search("exhaustive").seeds(0..4_000).run(|| window_in_a_crowd(true));
    assert!(report.passed());
    let searched = report.searched.clone().unwrap();
    let fallback = searched.fallback.clone().unwrap();
    assert!(!searched.complete && searched.bound.is_none() && !searched.is_proof());
    let own = report.runs - fallback.runs;
    assert_eq!(
        (own + searched.blocked, fallback.runs + fallback.searched.repeated),
        (2_000, 2_000)
    );
    assert_eq!(fallback.searched.bound.as_ref().unwrap().through, Some(0));
    let said = screen(&report);
    // Without an estimate, the search states neither a part nor a total number of runs.
    assert_eq!(searched.part.is_some(), searched.estimate.is_some(), "{searched:?}");
    let done = match searched.part {
        Some(part) => {
            format!("{} % of the search after {own} runs, an estimated", percent(part, 2))
        }
        None => format!("only {own} runs, and the total number is unknown)"),
    };
    let expected = format!("NOT A PROOF: not all interleavings were run ({done}");
    assert!(said.contains(&expected), "{said}");
    let part = fallback.searched.part;
    let part = part.map_or("part".to_owned(), |part| format!("{} %", percent(part, 2)));
    let expected = format!(
        "BOUND: every run with no preemption explored, and {part} of those with 1 preemption: the \
         other {} runs",
        fallback.runs
    );
    assert!(said.contains(&expected), "{said}");
    // A hook for each run receives the runs of the search.
    let mut shown = 0;
    let each = search("exhaustive").seeds(0..100);
    let report = each.each_run(|| window_in_a_crowd(true), |_| shown += 1);
    let searched = report.searched.unwrap();
    assert!(searched.fallback.is_none() && shown + searched.blocked == 100);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_will_be_through_has_all_the_runs() {
    // 20 orders of the adds; half-way an estimated half is done.
    let adds = async || {
        let word = Arc::new(Atomic::new(0u8));
        sim::map_concurrently([word.clone(), word], async |word| {
            for _ in 0..3 {
                word.fetch_add(1, SeqCst).await;
            }
        })
        .await;
    };
    let report = search("exhaustive").seeds(0..40).run(adds);
    let searched = report.searched.clone().unwrap();
    assert!(searched.is_proof() && searched.fallback.is_none());
    assert_eq!(report.runs, 20);
    let report = search("exhaustive").seeds(0..20).run(adds);
    let searched = report.searched.clone().unwrap();
    // The first half of the runs was of the deepest branches, but did not look like less than half.
    assert!(searched.is_proof() && searched.fallback.is_none(), "{searched:?}");
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_was_stopped_says_how_far_it_came() {
    let report = search("preemptions").seeds(0..100).run(async || busy(3, 5).await);
    let searched = report.searched.clone().unwrap();
    assert!(report.passed() && !searched.complete && !searched.is_proof());
    assert_eq!(report.runs + searched.repeated, 100);
    assert_eq!(through(&report), Some(0));
    assert_eq!((searched.part, searched.estimate), (None, None));
    let said = screen(&report);
    let expected = "(all with no preemption were, and part of those with 1 preemption)";
    assert!(said.contains(expected), "{said}");
    let report = search("preemptions").seeds(0..2).run(async || busy(3, 5).await);
    assert_eq!(through(&report), None, "not even those with none");
    assert!(screen(&report).contains("(part of those with 0 preemptions)"), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn an_exhaustive_search_that_was_stopped_points_to_them() {
    // The time limit stops the search before half of its million runs.
    let search = search("exhaustive").time(Duration::from_millis(1));
    let report = search.run(|| window_in_a_crowd(true));
    let said = screen(&report);
    assert!(said.contains("strategy = \"preemptions\" (or \"delays\"): it explores all"), "{said}");
}

#[test]
fn names_are_distinct_and_have_their_bounds_in_order() {
    let mut names: BTreeSet<&str> = STRATEGIES.iter().map(|row| row.name).collect();
    for row in SEARCHES {
        assert!(names.insert(row.name), "{}", row.name);
        assert!(!row.summary.is_empty() && !row.summary.contains('\n'), "{}", row.name);
        for (bound, name) in row.numbered.iter().enumerate() {
            assert_eq!(*name, format!("{}:{bound}", row.name));
        }
    }
    if !SIMULATED {
        return;
    }
    for name in ["preemptions:", "delays:9", "delays:-1", "exhaustive:2"] {
        let body = program("lost_update").body;
        let refused = Runner::new().hermetic().strategy(name).try_run(body).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("preemptions (preemptions:0 to preemptions:8)"), "{text}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn every_search_finds_what_fails_and_its_runs_have_numbers() {
    for row in SEARCHES {
        for program in PROGRAMS {
            let report = search(row.name).seeds(0..3000).run(program.body);
            assert_eq!(report.passed(), !program.fails, "{} of {}", row.name, program.name);
        }
        let program = program("store");
        let mut runs = Vec::new();
        search(row.name).seeds(0..40).each_run(program.body, |run| {
            assert_eq!(run.strategy, row.name);
            runs.push((run.seed, Fingerprint::of(&run)));
        });
        let different: BTreeSet<_> = runs.iter().map(|(_, print)| print.0).collect();
        assert_eq!(different.len(), runs.len(), "{}", row.name);
        for (seed, print) in runs.into_iter().step_by(9) {
            let alone = search(row.name).run_seed(seed.0, program.body);
            assert_eq!(Fingerprint::of(&alone), print, "{}", row.name);
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn all_searches_agree_on_what_a_program_can_do() {
    let ends = |name: &str| {
        let mut ends = BTreeSet::new();
        let report = search(name).each_run(program("lost_update").body, |run| {
            let passed = run.outcome == Outcome::Passed;
            let last = run.events.iter().rfind(|event| event.op.name == "load");
            ends.insert((passed, format!("{:?}", last.map(|event| event.values))));
        });
        assert!(report.searched.as_ref().is_some_and(Searched::is_proof), "{name}");
        ends
    };
    for row in SEARCHES {
        assert_eq!(ends(row.name), ends("exhaustive"), "{}", row.name);
    }
}

#[cfg_attr(feature = "sim", test)]
fn no_run_within_a_bound_is_beyond_it() {
    let mut most = [0; 4];
    search("preemptions:3").seeds(0..5000).each_run(program("mix").body, |run| {
        let preemptions = Size::of(&run).preemptions;
        most[preemptions as usize] += 1;
    });
    assert!(most[0] > 0 && most[1] > most[0], "{most:?}");
}

#[sim::test(strategy = "preemptions:2")]
async fn the_attribute_takes_it() {
    busy(2, 3).await;
}
