//! The channel without a bound.

use std::pin::pin;

use futures::future::{Either, select};
use sim::run::{Failure, Outcome};
use sim::spawn;
use sim::task::yield_now;
use sim::tokio::sync::mpsc::error::TryRecvError;
use sim::tokio::sync::{mpsc, oneshot};

use crate::{Results, holds};

#[test]
fn messages_come_in_their_order_and_then_the_end() {
    holds(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let sending = spawn(async move {
            for n in 0..2 {
                sender.send(n).unwrap();
                yield_now().await;
            }
        });
        assert_eq!(receiver.recv().await, Some(0));
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(receiver.recv().await, None);
        sending.await.unwrap();
    });
}

#[test]
fn a_message_for_a_dropped_receiver_comes_back() {
    let results = Results::new();
    holds(async || {
        let (sender, receiver) = mpsc::unbounded_channel();
        let sending = spawn(async move {
            yield_now().await;
            sender.send(1).map_err(|error| error.0)
        });
        yield_now().await;
        drop(receiver);
        results.add(sending.await.unwrap());
    });
    results.are([Ok(()), Err(1)]);
}

#[test]
fn messages_sent_before_a_close_are_received() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let sending = spawn(async move {
            yield_now().await;
            let sent = sender.send(1).is_ok();
            sender.closed().await;
            sent
        });
        yield_now().await;
        receiver.close();
        let got = receiver.recv().await;
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        let sent = sending.await.unwrap();
        assert_eq!(sent, got.is_some());
        results.add(sent);
    });
    results.are([false, true]);
}

#[test]
fn a_weak_sender_does_not_keep_the_channel_open() {
    holds(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel::<u8>();
        let weak = sender.downgrade();
        assert_eq!((sender.strong_count(), sender.weak_count()), (1, 1));
        let dropping = spawn(async move {
            yield_now().await;
            drop(sender);
        });
        assert_eq!(receiver.recv().await, None);
        assert!(weak.upgrade().is_none() && receiver.is_closed());
        dropping.await.unwrap();
    });
}

#[test]
fn a_cancelled_recv_loses_no_message() {
    holds(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let sending = spawn(async move {
            sender.send(1).unwrap();
            yield_now().await;
            let _ = stop.send(());
            sender.send(2).unwrap();
        });
        let first = match select(stopped, pin!(receiver.recv())).await {
            Either::Left(_) => None,
            Either::Right((got, _)) => got,
        };
        let mut got: Vec<u8> = first.into_iter().collect();
        receiver.recv_many(&mut got, 2).await;
        receiver.recv_many(&mut got, 2).await;
        assert_eq!(got, [1, 2]);
        sending.await.unwrap();
    });
}

#[test]
fn two_senders_are_received_in_either_order() {
    let orders = Results::new();
    let report = holds(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for n in 0..3 {
            let sender = sender.clone();
            spawn(async move {
                yield_now().await;
                sender.send(n).unwrap();
            })
            .detach();
        }
        drop(sender);
        let mut got = Vec::new();
        while let Some(n) = receiver.recv().await {
            got.push(n);
        }
        orders.add(got);
    });
    let all = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    orders.are(all.map(Vec::from));
    assert!(!sim::SIMULATED || report.runs < 200, "{}", report.runs);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_a_drop_of_a_sender_before_the_end_of_an_invariant_that_counts_senders() {
    for ends_in_task in [false, true] {
        let report = crate::all(async || {
            let (sender, _receiver) = mpsc::unbounded_channel::<()>();
            let (other, weak) = (sender.clone(), sender.downgrade());
            let two = sim::invariant("two senders", move || weak.strong_count() == 2);
            // Only the channel orders the end of the invariant before or after the drop of the sender.
            let (first, second) = match ends_in_task {
                true => ((Some(two), None), (None, Some(other))),
                false => ((None, Some(other)), (Some(two), None)),
            };
            let task = spawn(async move { drop(first) });
            yield_now().await;
            drop(second);
            task.await.unwrap();
        });
        // The search itself finds this failure; the runs that check the search do not.
        let finding = report.finding.as_ref().expect("it passed");
        assert!(matches!(finding.run.outcome, Outcome::Failed(Failure::Invariant { .. })));
        assert!(report.searched.as_ref().unwrap().audit.is_none());
    }
}
