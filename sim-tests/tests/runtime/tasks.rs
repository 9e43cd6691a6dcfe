//! Tasks: aborting, joining, detaching, leaking.

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::run::Outcome;
use sim::{Atomic, Mutex, Runner, SIMULATED};
use sim_tests::seeds::{passes, runner};

#[test]
fn a_task_aborted_before_its_start_never_starts() {
    let run = Runner::new().hermetic().run_seed(1, async || {
        let ran = Arc::new(Atomic::new(false));
        let other = ran.clone();
        let task = sim::spawn(async move { other.store(true, SeqCst).await });
        task.abort();
        let ended = task.await;
        assert_eq!(ended.is_err(), !ran.load(SeqCst).await);
        assert!(!SIMULATED || ended.unwrap_err().is_cancelled());
    });
    assert_eq!(run.outcome, Outcome::Passed);
}

#[test]
fn a_task_aborted_while_it_waits_is_dropped_and_the_lock_stays_free() {
    passes("abort_waiting", async || {
        let lock = Arc::new(Mutex::new(0u8));
        let guard = lock.lock().await;
        let other = lock.clone();
        let task = sim::spawn(async move { *other.lock().await += 1 });
        sim::task::yield_now().await;
        task.abort();
        sim::task::yield_now().await;
        drop(guard);
        assert_eq!(task.await.is_err(), *lock.lock().await == 0);
        assert_eq!(Arc::strong_count(&lock), 1);
    });
}

#[test]
fn an_abort_after_the_end_changes_nothing() {
    passes("abort_late", async || {
        let task = sim::spawn(async { 5 });
        while !task.is_finished() {
            sim::task::yield_now().await;
        }
        task.abort();
        assert_eq!(task.await.unwrap(), 5);
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_task_may_abort_itself() {
    passes("abort_self", async || {
        let (send, receive) = futures::channel::oneshot::channel::<sim::JoinHandle<()>>();
        let (ended, end) = futures::channel::oneshot::channel();
        let task = sim::spawn(async move {
            let me = receive.await.unwrap();
            me.abort();
            let _ = ended.send(());
            sim::task::yield_now().await;
            unreachable!("it ends at its next point");
        });
        assert!(send.send(task).is_ok());
        end.await.unwrap();
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_task_that_left_its_handle_is_not_told_of_but_one_that_was_kept_is() {
    let leaked = |body: fn() -> futures::future::BoxFuture<'static, ()>| {
        let run = Runner::new().hermetic().run_seed(0, body);
        let report = Runner::new().hermetic().seeds(0..3).run(body);
        let told = report.warnings.iter().filter(|warning| warning.contains("had not ended"));
        assert_eq!(told.count(), run.leaked.len(), "{:?}", report.warnings);
        run.leaked.len()
    };
    assert_eq!(leaked(|| Box::pin(async { sim::spawn(std::future::pending::<()>()).detach() })), 0);
    let kept = leaked(|| {
        Box::pin(async {
            let _task = sim::spawn(std::future::pending::<()>());
            sim::task::yield_now().await;
        })
    });
    assert_eq!(kept, 1);
    let dropped_before = leaked(|| {
        Box::pin(async {
            drop(sim::spawn(std::future::pending::<()>()));
            sim::task::yield_now().await;
            sim::task::yield_now().await;
        })
    });
    assert_eq!(dropped_before, 0);
}

#[cfg_attr(feature = "sim", test)]
fn a_detached_task_that_waits_for_ever_is_told_of() {
    // The second task waits for a lock, which the first task keeps if `keeps` is true.
    let body = |keeps: bool| async move {
        let lock = Arc::new(Mutex::new(()));
        sim::spawn(lock_and(lock.clone(), keeps)).detach();
        sim::spawn(async move { drop(lock.lock().await) }).detach();
        for _ in 0..6 {
            sim::task::yield_now().await;
        }
    };
    let warnings = |keeps: bool| {
        let report = Runner::new().hermetic().seeds(0..200).run(async || body(keeps).await);
        assert!(report.passed());
        report.warnings
    };
    let told = warnings(true);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("the detached task 0.1 was still blocked"), "{told:?}");
    assert!(told[0].contains("lock at "), "{told:?}");
    assert_eq!(warnings(false), Vec::<String>::new());
}

/// Acquires a lock. If `keeps` is set, never releases the lock.
async fn lock_and(lock: Arc<Mutex<()>>, keeps: bool) {
    let guard = lock.lock().await;
    if keeps {
        std::mem::forget(guard);
    }
}

#[test]
fn a_thousand_tasks_in_a_chain_end() {
    fn chain(depth: u32) -> futures::future::BoxFuture<'static, u32> {
        Box::pin(async move {
            match depth {
                0 => 0,
                _ => sim::spawn(chain(depth - 1)).await.unwrap() + 1,
            }
        })
    }
    let deep = if SIMULATED { 1000 } else { 20 };
    let run = Runner::new().hermetic().run_seed(0, async || assert_eq!(chain(deep).await, deep));
    assert_eq!(run.outcome, Outcome::Passed);
    assert_eq!(run.tasks.len(), deep as usize + 1);
}

#[test]
fn results_nobody_asked_for_are_dropped_within_the_run() {
    struct Counted(Arc<std::sync::atomic::AtomicU32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counter = dropped.clone();
    // The runner uses no rehearsals, because the counter would include them.
    let runner = runner("results").strategy("random").seeds(0..sim_tests::seeds::SEEDS);
    let report = runner.run(async || {
        let (a, b) = (Counted(counter.clone()), Counted(counter.clone()));
        let kept = sim::spawn(async move { a });
        drop(sim::spawn(async move { b }));
        while !kept.is_finished() {
            sim::task::yield_now().await;
        }
    });
    assert!(report.passed());
    drop(counter);
    // The first seed is run twice.
    let runs = sim_tests::seeds::SEEDS + u64::from(SIMULATED);
    let dropped = u64::from(dropped.load(std::sync::atomic::Ordering::SeqCst));
    assert!(if SIMULATED { dropped == 2 * runs } else { dropped <= 2 * runs });
}
