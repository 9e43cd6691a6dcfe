//! Mutexes: guards that move to other tasks, and waiters that stop waiting.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt;
use sim::run::{Failure, Outcome};
use sim::{Mutex, SIMULATED};
use sim_tests::seeds::{fails, finding, passes};

#[test]
fn a_waiter_that_is_dropped_loses_no_wake_up() {
    passes("waiter_dropped", async || {
        let lock = Arc::new(Mutex::new(0u8));
        let guard = lock.lock().await;
        let (a, b) = (lock.clone(), lock.clone());
        let quitter = sim::spawn(async move {
            let mut wait = a.lock();
            let waits = futures::poll!(&mut wait).is_pending();
            assert!(waits || !SIMULATED);
            sim::task::yield_now().await;
            drop(wait);
        });
        let stays = sim::spawn(async move { *b.lock().await += 1 });
        sim::task::yield_now().await;
        drop(guard);
        quitter.await.unwrap();
        stays.await.unwrap();
        assert_eq!(*lock.lock().await, 1);
    });
}

#[test]
fn a_waiter_that_is_aborted_loses_no_wake_up() {
    passes("waiter_aborted", async || {
        let lock = Arc::new(Mutex::new(0u8));
        let guard = lock.lock().await;
        let (a, b) = (lock.clone(), lock.clone());
        let quitter = sim::spawn(async move { *a.lock().await += 1 });
        let stays = sim::spawn(async move { *b.lock().await += 1 });
        sim::task::yield_now().await;
        quitter.abort();
        drop(guard);
        let quit = quitter.await.is_err();
        stays.await.unwrap();
        assert_eq!(*lock.lock().await, 2 - u8::from(quit));
    });
}

