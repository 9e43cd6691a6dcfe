//! Mistakes of users of tokio, which must be found, beside the same programs without them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Notify, mpsc};
use tokio::time;

use super::{on_one_thread, on_workers};

/// Two tasks that count, with one lock for both parts of the update, or two.
async fn count(in_one_part: bool) {
    let counter = Arc::new(Mutex::new(0));
    let tasks = [0; 2].map(|_| {
        let counter = counter.clone();
        tokio::spawn(async move {
            if in_one_part {
                *counter.lock().await += 1;
            } else {
                let seen = *counter.lock().await;
                *counter.lock().await = seen + 1;
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*counter.lock().await, 2);
}

#[sim::test(native, seeds = 1000, must_fail)]
fn an_update_between_two_awaits_is_lost() {
    on_workers(count(false));
}

#[sim::test(native, seeds = 100)]
fn an_update_under_one_lock_is_not() {
    on_workers(count(true));
}

/// A task that waits for a notification, which comes before it is registered unless it `enable`s itself first.
async fn notified(registers_first: bool) {
    let notify = Arc::new(Notify::new());
    let (ready, mut is_ready) = mpsc::channel(1);
    let waiter = notify.clone();
    let task = tokio::spawn(async move {
        if registers_first {
            let notified = waiter.notified();
            ready.send(()).await.unwrap();
            notified.await;
        } else {
            ready.send(()).await.unwrap();
            waiter.notified().await;
        }
    });
    is_ready.recv().await.unwrap();
    notify.notify_waiters();
    task.await.unwrap();
}

#[sim::test(native, seeds = 3000, must_fail)]
fn a_notification_before_the_waiter_is_registered_is_lost() {
    on_workers(notified(false));
}

#[sim::test(native, seeds = 100)]
fn a_waiter_that_is_registered_first_is_notified() {
    on_workers(notified(true));
}

/// A receiver that gives up after a while, with a second step after the message was taken, or none.
async fn cancelled(in_two_steps: bool) {
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        time::sleep(Duration::from_millis(1)).await;
        sender.send(1).await.unwrap();
    });
    let mut got = None;
    let receive = async {
        let message = receiver.recv().await;
        if in_two_steps {
            time::sleep(Duration::from_millis(1)).await;
        }
        got = message;
    };
    tokio::select! {
        () = receive => {}
        () = time::sleep(Duration::from_millis(2)) => {}
    }
    if got.is_none() {
        got = receiver.recv().await;
    }
    assert_eq!(got, Some(1));
}

#[sim::test(native, seeds = 300, must_fail)]
fn a_message_taken_by_a_cancelled_branch_is_lost() {
    on_one_thread(cancelled(true));
}

#[sim::test(native, seeds = 100)]
fn a_message_of_a_branch_without_an_await_after_it_is_not() {
    on_one_thread(cancelled(false));
}
