//! Reports of tasks that wait forever.

use std::sync::Arc;

use sim::report::text;
use sim::run::Failure;
use sim::spawn;
use sim::tokio::sync::{Mutex, Notify, Semaphore, broadcast, mpsc, oneshot, watch};

use crate::fails;

/// Asserts that the body waits forever, and that the screen contains these words.
fn waits(body: impl AsyncFn() + Sync, words: &[&str]) {
    let Some((failure, screen)) = fails(body) else { return };
    assert!(matches!(failure, Failure::Deadlock { .. }), "{screen}");
    let shown = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(shown.contains(word), "{word:?} is not in\n{screen}");
    }
}

#[test]
fn a_receiver_without_messages_is_named() {
    waits(
        async || {
            let (sender, mut receiver) = mpsc::channel::<u8>(1);
            receiver.recv().await;
            drop(sender);
        },
        &["recv", "mpsc", "deadlocks.rs"],
    );
    waits(
        async || {
            let (sender, mut receiver) = broadcast::channel::<u8>(1);
            let _ = receiver.recv().await;
            drop(sender);
        },
        &["recv", "broadcast", "deadlocks.rs"],
    );
    waits(
        async || {
            let (sender, mut receiver) = watch::channel(1);
            let _ = receiver.changed().await;
            drop(sender);
        },
        &["changed", "watch", "deadlocks.rs"],
    );
}

/// The part of the advice about threads outside of the run.
const OUTSIDE: &str = "If a thread or a timer outside of the run should have woken it";

/// A thread that sends when the run is over.
fn later(send: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(2));
        // Each of these objects belongs to the run that created it.
        _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(send));
    });
}

#[test]
fn a_receiver_whose_sender_is_in_a_thread_is_told_of_threads() {
    waits(
        async || {
            let (sender, mut receiver) = mpsc::channel::<u8>(1);
            later(move || _ = sender.try_send(1));
            receiver.recv().await;
        },
        &["recv", OUTSIDE],
    );
    waits(
        async || {
            let (sender, receiver) = oneshot::channel::<u8>();
            later(move || _ = sender.send(1));
            _ = receiver.await;
        },
        &["oneshot", OUTSIDE],
    );
    waits(
        async || {
            let (sender, mut receiver) = watch::channel(1);
            later(move || _ = sender.send(1));
            _ = receiver.changed().await;
        },
        &["changed", OUTSIDE],
    );
    waits(
        async || {
            let notify = Arc::new(Notify::new());
            let own = notify.clone();
            later(move || own.notify_one());
            notify.notified().await;
        },
        &["notify", OUTSIDE],
    );
}

/// The run shows the reason: a task holds the lock, and keeps it.
#[test]
fn a_wait_that_the_run_explains_is_not_told_of_threads() {
    let body = async || {
        let lock = Arc::new(Mutex::new(0));
        let _held = lock.lock().await;
        _ = lock.lock().await;
    };
    let Some((failure, screen)) = fails(body) else { return };
    assert!(matches!(failure, Failure::Deadlock { .. }), "{screen}");
    assert!(!screen.contains(OUTSIDE), "{screen}");
}

#[test]
fn a_sender_without_room_is_named() {
    waits(
        async || {
            let (sender, mut receiver) = mpsc::channel(1);
            let _permit = sender.reserve().await.unwrap();
            sender.send(1).await.unwrap();
            receiver.recv().await;
        },
        &["send", "mpsc", "deadlocks.rs"],
    );
}

#[test]
fn a_sender_that_waits_for_the_end_is_named() {
    waits(
        async || {
            let (sender, receiver) = mpsc::unbounded_channel::<u8>();
            let waiting = spawn(async move { sender.closed().await });
            waiting.await.unwrap();
            drop(receiver);
        },
        &["closed", "mpsc", "deadlocks.rs"],
    );
}

/// A task begins to wait for a lock with one future, and does not poll this future while it waits for the same lock
/// with another future.
#[test]
fn a_lock_given_to_a_future_that_nobody_polls_is_named() {
    waits(
        async || {
            let lock = Arc::new(Mutex::new(0));
            let guard = lock.lock().await;
            let own = lock.clone();
            let task = spawn(async move {
                let mut first = std::pin::pin!(own.lock());
                // Like a `select!` by reference that another branch won.
                let pause = std::pin::pin!(sim::task::yield_now());
                futures::future::select(first.as_mut(), pause).await;
                *own.lock().await += 1;
            });
            sim::task::yield_now().await;
            sim::task::yield_now().await;
            drop(guard);
            task.await.unwrap();
        },
        &["its turn has come, but the task polls another future now"],
    );
}

