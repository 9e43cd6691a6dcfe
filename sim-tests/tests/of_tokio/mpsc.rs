//! The channel with a bound.

use std::pin::pin;
use std::task::Poll;

use futures::future::{Either, poll_fn, select};
use sim::spawn;
use sim::task::yield_now;
use sim::time::Duration;
use sim::tokio::sync::mpsc::error::{SendTimeoutError, TryRecvError, TrySendError};
use sim::tokio::sync::{mpsc, oneshot};

use crate::{Results, holds};

#[test]
fn messages_of_a_sender_keep_their_order() {
    let orders = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        for first in [10, 20] {
            let sender = sender.clone();
            spawn(async move {
                sender.send(first).await.unwrap();
                sender.send(first + 1).await.unwrap();
            })
            .detach();
        }
        drop(sender);
        let mut got = Vec::new();
        while let Some(message) = receiver.recv().await {
            got.push(message);
        }
        orders.add(got);
    });
    orders.are([
        vec![10, 11, 20, 21],
        vec![10, 20, 11, 21],
        vec![10, 20, 21, 11],
        vec![20, 10, 11, 21],
        vec![20, 10, 21, 11],
        vec![20, 21, 10, 11],
    ]);
}

#[test]
fn a_sender_waits_for_room() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(2);
        let sending = spawn(async move {
            for n in 0..4 {
                sender.send(n).await.unwrap();
            }
        });
        for n in 0..4 {
            assert!(receiver.len() <= 2);
            assert_eq!(receiver.recv().await, Some(n));
        }
        assert_eq!(receiver.recv().await, None);
        sending.await.unwrap();
    });
}

#[test]
fn room_is_given_in_the_order_in_which_it_is_asked_for() {
    let orders = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(2);
        let one = sender.try_reserve().unwrap();
        let big = {
            let sender = sender.clone();
            spawn(async move {
                let mut permits = sender.reserve_many(2).await.unwrap();
                permits.next().unwrap().send("big");
            })
        };
        let small = {
            let sender = sender.clone();
            spawn(async move { sender.send("small").await.unwrap() })
        };
        yield_now().await;
        // The first in the queue has all the room until it has enough.
        one.send("first");
        let mut got = Vec::new();
        for _ in 0..3 {
            got.push(receiver.recv().await.unwrap());
        }
        big.await.unwrap();
        small.await.unwrap();
        orders.add(got);
    });
    orders.are([
        vec!["first", "big", "small"],
        vec!["first", "small", "big"],
        vec!["small", "first", "big"],
    ]);
}

#[test]
fn a_closed_channel_lets_in_what_room_was_reserved_for() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(2);
        let (kept, dropped) = (sender.clone(), sender.clone());
        let reserved = spawn(async move {
            if let Ok(permit) = kept.reserve().await {
                yield_now().await;
                permit.send(1);
            }
        });
        let released = spawn(async move {
            if let Ok(permit) = dropped.reserve().await {
                yield_now().await;
                drop(permit);
            }
        });
        yield_now().await;
        receiver.close();
        assert!(matches!(sender.try_send(2), Err(TrySendError::Closed(2))));
        // The receiver waits for both permits, but not for the sender, which still exists.
        let got = receiver.recv().await;
        assert!(got.is_none() || receiver.recv().await.is_none());
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        reserved.await.unwrap();
        released.await.unwrap();
        results.add(got);
    });
    results.are([None, Some(1)]);
}

#[test]
fn try_recv_tells_a_channel_with_permits_from_an_ended_one() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let permit = sender.reserve_owned().await.unwrap();
        receiver.close();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        drop(permit.send(1));
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    });
}

#[test]
fn a_sender_that_waits_gets_its_message_back_from_a_dropped_receiver() {
    let results = Results::new();
    holds(async || {
        let (sender, receiver) = mpsc::channel(1);
        sender.send(1).await.unwrap();
        let sending = spawn(async move {
            let sent = sender.send(2).await;
            sender.closed().await;
            assert!(sender.is_closed());
            sent.map_err(|error| error.0)
        });
        yield_now().await;
        drop(receiver);
        results.add(sending.await.unwrap());
    });
    results.are([Err(2)]);
}

