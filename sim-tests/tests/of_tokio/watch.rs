//! The channel that keeps the last value.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{Either, select};
use sim::run::Failure;
use sim::task::yield_now;
use sim::time::sleep;
use sim::tokio::sync::{oneshot, watch};
use sim::{Runner, spawn};

use crate::{Results, fails, holds};

#[test]
fn the_last_version_is_never_missed() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = watch::channel(0);
        let sending = spawn(async move {
            for n in 1..=3 {
                sender.send(n).unwrap();
                yield_now().await;
            }
        });
        let mut got = Vec::new();
        while receiver.changed().await.is_ok() {
            got.push(*receiver.borrow_and_update());
        }
        assert_eq!(got.last(), Some(&3));
        sending.await.unwrap();
        results.add(got);
    });
    results.are([vec![3], vec![1, 3], vec![2, 3], vec![1, 2, 3]]);
}

#[test]
fn a_version_is_seen_by_an_update_only() {
    holds(async || {
        let (sender, mut receiver) = watch::channel(0);
        sender.send(1).unwrap();
        assert!(receiver.borrow().has_changed() && receiver.has_changed().unwrap());
        assert!(receiver.borrow_and_update().has_changed());
        assert!(!receiver.has_changed().unwrap());
        receiver.mark_changed();
        receiver.changed().await.unwrap();
        sender.send(2).unwrap();
        receiver.mark_unchanged();
        assert!(!receiver.borrow_and_update().has_changed());
        let late = sender.subscribe();
        assert!(!late.has_changed().unwrap() && late.same_channel(&receiver));
        drop(sender);
        assert!(receiver.changed().await.is_err() && receiver.has_changed().is_err());
        assert!(receiver.is_closed());
    });
}

#[test]
fn a_value_that_is_waited_for_is_seen_unless_it_is_replaced() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = watch::channel(0);
        let sending = spawn(async move {
            for n in 1..=3 {
                yield_now().await;
                sender.send(n).unwrap();
            }
        });
        let got = receiver.wait_for(|n| n % 2 == 1).await.map(|n| *n).unwrap();
        sending.await.unwrap();
        // The closure accepts no value, and then no sender exists.
        assert!(receiver.wait_for(|_| false).await.is_err());
        results.add(got);
    });
    results.are([1, 3]);
}

#[test]
fn a_sender_waits_until_all_receivers_are_gone() {
    let results = Results::new();
    holds(async || {
        let (sender, receiver) = watch::channel(0);
        let second = receiver.clone();
        let dropping = [receiver, second].map(|receiver| {
            spawn(async move {
                yield_now().await;
                drop(receiver);
            })
        });
        yield_now().await;
        let sent = sender.send(1).is_ok();
        sender.closed().await;
        assert!(sender.is_closed() && sender.send(2).is_err());
        assert_eq!((sender.receiver_count(), sender.sender_count()), (0, 1));
        // Without receivers, `send` does not replace the value, but the other calls do.
        assert_eq!(sender.send_replace(3), i32::from(sent));
        for task in dropping {
            task.await.unwrap();
        }
        results.add(sent);
    });
    results.are([false, true]);
}

