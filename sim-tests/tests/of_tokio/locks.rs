//! tokio's semaphores, locks and notifications: bugs of their use, each with its fixed twin.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};

use futures::future::{Either, select};
use sim::Ordering::SeqCst;
use sim::tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore,
    SetOnce, TryAcquireError, oneshot,
};
use sim::{Atomic, Runner, spawn};

use crate::{Results, fails_with, holds};

/// Polls a future once and drops it.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_mutex_is_for_one_at_a_time_and_given_in_order() {
    holds(async || {
        let (mutex, inside) = (Arc::new(Mutex::new(0)), Arc::new(Atomic::new(0)));
        sim::map_concurrently(0..3, |_| {
            let (mutex, inside) = (mutex.clone(), inside.clone());
            async move {
                let mut guard = mutex.lock().await;
                assert_eq!(inside.fetch_add(1, SeqCst).await, 0);
                *guard += 1;
                inside.fetch_sub(1, SeqCst).await;
            }
        })
        .await;
        assert_eq!(*mutex.lock().await, 3);
    });
}

#[test]
fn two_locks_in_two_orders_block_each_other_and_the_screen_tells_who_holds_which() {
    let body = async |orders: [bool; 2]| {
        let locks = [Arc::new(Mutex::new(())), Arc::new(Mutex::new(()))];
        sim::map_concurrently(0..2, |n| {
            let mut locks = locks.clone();
            if orders[n] {
                locks.reverse();
            }
            async move {
                let _first = locks[0].lock().await;
                let _second = locks[1].lock().await;
            }
        })
        .await;
    };
    let parts =
        ["deadlock, 0.0 and 0.1 wait for each other", "waits to lock mutex#1", "held by 0.1"];
    fails_with(&parts, async || body([false, true]).await);
    holds(async || body([true, true]).await);
}

#[test]
fn a_lock_of_one_writer_and_five_readers_takes_32_runs() {
    let report = holds(async || {
        let lock = Arc::new(RwLock::new(0));
        sim::map_concurrently(0..6, |n| {
            let lock = lock.clone();
            async move {
                match n {
                    0 => *lock.write().await += 1,
                    _ => assert!(*lock.read().await < 2),
                }
            }
        })
        .await;
    });
    assert!(!sim::SIMULATED || report.runs == 32, "{}", report.runs);
}

#[test]
fn a_lock_read_twice_with_a_writer_in_between_blocks() {
    let body = async |twice: bool| {
        let lock = Arc::new(RwLock::new(0));
        let writer = spawn({
            let lock = lock.clone();
            async move { *lock.write().await += 1 }
        });
        let first = lock.read().await;
        if twice {
            drop(lock.read().await);
        }
        drop(first);
        writer.await.unwrap();
    };
    fails_with(&["deadlock"], async || body(true).await);
    holds(async || body(false).await);
}

#[test]
fn a_downgrade_lets_readers_in_and_no_writer() {
    holds(async || {
        let lock = Arc::new(RwLock::new(0));
        let others = [0, 1].map(|n| {
            let lock = lock.clone();
            spawn(async move {
                match n {
                    0 => *lock.write().await = 7,
                    _ => drop(lock.read().await),
                }
            })
        });
        let mut guard = lock.clone().write_owned().await;
        *guard = 1;
        let guard = guard.downgrade();
        sim::task::yield_now().await;
        assert_eq!(*guard, 1);
        drop(guard);
        for other in others {
            other.await.unwrap();
        }
    });
}

