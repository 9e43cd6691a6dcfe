//! Tasks that park.

use std::sync::Arc;
use std::time::Duration;

use sim::Ordering::SeqCst;
use sim::task::{Unparker, park, unparker};
use sim::{Atomic, Condvar, Mutex, Runner, spawn};

use super::{holds, panics, waits};

/// Waits for a flag, and enters a queue to be woken.
async fn lock_is_freed(looks_again: bool) {
    let (is_free, queue) = (Arc::new(Atomic::new(false)), Arc::new(Mutex::new(None::<Unparker>)));
    let (own, waiters) = (is_free.clone(), queue.clone());
    let waiting = spawn(async move {
        if own.load(SeqCst).await {
            return;
        }
        *waiters.lock().await = Some(unparker());
        if looks_again && own.load(SeqCst).await {
            return;
        }
        park().await;
    });
    is_free.store(true, SeqCst).await;
    if let Some(waiter) = queue.lock().await.take() {
        waiter.unpark();
    }
    waiting.await.unwrap();
}

#[test]
fn a_waiter_that_does_not_look_again_sleeps_for_ever() {
    waits(async || lock_is_freed(false).await, async || lock_is_freed(true).await);
}

/// Wakes this task twice; the task waits `waits` times.
async fn twice(waits: u32) {
    let (first, second) = (unparker(), unparker());
    let wakers = [first, second].map(|unparker| spawn(async move { unparker.unpark() }));
    for _ in 0..waits {
        park().await;
    }
    for waker in wakers {
        waker.await.unwrap();
    }
}

#[test]
fn tokens_do_not_add_up() {
    waits(async || twice(2).await, async || twice(1).await);
}

/// loom #246: an `unpark` before the `park` is kept.
#[test]
fn an_unpark_comes_first() {
    let body = async || {
        unparker().unpark();
        park().await;
    };
    holds(body);
    sim::block_on(body());
    holds(async || {
        let task = spawn(async { park().await });
        task.unparker().unpark();
        task.await.unwrap();
    });
}

/// This is issue 422 of loom: a task is unparked, and then waits for a condition variable before it parks.
#[test]
fn a_wait_for_a_condition_leaves_the_token() {
    let body = async || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let (own, main) = (shared.clone(), unparker());
        let task = spawn(async move {
            main.unpark();
            *own.0.lock().await = true;
            own.1.notify_one();
        });
        let ready = shared.0.lock().await;
        drop(shared.1.wait_while(ready, |ready| !*ready).await);
        park().await;
        task.await.unwrap();
    };
    holds(body);
    sim::block_on(body());
}

/// Uses one token for both kinds of wait, like an old version of loom: the wait for the condition variable consumes the
/// token.
#[test]
fn a_wait_that_shares_the_token_eats_it() {
    let body = |waits: bool| {
        async move || {
            let (ready, main) = (Arc::new(Atomic::new(false)), unparker());
            let own = ready.clone();
            let task = spawn(async move {
                main.unpark();
                own.store(true, SeqCst).await;
                main.unpark();
            });
            if waits {
                while !ready.load(SeqCst).await {
                    park().await;
                }
            }
            park().await;
            task.await.unwrap();
        }
    };
    waits(body(true), body(false));
}

/// A wait that is dropped leaves the token.
#[test]
fn a_dropped_wait_loses_no_token() {
    holds(async || {
        let main = unparker();
        let task = spawn(async move { main.unpark() });
        if sim::cancellable(park()).await.is_none() {
            park().await;
        }
        task.await.unwrap();
    });
}

/// Waits for a flag, in a loop or only once.
async fn waits_for_flag(in_a_loop: bool) {
    let (ready, main) = (Arc::new(Atomic::new(false)), unparker());
    let own = ready.clone();
    let task = spawn(async move {
        own.store(true, SeqCst).await;
        main.unpark();
    });
    park().await;
    while in_a_loop && !ready.load(SeqCst).await {
        park().await;
    }
    assert!(ready.load(SeqCst).await, "woken without a reason");
    task.await.unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn spurious_wake_ups_are_found() {
    let runner = || Runner::new().hermetic().strategy("exhaustive").chances("spurious");
    assert!(!runner().run(async || waits_for_flag(false).await).passed());
    let report = runner().run(async || waits_for_flag(true).await);
    // This body is not proved, because a task can have only a few tokens.
    assert!(report.passed());
    holds(async || waits_for_flag(false).await);
}

/// A wait with a time limit.
#[test]
fn a_wait_ends_with_a_time_out() {
    panics(
        "nothing came in time",
        async || {
            let waited = sim::time::timeout(Duration::from_millis(1), park()).await;
            assert!(waited.is_ok(), "nothing came in time");
        },
        async || {
            unparker().unpark();
            assert!(sim::time::timeout(Duration::from_secs(60), park()).await.is_ok());
        },
    );
}
