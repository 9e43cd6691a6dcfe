//! Mock tasks, inside and outside of runs.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::task::Poll;

use futures::Stream;
use futures::stream::unfold;
use sim::tokio::sync::{mpsc, oneshot};
use tokio_test::task::{self, Spawn};
use tokio_test::{assert_pending, assert_ready, assert_ready_eq, assert_ready_ok};

/// Runs the body outside of runs, and in all of its orders.
#[track_caller]
fn everywhere(body: impl AsyncFn() + Sync) {
    sim::block_on(body());
    let report = sim::Runner::new().hermetic().strategy("exhaustive").run(body);
    assert!(report.passed(), "{report:?}");
}

#[test]
fn a_future_is_polled_and_woken() {
    everywhere(async || {
        let (sender, receiver) = oneshot::channel();
        let mut task = task::spawn(receiver);
        assert_pending!(task.poll());
        assert!(!task.is_woken());
        assert_eq!(task.waker_ref_count(), 2);
        sender.send(7).unwrap();
        assert!(task.is_woken());
        assert_ready_eq!(task.poll(), Ok(7));
        assert!(!task.is_woken());
    });
}

#[test]
fn a_stream_is_polled() {
    everywhere(async || {
        let (sender, receiver) = mpsc::channel(2);
        let messages = unfold(receiver, async |mut receiver: mpsc::Receiver<u8>| {
            receiver.recv().await.map(|message| (message, receiver))
        });
        let mut messages = task::spawn(messages);
        assert_eq!(messages.size_hint(), (0, None));
        assert_pending!(messages.poll_next());
        assert_ready_ok!(task::spawn(sender.send(1)).poll());
        assert!(messages.is_woken());
        assert_ready_eq!(messages.poll_next(), Some(1));
        drop(sender);
        assert_ready_eq!(messages.poll_next(), None);
    });
}

#[test]
fn the_context_of_a_task_polls_anything() {
    everywhere(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut task = task::spawn(());
        assert_pending!(task.enter(|cx, _| receiver.poll_recv(cx)));
        sender.try_send(1).unwrap();
        assert!(task.is_woken());
        assert_eq!(task.enter(|cx, _| receiver.poll_recv(cx)), Poll::Ready(Some(1)));
    });
}

#[test]
fn what_is_spawned_can_be_reached() {
    let mut task: Spawn<_> = task::spawn(std::future::ready(1));
    let inner: &mut std::future::Ready<i32> = &mut task;
    assert_eq!(inner.clone().into_inner(), 1);
    assert_eq!(task.into_inner().into_inner(), 1);
    let mut yields = task::spawn(sim::task::yield_now());
    assert_ready!(yields.poll_until_idle());
}

#[test]
fn a_mock_task_that_is_awaited_has_points() {
    // In one order the other task comes first, so that the channel is full and this one waits for the receiver.
    let results = Mutex::new(BTreeSet::new());
    let report = sim::Runner::new().hermetic().strategy("exhaustive").run(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let other = sim::spawn({
            let sender = sender.clone();
            async move { sender.try_send(2).is_ok() }
        });
        let (sent, first) = futures::join!(task::spawn(sender.send(1)), receiver.recv());
        sent.unwrap();
        results.lock().unwrap().insert(first.unwrap());
        other.await.unwrap();
    });
    assert!(report.passed(), "{report:?}");
    assert_eq!(results.into_inner().unwrap(), BTreeSet::from([1, 2]));
}