#[test]
fn all_ways_to_downgrade_are_explored_alike() {
    let explored = [0, 1, 2].map(|way| {
        let seen = Results::new();
        let report = holds(async || {
            let (lock, held) = (Arc::new(RwLock::new((0, 0))), Arc::new(Atomic::new(true)));
            let reader = spawn({
                let (lock, held) = (lock.clone(), held.clone());
                async move {
                    let value = lock.read().await.1;
                    (value, held.load(SeqCst).await)
                }
            });
            let mut guard = lock.write().await;
            guard.1 = 1;
            let part = match way {
                0 => RwLockReadGuard::map(guard.downgrade(), |pair| &pair.1),
                1 => RwLockWriteGuard::downgrade_map(guard, |pair| &pair.1),
                _ => RwLockWriteGuard::try_downgrade_map(guard, |pair| Some(&pair.1)).unwrap(),
            };
            sim::task::yield_now().await;
            assert_eq!(*part, 1);
            held.store(false, SeqCst).await;
            drop(part);
            seen.add(reader.await.unwrap());
        });
        // The reader comes first, or is let in by the downgrade, or comes after the guard was dropped.
        seen.are([(0, true), (0, false), (1, true), (1, false)]);
        report.runs
    });
    assert!(explored.iter().all(|runs| *runs == explored[0]), "{explored:?}");
}

#[test]
fn a_part_that_is_not_there_keeps_readers_out() {
    let body = async |has_part: bool| {
        let lock = Arc::new(RwLock::new(0));
        let guard = RwLockWriteGuard::try_downgrade_map(lock.write().await, |value| {
            has_part.then_some(value)
        });
        drop(lock.read().await);
        drop(guard);
    };
    fails_with(&["waits to read rwlock"], async || body(false).await);
    holds(async || body(true).await);
}

#[test]
fn a_large_request_comes_before_a_later_small_one() {
    // A holds one of two permits. B requests both permits, and then C requests one. C waits behind B, and A waits for
    // C.
    let body = async |order: [u32; 2]| {
        let (permits, done) = (Arc::new(Semaphore::new(2)), Arc::new(Notify::new()));
        let held = permits.acquire().await.unwrap();
        let tasks = order.map(|n| {
            let (permits, done) = (permits.clone(), done.clone());
            spawn(async move {
                drop(permits.acquire_many(n).await.unwrap());
                if n == 1 {
                    done.notify_one();
                }
            })
        });
        done.notified().await;
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
    };
    fails_with(&["waits to acquire semaphore"], async || body([2, 1]).await);
    holds(async || body([1, 1]).await);
}

#[test]
fn a_permit_that_is_forgotten_before_an_await_is_lost_if_that_is_dropped() {
    let body = async |early: bool| {
        let (permits, word) = (Arc::new(Semaphore::new(1)), Atomic::new(0));
        let work = async {
            let permit = permits.acquire().await.unwrap();
            if early {
                permit.forget();
                word.fetch_add(1, SeqCst).await;
                permits.add_permits(1);
            } else {
                word.fetch_add(1, SeqCst).await;
                drop(permit);
            }
        };
        let stop = sim::task::yield_now();
        drop(select(Box::pin(work), Box::pin(stop)).await);
        drop(permits.acquire().await);
    };
    fails_with(&["deadlock"], async || body(true).await);
    holds(async || body(false).await);
}

#[test]
fn a_dropped_wait_for_a_permit_leaves_none_behind() {
    holds(async || {
        let permits = Arc::new(Semaphore::new(1));
        let other = spawn({
            let permits = permits.clone();
            async move { drop(permits.acquire_many(1).await.unwrap()) }
        });
        let wait = Box::pin(permits.acquire_many(1));
        match select(wait, Box::pin(sim::task::yield_now())).await {
            Either::Left((permit, _)) => drop(permit),
            Either::Right(((), wait)) => drop(wait),
        }
        other.await.unwrap();
        assert_eq!(permits.available_permits(), 1);
    });
}

#[test]
fn a_semaphore_that_is_closed_wakes_its_queue_with_an_error() {
    holds(async || {
        let permits = Arc::new(Semaphore::new(0));
        let waits = spawn({
            let permits = permits.clone();
            async move { permits.acquire().await.is_err() }
        });
        permits.close();
        assert!(waits.await.unwrap());
        assert_eq!(permits.try_acquire().unwrap_err(), TryAcquireError::Closed);
        assert!(permits.is_closed());
    });
}