#[test]
fn the_last_of_two_senders_ends_the_wait() {
    holds(async || {
        let (sender, mut receiver) = watch::channel(0);
        let dropping = [sender.clone(), sender].map(|sender| {
            spawn(async move {
                yield_now().await;
                drop(sender);
            })
        });
        assert!(receiver.changed().await.is_err());
        for task in dropping {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_cancelled_wait_has_seen_no_version() {
    let results = Results::new();
    holds(async || {
        let (sender, mut receiver) = watch::channel(0);
        let (stop, stopped) = oneshot::channel();
        let sending = spawn(async move {
            yield_now().await;
            sender.send(1).unwrap();
            yield_now().await;
            let _ = stop.send(());
            sender
        });
        let is_cancelled = match select(stopped, pin!(receiver.changed())).await {
            Either::Left(_) => true,
            Either::Right((changed, _)) => {
                changed.unwrap();
                false
            }
        };
        assert_eq!(receiver.has_changed().unwrap(), is_cancelled);
        drop(sending.await.unwrap());
        results.add(is_cancelled);
    });
    results.are([false, true]);
}

#[test]
fn a_value_changed_in_place_is_seen_though_nobody_is_told() {
    holds(async || {
        let (sender, receiver) = watch::channel(0);
        assert!(!sender.send_if_modified(|value| {
            *value = 1;
            false
        }));
        assert!(!receiver.has_changed().unwrap());
        sender.send_modify(|value| *value += 1);
        assert_eq!(*sender.borrow(), 2);
        assert!(receiver.borrow().has_changed());
    });
}

/// Returns the failure of a call that would never return in tokio.
fn misuse(body: impl AsyncFn() + Sync) -> Option<String> {
    match fails(body)? {
        (Failure::Misuse { message, place }, _) => Some(format!("{message} {place}")),
        (failure, screen) => panic!("{failure:?}\n{screen}"),
    }
}

#[test]
fn to_send_beside_a_borrow_is_reported() {
    let failure = misuse(async || {
        let (sender, receiver) = watch::channel(0);
        let seen = receiver.borrow();
        sender.send(*seen + 1).unwrap();
    });
    if let Some(failure) = failure {
        assert!(failure.contains("send beside a `watch::Ref`"), "{failure}");
        assert!(failure.contains("after the `Ref` is dropped"), "{failure}");
        assert!(failure.contains("watch.rs"), "{failure}");
    }
    holds(async || {
        let (sender, receiver) = watch::channel(0);
        let seen = *receiver.borrow();
        sender.send(seen + 1).unwrap();
    });
}

/// Calls a function when this value is dropped.
struct AtDrop(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Drop for AtDrop {
    fn drop(&mut self) {
        if let Some(act) = self.0.take() {
            act();
        }
    }
}

#[test]
fn the_destructor_of_the_old_value_may_use_the_channel() {
    holds(async || {
        let (sender, receiver) = watch::channel(AtDrop(None));
        let is_new = Arc::new(Mutex::new(None));
        let first = AtDrop(Some(Box::new({
            let (receiver, is_new) = (receiver.clone(), is_new.clone());
            move || *is_new.lock().unwrap() = Some(receiver.borrow().0.is_none())
        })));
        assert!(sender.send(first).is_ok());
        assert!(sender.send(AtDrop(None)).is_ok());
        assert_eq!(*is_new.lock().unwrap(), Some(true));
        // Without receivers, the value is not locked, and the call returns the new value.
        drop(receiver);
        let seen = sender.borrow();
        assert!(sender.send(AtDrop(None)).is_err() && seen.0.is_none());
    });
}

#[test]
fn to_borrow_in_a_closure_that_changes_the_value_is_reported() {
    let failure = misuse(async || {
        let (sender, receiver) = watch::channel(0);
        sender.send_modify(|value| *value = *receiver.borrow() + 1);
    });
    if let Some(failure) = failure {
        assert!(failure.contains("borrow in a closure that changes the value"), "{failure}");
    }
}

/// An earlier version of the search did not see the change, and tried only one order.
#[test]
fn a_change_of_a_closure_that_panics_is_tried_before_and_after_a_read() {
    let results = Results::new();
    holds(async || {
        let (sender, receiver) = watch::channel(0);
        let changing = spawn(async move {
            let changed = catch_unwind(AssertUnwindSafe(|| {
                sender.send_modify(|value| {
                    *value = 1;
                    resume_unwind(Box::new("not told"));
                });
            }));
            assert!(changed.is_err());
            sender
        });
        yield_now().await;
        let seen = *receiver.borrow();
        drop(changing.await.unwrap());
        results.add(seen);
    });
    results.are([0, 1]);
}

#[test]
fn to_send_in_a_condition_is_reported() {
    let failure = misuse(async || {
        let (sender, mut receiver) = watch::channel(0);
        let _ = receiver.wait_for(|seen| sender.send(*seen).is_ok()).await;
    });
    if let Some(failure) = failure {
        assert!(failure.contains("send beside"), "{failure}");
    }
}

/// tokio wakes waiting receivers in an order that it draws itself, per thread of the system.
#[cfg_attr(feature = "sim", test)]
fn receivers_are_woken_in_the_same_order_in_each_run_of_a_seed() {
    let orders = Mutex::new(BTreeSet::new());
    for _ in 0..100 {
        let runner = Runner::new().hermetic().strategy("random").seeds(7..8);
        let report = runner.run(async || {
            let (sender, receiver) = watch::channel(0);
            let order = Arc::new(Mutex::new(Vec::new()));
            let tasks: Vec<_> = (0..4)
                .map(|number| {
                    let (mut receiver, order) = (receiver.clone(), order.clone());
                    spawn(async move {
                        receiver.changed().await.unwrap();
                        order.lock().unwrap().push(number);
                    })
                })
                .collect();
            sleep(Duration::from_millis(1)).await;
            sender.send(1).unwrap();
            for task in tasks {
                task.await.unwrap();
            }
            let order = order.lock().unwrap().clone();
            orders.lock().unwrap().insert(order);
        });
        assert!(report.passed(), "{report:?}");
    }
    assert_eq!(orders.into_inner().unwrap().len(), 1);
}
