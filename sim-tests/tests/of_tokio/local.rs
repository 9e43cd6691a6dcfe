//! Tasks that stay on their thread: `LocalSet` and `spawn_local`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sim::run::Failure;
use sim::task::yield_now;
use sim::tokio::sync::{Notify, oneshot};
use sim::tokio::task::{Id, JoinSet, LocalSet, id, spawn_local, try_id};

use crate::{Results, fails, fails_with, holds};

/// Runs two local tasks that each add in two steps, without a lock or with a lock.
async fn added(is_locked: bool) -> u32 {
    let local = LocalSet::new();
    let count = Rc::new(Cell::new(0));
    let lock = Rc::new(sim::Mutex::new(()));
    for _ in 0..2 {
        let (count, lock) = (count.clone(), lock.clone());
        let adding = local.spawn_local(async move {
            let _held = if is_locked { Some(lock.lock().await) } else { None };
            let before = count.get();
            yield_now().await;
            count.set(before + 1);
        });
        adding.detach();
    }
    local.await;
    count.get()
}

#[test]
fn an_update_is_lost_between_two_points_of_a_local_task() {
    let fail = async || assert_eq!(added(false).await, 2, "an update was lost");
    // A search does not see a `Cell` of std, but random runs detect the lost update.
    if sim::SIMULATED {
        let report = sim::Runner::new().hermetic().seeds(0..100).run(fail);
        let finding = report.finding.expect("it passed");
        let sim::run::Outcome::Failed(Failure::Panic { message, .. }) = finding.run.outcome else {
            panic!("it did not panic");
        };
        assert!(message.contains("an update was lost"));
    }
    let report = sim::Runner::new().hermetic().seeds(0..100).run(async || {
        assert_eq!(added(true).await, 2, "an update was lost");
    });
    assert!(report.passed());
    assert_eq!(sim::block_on(added(true)), 2);
}

#[test]
fn local_tasks_step_in_all_orders() {
    let orders = Results::new();
    holds(async || {
        let local = LocalSet::new();
        let lock = Rc::new(sim::Mutex::new(Vec::new()));
        let tasks = [1, 2].map(|n| {
            let lock = lock.clone();
            local.spawn_local(async move { lock.lock().await.push(n) })
        });
        local.await;
        for task in tasks {
            task.await.unwrap();
        }
        orders.add(lock.lock().await.clone());
    });
    orders.are([vec![1, 2], vec![2, 1]]);
}

#[test]
fn tasks_of_a_set_spawn_on_it() {
    let body = async || {
        let local = LocalSet::new();
        let log = Rc::new(RefCell::new(Vec::new()));
        let outer = {
            let log = log.clone();
            local.spawn_local(async move {
                yield_now().await;
                let inner = log.clone();
                let inner = spawn_local(async move {
                    inner.borrow_mut().push("inner");
                    id()
                });
                let inner_id = inner.id();
                log.borrow_mut().push("outer");
                assert_eq!(inner.await.unwrap(), inner_id);
                assert_ne!(inner_id, id());
            })
        };
        local.run_until(async { outer.await.unwrap() }).await;
        assert_eq!(*log.borrow(), ["outer", "inner"]);
        local.await;
    };
    sim::block_on(body());
    holds(body);
}

#[test]
fn a_set_ends_its_tasks_when_it_is_dropped() {
    struct Tells(Option<oneshot::Sender<()>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }
    let body = async || {
        let local = LocalSet::new();
        let (told, tell) = oneshot::channel();
        let tells = Tells(Some(told));
        let waiting = local.spawn_local(async move {
            let _tells = tells;
            Notify::new().notified().await;
        });
        local.run_until(yield_now()).await;
        drop(local);
        tell.await.unwrap();
        assert!(waiting.await.unwrap_err().is_cancelled());
    };
    sim::block_on(body());
    holds(body);
}

