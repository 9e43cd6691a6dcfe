//! Bugs that users of channels write, each beside its fixed twin.

use std::pin::pin;
use std::sync::{Arc, Mutex};

use futures::future::{join, select};
use sim::run::Failure;
use sim::spawn;
use sim::task::yield_now;
use sim::tokio::sync::broadcast::error::RecvError;
use sim::tokio::sync::{OnceCell, SetOnce, broadcast, mpsc, oneshot, watch};

use crate::{fails, holds};

/// Asserts that the first body panics with this text in some order, and that the second body passes in all orders.
fn panics(text: &str, bug: impl AsyncFn() + Sync, fixed: impl AsyncFn() + Sync) {
    match fails(bug) {
        Some((Failure::Panic { message, .. }, _)) => assert!(message.contains(text), "{message}"),
        Some((failure, screen)) => panic!("{failure:?}\n{screen}"),
        None => {}
    }
    holds(fixed);
}

/// Asserts that the first body waits forever in some order, and that the second body passes in all orders.
fn waits(bug: impl AsyncFn() + Sync, fixed: impl AsyncFn() + Sync) {
    if let Some((failure, screen)) = fails(bug) {
        assert!(matches!(failure, Failure::Deadlock { .. }), "{screen}");
    }
    holds(fixed);
}

/// A subscriber that keeps the last state it was sent.
async fn last_state(reads_lag_as_end: bool) {
    let (sender, mut receiver) = broadcast::channel(2);
    let sending = spawn(async move {
        for state in 1..=3 {
            sender.send(state).unwrap();
            yield_now().await;
        }
    });
    let mut last = 0;
    loop {
        match receiver.recv().await {
            Ok(state) => last = state,
            Err(RecvError::Lagged(_)) if !reads_lag_as_end => {}
            Err(_) => break,
        }
    }
    assert_eq!(last, 3, "the last state was not seen");
    sending.await.unwrap();
}

#[test]
fn a_lag_is_read_as_the_end() {
    let text = "the last state was not seen";
    panics(text, async || last_state(true).await, async || last_state(false).await);
}

/// A task that handles each version of a setting once.
async fn handled_once(updates: bool) {
    let (sender, mut receiver) = watch::channel(0);
    let sending = spawn(async move {
        for setting in 1..=2 {
            sender.send(setting).unwrap();
            yield_now().await;
        }
    });
    let mut handled = vec![0];
    while receiver.changed().await.is_ok() {
        // If a new version comes after `changed` and before this point, `borrow` does not mark it as seen. So it is
        // handled again.
        yield_now().await;
        let setting = match updates {
            true => *receiver.borrow_and_update(),
            false => *receiver.borrow(),
        };
        assert_ne!(handled.last(), Some(&setting), "a setting was handled twice");
        handled.push(setting);
    }
    sending.await.unwrap();
}

#[test]
fn a_borrow_that_does_not_update_repeats_a_change() {
    let text = "a setting was handled twice";
    panics(text, async || handled_once(false).await, async || handled_once(true).await);
}

/// A task that handles the current value and marks it as seen.
async fn last_handled(marks_after: bool) {
    let (sender, mut receiver) = watch::channel(0);
    let sending = spawn(async move {
        yield_now().await;
        sender.send(1).unwrap();
    });
    let mut handled = match marks_after {
        true => *receiver.borrow(),
        false => *receiver.borrow_and_update(),
    };
    yield_now().await;
    if marks_after {
        // A value that arrived while the previous value was handled is marked as seen, too.
        receiver.mark_unchanged();
    }
    while receiver.changed().await.is_ok() {
        handled = *receiver.borrow_and_update();
    }
    assert_eq!(handled, 1, "a change was missed");
    sending.await.unwrap();
}

#[test]
fn a_version_marked_as_seen_later_is_missed() {
    let text = "a change was missed";
    panics(text, async || last_handled(true).await, async || last_handled(false).await);
}

