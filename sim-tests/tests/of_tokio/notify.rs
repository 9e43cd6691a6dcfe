//! Waits for notifications that another task overtakes.

use std::pin::pin;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::tokio::sync::Notify;
use sim::{Atomic, spawn};

use crate::{Results, holds};

/// A notification of one task, and then of all tasks. If the wait began before both, the second ends it, and the first
/// is kept for another wait.
#[test]
fn a_wait_that_was_created_early_leaves_a_kept_notification() {
    let kept = Results::new();
    holds(async || {
        let (ready, notify) = (Arc::new(Atomic::new(0)), Arc::new(Notify::new()));
        let (of_task, to_task) = (ready.clone(), notify.clone());
        let task = spawn(async move {
            of_task.store(1, SeqCst).await;
            to_task.notify_one();
            to_task.notify_waiters();
        });
        if ready.load(SeqCst).await == 0 {
            notify.notified().await;
            task.await.unwrap();
            kept.add(pin!(notify.notified()).enable());
        }
    });
    kept.are([false, true]);
}
