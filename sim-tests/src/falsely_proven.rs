//! Bodies that fail in some interleaving, although an exhaustive search once reported a proof for them.

use std::sync::Arc;

use futures::FutureExt;
use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex};

/// The owner of a lock aborts a task that waits for the lock.
pub async fn abort_of_a_waiting_task() {
    let (m, w) = (Arc::new(Mutex::new(0)), Atomic::new(0));
    let task = sim::spawn({
        let m = m.clone();
        async move { *m.lock().await += 1 }
    });
    let guard = m.lock().await;
    w.load(SeqCst).await;
    task.abort();
    let aborted = task.await.is_err();
    assert!(aborted, "the task had the lock first: {}", *guard);
}

/// A handle is polled once after another task is joined.
pub async fn handle_polled_once() {
    let task = sim::spawn(async {});
    sim::spawn(async {}).await.unwrap();
    assert!(task.now_or_never().is_some());
}

/// The body calls `is_finished` on a task that competes with another task for a lock.
pub async fn look_at_a_task_among_joins() {
    let (w, m) = (Arc::new(Atomic::new(0)), Arc::new(Mutex::new(0)));
    let store = sim::spawn({
        let w = w.clone();
        async move { w.store(1, SeqCst).await }
    });
    let lock = sim::spawn({
        let m = m.clone();
        async move {
            let mut guard = m.lock().await;
            *guard += 1;
            *guard
        }
    });
    let attempt = sim::spawn(async move {
        m.try_lock().await.map(|mut guard| {
            *guard += 1;
            *guard
        })
    });
    let seen = w.load(SeqCst).await;
    store.await.unwrap();
    let finished = lock.is_finished();
    let (lock, attempt) = (lock.await.unwrap(), attempt.await.unwrap());
    assert!((seen, finished, lock, attempt) != (1, true, 2, Some(1)));
}