#[cfg_attr(feature = "sim", test)]
fn every_waiter_may_be_the_next() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..300 {
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = order.clone();
        let run = sim::Runner::new().hermetic().run_seed(seed, async || {
            // Rehearsals come before the run.
            kept.lock().unwrap().clear();
            let lock = Arc::new(Mutex::new(()));
            let guard = lock.lock().await;
            let mut tasks = Vec::new();
            for n in 0..3 {
                let (lock, order) = (lock.clone(), kept.clone());
                tasks.push(sim::spawn(async move {
                    let _guard = lock.lock().await;
                    order.lock().unwrap().push(n);
                }));
            }
            sim::task::yield_now().await;
            drop(guard);
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(run.outcome, sim::run::Outcome::Passed);
        orders.insert(order.lock().unwrap().clone());
    }
    assert_eq!(orders.len(), 6);
}

#[test]
fn a_guard_may_be_dropped_by_another_task() {
    passes("guard_moves", async || {
        let lock: &'static Mutex<u8> = Box::leak(Box::new(Mutex::new(0)));
        let guard = lock.lock().await;
        let other = sim::spawn(async move {
            let mut guard = guard;
            sim::task::yield_now().await;
            *guard += 1;
        });
        *lock.lock().await += 1;
        other.await.unwrap();
        assert_eq!(*lock.lock().await, 2);
    });
}

#[test]
fn a_guard_dropped_while_unwinding_frees_the_lock() {
    passes("unwinding", async || {
        let lock = Arc::new(Mutex::new(0u8));
        let other = lock.clone();
        let task = sim::spawn(async move {
            let work = async {
                let _guard = other.lock().await;
                std::panic::resume_unwind(Box::new("caught below"));
            };
            AssertUnwindSafe(work).catch_unwind().await.is_err()
        });
        *lock.lock().await += 1;
        assert!(task.await.unwrap());
        *lock.lock().await += 1;
    });
}

#[test]
fn try_lock_fails_only_while_somebody_holds_the_lock() {
    let seen = std::sync::Mutex::new([0u32; 2]);
    passes("try_lock", async || {
        let lock = Arc::new(Mutex::new(0u8));
        let other = lock.clone();
        let task = sim::spawn(async move {
            let mut guard = other.lock().await;
            sim::task::yield_now().await;
            *guard = 1;
        });
        let taken = lock.try_lock().await.map(|guard| *guard);
        seen.lock().unwrap()[usize::from(taken.is_some())] += 1;
        task.await.unwrap();
        let again = lock.try_lock().await;
        assert_eq!(again.map(|guard| *guard), Some(1));
    });
    let [failed, taken] = seen.into_inner().unwrap();
    assert!(!SIMULATED || (failed > 0 && taken > 0), "{failed} failed, {taken} did not");
}

#[cfg_attr(feature = "sim", test)]
fn a_try_lock_that_fails_leaves_the_lock_with_its_holder() {
    for seed in 0..50 {
        let run = sim::Runner::new().hermetic().run_seed(seed, async || {
            let lock = Arc::new(Mutex::new(()));
            let guard = lock.lock().await;
            let other = lock.clone();
            let task = sim::spawn(async move { other.try_lock().await.is_none() });
            assert!(task.await.unwrap());
            drop(guard);
        });
        assert_eq!(run.outcome, sim::run::Outcome::Passed);
        let unlocks = run.events.iter().filter(|event| event.op.name == "unlock");
        let by: Vec<_> = unlocks.map(|event| event.task).collect();
        assert_eq!(by, [sim::run::ids::TaskId::MAIN]);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_task_that_locks_twice_is_told_that_it_holds_the_lock() {
    let found = finding("self_lock", async || {
        let lock = Mutex::new(());
        let _first = lock.lock().await;
        let _second = lock.lock().await;
    });
    let Failure::Deadlock { waits } = sim_tests::seeds::failure(&found.run) else {
        panic!("{:?}", found.run.outcome)
    };
    assert_eq!(waits.len(), 1);
    let holder = waits[0].holder.expect("it is held");
    assert_eq!(holder.task, waits[0].task);
    assert_eq!((holder.place.file(), waits[0].op.unwrap().name), (file!(), "lock"));
    assert_eq!(holder.place.line() + 1, waits[0].place.line());
}

#[cfg_attr(feature = "sim", test)]
fn two_locks_in_opposite_orders_are_reported_with_holder_and_place() {
    let failure = fails("two_locks", sim_tests::programs::deadlock);
    let Failure::Deadlock { waits } = failure else { panic!("{failure:?}") };
    let locks: Vec<_> = waits.iter().filter(|wait| wait.object.is_some()).collect();
    assert_eq!(locks.len(), 2);
    let holders: Vec<_> = locks.iter().map(|wait| wait.holder.unwrap().task).collect();
    assert_eq!(holders, [locks[1].task, locks[0].task]);
    assert_ne!(locks[0].object, locks[1].object);
    let body = waits.iter().find(|wait| wait.object.is_none()).expect("the body waits too");
    assert!(body.target.is_some());
}

#[cfg_attr(feature = "sim", test)]
fn a_forgotten_guard_is_a_deadlock_of_whoever_comes_next() {
    let failure = fails("forgotten", async || {
        let lock = Mutex::new(0);
        std::mem::forget(lock.lock().await);
        *lock.lock().await += 1;
    });
    assert!(matches!(failure, Failure::Deadlock { .. }), "{failure:?}");
}

#[test]
fn a_panic_with_a_guard_held_is_the_failure_and_not_a_deadlock() {
    let failure = fails("panic_with_guard", async || {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let task = sim::spawn(async move {
            let _guard = other.lock().await;
            panic!("with the guard");
        });
        let _ = task.await;
        drop(lock.lock().await);
    });
    assert!(
        matches!(&failure, Failure::Panic { message, .. } if message.contains("with the guard"))
    );
    assert!(catch_unwind(|| ()).is_ok());
}

#[cfg_attr(feature = "sim", test)]
fn a_lock_that_another_branch_took_in_the_same_step_is_taken() {
    let run = sim::Runner::new().hermetic().run_seed(0, async || {
        let lock = Mutex::new(0u8);
        let (mut first, mut second) = (lock.lock(), lock.lock());
        assert!(futures::poll!(&mut first).is_pending());
        assert!(futures::poll!(&mut second).is_pending());
        let guard = second.await;
        assert!(futures::poll!(&mut first).is_pending());
        drop(guard);
        *first.await += 1;
    });
    assert_eq!(run.outcome, Outcome::Passed);
    let done: Vec<_> = run.events.iter().map(|event| event.op.name).collect();
    assert_eq!(done, ["lock", "unlock", "lock", "unlock"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_lock_that_had_to_be_waited_for_is_taken_in_a_step_of_its_own() {
    passes("taken_later", async || {
        let lock = Mutex::new(0u8);
        let guard = lock.lock().await;
        let mut wait = lock.lock();
        assert!(futures::poll!(&mut wait).is_pending());
        sim::task::yield_now().await;
        drop(guard);
        assert!(futures::poll!(&mut wait).is_pending());
        *wait.await += 1;
    });
}

#[test]
fn a_branch_goes_on_while_another_waits_for_the_lock_that_it_took() {
    passes("branches_of_one_lock", async || {
        let (lock, seen) = (Mutex::new(0u8), sim::Atomic::new(0u8));
        let slowly = async {
            let mut guard = lock.lock().await;
            *guard += seen.load(sim::Ordering::SeqCst).await;
        };
        let quickly = async { *lock.lock().await += 1 };
        futures::join!(slowly, quickly);
        assert_eq!(*lock.lock().await, 1);
    });
}
