//! History closure: a seed's run is checked in all orders of its calls that its steps allow.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sim::check::models::{Register, RegisterOp, RegisterRet};
use sim::report::{Origin, Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Atomic, History, Ordering::SeqCst, Runner, SIMULATED};

/// The number of accesses of a reader to its own words before its read.
const PRIVATE: usize = 12;

/// A register whose value a task copies to a mirror. Readers read from the mirror. With the bug, a write returns at
/// once; otherwise, it returns when the mirror has the value.
///
/// A stale read is wrong only if it begins after the write has returned. At that time the read still needs many steps,
/// but the copy needs only one.
async fn mirrored(waits: bool) {
    let (main, mirror) = (Arc::new(Atomic::new(0u64)), Arc::new(Atomic::new(0u64)));
    let history = History::new(Register::default());
    let copy = {
        let (main, mirror) = (main.clone(), mirror.clone());
        sim::spawn(async move {
            sim::spin_until(async || main.load(SeqCst).await == 1).await;
            mirror.store(1, SeqCst).await;
        })
    };
    let write = {
        let (mirror, history) = (mirror.clone(), history.clone());
        sim::spawn(async move {
            let work = async {
                main.store(1, SeqCst).await;
                if waits {
                    sim::spin_until(async || mirror.load(SeqCst).await == 1).await;
                }
                RegisterRet::Done
            };
            history.call(RegisterOp::Write(1), work).await;
        })
    };
    let read = {
        let history = history.clone();
        sim::spawn(async move {
            let work = async {
                let own = Atomic::new(0);
                for n in 0..PRIVATE {
                    own.store(n, SeqCst).await;
                }
                RegisterRet::Value(mirror.load(SeqCst).await)
            };
            history.call(RegisterOp::Read, work).await;
        })
    };
    for task in [copy, write, read] {
        task.await.unwrap();
    }
    history.assert_linearizable();
}

fn runner(name: &str) -> Runner {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("closure");
    Runner::new().hermetic().name(name).out(out).strategy("random").seeds(0..1000)
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

/// Returns `true` if the run failed because of its history.
fn of_history(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(Failure::History { .. }))
}

#[cfg_attr(feature = "sim", test)]
fn a_seed_finds_what_its_run_stands_for() {
    let own = runner("mirror-own").run(|| mirrored(false));
    assert!(own.passed(), "{}", screen(&own));
    let report = runner("mirror").closure(true).run(|| mirrored(false));
    let finding = report.finding.as_deref().unwrap();
    assert!(of_history(&finding.run.outcome), "{}", screen(&report));
    assert!(report.runs < 20, "{}", screen(&report));
    assert!(matches!(finding.from, Origin::Reordered(_)));
    assert!(finding.shrunk.is_some_and(|shrunk| shrunk.complete));
    let seed = finding.run.seed;
    let found = format!("seed {seed}, its calls in another order: history is not linearizable");
    assert!(screen(&report).contains(&found), "{}", screen(&report));

    // The seed alone and the trace alone reproduce the same failure.
    let alone = runner("mirror-alone").seed(seed.0).closure(true).run(|| mirrored(false));
    assert_eq!(alone.finding.unwrap().run.steps, finding.run.steps);
    let run = runner("mirror").closure(true).run_seed(seed.0, || mirrored(false));
    assert!(of_history(&run.outcome));
    let run = runner("mirror").run_seed(seed.0, || mirrored(false));
    assert_eq!(run.outcome, Outcome::Passed);
    let file = finding.trace_file.as_ref().unwrap();
    let replayed = runner("mirror").replay(file).run(|| mirrored(false));
    let again = replayed.finding.unwrap();
    assert_eq!(
        (again.run.outcome, again.run.steps),
        (finding.run.outcome.clone(), finding.run.steps.clone())
    );
    // The fixed program has other steps.
    let fixed = runner("mirror").replay(file).run(|| mirrored(true));
    let fixed = fixed.finding.map(|finding| finding.run.outcome);
    assert!(!fixed.is_some_and(|outcome| of_history(&outcome)));
}

