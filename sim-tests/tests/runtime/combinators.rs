//! Points and locks inside combinators that poll several futures, wrap wakers or drop losers.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::future::{BoxFuture, Fuse, FutureExt, select};
use futures::stream::{FuturesUnordered, StreamExt};
use futures::{channel, join, pin_mut, select, select_biased};
use sim::Ordering::SeqCst;
use sim::run::{Failure, Outcome};
use sim::{Atomic, Cell, Mutex, Runner, SIMULATED};
use sim_tests::seeds::{finding, passes};

#[test]
fn the_branches_of_a_join_all_get_their_turn() {
    passes("join", async || {
        let (a, b) = (Atomic::new(1u8), Atomic::new(2u8));
        let twice = async {
            a.store(a.load(SeqCst).await + 10, SeqCst).await;
        };
        let (left, (), right) = join!(a.swap(3, SeqCst), twice, b.fetch_add(1, SeqCst));
        assert!(left == 1 || left == 11);
        assert_eq!(right, 2);
    });
}

#[test]
fn futures_unordered_drives_points_to_their_end() {
    passes("unordered", async || {
        let sum = Arc::new(Atomic::new(0u32));
        let mut all: FuturesUnordered<_> = (1..=5u32)
            .map(|n| {
                let sum = sum.clone();
                async move {
                    sim::task::yield_now().await;
                    sum.fetch_add(n, SeqCst).await;
                    sum.load(SeqCst).await
                }
            })
            .collect();
        while all.next().await.is_some() {}
        assert_eq!(sum.load(SeqCst).await, 15);
    });
}

#[test]
fn a_point_announced_before_its_future_went_into_a_set_wakes_the_set() {
    passes("unordered_late", async || {
        let count = Atomic::new(0u8);
        count.store(1, SeqCst).await;
        let mut add = Box::pin(count.fetch_add(1, SeqCst));
        assert_eq!(futures::poll!(&mut add).is_pending(), SIMULATED);
        if SIMULATED {
            let mut all: FuturesUnordered<_> = [add].into_iter().collect();
            assert_eq!(all.next().await, Some(1));
        }
        assert_eq!(count.load(SeqCst).await, 2);
    });
}

#[test]
fn branches_of_futures_unordered_wait_for_different_locks() {
    passes("unordered_locks", async || {
        let locks = Arc::new([Mutex::new(0u8), Mutex::new(0), Mutex::new(0)]);
        let (held, releases) = (locks.clone(), Arc::new(Atomic::new(0u8)));
        let holder = sim::spawn({
            let releases = releases.clone();
            async move {
                let (a, b) = (held[0].lock().await, held[1].lock().await);
                releases.fetch_add(1, SeqCst).await;
                drop(b);
                sim::task::yield_now().await;
                drop(a);
            }
        });
        let mut all: FuturesUnordered<_> = (0..6)
            .map(|n| {
                let locks = locks.clone();
                async move {
                    *locks[n % 3].lock().await += 1;
                }
            })
            .collect();
        while all.next().await.is_some() {}
        holder.await.unwrap();
        for lock in &*locks {
            assert_eq!(*lock.lock().await, 2);
        }
    });
}

#[test]
fn a_loser_of_select_leaves_no_announcement_behind() {
    passes("select", async || {
        let (slow, quick) = (Atomic::new(0u8), Atomic::new(0u8));
        {
            let long = async {
                sim::task::yield_now().await;
                slow.store(1, SeqCst).await;
                sim::task::yield_now().await;
                slow.store(2, SeqCst).await;
            }
            .fuse();
            let short = quick.store(1, SeqCst).fuse();
            pin_mut!(long, short);
            select_biased! {
                () = short => {}
                () = long => unreachable!("it takes more steps"),
            }
        }
        assert!(slow.load(SeqCst).await < 2);
        assert_eq!(quick.load(SeqCst).await, 1);
    });
}

