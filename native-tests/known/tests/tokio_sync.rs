//! Issue 3660 (the permit of `notify_one` is lost), RUSTSEC-2025-0023 (a value that is not `Sync` is cloned by two
//! threads), RUSTSEC-2021-0072 (a local task is dropped on another thread), RUSTSEC-2021-0124 (a data race on the
//! value of a `oneshot`): 1.5.0.

use std::cell::Cell;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use known::{block_on, poll_once};
use tokio::runtime::Builder;
use tokio::sync::{Notify, broadcast, oneshot};
use tokio::task::LocalSet;

#[sim::test(native, seeds = 10_000)]
fn the_permit_of_notify_one_is_kept() {
    let notify = Arc::new(Notify::new());
    let other = notify.clone();
    let all = thread::spawn(move || other.notify_waiters());
    notify.notify_one();
    all.join().unwrap();
    assert!(poll_once(notify.notified()).is_some(), "the permit is lost");
}

/// A value that two threads must not clone at once.
struct Watched(Cell<bool>);

impl Clone for Watched {
    fn clone(&self) -> Self {
        assert!(!self.0.replace(true), "two clones at once");
        thread::yield_now();
        self.0.set(false);
        Self(Cell::new(false))
    }
}

#[sim::test(native, seeds = 10_000)]
fn a_value_is_cloned_by_one_thread_at_a_time() {
    let (sender, receiver) = broadcast::channel(4);
    let receivers = [receiver, sender.subscribe()];
    assert!(sender.send(Watched(Cell::new(false))).is_ok());
    let threads =
        receivers.map(|mut receiver| thread::spawn(move || assert!(receiver.try_recv().is_ok())));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A value that is dropped by the thread that made it.
struct OfThread(ThreadId);

impl Drop for OfThread {
    fn drop(&mut self) {
        assert_eq!(self.0, thread::current().id(), "dropped on another thread");
    }
}

#[sim::test(native, seeds = 10_000)]
fn a_local_task_is_dropped_on_its_thread() {
    let local = LocalSet::new();
    let value = OfThread(thread::current().id());
    let task = local.spawn_local(async move {
        let _value = value;
        std::future::pending::<()>().await;
    });
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(local.run_until(tokio::task::yield_now()));
    thread::spawn(move || task.abort()).join().unwrap();
    drop(local);
}

/// Reads the value, and calls no function that synchronises.
#[sim::test(native, seeds = 10_000, races)]
fn the_value_of_a_oneshot_is_one_threads() {
    let (sender, mut receiver) = oneshot::channel();
    let sending = thread::spawn(move || drop(sender.send(Box::new(1))));
    receiver.close();
    if let Ok(value) = receiver.try_recv() {
        assert_eq!(*value, 1);
    }
    sending.join().unwrap();
}

#[sim::test(native, seeds = 2_000)]
fn a_oneshot_is_awaited() {
    let (sender, receiver) = oneshot::channel();
    let sending = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(block_on(receiver), Ok(1));
    sending.join().unwrap();
}
