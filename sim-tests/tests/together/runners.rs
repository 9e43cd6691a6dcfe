//! Several runners in one process, and runners that no variable reaches.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Atomic, Ordering::SeqCst, Runner};

/// Creates an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("runners").join(name);
    // The folder may not exist.
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

async fn loses() {
    let counter = Arc::new(Atomic::new(0));
    sim::map_concurrently(0..2, |_| {
        let counter = counter.clone();
        async move {
            let seen = counter.load(SeqCst).await;
            counter.store(seen + 1, SeqCst).await;
        }
    })
    .await;
    assert_eq!(counter.load(SeqCst).await, 2, "an update was lost");
}

fn kind(report: &Report) -> Option<&'static str> {
    match &report.finding.as_ref()?.run.outcome {
        Outcome::Failed(failure) => Some(failure.kind()),
        Outcome::Passed => None,
    }
}

/// The second runner does not continue the first runner, even if their results suggest it.
#[test]
fn runners_of_one_name_do_not_share_results() {
    let results = folder("results");
    let made_here = || Runner::new().hermetic().seeds(0..20).results(&results);
    assert!(made_here().run(async || ()).passed());
    let error =
        made_here().try_run(async || -> () { panic!("never run") }).unwrap_err().to_string();
    assert!(error.contains("already written") && error.contains("with Runner::name"), "{error}");
    // Two runners at the same source location with the same name are refused, too, because they may behave differently.
    let error = (0..2).map(|_| made_here().name("two").try_run(async || ())).filter(Result::is_err);
    assert_eq!(error.count(), 1);
    let other = made_here().name("other").out(folder("out"));
    assert_eq!(kind(&other.run(async || -> () { panic!("run") })), Some("panic"));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_without_time_makes_a_run() {
    for strategy in ["exhaustive", "preemptions", "delays", "preemptions:2", "random"] {
        let runner = Runner::new().hermetic().time(Duration::ZERO).strategy(strategy);
        let runner = runner.out(folder("no time"));
        let failed = runner.run(async || -> () { panic!("always") });
        assert_eq!((kind(&failed), failed.passed(), failed.runs), (Some("panic"), false, 1));
        let passed = runner.run(async || drop(sim::spawn(async {}).await));
        assert!(passed.passed() && passed.runs > 0);
        let screen = text(&passed, &Style::default());
        assert!(!screen.contains("% of the") && !screen.contains("an estimated"), "{screen}");
    }
}

/// A run is not ended before its step limit, even if it takes longer than the time limit of the test. In this case the
/// report has a note.
#[cfg_attr(feature = "sim", test)]
fn a_run_that_takes_longer_than_the_test_may_is_noted() {
    let runner = Runner::new().hermetic().time(Duration::ZERO).out(folder("overtime"));
    // The first run takes a second.
    let is_noted = |sleeps: bool, strategy: &str| {
        let sleeps = Arc::new(AtomicBool::new(sleeps));
        let report = runner.clone().strategy(strategy).run(async move || {
            if sleeps.swap(false, SeqCst) {
                std::thread::sleep(Duration::from_millis(1_100));
            }
        });
        assert!(report.passed() && report.runs > 0);
        report.notes.iter().any(|note| note.contains("s instead of 0.0 s, because no run"))
    };
    for strategy in ["random", "pct", "exhaustive"] {
        assert!(is_noted(true, strategy), "{strategy}");
        assert!(!is_noted(false, strategy), "{strategy}");
    }
}

#[test]
fn a_report_without_a_run_did_not_pass() {
    assert!(!Report::default().passed());
    let none = Runner::new().hermetic().seeds(5..5).try_run(async || ()).unwrap_err().to_string();
    assert!(
        none.starts_with("seeds is \"5..5\", but should be a range of seeds that is not"),
        "{none}"
    );
}

#[test]
fn a_real_run_without_time_is_made_too() {
    let report = Runner::new().hermetic().time(Duration::ZERO).run(async || ());
    assert!(report.passed() && report.runs >= 1);
}

#[cfg_attr(feature = "sim", test)]
fn who_must_prove_fails_without_a_proof_and_needs_a_search() {
    let body = async || {
        let word = Arc::new(Atomic::new(0));
        sim::map_concurrently(0..3, |value| {
            let word = word.clone();
            async move { word.store(value, SeqCst).await }
        })
        .await;
    };
    let must = Runner::new().hermetic().strategy("exhaustive").must_prove(true);
    let proof = must.run(body);
    assert!(proof.passed() && proof.searched.unwrap().is_proof());
    let short = must.clone().seeds(0..4).run(body);
    assert_eq!((kind(&short), short.passed(), short.runs), (Some("unproven"), false, 4));
    let Outcome::Failed(Failure::Unproven { why }) = &short.finding.unwrap().run.outcome else {
        unreachable!()
    };
    assert!(why.ends_with("part of the search was done"), "{why}");
    // A failure outranks a missing proof.
    let found =
        must.clone().seeds(0..4).out(folder("found")).run(async || -> () { panic!("always") });
    assert_eq!(kind(&found), Some("panic"));
    let error = must.strategy("pct").try_run(body).unwrap_err().to_string();
    assert!(error.starts_with("strategy is \"pct\", but should be a search"), "{error}");
}

#[cfg_attr(feature = "sim", test)]
fn a_hermetic_runner_replays_what_its_report_says() {
    let runner = Runner::new().hermetic().out(folder("hermetic")).seeds(0..200);
    let found = runner.run(loses);
    let replay = found.finding.unwrap().replay.unwrap();
    let (call, rest) =
        replay.split_once(") on the Runner of ").unwrap_or_else(|| panic!("{replay}"));
    assert!(rest.starts_with(&format!("{}:", file!())), "{replay}");
    let trace = call.strip_prefix(".replay(\"").and_then(|call| call.strip_suffix('"')).unwrap();
    let again = runner.replay(trace).run(loses);
    assert_eq!(kind(&again), Some("panic"));
    assert!(again.replayed.is_some());
}

#[cfg_attr(feature = "sim", test)]
fn a_run_that_is_not_shrunk_is_as_it_was_found() {
    let runner = Runner::new().hermetic().out(folder("whole")).strategy("random").seeds(0..200);
    let shrunk = runner.run(loses).finding.unwrap();
    assert!(shrunk.shrunk.is_some());
    let whole = runner.shrink(false).prove(100).run(loses).finding.unwrap();
    assert!(whole.shrunk.is_none() && whole.proof.is_none());
    assert_eq!(whole.run.steps.len(), whole.original.steps as usize);
    assert!(whole.trace_file.is_some() && whole.replay.is_some());
}