/// A task that looks at a flag, and waits if it is not set; another task sets it and notifies all.
async fn look_and_wait(listens_first: bool) {
    let shared = Arc::new((Atomic::new(false), Notify::new()));
    let teller = spawn({
        let shared = shared.clone();
        async move {
            shared.0.store(true, SeqCst).await;
            shared.1.notify_waiters();
        }
    });
    if listens_first {
        let told = shared.1.notified();
        if !shared.0.load(SeqCst).await {
            told.await;
        }
    } else if !shared.0.load(SeqCst).await {
        shared.1.notified().await;
    }
    teller.await.unwrap();
}

#[test]
fn a_notification_of_all_is_missed_between_a_look_and_a_wait() {
    fails_with(&["waits to hear notify"], async || look_and_wait(false).await);
    holds(async || look_and_wait(true).await);
}

/// The run does not see the flag. The future exists before the task reads the flag, so the task misses nothing.
#[test]
fn a_notification_of_all_reaches_a_future_that_exists_before_a_look_at_plain_memory() {
    let looks = Results::new();
    holds(async || {
        let shared = Arc::new((AtomicBool::new(false), Notify::new(), Mutex::new(0)));
        let teller = spawn({
            let shared = shared.clone();
            async move {
                shared.0.store(true, SeqCst);
                shared.1.notify_waiters();
            }
        });
        // This operation comes before the future is created. This operation does not conflict with the notifying task.
        *shared.2.lock().await += 1;
        let told = shared.1.notified();
        let is_set = shared.0.load(SeqCst);
        if !is_set {
            told.await;
        }
        looks.add(is_set);
        teller.await.unwrap();
    });
    looks.are([false, true]);
    // The same holds in a loop with notifications that come before the flag is set.
    holds(async || {
        let shared = Arc::new((AtomicBool::new(false), Notify::new()));
        let teller = spawn({
            let shared = shared.clone();
            async move {
                for is_set in [false, false, true] {
                    shared.0.store(is_set, SeqCst);
                    shared.1.notify_waiters();
                    sim::task::yield_now().await;
                }
            }
        });
        loop {
            let told = shared.1.notified();
            if shared.0.load(SeqCst) {
                break;
            }
            told.await;
        }
        teller.await.unwrap();
    });
}

#[test]
fn the_notification_of_a_dropped_listener_goes_to_the_next() {
    holds(async || {
        let notify = Arc::new(Notify::new());
        let other = spawn({
            let notify = notify.clone();
            async move { notify.notified().await }
        });
        let teller = spawn({
            let notify = notify.clone();
            async move { notify.notify_one() }
        });
        // Registered, perhaps notified, and dropped. If the future took the notification, the task notifies the next
        // waiter.
        let told = select(Box::pin(notify.notified()), Box::pin(sim::task::yield_now())).await;
        if let Either::Left(_) = told {
            notify.notify_one();
        }
        drop(told);
        other.await.unwrap();
        teller.await.unwrap();
    });
}

#[test]
fn a_listener_that_is_enabled_is_told_before_its_first_poll() {
    holds(async || {
        let notify = Arc::new(Notify::new());
        let mut told = std::pin::pin!(notify.notified());
        assert!(!told.as_mut().enable());
        notify.notify_one();
        told.as_mut().await;
        // The waiter may be polled again after it took the only notification.
        told.await;
        assert!(poll_once(notify.notified()).is_pending());
    });
}

#[test]
fn a_barrier_counts_a_task_that_stops_waiting() {
    // One of three tasks stops waiting. The other two then continue, and the fourth task waits forever.
    let body = async |stays: bool| {
        let barrier = Arc::new(Barrier::new(3));
        let others = [0, 1].map(|_| {
            let barrier = barrier.clone();
            spawn(async move { barrier.wait().await.is_leader() })
        });
        if !stays {
            let wait = Box::pin(barrier.wait());
            drop(select(wait, Box::pin(sim::task::yield_now())).await);
        }
        barrier.wait().await;
        for other in others {
            other.await.unwrap();
        }
    };
    fails_with(&["waits to pass barrier"], async || body(false).await);
    holds(async || body(true).await);
}

