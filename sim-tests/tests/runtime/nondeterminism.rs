//! Nondeterminism outside the decisions of a run must be found and named. Similar behaviour that is deterministic must
//! not be reported.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use sim::Ordering::SeqCst;
use sim::check::models::{Counter, CounterOp, CounterRet};
use sim::run::Failure;
use sim::{Atomic, History, SIMULATED};
use sim_tests::seeds::{fails, failure, passes, runner};

#[cfg_attr(feature = "sim", test)]
fn an_order_that_a_hash_map_decides_is_found() {
    let failure = fails("hash_map", async || {
        let slots: Vec<_> = (0..20).map(|_| Atomic::new(0u8)).collect();
        let order: HashSet<usize> = (0..20).collect();
        for at in order {
            slots[at].store(1, SeqCst).await;
        }
    });
    let Failure::NonDeterminism { step, first, second } = failure else { panic!("{failure:?}") };
    assert!(step >= 1, "the first step is the same");
    assert_ne!(first, second);
    passes("hash_map_fixed", async || {
        let slots: Vec<_> = (0..20).map(|_| Atomic::new(0u8)).collect();
        let order: BTreeSet<usize> = (0..20).collect();
        for at in order {
            slots[at].store(1, SeqCst).await;
        }
    });
}

#[test]
fn a_counter_that_outlives_the_run_is_found_at_the_step_that_shows_it() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    if !SIMULATED {
        return;
    }
    let failure = fails("global", async || {
        let value = Atomic::new(0);
        sim::task::yield_now().await;
        value.store(RUNS.fetch_add(1, Ordering::SeqCst), SeqCst).await;
    });
    let Failure::NonDeterminism { step, first, second } = failure else { panic!("{failure:?}") };
    assert_eq!(step, 2, "{first} then {second}");
    assert_ne!(first, second);
    static FRESH: Atomic<u64> = Atomic::<u64>::const_new(0);
    passes("global_fixed", async || {
        let value = Atomic::new(0);
        sim::task::yield_now().await;
        value.store(FRESH.fetch_add(1, SeqCst).await, SeqCst).await;
    });
}

#[test]
fn an_answer_that_outlives_the_run_is_told_beside_the_history() {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if !SIMULATED {
        return;
    }
    // The operation has no point, so only the answer differs between runs. The answer is wrong in each run.
    let warnings = |kept: bool| {
        let report = runner("answers").run(async || {
            let own = AtomicU64::new(0);
            let count = if kept { &COUNT } else { &own };
            let history = History::new(Counter::default());
            let answer = async {
                sim::task::yield_now().await;
                CounterRet::Value(1 + count.fetch_add(1, Ordering::SeqCst) as i64)
            };
            history.call(CounterOp::Get, answer).await;
            history.assert_linearizable();
        });
        let failure = failure(&report.finding.expect("the count begins with 0").run);
        assert!(matches!(failure, Failure::History { .. }), "{failure:?}");
        report.warnings
    };
    assert_eq!(warnings(false), <[String; 0]>::default());
    let [warning] = &warnings(true)[..] else { panic!("one warning") };
    assert!(warning.contains("when the same decisions were taken again"), "{warning}");
}

#[test]
fn a_failure_that_comes_and_goes_is_found() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    if !SIMULATED {
        return;
    }
    // The runner uses no rehearsals, because failures of rehearsals are ignored.
    let report = runner("comes_and_goes").strategy("random").run(async || {
        sim::task::yield_now().await;
        assert_ne!(RUNS.fetch_add(1, Ordering::SeqCst), 7);
    });
    let failure = failure(&report.finding.expect("one run fails").run);
    assert!(matches!(failure, Failure::NonDeterminism { .. }), "{failure:?}");
}

#[test]
fn addresses_are_no_difference() {
    passes("addresses", async || {
        let boxed = Box::into_raw(Box::new(5u8));
        let pointer = Atomic::new(boxed);
        assert_eq!(pointer.load(SeqCst).await, boxed);
        pointer.store(std::ptr::null_mut(), SeqCst).await;
    });
}
