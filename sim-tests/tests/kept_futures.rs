//! A task polls a future once and keeps it while the task waits for something else. The future could continue, but its
//! task does not poll it, so the task must not step again and again.

// The real build checks the types of tests that need simulated runs, and generates no code for them.
#![cfg_attr(not(feature = "sim"), allow(dead_code))]

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use sim::Ordering::SeqCst;
use sim::run::{Failure, Outcome};
use sim::{Atomic, Mutex, Runner, SIMULATED};

/// Polls the handle of a task, waits for a lock, and then awaits the handle. With `stuck`, the lock is never released.
async fn polls_and_locks(stuck: bool) {
    let lock = Arc::new(Mutex::new(()));
    let word = Arc::new(Atomic::new(0));
    let mut ends = sim::spawn(async {});
    let holder = sim::spawn({
        let (lock, word) = (lock.clone(), word.clone());
        async move {
            let _held = lock.lock().await;
            sim::spin_until(|| async { !stuck || word.load(SeqCst).await == 7 }).await;
            word.load(SeqCst).await;
        }
    });
    let poll = poll_fn(|cx| Poll::Ready(Pin::new(&mut ends).poll(cx).is_ready()));
    let polled = poll.await;
    drop(lock.lock().await);
    if !polled {
        ends.await.unwrap();
    }
    holder.await.unwrap();
}

/// Polls a load instead of the handle, waits for a lock, and then awaits the load.
async fn polls_a_load_and_locks(_: bool) {
    let lock = Arc::new(Mutex::new(()));
    let word = Atomic::new(0);
    let holder = sim::spawn({
        let lock = lock.clone();
        async move {
            let _held = lock.lock().await;
            sim::task::yield_now().await;
        }
    });
    let mut load = Box::pin(word.load(SeqCst));
    let _ = poll_fn(|cx| Poll::Ready(load.as_mut().poll(cx))).await;
    drop(lock.lock().await);
    load.await;
    holder.await.unwrap();
}

/// A waker that wakes no task but contains data, so the library cannot recognize it.
struct Nobody;

impl std::task::Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

#[cfg_attr(feature = "sim", test)]
fn a_poll_for_which_nobody_is_woken_is_no_point() {
    let report = Runner::new().hermetic().seeds(0..50).run(async || {
        /// Waits for the end of a task without joining it.
        async fn ends<T>(task: &sim::task::JoinHandle<T>) {
            while !task.is_finished() {
                sim::task::yield_now().await;
            }
        }
        // The table of the first is made for this crate, the table of the second for another crate.
        for waker in [Waker::noop(), futures::task::noop_waker_ref(), &futures::task::noop_waker()]
        {
            let cx = &mut Context::from_waker(waker);
            let mut task = sim::spawn(async { 7 });
            ends(&task).await;
            let Poll::Ready(result) = task.poll_unpin(cx) else { panic!("it has ended") };
            assert_eq!(result.unwrap(), 7);
            let mut waits = sim::spawn(std::future::pending::<()>());
            assert!(waits.poll_unpin(cx).is_pending());
            waits.detach();
            // The same must hold if the future is at a point because another task polled it in this step.
            let mut task = sim::spawn(async { 7 });
            ends(&task).await;
            poll_fn(|real| {
                assert!(task.poll_unpin(real).is_pending(), "a point");
                let Poll::Ready(result) = task.poll_unpin(cx) else { panic!("it has ended") };
                assert_eq!(result.unwrap(), 7);
                Poll::Ready(())
            })
            .await;
        }
        let waker = Waker::from(Arc::new(Nobody));
        let mut task = sim::spawn(async { 7 });
        ends(&task).await;
        assert!(task.poll_unpin(&mut Context::from_waker(&waker)).is_pending(), "a point");
        assert_eq!(task.await.unwrap(), 7);
    });
    assert!(report.passed(), "{report:?}");
}

/// The kinds of ends that the runs of a search have.
fn ends<F: Future<Output = ()>>(
    strategy: &str,
    stuck: bool,
    body: impl Fn(bool) -> F + Sync,
) -> BTreeSet<String> {
    let mut ends = BTreeSet::new();
    let runner = Runner::new().hermetic().strategy(strategy).seeds(0..2_000).max_steps(200);
    runner.each_run(
        async || body(stuck).await,
        |run| {
            ends.insert(match run.outcome {
                Outcome::Passed => "passed".to_owned(),
                Outcome::Failed(Failure::Deadlock { .. }) => "deadlock".to_owned(),
                Outcome::Failed(failure) => format!("{failure:?}"),
            });
        },
    );
    ends
}

#[test]
fn a_task_that_waits_beside_a_handle_passes() {
    for strategy in ["exhaustive", "preemptions"] {
        if SIMULATED {
            assert_eq!(
                ends(strategy, false, polls_and_locks),
                BTreeSet::from(["passed".to_owned()]),
                "{strategy}"
            );
        }
    }
}

#[test]
fn a_task_that_waits_beside_a_handle_for_ever_is_a_deadlock() {
    for strategy in ["exhaustive", "preemptions"] {
        if SIMULATED {
            let ends = ends(strategy, true, polls_and_locks);
            // The task may also get the lock before the other task, which never releases it.
            assert_eq!(ends, BTreeSet::from(["deadlock".to_owned()]), "{strategy}");
        }
    }
}

#[test]
fn a_task_that_waits_beside_a_load_passes() {
    for strategy in ["exhaustive", "preemptions"] {
        if SIMULATED {
            let ends = ends(strategy, false, polls_a_load_and_locks);
            assert_eq!(ends, BTreeSet::from(["passed".to_owned()]), "{strategy}");
        }
    }
}