#[test]
fn the_receiver_finds_the_end_when_the_last_sender_is_dropped() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel::<u8>(1);
        let weak = sender.downgrade();
        for n in 0..2 {
            let sender = sender.clone();
            spawn(async move {
                yield_now().await;
                if n == 0 {
                    sender.send(n).await.unwrap();
                }
                drop(sender);
            })
            .detach();
        }
        drop(sender);
        assert_eq!(receiver.recv().await, Some(0));
        assert_eq!(receiver.recv().await, None);
        assert!(weak.upgrade().is_none());
        assert_eq!((receiver.sender_strong_count(), receiver.sender_weak_count()), (0, 1));
    });
}

#[test]
fn a_weak_sender_is_upgraded_before_the_end_or_never() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let weak = sender.downgrade();
        let upgrading = spawn(async move {
            yield_now().await;
            match weak.upgrade() {
                Some(sender) => sender.send(1).await.is_ok(),
                None => false,
            }
        });
        yield_now().await;
        drop(sender);
        let got = receiver.recv().await;
        results.add((upgrading.await.unwrap(), got));
    });
    results.are([(false, None), (true, Some(1))]);
}

#[test]
fn a_cancelled_send_loses_its_message_and_no_room() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(0).await.unwrap();
        let other = sender.clone();
        let sending = spawn(async move {
            let stop = async {
                yield_now().await;
                yield_now().await;
            };
            matches!(select(pin!(other.send(1)), pin!(stop)).await, Either::Left((Ok(()), _)))
        });
        assert_eq!(receiver.recv().await, Some(0));
        let is_sent = sending.await.unwrap();
        assert_eq!(receiver.try_recv().ok(), is_sent.then_some(1));
        assert_eq!(sender.capacity(), 1);
        results.add(is_sent);
    });
    results.are([false, true]);
}

#[test]
fn a_cancelled_reservation_gives_its_room_to_the_next() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(2);
        sender.send(0).await.unwrap();
        let (first, second) = (sender.clone(), sender.clone());
        let cancelled = spawn(async move {
            let stop = async {
                yield_now().await;
                yield_now().await;
            };
            // Gets a part of its room at once.
            let _ = select(pin!(first.reserve_many(2)), pin!(stop)).await;
        });
        let sending = spawn(async move { second.send(1).await.unwrap() });
        cancelled.await.unwrap();
        sending.await.unwrap();
        assert_eq!(receiver.recv().await, Some(0));
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(sender.capacity(), 2);
    });
}

#[test]
fn a_cancelled_recv_loses_no_message() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(2);
        let (stop, stopped) = oneshot::channel();
        let sending = spawn(async move {
            sender.send(1).await.unwrap();
            yield_now().await;
            let _ = stop.send(());
            sender.send(2).await.unwrap();
        });
        let first = match select(stopped, pin!(receiver.recv())).await {
            Either::Left(_) => None,
            Either::Right((got, _)) => got,
        };
        let mut got: Vec<u8> = first.into_iter().collect();
        while let Some(message) = receiver.recv().await {
            got.push(message);
        }
        assert_eq!(got, [1, 2]);
        sending.await.unwrap();
        results.add(first.is_some());
    });
    results.are([false, true]);
}

#[test]
fn many_messages_are_received_at_once() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(3);
        let sending = spawn(async move {
            sender.send(1).await.unwrap();
            sender.send(2).await.unwrap();
        });
        let (mut got, mut counts) = (Vec::new(), Vec::new());
        assert_eq!(receiver.recv_many(&mut got, 0).await, 0);
        loop {
            match receiver.recv_many(&mut got, 5).await {
                0 => break,
                count => counts.push(count),
            }
        }
        assert_eq!(got, [1, 2]);
        sending.await.unwrap();
        results.add(counts);
    });
    results.are([vec![1, 1], vec![2]]);
}