#[test]
fn a_notification_that_came_too_early_is_named() {
    waits(
        async || {
            let notify = Arc::new(Notify::new());
            let own = notify.clone();
            let task = spawn(async move { own.notify_waiters() });
            sim::task::yield_now().await;
            notify.notified().await;
            task.await.unwrap();
        },
        &["last notify_waiters by 0.0", "before it waited: that tells only tasks that wait"],
    );
}

#[test]
fn a_lock_that_its_task_took_with_it_is_named() {
    waits(
        async || {
            let lock = Arc::new(Mutex::new(0));
            let own = lock.clone();
            spawn(async move { std::mem::forget(own.lock_owned().await) }).await.unwrap();
            *lock.lock().await += 1;
        },
        &["held by 0.0 since step", "which has ended without giving it up"],
    );
}

/// A request for no permits holds nothing.
#[test]
fn a_task_without_permits_is_not_a_holder() {
    let body = async |tries: bool| {
        let permits = Arc::new(Semaphore::new(1));
        let own = permits.clone();
        let _nothing = match tries {
            true => permits.try_acquire_many(0).unwrap(),
            false => permits.acquire_many(0).await.unwrap(),
        };
        spawn(async move { own.acquire().await.unwrap().forget() }).await.unwrap();
        drop(permits.acquire().await);
    };
    for tries in [false, true] {
        let Some((_, screen)) = fails(async || body(tries).await) else { return };
        assert!(!screen.contains("held by"), "{screen}");
    }
}

#[test]
fn permits_that_were_split_have_a_holder_until_the_last_is_released() {
    // The permits are split completely, or only a part of them.
    for n in [2, 1] {
        let body = async |forgets: bool| {
            let permits = Arc::new(Semaphore::new(2));
            let mut two = permits.acquire_many(2).await.unwrap();
            let split = two.split(n).unwrap();
            drop(two);
            if forgets {
                split.forget();
                drop(permits.acquire_many(2).await);
            } else {
                drop(permits.acquire_many(2).await);
                drop(split);
            }
        };
        for forgets in [false, true] {
            let Some((_, screen)) = fails(async || body(forgets).await) else { return };
            assert_eq!(screen.contains("held by"), !forgets, "{screen}");
        }
    }
}

#[test]
fn forgotten_permits_are_named() {
    waits(
        async || {
            let permits = Arc::new(Semaphore::new(1));
            let own = permits.clone();
            spawn(async move { own.acquire().await.unwrap().forget() }).await.unwrap();
            drop(permits.acquire().await);
        },
        &["permits forgotten by 0.0 in step 2"],
    );
}

/// Two tasks lock in opposite orders while the body continues. The tasks step in the only order that blocks them.
async fn locks_in_opposite_order(goes_on: impl AsyncFn()) {
    let locks = Arc::new((sim::Mutex::new(()), sim::Mutex::new(())));
    for turned in [false, true] {
        let locks = locks.clone();
        spawn(async move {
            let (first, second) = if turned { (&locks.1, &locks.0) } else { (&locks.0, &locks.1) };
            let _first = first.lock().await;
            for _ in 0..4 {
                sim::task::yield_now().await;
            }
            let _second = second.lock().await;
        })
        .detach();
    }
    goes_on().await;
}

#[cfg_attr(feature = "sim", test)]
fn tasks_that_wait_for_each_other_while_others_step_are_named() {
    let runner = || sim::Runner::new().hermetic().seeds(0..200).shrink(false);
    let report = runner().run(async || {
        let goes_on = async || {
            for _ in 0..40 {
                sim::task::yield_now().await;
            }
        };
        locks_in_opposite_order(goes_on).await;
    });
    let screen = text(&report, &Default::default());
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.passed(), "{screen}");
    assert!(words.contains("tasks waited for each other when the test body ended"), "{screen}");
    assert!(words.contains("held by 0."), "{screen}");
    // If the body repeats itself, the run reaches the step limit, and names them beside.
    let report = runner().max_steps(200).run(async || {
        let goes_on = async || loop {
            sim::task::yield_now().await;
        };
        locks_in_opposite_order(goes_on).await;
    });
    let screen = text(&report, &Default::default());
    assert!(!report.passed() && screen.contains("step limit"), "{screen}");
    let report = runner().max_steps(200).seeds(0..1).strategy("random").run(async || {
        let goes_on = async || loop {
            sim::task::yield_now().await;
        };
        locks_in_opposite_order(goes_on).await;
    });
    let screen = text(&report, &Default::default());
    assert!(screen.contains("── deadlock ─"), "{screen}");
}