#[test]
fn a_lock_dropped_in_a_select_is_free_for_the_next() {
    passes("select_lock", async || {
        let lock = Arc::new(Mutex::new(0u8));
        let (other, atomic) = (lock.clone(), Atomic::new(0u8));
        let task = sim::spawn(async move {
            let mut guard = other.lock().await;
            sim::task::yield_now().await;
            *guard += 1;
        });
        match select(lock.lock(), std::pin::pin!(atomic.load(SeqCst))).await {
            futures::future::Either::Left((guard, _)) => drop(guard),
            futures::future::Either::Right((_, waiting)) => drop(waiting),
        }
        *lock.lock().await += 1;
        task.await.unwrap();
        assert_eq!(*lock.lock().await, 2);
    });
}

#[cfg_attr(feature = "sim", test)]
fn select_without_bias_ends_though_its_order_is_random() {
    // The macro draws the branch that it polls first, outside the decisions of the run. The run may
    // report this as nondeterminism, and it must do no other harm.
    let report = sim_tests::seeds::explore("select_random", async || {
        let (a, b) = (Atomic::new(0u8), Atomic::new(0u8));
        let (left, right) = (a.swap(1, SeqCst).fuse(), b.swap(1, SeqCst).fuse());
        pin_mut!(left, right);
        select! { _ = left => {}, _ = right => {} }
    });
    if let Some(found) = report.finding {
        let failure = sim_tests::seeds::failure(&found.run);
        assert!(matches!(failure, Failure::NonDeterminism { .. }), "{failure:?}");
    }
}