/// Once the values of its tasks lived until later steps of these tasks.
#[test]
fn a_set_that_is_dropped_has_dropped_the_values_of_its_tasks() {
    /// Keeps the identity of the task that drops this value.
    struct Tells(Rc<Cell<Option<Id>>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.set(try_id());
        }
    }
    let body = async || {
        let local = LocalSet::new();
        let [waits, never] = [(); 2].map(|()| Rc::new(Cell::new(None)));
        let tells = Tells(waits.clone());
        let waiting = local.spawn_local(async move {
            let _tells = tells;
            Notify::new().notified().await;
        });
        local.run_until(yield_now()).await;
        let tells = Tells(never.clone());
        let unpolled = local.spawn_local(async move { drop(tells) });
        let ids = [waiting.id(), unpolled.id()];
        drop(local);
        assert_eq!([waits.get(), never.get()], ids.map(Some));
        assert_eq!([Rc::strong_count(&waits), Rc::strong_count(&never)], [1, 1]);
        for task in [waiting, unpolled] {
            assert!(task.await.unwrap_err().is_cancelled());
        }
    };
    sim::block_on(body());
    holds(body);
}

#[test]
fn a_set_waits_for_tasks_that_others_join() {
    let body = async || {
        let local = LocalSet::new();
        let (go, went) = oneshot::channel();
        let first = local.spawn_local(async move { went.await.unwrap() });
        let second = local.spawn_local(async move {
            go.send(7).unwrap();
            assert_eq!(first.await.unwrap(), 7);
        });
        second.detach();
        local.await;
    };
    sim::block_on(body());
    holds(body);
}

#[test]
fn sets_of_tasks_have_local_ones() {
    let body = async || {
        let local = LocalSet::new();
        let mut set = JoinSet::new();
        set.spawn_local_on(async { Rc::new(1) }, &local);
        let _entered = local.enter();
        set.spawn_local(async { Rc::new(2) });
        let abort = set.spawn_local(async {
            Notify::new().notified().await;
            Rc::new(4)
        });
        abort.abort();
        let sum = async {
            let mut sum = 0;
            while let Some(joined) = set.join_next().await {
                sum += joined.map_or(10, |value| *value);
            }
            sum
        };
        assert_eq!(local.run_until(sum).await, 13);
    };
    sim::block_on(body());
    holds(body);
}

#[test]
fn without_a_set_there_is_no_local_task() {
    let panics = std::panic::catch_unwind(|| drop(spawn_local(async {})));
    let payload = panics.unwrap_err();
    assert!(payload.downcast_ref::<&str>().unwrap().contains("called from outside of a"));
    fails_with(&["called from outside of a"], async || {
        let local = LocalSet::new();
        local.spawn_local(async {}).detach();
        local.await;
        drop(spawn_local(async {}));
    });
}

#[test]
fn a_panic_of_a_local_task_is_one_of_the_run() {
    let body = async || {
        let local = LocalSet::new();
        let task = local.spawn_local(async { panic!("a local bug") });
        local.await;
        let _: Result<(), _> = task.await;
    };
    match fails(body) {
        Some((Failure::Panic { message, .. }, _)) => assert_eq!(message, "a local bug"),
        Some((failure, screen)) => panic!("{failure:?}\n{screen}"),
        None => {
            // On real threads, the local task is also a part of the task that polls it.
            let report = sim::Runner::new().hermetic().seeds(0..5).run(body);
            assert!(!report.passed());
        }
    }
}

#[test]
fn a_thread_blocks_on_a_set() {
    let local = LocalSet::new();
    let count = Rc::new(Cell::new(0));
    let other = count.clone();
    local.spawn_local(async move { other.set(other.get() + 1) }).detach();
    let got = local.block_on(async {
        let count = count.clone();
        spawn_local(async move { count.set(count.get() + 1) }).await.unwrap();
        yield_now().await;
        7
    });
    assert_eq!((got, count.get()), (7, 2));
}
