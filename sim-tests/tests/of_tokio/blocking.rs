//! Calls that may block, and tokio's cooperative budget of tasks.

use std::pin::pin;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::tokio::sync::{Semaphore, oneshot};
use sim::tokio::task::{self, JoinSet, coop};
use sim::{Atomic, spawn};

use crate::{Results, fails_with, holds};

#[test]
fn a_blocking_call_is_one_step_of_a_task() {
    let seen = Results::new();
    let report = holds(async || {
        let shared = Arc::new(std::sync::Mutex::new(Vec::new()));
        let push = |n| {
            let shared = shared.clone();
            move || {
                shared.lock().unwrap().push(n);
                n
            }
        };
        let calls = [task::spawn_blocking(push(1)), task::spawn_blocking(push(2))];
        for (n, call) in (1..).zip(calls) {
            assert_eq!(call.await.unwrap(), n);
        }
        let mut got = shared.lock().unwrap().clone();
        got.sort_unstable();
        seen.add(got);
    });
    seen.are([vec![1, 2]]);
    if sim::SIMULATED {
        // The steps share nothing that the search sees, so one run is enough.
        assert_eq!(report.runs, 1);
    }
}

#[test]
fn a_blocking_call_has_a_thread_of_its_own_outside_of_runs() {
    let (send, receive) = std::sync::mpsc::channel();
    sim::block_on(async {
        let receiving = task::spawn_blocking(move || {
            assert!(task::try_id().is_some());
            receive.recv().unwrap()
        });
        let sending = task::spawn_blocking(move || send.send(7).unwrap());
        sending.await.unwrap();
        assert_eq!(receiving.await.unwrap(), 7);
        let panics = task::spawn_blocking(|| std::panic::resume_unwind(Box::new(3)));
        let payload = panics.await.map(|()| 0).unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref::<i32>(), Some(&3));
    });
}

#[test]
#[should_panic(expected = "Cannot block the current thread from within a runtime")]
fn a_receiver_that_blocks_a_thread_of_a_runtime_panics_as_in_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (sender, receiver) = oneshot::channel();
        sender.send(7).unwrap();
        assert_eq!(receiver.blocking_recv(), Ok(7));
    });
}

#[test]
fn a_blocking_call_that_waits_for_another_task_fails_the_run() {
    fails_with(&["block_on inside a run"], async || {
        let lock = Arc::new(sim::Mutex::new(0));
        task::spawn_blocking(move || *sim::block_on(lock.lock())).await.unwrap();
    });
}

#[test]
fn sets_have_blocking_calls() {
    holds(async || {
        let mut set = JoinSet::new();
        for n in 1..=3 {
            set.spawn_blocking(move || task::block_in_place(|| n * n));
        }
        let mut sum = 0;
        while let Some(square) = set.join_next().await {
            sum += square.unwrap();
        }
        assert_eq!(sum, 14);
    });
}

/// A task that adds in two accesses, with a point of its budget between them.
async fn added(consumes: bool) -> u32 {
    let count = Arc::new(Atomic::new(0));
    let tasks = [(); 2].map(|()| {
        let count = count.clone();
        spawn(coop::unconstrained(async move {
            assert!(coop::has_budget_remaining());
            if consumes {
                coop::consume_budget().await;
            }
            count.fetch_add(1, SeqCst).await;
        }))
    });
    for task in tasks {
        task.await.unwrap();
    }
    count.load(SeqCst).await
}

#[test]
fn the_budget_is_a_point_that_touches_nothing() {
    let [without, with] =
        [false, true].map(|consumes| holds(async || assert_eq!(added(consumes).await, 2)));
    if sim::SIMULATED {
        assert_eq!(with.runs, without.runs);
        assert_eq!(with.steps, without.steps + 2 * with.runs);
    }
}

