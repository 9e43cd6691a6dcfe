//! The channel in which each receiver gets every message.

use std::pin::pin;

use futures::future::{Either, select};
use sim::spawn;
use sim::task::yield_now;
use sim::tokio::sync::broadcast::error::{RecvError, TryRecvError};
use sim::tokio::sync::{broadcast, oneshot};

use crate::{Results, holds};

#[test]
fn each_receiver_gets_every_message_in_one_order() {
    let orders = Results::new();
    holds(async || {
        let (sender, receiver) = broadcast::channel(4);
        let receivers: Vec<_> = [receiver, sender.subscribe()]
            .into_iter()
            .map(|mut receiver| {
                spawn(async move {
                    let first = receiver.recv().await.unwrap();
                    (first, receiver.recv().await.unwrap())
                })
            })
            .collect();
        let sending = [1, 2].map(|n| {
            let sender = sender.clone();
            spawn(async move {
                yield_now().await;
                assert!(sender.send(n).is_ok());
            })
        });
        for task in sending {
            task.await.unwrap();
        }
        let mut got = Vec::new();
        for receiver in receivers {
            got.push(receiver.await.unwrap());
        }
        assert_eq!(got[0], got[1]);
        orders.add(got[0]);
    });
    orders.are([(1, 2), (2, 1)]);
}

#[test]
fn a_slow_receiver_learns_how_much_it_has_missed() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = broadcast::channel(2);
        let sending = spawn(async move {
            for n in 1..=4 {
                sender.send(n).unwrap();
                yield_now().await;
            }
        });
        let (mut got, mut missed) = (Vec::new(), 0);
        loop {
            match receiver.recv().await {
                Ok(n) => got.push(n),
                Err(RecvError::Lagged(n)) => missed += n,
                Err(RecvError::Closed) => break,
            }
        }
        assert_eq!(got.len() as u64 + missed, 4);
        assert!(got.ends_with(&[3, 4]));
        sending.await.unwrap();
        results.add(missed);
    });
    results.are([0, 1, 2]);
}

#[test]
fn the_end_comes_after_the_last_message() {
    holds(async || {
        let (sender, mut receiver) = broadcast::channel(2);
        let mut late = receiver.resubscribe();
        let weak = sender.downgrade();
        let other = sender.clone();
        let sending = spawn(async move {
            yield_now().await;
            assert_eq!(other.send(1).unwrap(), 2);
        });
        let dropping = spawn(async move {
            yield_now().await;
            drop(sender);
        });
        for receiver in [&mut receiver, &mut late] {
            assert_eq!(receiver.recv().await, Ok(1));
            assert_eq!(receiver.recv().await, Err(RecvError::Closed));
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
        }
        assert!(receiver.is_closed() && weak.upgrade().is_none());
        sending.await.unwrap();
        dropping.await.unwrap();
    });
}

#[test]
fn a_receiver_gets_what_is_sent_after_it_was_made() {
    let results = Results::new();
    holds(async || {
        let (sender, receiver) = broadcast::channel(2);
        let other = sender.clone();
        let sending = spawn(async move {
            yield_now().await;
            other.send(1).unwrap();
        });
        yield_now().await;
        let mut late = sender.subscribe();
        sending.await.unwrap();
        assert_eq!((receiver.len(), sender.receiver_count()), (1, 2));
        results.add(late.try_recv().ok());
    });
    results.are([None, Some(1)]);
}

#[test]
fn a_sender_waits_until_all_receivers_are_gone() {
    holds(async || {
        let (sender, receiver) = broadcast::channel::<u8>(1);
        let receivers = [receiver, sender.subscribe()].map(|receiver| {
            spawn(async move {
                yield_now().await;
                drop(receiver);
            })
        });
        sender.closed().await;
        assert_eq!(sender.receiver_count(), 0);
        assert!(sender.send(1).is_err());
        // A new receiver opens it again.
        let mut receiver = sender.subscribe();
        assert_eq!(sender.send(2).unwrap(), 1);
        assert_eq!(receiver.try_recv(), Ok(2));
        for task in receivers {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_cancelled_recv_loses_no_message() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = broadcast::channel(2);
        let (stop, stopped) = oneshot::channel();
        let sending = spawn(async move {
            yield_now().await;
            sender.send(1).unwrap();
            yield_now().await;
            let _ = stop.send(());
            sender.send(2).unwrap();
            sender
        });
        let first = match select(stopped, pin!(receiver.recv())).await {
            Either::Left(_) => None,
            Either::Right((got, _)) => got.ok(),
        };
        let mut got: Vec<u8> = first.into_iter().collect();
        while got.len() < 2 {
            got.push(receiver.recv().await.unwrap());
        }
        assert_eq!(got, [1, 2]);
        drop(sending.await.unwrap());
        results.add(first.is_some());
    });
    results.are([false, true]);
}

#[test]
fn messages_that_a_receiver_lacks_are_counted() {
    holds(async || {
        let (sender, mut first) = broadcast::channel(4);
        let mut second = sender.subscribe();
        sender.send(1).unwrap();
        let reading = spawn(async move {
            second.recv().await.unwrap();
            second
        });
        assert_eq!(first.recv().await, Ok(1));
        let second = reading.await.unwrap();
        assert!(sender.is_empty() && first.is_empty() && second.same_channel(&first));
        assert_eq!((sender.len(), sender.strong_count(), first.sender_weak_count()), (0, 1, 0));
    });
}