#[test]
fn a_shared_future_is_driven_by_whoever_is_left() {
    passes("shared", async || {
        let value = Arc::new(Atomic::new(7u8));
        let inner: BoxFuture<'static, u8> = async move {
            sim::task::yield_now().await;
            value.load(SeqCst).await
        }
        .boxed();
        let shared = inner.shared();
        let mut tasks = Vec::new();
        for patience in 0..3u8 {
            let shared = shared.clone();
            tasks.push(sim::spawn(async move {
                let mut limit = Box::pin(async move {
                    for _ in 0..patience {
                        sim::task::yield_now().await;
                    }
                });
                match select(&mut limit, shared).await {
                    futures::future::Either::Left(_) => None,
                    futures::future::Either::Right((value, _)) => Some(value),
                }
            }));
        }
        assert_eq!(shared.await, 7);
        for task in tasks {
            assert!(task.await.unwrap().is_none_or(|value| value == 7));
        }
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_shared_future_outlives_the_task_that_polled_it_first() {
    passes("shared_first_ends", async || {
        let shared = async { sim::task::yield_now().await }.boxed().shared();
        let first = shared.clone();
        let gone = sim::spawn(async move {
            // Polled once, so that the point is announced for this task; then this task ends.
            let mut first = std::pin::pin!(first);
            std::future::poll_fn(|cx| Poll::Ready(first.as_mut().poll(cx).is_pending())).await;
        });
        let second = sim::spawn(shared);
        gone.await.unwrap();
        second.await.unwrap();
    });
}

#[test]
fn a_shared_future_outlives_an_aborted_task() {
    passes("shared_aborted", async || {
        let lock = Arc::new(Mutex::new(0u8));
        let guard = lock.lock().await;
        let waits = lock.clone();
        let shared = async move { *waits.lock().await += 1 }.boxed().shared();
        let first = sim::spawn(shared.clone());
        let second = sim::spawn(shared);
        sim::task::yield_now().await;
        first.abort();
        let _ = first.await;
        drop(guard);
        second.await.unwrap();
        assert_eq!(*lock.lock().await, 1);
    });
}

#[test]
fn a_future_announced_by_one_task_is_done_by_another() {
    passes("sent", async || {
        let value = Arc::new(Atomic::new(0u8));
        let cell = value.clone();
        let (send, receive) = channel::oneshot::channel::<BoxFuture<'static, u8>>();
        let first = sim::spawn(async move {
            let mut future = async move { cell.fetch_add(1, SeqCst).await }.boxed();
            let waits = futures::poll!(&mut future).is_pending();
            assert_eq!(waits, SIMULATED);
            if waits {
                let _ = send.send(future);
            }
        });
        let second = sim::spawn(async move {
            match receive.await {
                Ok(future) => future.await,
                Err(_) => 0,
            }
        });
        first.await.unwrap();
        assert_eq!(second.await.unwrap(), 0);
        assert_eq!(value.load(SeqCst).await, 1);
    });
}

#[test]
fn an_operation_dropped_before_its_turn_never_happens() {
    let report = passes("dropped", async || {
        let value = Atomic::new(0u8);
        let mut store = Box::pin(value.store(1, SeqCst));
        let pending = futures::poll!(&mut store).is_pending();
        drop(store);
        sim::task::yield_now().await;
        assert_eq!(value.load(SeqCst).await, u8::from(!pending));
    });
    assert!(report.warnings.is_empty());
}

#[test]
fn a_point_polled_twice_in_a_step_waits_for_a_choice() {
    passes("polled_twice", async || {
        let (lock, value) = (Mutex::new(0u8), Atomic::new(0u8));
        let task = sim::spawn(async {});
        {
            let (mut wait, mut add) = (lock.lock().boxed(), value.fetch_add(1, SeqCst).boxed());
            let mut join = task.boxed();
            if SIMULATED {
                for _ in 0..3 {
                    assert!(futures::poll!(&mut wait).is_pending());
                    assert!(futures::poll!(&mut add).is_pending());
                    assert!(futures::poll!(&mut join).is_pending());
                }
            }
            *wait.await += 1;
            assert_eq!(add.await, 0);
            join.await.unwrap();
        }
        assert_eq!((*lock.lock().await, value.load(SeqCst).await), (1, 1));
    });
}

#[test]
fn a_future_of_another_run_has_no_turn_in_this_one() {
    static VALUE: Atomic<u8> = Atomic::<u8>::const_new(7);
    if !SIMULATED {
        return;
    }
    let kept = std::sync::Mutex::new(None);
    // Each run is a separate call, so the test sees each run once.
    let runner = Runner::new().hermetic().strategy("random");
    let run = runner.run_seed(0, async || {
        let mut add = VALUE.fetch_add(1, SeqCst).boxed();
        assert!(futures::poll!(&mut add).is_pending());
        *kept.lock().unwrap() = Some(add);
    });
    assert_eq!(run.outcome, Outcome::Passed);
    let run = runner.run_seed(0, async || {
        let add = kept.lock().unwrap().take();
        let mut add = add.expect("the first run left it");
        // The load is announced in the first step, because the addition was announced in that step, too.
        let mut load = VALUE.load(SeqCst).boxed();
        let mut polls = 0;
        let loaded = std::future::poll_fn(|cx| {
            polls += 1;
            assert!(polls == 1 || add.poll_unpin(cx).is_pending());
            load.poll_unpin(cx)
        });
        assert_eq!((loaded.await, add.await, VALUE.load(SeqCst).await), (7, 7, 8));
    });
    assert_eq!(run.outcome, Outcome::Passed);
}

#[test]
fn a_fused_point_is_done_once() {
    passes("fuse", async || {
        let value = Atomic::new(0u8);
        let add = value.fetch_add(1, SeqCst).fuse();
        pin_mut!(add);
        (&mut add).await;
        assert!(futures::poll!(&mut add).is_pending());
        assert_eq!(value.load(SeqCst).await, 1);
        let nothing: Fuse<std::future::Ready<()>> = Fuse::terminated();
        pin_mut!(nothing);
        assert!(futures::poll!(nothing).is_pending());
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_cell_polled_after_it_was_ready_panics_and_announces_nothing() {
    let found = finding("cell_again", async || {
        let cell = Cell::new(1u8);
        let mut set = cell.set(2).boxed();
        (&mut set).await;
        assert!(AssertUnwindSafe(set).catch_unwind().await.is_err());
        assert_eq!(cell.get().await, 2);
        // If the operation were still announced, the task would step forever.
        std::future::pending::<()>().await;
    });
    let Outcome::Failed(failure) = &found.run.outcome else { panic!("{found:?}") };
    assert!(matches!(failure, Failure::Deadlock { .. }), "{failure:?}");
}

#[test]
fn a_future_polled_by_a_destructor_when_the_run_is_over_has_no_turn() {
    type Kept = Arc<std::sync::Mutex<BoxFuture<'static, u8>>>;

    /// Polls the future when it is dropped.
    struct Last(Kept);

    impl Drop for Last {
        fn drop(&mut self) {
            let mut context = Context::from_waker(Waker::noop());
            let _ = self.0.lock().unwrap().poll_unpin(&mut context);
        }
    }

    if !SIMULATED {
        return;
    }
    let run = Runner::new().hermetic().strategy("random").run_seed(0, async || {
        let value = Atomic::new(0u8);
        let future = async move { value.fetch_add(1, SeqCst).await }.boxed();
        let kept: Kept = Arc::new(std::sync::Mutex::new(future));
        let (last, lock) = (Last(kept.clone()), Mutex::new(()));
        // Dropped after the body, in the name of the task: the future is polled, then the lock freed.
        let _task = sim::spawn(async move {
            let _guard = lock.lock().await;
            let _last = last;
            std::future::pending::<()>().await;
        });
        for _ in 0..20 {
            sim::task::yield_now().await;
        }
        let mut polls = 0;
        std::future::poll_fn(|cx| {
            polls += 1;
            assert_eq!(polls, 1, "its turn has come, and it is not polled");
            kept.lock().unwrap().poll_unpin(cx).map(drop)
        })
        .await;
    });
    let Outcome::Failed(Failure::Panic { message, .. }) = &run.outcome else { panic!("{run:?}") };
    assert!(message.contains("its turn has come"), "{message}");
    let names = run.events.iter().map(|event| event.op.name).filter(|name| *name != "yield");
    let last: Vec<_> = names.collect();
    assert_eq!(last[last.len() - 2..], ["fetch_add", "unlock"], "{:?}", run.events);
}

#[test]
fn channels_of_another_crate_wake_simulated_tasks() {
    passes("channels", async || {
        let (mut send, mut receive) = channel::mpsc::channel::<u32>(1);
        let producer = sim::spawn(async move {
            use futures::SinkExt;
            for n in 0..4 {
                send.send(n).await.unwrap();
            }
        });
        let mut got = Vec::new();
        while let Some(n) = receive.next().await {
            got.push(n);
        }
        producer.await.unwrap();
        assert_eq!(got, [0, 1, 2, 3]);
    });
}

#[test]
fn handles_in_futures_unordered_give_their_results() {
    passes("handles", async || {
        let mut handles: FuturesUnordered<_> = (0..4u8)
            .map(|n| {
                sim::spawn(async move {
                    for _ in 0..n {
                        sim::task::yield_now().await;
                    }
                    n
                })
            })
            .collect();
        let mut sum = 0;
        while let Some(n) = handles.next().await {
            sum += n.unwrap();
        }
        assert_eq!(sum, 6);
    });
}

#[cfg_attr(feature = "sim", test)]
fn an_update_lost_between_branches_in_different_tasks_is_found() {
    let found = finding("lost_in_join", async || {
        let value = Arc::new(Atomic::new(0u8));
        let other = value.clone();
        let task = sim::spawn(async move {
            let increment = async { other.store(other.load(SeqCst).await + 1, SeqCst).await };
            join!(increment, sim::task::yield_now());
        });
        let mut all = FuturesUnordered::new();
        all.push(async { value.store(value.load(SeqCst).await + 1, SeqCst).await });
        while all.next().await.is_some() {}
        task.await.unwrap();
        assert_eq!(value.load(SeqCst).await, 2);
    });
    assert!(matches!(sim_tests::seeds::failure(&found.run), Failure::Panic { .. }));
}