#[test]
fn outside_of_runs_the_budget_is_used_up_now_and_then() {
    use std::future::Future;
    use std::task::{Context, Waker};
    let waker = Waker::from(Arc::new(Nobody));
    let cx = &mut Context::from_waker(&waker);
    let pending = (0..1000)
        .filter(|_| Box::pin(coop::consume_budget()).as_mut().poll(cx).is_pending())
        .count();
    assert!((7..=8).contains(&pending), "{pending}");
}

#[test]
fn a_future_that_is_made_to_give_way_does_so_as_often_as_in_tokio() {
    use std::task::{Context, Poll, Waker};
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let tokios = runtime.block_on(async {
        let mut given_way = 0;
        for _ in 0..1000 {
            let mut ready = pin!(tokio::task::coop::cooperative(async {}));
            let now = std::future::poll_fn(|cx| Poll::Ready(ready.as_mut().poll(cx))).await;
            if now.is_pending() {
                given_way += 1;
                tokio::task::yield_now().await;
            }
        }
        given_way
    });
    let waker = Waker::from(Arc::new(Nobody));
    let cx = &mut Context::from_waker(&waker);
    let gives_way = |_: &i32| pin!(coop::cooperative(async {})).poll(cx).is_pending();
    let ours = (0..1000).filter(gives_way).count();
    assert!(ours.abs_diff(tokios) <= 1, "{ours}, tokio {tokios}");
}

#[test]
fn the_budget_is_put_back_without_progress() {
    use std::task::{Context, Poll, Waker};
    let waker = Waker::from(Arc::new(Nobody));
    let cx = &mut Context::from_waker(&waker);
    let mut pending = |progress: bool| {
        let gives_way = |_: &i32| match coop::poll_proceed(cx) {
            Poll::Pending => true,
            Poll::Ready(coop) => {
                if progress {
                    coop.made_progress();
                }
                false
            }
        };
        (0..1000).filter(gives_way).count()
    };
    assert!(pending(true) >= 7);
    assert!(pending(false) <= 1);
}

#[test]
fn in_a_run_a_budget_is_never_used_up() {
    let body = async |cooperative: bool| {
        let count = Arc::new(Atomic::new(0));
        sim::map_concurrently(0..2, |_| {
            let count = count.clone();
            async move {
                let add = async { count.fetch_add(1, SeqCst).await };
                match cooperative {
                    true => coop::cooperative(add).await,
                    false => add.await,
                };
            }
        })
        .await;
        assert_eq!(count.load(SeqCst).await, 2);
    };
    let [without, with] = [false, true].map(|cooperative| holds(async || body(cooperative).await));
    assert!(!sim::SIMULATED || (with.runs, with.steps) == (without.runs, without.steps));
}

#[test]
fn permits_are_waited_for_by_threads_outside_of_runs() {
    let permits = Arc::new(Semaphore::new(0));
    let (one, two) = (permits.clone(), permits.clone());
    let waiting = std::thread::spawn(move || {
        let one = one.blocking_acquire().unwrap().num_permits();
        one + permits.blocking_acquire_many(2).unwrap().num_permits()
    });
    two.add_permits(2);
    assert_eq!(waiting.join().unwrap(), 3);
    let owned = two.clone().blocking_acquire_owned().unwrap();
    assert!(Arc::ptr_eq(owned.semaphore(), &two));
    assert_eq!(two.available_permits(), 1);
    drop(owned);
    drop(two.clone().blocking_acquire_many_owned(2).unwrap());
    assert_eq!(two.available_permits(), 2);
    two.close();
    assert!(two.blocking_acquire().is_err() && two.clone().blocking_acquire_owned().is_err());
}

#[test]
fn a_thread_that_would_wait_for_a_permit_fails_the_run() {
    fails_with(&["blocking_acquire blocks its thread", "acquire().await"], async || {
        drop(Semaphore::new(1).blocking_acquire());
    });
    fails_with(&["acquire_many_owned(n).await"], async || {
        drop(Arc::new(Semaphore::new(1)).blocking_acquire_many_owned(1));
    });
}

struct Nobody;

impl std::task::Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}
