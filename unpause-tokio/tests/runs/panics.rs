//! Panics of tasks in a run: their handles get them, or the run fails.

use sim::run::{Failure, Outcome};
use tokio::sync::{Mutex, oneshot};
use tokio::task::{JoinSet, LocalSet, spawn_blocking, yield_now};

/// Asserts that no order of the body's steps fails.
#[track_caller]
fn holds(body: impl AsyncFn() + Sync) {
    let report = sim::Runner::new().hermetic().strategy("exhaustive").run(body);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{report:?}");
}

/// Asserts that the first run of the body fails with the panic of a task, and that the panic has this text.
#[track_caller]
fn fails(text: &str, body: impl AsyncFn() + Sync) {
    match sim::Runner::new().hermetic().run_seed(0, body).outcome {
        Outcome::Failed(Failure::Panic { message, place, .. }) => {
            assert_eq!(message, text);
            assert!(place.contains("panics.rs"), "{place}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_handle_gets_the_panic_of_its_task() {
    holds(async || {
        let error = tokio::spawn(async { panic!("a reason") }).await.unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        let text = error.to_string();
        assert!(text.contains("task panicked at") && text.contains("panics.rs"), "{text}");
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"a reason"));

        let error = spawn_blocking(|| std::panic::panic_any(7)).await.unwrap_err();
        assert_eq!(error.try_into_panic().unwrap().downcast_ref::<i32>(), Some(&7));

        let local = LocalSet::new();
        let task = local.spawn_local(async { panic!("a reason") });
        assert!(task.await.unwrap_err().is_panic());
        local.await;
    });
}

/// Such a panic is not the failure, but may be its cause.
#[test]
fn a_panic_that_a_handle_got_is_shown_beside_a_failure() {
    let report = sim::Runner::new().hermetic().seeds(0..1).run(async || {
        let ended = tokio::spawn(async { panic!("out of ink, 3 pages left") }).await;
        assert!(ended.map(|()| 0).is_ok(), "not printed");
    });
    let screen = sim::report::text(&report, &Default::default());
    assert!(screen.contains("  not printed\n"), "{screen}");
    assert!(screen.contains("panicked    0.0 at unpause-tokio/tests/runs/panics.rs:"), "{screen}");
    assert!(screen.contains("out of ink, 3 pages left"), "{screen}");
}

#[test]
fn the_error_of_an_aborted_task_has_the_texts_of_tokio() {
    holds(async || {
        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        let error = task.await.unwrap_err();
        assert_eq!(error.to_string(), format!("task {} was cancelled", error.id()));
        assert_eq!(format!("{error:?}"), format!("JoinError::Cancelled({:?})", error.id()));
        assert_eq!(std::io::Error::from(error).to_string(), "task was cancelled");
    });
}

#[test]
fn a_handle_gets_the_panic_of_a_destructor_of_its_aborted_task() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("a reason");
        }
    }
    holds(async || {
        let panics = Panics;
        let task = tokio::spawn(async move {
            let _panics = panics;
            std::future::pending::<()>().await;
        });
        task.abort();
        let error = task.await.unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"a reason"));
    });
}

#[test]
fn a_set_gets_the_panics_of_its_tasks() {
    holds(async || {
        let mut tasks = JoinSet::new();
        tasks.spawn(async { 1 });
        tasks.spawn(async { panic!("a reason") });
        let (mut sum, mut panics) = (0, 0);
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok(n) => sum += n,
                Err(error) => panics += i32::from(error.is_panic()),
            }
        }
        assert_eq!((sum, panics), (1, 1));
    });
}

#[test]
fn what_a_task_owns_is_dropped_by_its_panic() {
    holds(async || {
        let mutex = std::sync::Arc::new(Mutex::new(1));
        let (sender, receiver) = oneshot::channel::<()>();
        let task = tokio::spawn({
            let mutex = mutex.clone();
            async move {
                let _sender = sender;
                let mut guard = mutex.lock().await;
                *guard = 2;
                yield_now().await;
                assert_eq!(*guard, 3, "a reason");
            }
        });
        assert!(receiver.await.is_err());
        assert_eq!(*mutex.lock().await, 2);
        assert!(task.await.unwrap_err().is_panic());
    });
}

/// The panic does not unwind the task that drops the handle, so the handle of this task does not get it.
#[test]
fn a_panic_of_a_destructor_of_an_unread_result_fails_the_run() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("a reason");
        }
    }
    fails("a reason", async || {
        let task = tokio::spawn(async { Panics });
        while !task.is_finished() {
            yield_now().await;
        }
        let other = tokio::spawn(async move { drop(task) });
        assert!(other.await.is_ok());
    });
}

#[test]
fn a_panic_that_no_handle_gets_fails_the_run() {
    // Detached before.
    fails("a reason", async || {
        drop(tokio::spawn(async { panic!("a reason") }));
        yield_now().await;
        tokio::time::sleep(tokio::time::Duration::from_secs(1)).await;
    });
    // Detached after.
    fails("a reason", async || {
        let task = tokio::spawn(async { panic!("a reason") });
        tokio::time::sleep(tokio::time::Duration::from_secs(1)).await;
        assert!(task.is_finished());
        drop(task);
        std::future::pending::<()>().await;
    });
    // The handle is kept until the end of the run, and longer.
    fails("a reason", async || {
        let task = tokio::spawn(async { panic!("a reason") });
        tokio::time::sleep(tokio::time::Duration::from_secs(1)).await;
        std::mem::forget(task);
    });
    // The task belongs to a set that is dropped.
    fails("a reason", async || {
        let mut tasks = JoinSet::new();
        tasks.spawn(async { panic!("a reason") });
        tokio::time::sleep(tokio::time::Duration::from_secs(1)).await;
    });
    // The body waits for a notification that the task would have sent.
    fails("a reason", async || {
        let notify = tokio::sync::Notify::new();
        let _task = tokio::spawn(async { panic!("a reason") });
        notify.notified().await;
    });
}

#[test]
fn a_joiner_that_does_not_expect_the_panic_shows_it() {
    let body = async || -> () { tokio::spawn(async { panic!("a reason") }).await.unwrap() };
    let Outcome::Failed(Failure::Panic { message, .. }) =
        sim::Runner::new().hermetic().run_seed(0, body).outcome
    else {
        panic!("it passed")
    };
    assert!(message.contains("task panicked at ") && message.contains("a reason"), "{message}");
}

#[test]
fn a_panic_of_a_task_of_this_librarys_own_fails_the_run() {
    fails("a reason", async || {
        let joined = sim::spawn(async { panic!("a reason") }).await;
        assert!(joined.is_err());
    });
}

#[test]
fn runs_after_a_panic_are_not_affected() {
    let panics = std::sync::atomic::AtomicU32::new(0);
    let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
        let joined = tokio::spawn(async { assert_eq!(1 + 1, 3) }).await;
        panics.fetch_add(
            u32::from(joined.unwrap_err().is_panic()),
            std::sync::atomic::Ordering::Relaxed,
        );
        tokio::spawn(async {}).await.unwrap();
    });
    assert!(report.passed());
    assert!(panics.into_inner() >= 20);
}
