//! Tests that must fail, each with a failure that it names.

use std::sync::atomic::Ordering::SeqCst;

use sim::Atomic;

use super::{counts, off};

#[sim::test(must_fail = "update was lost")]
async fn must_lose() {
    if off() {
        if sim::SIMULATED {
            panic!("an update was lost, as it must be");
        }
        return;
    }
    counts().await;
}

#[sim::test(must_fail = "step limit", max_steps = 200)]
async fn must_never_end() {
    // Real threads have no limit of steps.
    if !sim::SIMULATED {
        return;
    }
    let word = Atomic::new(0u64);
    while word.load(SeqCst).await == 0 {}
}