/// A request reserves room, and is cancelled before it gets its message.
async fn cancelled_request(keeps_permit: bool) {
    let (sender, mut receiver) = mpsc::channel(1);
    let kept = Arc::new(Mutex::new(None));
    let (cancel, cancelled) = oneshot::channel::<()>();
    let request = {
        let (sender, kept) = (sender.clone(), kept.clone());
        async move {
            let permit = sender.reserve_owned().await.unwrap();
            let permit = match keeps_permit {
                true => {
                    // The permit is kept in a place that a cancellation does not drop.
                    *kept.lock().unwrap() = Some(permit);
                    None
                }
                false => Some(permit),
            };
            yield_now().await;
            let permit = permit.or_else(|| kept.lock().unwrap().take());
            drop(permit.unwrap().send("request"));
        }
    };
    let requesting = spawn(async move { drop(select(pin!(request), cancelled).await) });
    let cancelling = spawn(async move { cancel.send(()).is_ok() });
    let receiving =
        spawn(async move { while receiver.recv().await.is_some_and(|m| m != "last") {} });
    requesting.await.unwrap();
    cancelling.await.unwrap();
    sender.send("last").await.unwrap();
    receiving.await.unwrap();
}

#[test]
fn a_permit_outlives_a_cancelled_request() {
    waits(async || cancelled_request(true).await, async || cancelled_request(false).await);
}

/// A worker that answers requests until it is stopped.
async fn answered(expects_an_answer: bool) {
    let (requests, mut queue) = mpsc::channel::<oneshot::Sender<u8>>(1);
    let (stop, mut stopped) = oneshot::channel();
    let worker = spawn(async move {
        while let Some(reply) = queue.recv().await {
            if stopped.try_recv().is_ok() {
                // The reply is dropped, and the request gets no answer.
                return;
            }
            reply.send(7).unwrap();
        }
    });
    let stopping = spawn(async move {
        yield_now().await;
        let _ = stop.send(());
    });
    let (reply, answer) = oneshot::channel();
    let is_asked = requests.send(reply).await.is_ok();
    match answer.await {
        Ok(answer) => assert_eq!(answer, 7),
        Err(_) if !expects_an_answer => {}
        Err(error) => panic!("no answer though asked: {is_asked}: {error}"),
    }
    drop(requests);
    worker.await.unwrap();
    stopping.await.unwrap();
}

#[test]
fn a_reply_is_dropped_without_an_answer() {
    let text = "no answer though asked: true";
    panics(text, async || answered(true).await, async || answered(false).await);
}

/// Two tasks send each other two messages over channels with room for one message.
async fn exchange(receives_meanwhile: bool) {
    let (to_a, at_a) = mpsc::channel(1);
    let (to_b, at_b) = mpsc::channel(1);
    let peers = [(to_b, at_a), (to_a, at_b)].map(|(to, mut at)| {
        spawn(async move {
            let send = async move {
                for n in 0..2 {
                    to.send(n).await.unwrap();
                }
            };
            let receive = async move {
                for n in 0..2 {
                    assert_eq!(at.recv().await, Some(n));
                }
            };
            match receives_meanwhile {
                true => drop(join(send, receive).await),
                false => {
                    send.await;
                    receive.await;
                }
            }
        })
    });
    for peer in peers {
        peer.await.unwrap();
    }
}

#[test]
fn two_full_channels_wait_for_each_other() {
    waits(async || exchange(false).await, async || exchange(true).await);
}

/// Creates a cell, and beside it a value that is set once or never.
async fn set_and_awaited(is_set: bool) {
    let (once, cell) = (SetOnce::new(), OnceCell::new());
    cell.get_or_init(async || 7).await;
    if is_set {
        once.set(7).unwrap();
    }
    assert_eq!(once.wait().await, cell.get().unwrap());
}

#[test]
fn a_value_that_is_never_set_is_awaited_for_ever() {
    waits(async || set_and_awaited(false).await, async || set_and_awaited(true).await);
}