#[test]
fn an_initialisation_that_is_dropped_is_begun_again_and_done_once() {
    holds(async || {
        let (cell, begun) = (Arc::new(OnceCell::new()), Arc::new(Atomic::new(0)));
        let init = |cell: Arc<OnceCell<u64>>, begun: Arc<Atomic<u64>>| async move {
            let value = cell.get_or_init(|| async { begun.fetch_add(1, SeqCst).await + 1 }).await;
            *value
        };
        let other = spawn(init(cell.clone(), begun.clone()));
        let dropped = Box::pin(init(cell.clone(), begun.clone()));
        drop(select(dropped, Box::pin(sim::task::yield_now())).await);
        let value = other.await.unwrap();
        assert_eq!(cell.get(), Some(&value));
        assert_eq!(init(cell.clone(), begun.clone()).await, value);
    });
}

#[test]
fn a_value_wakes_the_tasks_that_wait_for_it() {
    holds(async || {
        let once = Arc::new(SetOnce::new());
        let waits = spawn({
            let once = once.clone();
            async move { *once.wait().await }
        });
        once.set(7).unwrap();
        assert!(once.set(8).is_err());
        assert_eq!(waits.await.unwrap(), 7);
    });
}

#[test]
fn a_sender_that_is_dropped_ends_the_wait_for_its_value() {
    holds(async || {
        let (sender, receiver) = oneshot::channel::<u64>();
        let other = spawn(async move { drop(sender) });
        assert!(receiver.await.is_err());
        other.await.unwrap();
        let (mut sender, receiver) = oneshot::channel::<u64>();
        let other = spawn(async move { drop(receiver) });
        sender.closed().await;
        assert_eq!(sender.send(1), Err(1));
        other.await.unwrap();
    });
}

#[test]
fn an_operation_that_blocks_the_thread_fails_the_run_with_the_remedy() {
    let words =
        "blocking_lock blocks its thread, and all tasks of a run are on one: write lock().await";
    fails_with(&[words], async || {
        let mutex = Mutex::new(0);
        *mutex.blocking_lock() += 1;
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_lock_of_an_earlier_run_is_refused_with_the_remedy() {
    static LOCK: Mutex<u64> = Mutex::const_new(0);
    let body = async || *LOCK.lock().await += 1;
    Runner::new().hermetic().run_seed(0, body);
    let run = Runner::new().hermetic().run_seed(1, body);
    let failure = format!("{:?}", run.outcome);
    assert!(failure.contains("create it inside the test body"), "{failure}");
}

#[cfg_attr(feature = "sim", test)]
fn seeds_find_a_lost_notification_and_pass_without_it() {
    let runner = || Runner::new().hermetic().seeds(0..1000);
    let report = runner().run(async || look_and_wait(false).await);
    assert!(!report.passed(), "{report:?}");
    let report = runner().run(async || look_and_wait(true).await);
    assert!(report.passed(), "{report:?}");
}

#[cfg_attr(feature = "sim", test)]
fn a_failed_acquisition_gives_back_what_it_had_got() {
    let (looked, mut seen) = (std::sync::Mutex::new(None), std::collections::BTreeSet::new());
    let body = async || {
        *looked.lock().unwrap() = None;
        let semaphore = Arc::new(Semaphore::new(1));
        let acquiring = sim::spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire_many(2).await.is_err() }
        });
        sim::task::yield_now().await;
        sim::task::yield_now().await;
        if semaphore.available_permits() == 0 {
            // The request has one permit, and waits for another.
            semaphore.close();
            let looking = sim::spawn({
                let semaphore = semaphore.clone();
                async move { semaphore.available_permits() }
            });
            let seen = looking.await.unwrap();
            *looked.lock().unwrap() = Some(seen);
        } else {
            semaphore.close();
        }
        assert!(acquiring.await.unwrap());
    };
    // Only runs of the search count here: the runs sampled to check the search would show both values, too.
    let visit = |_| seen.extend(looked.lock().unwrap().take());
    let report = Runner::new().hermetic().strategy("exhaustive").each_run(body, visit);
    assert!(report.searched.unwrap().is_proof());
    assert_eq!(seen, [0, 1].into_iter().collect());
}