#[test]
fn a_poll_that_waits_finds_the_end_after_a_close() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel::<u8>(1);
        let mut polls = 0;
        let got = poll_fn(|cx| {
            let polled = receiver.poll_recv(cx);
            polls += 1;
            // The first poll of a run is its point.
            if polled.is_pending() && polls >= 2 {
                receiver.close();
                return receiver.poll_recv(cx);
            }
            if polled.is_pending() {
                cx.waker().wake_by_ref();
            }
            polled
        })
        .await;
        assert_eq!(got, None);
        drop(sender);
    });
}

#[test]
fn a_message_wakes_a_poll_that_waits() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let sending = spawn(async move { sender.send(7).await.unwrap() });
        let mut got = Vec::new();
        let count = poll_fn(|cx| match receiver.poll_recv_many(cx, &mut got, 2) {
            Poll::Ready(count) => Poll::Ready(count),
            Poll::Pending => Poll::Pending,
        })
        .await;
        assert_eq!((count, got), (1, vec![7]));
        sending.await.unwrap();
    });
}

#[test]
fn an_owned_permit_keeps_the_channel_open() {
    holds(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let permit = sender.reserve_owned().await.unwrap();
        let sending = spawn(async move {
            yield_now().await;
            let sender = permit.send(1);
            let permit = sender.reserve_owned().await.unwrap();
            drop(permit);
        });
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(receiver.recv().await, None);
        sending.await.unwrap();
    });
}

#[test]
fn more_room_than_there_can_be_is_refused() {
    holds(async || {
        let (sender, receiver) = mpsc::channel::<u8>(2);
        assert!(sender.reserve_many(3).await.is_err());
        assert!(matches!(sender.try_reserve_many(3), Err(TrySendError::Full(()))));
        assert_eq!((sender.max_capacity(), receiver.max_capacity()), (2, 2));
        let permits = sender.try_reserve_many(2).unwrap();
        assert_eq!((permits.len(), receiver.capacity()), (2, 0));
        let sender = match sender.clone().try_reserve_owned() {
            Err(TrySendError::Full(sender)) => sender,
            _ => panic!("there is room"),
        };
        drop(permits);
        assert_eq!(sender.capacity(), 2);
        assert!(sender.same_channel(&sender.clone()));
    });
}

/// Sends to a full channel with a time limit. The receiver makes room after the same time. Returns `true` if the
/// message was sent in time.
async fn sends_for_a_time() -> bool {
    let (sender, mut receiver) = mpsc::channel(1);
    let soon = Duration::from_millis(1);
    sender.send_timeout(1, soon).await.unwrap();
    let late = spawn(async move {
        sim::time::sleep(soon).await;
        let first = receiver.recv().await;
        (first, receiver)
    });
    let sent = sender.send_timeout(2, soon).await;
    let (first, mut receiver) = late.await.unwrap();
    assert_eq!(first, Some(1));
    match sent {
        Ok(()) => assert_eq!(receiver.recv().await, Some(2)),
        Err(error) => assert_eq!(error, SendTimeoutError::Timeout(2)),
    }
    // The room that the call had queued for is free again.
    assert_eq!(sender.capacity(), 1);
    drop(receiver);
    assert_eq!(sender.send_timeout(3, soon).await, Err(SendTimeoutError::Closed(3)));
    sent.is_ok()
}

// In the real build, the timers of tokio need its runtime.
#[cfg_attr(feature = "sim", test)]
fn a_send_gives_up_when_its_time_is_over() {
    let results = Results::new();
    holds(async || results.add(sends_for_a_time().await));
    results.are([false, true]);
}

#[test]
fn a_send_gives_up_when_its_time_is_over_on_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(sends_for_a_time());
}
