//! Deadlines of time-outs, and in branches of `select!`, that pass at any moment.

use std::sync::Arc;

use sim::report::{Report, Style, text};
use sim::time::{Duration, Instant, interval, sleep, timeout};
use sim::{Atomic, Mutex, Ordering::SeqCst, Runner};
use sim_tests::seeds::{passes, runner};

const SECOND: Duration = Duration::from_secs(1);

fn screen(report: &Report) -> String {
    let screen = text(report, &Style { width: 200, ..Style::default() });
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn early(name: &str, strategy: &str) -> Runner {
    runner(name).strategy(strategy).seeds(0..2_000).cancel_selects(true)
}

/// Adds one to the value: with a separate load and store, or under the lock.
async fn add(value: &Mutex<Option<u32>>, is_fixed: bool) {
    if is_fixed {
        let mut held = value.lock().await;
        sim::task::yield_now().await;
        *held = held.map(|old| old + 1);
        return;
    }
    let old = value.lock().await.take();
    sim::task::yield_now().await;
    *value.lock().await = old.map(|old| old + 1);
}

/// Adds within half a minute. A heartbeat continues, so the clock needs thirty moves to reach the deadline.
async fn within_half_a_minute(is_fixed: bool) {
    let beats = sim::spawn(async {
        let mut beats = interval(SECOND);
        loop {
            beats.tick().await;
        }
    });
    let value = Mutex::new(Some(1));
    let _ = timeout(30 * SECOND, add(&value, is_fixed)).await;
    beats.abort();
    assert!(value.lock().await.is_some(), "the value is lost");
}

/// Adds one with the deadline in a `select!`.
async fn or_half_a_minute(is_fixed: bool) {
    let value = Mutex::new(Some(1));
    sim::select! {
        () = add(&value, is_fixed) => {}
        () = sleep(30 * SECOND) => {}
    }
    assert!(value.lock().await.is_some(), "the value is lost");
}

#[cfg_attr(feature = "sim", test)]
fn a_future_that_a_time_out_drops_at_a_bad_point_is_found() {
    passes("time-out in time", async || within_half_a_minute(false).await);
    for strategy in ["exhaustive", "portfolio", "random", "pct"] {
        let name = "early time-out";
        let report = early(name, strategy).run(async || within_half_a_minute(false).await);
        let shown = screen(&report);
        let finding = report.finding.unwrap_or_else(|| panic!("{strategy}: {shown}"));
        assert!(shown.contains("time-out") && shown.contains("the value is lost"), "{shown}");
        let trace = finding.trace_file.expect("a trace is written");
        let again = early(name, strategy).replay(&trace);
        let again = again.run(async || within_half_a_minute(false).await);
        assert_eq!(again.finding.expect("it fails again").run.outcome, finding.run.outcome);
        assert!(early(name, strategy).run(async || within_half_a_minute(true).await).passed());
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_branch_that_a_time_drops_at_a_bad_point_is_found() {
    passes("branch in time", async || or_half_a_minute(false).await);
    let report = early("early branch", "exhaustive").run(async || or_half_a_minute(false).await);
    assert!(!report.passed(), "{}", screen(&report));
    let report = early("early branch", "exhaustive").run(async || or_half_a_minute(true).await);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{}", screen(&report));
}

/// Adds one with a timer that was reset while it waited.
async fn or_a_minute_after_a_reset() {
    let value = Mutex::new(Some(1));
    let mut end = std::pin::pin!(sleep(30 * SECOND));
    sim::select! {
        () = end.as_mut() => return,
        () = sim::task::yield_now() => {}
    }
    end.as_mut().reset(Instant::now() + 60 * SECOND);
    sim::select! {
        () = add(&value, false) => {}
        () = end.as_mut() => {}
    }
    assert!(value.lock().await.is_some(), "the value is lost");
}

#[cfg_attr(feature = "sim", test)]
fn the_new_deadline_of_a_timer_that_was_reset_passes_early() {
    passes("reset in time", async || or_a_minute_after_a_reset().await);
    let report = early("early reset", "exhaustive").run(async || or_a_minute_after_a_reset().await);
    let shown = screen(&report);
    assert!(!report.passed() && shown.contains("the value is lost"), "{shown}");
}

#[cfg_attr(feature = "sim", test)]
fn no_branch_is_dropped_that_nothing_can_end() {
    let report = early("no cause", "exhaustive").run(async || {
        let (value, go) = (Arc::new(Mutex::new(Some(1))), Arc::new(Atomic::new(0)));
        let other = sim::spawn({
            let (value, go) = (value.clone(), go.clone());
            async move {
                go.store(1, SeqCst).await;
                add(&value, false).await;
            }
        });
        // The second branch can end the first branch, although it waits for the first branch.
        sim::select! {
            () = async { add(&value, false).await; go.store(2, SeqCst).await } => {}
            () = sim::spin_until(async || go.load(SeqCst).await == 2) => {}
        }
        other.await.unwrap();
    });
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{}", screen(&report));
    assert!(!screen(&report).contains("time-out"));
}

#[cfg_attr(feature = "sim", test)]
fn a_deadline_that_passed_early_has_passed_for_all() {
    let report = early("passed for all", "exhaustive").run(async || {
        let begin = Instant::now();
        let other = sim::spawn(async move {
            sleep(SECOND).await;
            begin.elapsed()
        });
        let work = async {
            sim::task::yield_now().await;
            sim::task::yield_now().await;
        };
        let is_late = timeout(3 * SECOND, work).await.is_err();
        sim::sometimes!(is_late, "late");
        sim::sometimes!(!is_late, "in time");
        assert!(!is_late || begin.elapsed() >= 3 * SECOND);
        let slept = other.await.unwrap();
        sim::sometimes!(slept > SECOND, "overslept");
        assert!(slept >= SECOND);
    });
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{}", screen(&report));
    assert!(report.warnings.is_empty(), "{}", screen(&report));
}

#[sim::test(cancel_selects, seeds = 200, must_fail)]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
async fn an_attribute_has_deadlines_pass_early() {
    or_half_a_minute(false).await;
}

#[sim::test(cancel_selects)]
async fn both_builds_take_the_attribute() {
    or_half_a_minute(true).await;
}