#[cfg_attr(feature = "sim", test)]
fn the_twin_that_waits_is_never_found() {
    for strategy in ["random", "portfolio"] {
        let report = runner("mirror-fixed").strategy(strategy).closure(true).run(|| mirrored(true));
        assert!(report.passed(), "{}", screen(&report));
        let closure = report.closure.unwrap();
        assert_eq!((closure.runs, closure.open, closure.unconfirmed), (1000, 0, 0));
        assert!(closure.orders > 1000);
        let line = format!("orders  the calls of 1000 runs checked in {} orders\n", closure.orders);
        assert!(screen(&report).contains(&line), "{}", screen(&report));
    }
}

#[cfg_attr(feature = "sim", test)]
fn the_same_is_found_by_any_number_of_workers() {
    let found = |jobs: usize| {
        let runner = runner(&format!("mirror-{jobs}")).closure(true).jobs(jobs);
        // The first seed of this range passes, because one worker runs the first seed alone.
        let report = runner.seeds(3..1000).run(|| mirrored(false));
        let finding = report.finding.unwrap();
        (report.runs, finding.run.seed, finding.run.steps, finding.run.outcome, finding.original)
    };
    let one = found(1);
    assert_eq!(found(2), one);
    assert_eq!(found(4), one);
}

/// Observation of a strategy does not change its runs.
#[cfg_attr(feature = "sim", test)]
fn runs_are_what_they_are_without_it() {
    for row in sim::strategy::STRATEGIES {
        for seed in 0..20 {
            let runner = || runner("mirror-same").strategy(row.name);
            let watched = runner().closure(true).run_seed(seed, || mirrored(true));
            let own = runner().run_seed(seed, || mirrored(true));
            assert_eq!(watched.steps, own.steps, "{} {seed}", row.name);
            assert_eq!((watched.draws, watched.events), (own.draws, own.events));
        }
    }
}

/// Two tasks share a word outside this library. The word shows which of two calls is first, so the computed orders do
/// not occur.
#[test]
fn what_does_not_come_about_is_no_failure() {
    async fn unseen() {
        let word = Arc::new(std::sync::Mutex::new(0u64));
        let steps = Arc::new([Atomic::new(0u64), Atomic::new(0u64)]);
        let history = History::new(Register::default());
        let write = {
            let (word, steps, history) = (word.clone(), steps.clone(), history.clone());
            sim::spawn(async move {
                let work = async {
                    steps[0].store(1, SeqCst).await;
                    *word.lock().unwrap() = 1;
                    RegisterRet::Done
                };
                history.call(RegisterOp::Write(1), work).await;
            })
        };
        let work = async {
            steps[1].store(1, SeqCst).await;
            RegisterRet::Value(*word.lock().unwrap())
        };
        history.call(RegisterOp::Read, work).await;
        write.await.unwrap();
        history.assert_linearizable();
    }
    if !SIMULATED {
        return;
    }
    let report = runner("unseen").closure(true).seeds(0..50).run(unseen);
    assert!(report.passed(), "{}", screen(&report));
    let unconfirmed = report.closure.unwrap().unconfirmed;
    assert!(unconfirmed > 10, "{}", screen(&report));
    assert!(screen(&report).contains("predicted to fail"));
}

/// Results belong to their checks: seeds that pass in their own order may not pass in all orders.
#[cfg_attr(feature = "sim", test)]
fn results_without_it_are_not_gone_on_from_with_it() {
    let results = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("closure-results");
    // The folder may not exist.
    let _ = std::fs::remove_dir_all(&results);
    // These folders represent results of earlier processes.
    let [earlier, later] = ["earlier", "later"].map(|name| results.join(name));
    let runner = |closure| runner("mirror-results").seeds(0..20).closure(closure);
    assert!(runner(false).results(&earlier).run(|| mirrored(true)).passed());
    std::fs::rename(&earlier, &later).unwrap();
    let runner = runner(true).results(&later);
    let error = runner.try_run(|| mirrored(true)).unwrap_err().to_string();
    assert!(error.contains("it is of another run (closure: 0 there, 1 here)"), "{error}");
}
