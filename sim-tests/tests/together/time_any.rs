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

/// Asserts that work which takes a few steps is done in a second.
async fn in_time() {
    let work = async {
        sim::task::yield_now().await;
        sim::task::yield_now().await;
    };
    assert!(timeout(SECOND, work).await.is_ok(), "late");
}

#[test]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
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

#[test]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
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

#[test]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
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
    assert!(error.to_string().contains("`last` or `any`"), "{error}");
}
