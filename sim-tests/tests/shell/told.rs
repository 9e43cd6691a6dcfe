//! Tests about variables and notes.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use sim::Atomic;
use sim::check::models::{CounterOp, CounterRet};

use super::{off, variant};

/// Fails if its task may be aborted between its two steps.
#[sim::test(seeds = 300)]
async fn is_not_aborted() {
    if off() {
        return;
    }
    let count = Arc::new(Atomic::new(0));
    let own = count.clone();
    let task = sim::task::Builder::new().name("t1").spawn(async move {
        own.fetch_add(1, SeqCst).await;
        own.fetch_sub(1, SeqCst).await;
    });
    let _ = task.await;
    assert_eq!(count.load(SeqCst).await, 0, "it was aborted");
}

/// In both builds.
#[sim::test(seeds = 3)]
async fn records_a_history() {
    if std::env::var_os("UNPAUSE_FIXTURE").is_none() {
        return;
    }
    let history = sim::History::new(sim::check::models::Counter::default());
    let history = match variant("fed") {
        true => history.check_online(sim::check::online::Online::new),
        false => history,
    };
    if !variant("empty") {
        history.call(CounterOp::Get, async { CounterRet::Value(0) }).await;
    }
    if variant("fails later") {
        assert_ne!(sim::rand::below(8), 7, "an unlucky number");
    }
    if variant("checked") {
        history.assert_linearizable();
    }
    if variant("read") {
        assert_eq!(history.operations().len(), 1);
    }
}
