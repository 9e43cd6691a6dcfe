//! Values local to a task: `task_local!`.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use sim::task::{AccessError, yield_now};
use sim::tokio::sync::Notify;
use sim::tokio::task::futures::TaskLocalFuture;
use sim::tokio::{join, task_local};
use sim::{Runner, spawn};

use crate::{fails_with, holds};

task_local! {
    /// A number.
    static NUMBER: u32;
    pub(crate) static COUNT: Cell<u32>;
    static TELLS: Tells
}

struct Tells(Arc<Mutex<Vec<&'static str>>>, &'static str);

impl Drop for Tells {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1);
    }
}

#[test]
fn tasks_and_branches_have_their_own_values() {
    holds(async || {
        let numbered = |n| {
            NUMBER.scope(n, async move {
                for _ in 0..2 {
                    yield_now().await;
                    assert_eq!(NUMBER.get(), n);
                }
            })
        };
        let task = spawn(numbered(1));
        join!(numbered(2), numbered(3));
        task.await.unwrap();
        assert!(NUMBER.try_get().is_err());
    });
}

#[test]
fn a_spawned_task_does_not_inherit_the_value() {
    holds(async || {
        let outer =
            NUMBER.scope(1, async { spawn(async { NUMBER.try_get().is_err() }).await.unwrap() });
        assert!(outer.await);
    });
    fails_with(&["a task-local has no value here"], async || {
        NUMBER.scope(1, async { spawn(async { NUMBER.get() }).await.unwrap() }).await;
    });
}

/// Returns the order in which a task-local value and a future that reads it are dropped.
async fn ends(is_aborted: bool) -> Vec<&'static str> {
    let log = Arc::new(Mutex::new(Vec::new()));
    struct Sees(Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Sees {
        fn drop(&mut self) {
            let text = TELLS.try_with(|tells| tells.1).unwrap_or("nothing");
            self.0.lock().unwrap().push(text);
        }
    }
    let sees = Sees(log.clone());
    let future = async move {
        let _sees = sees;
        if is_aborted {
            Notify::new().notified().await;
        }
    };
    let task = spawn(TELLS.scope(Tells(log.clone(), "value"), future));
    if is_aborted {
        yield_now().await;
        task.abort();
    }
    assert_eq!(task.await.is_err(), is_aborted);
    let log = log.lock().unwrap();
    log.clone()
}

#[test]
fn a_value_dies_with_its_task_after_the_future_that_sees_it() {
    for is_aborted in [false, true] {
        holds(async || assert_eq!(ends(is_aborted).await, ["value", "value"]));
    }
}

#[test]
fn a_value_survives_a_panic_of_the_thread_it_was_on() {
    let scope = NUMBER.scope(1, async {
        let caught = std::panic::catch_unwind(|| {
            NUMBER.sync_scope(2, || std::panic::resume_unwind(Box::new(NUMBER.get())))
        });
        (*caught.unwrap_err().downcast::<u32>().unwrap(), NUMBER.get())
    });
    assert_eq!(sim::block_on(scope), (2, 1));
    assert!(NUMBER.try_get().is_err());
}

#[test]
fn the_names_are_tokios() {
    let body = async || {
        let mut scope: std::pin::Pin<Box<TaskLocalFuture<Cell<u32>, _>>> =
            Box::pin(COUNT.scope(Cell::new(1), async {
                COUNT.with(|count| count.set(count.get() + 1));
                yield_now().await;
                COUNT.with(Cell::get)
            }));
        assert_eq!(scope.as_mut().await, 2);
        assert_eq!(scope.as_mut().take_value().map(Cell::into_inner), Some(2));
        assert!(scope.as_mut().take_value().is_none());
        let error: AccessError = COUNT.try_with(Cell::get).unwrap_err();
        assert_eq!(error, NUMBER.try_get().unwrap_err());
        assert_eq!(NUMBER.sync_scope(3, || (NUMBER.get(), NUMBER.try_get())), (3, Ok(3)));
    };
    sim::block_on(body());
    let run = Runner::new().hermetic().run_seed(0, async || body().await);
    assert_eq!(run.outcome, sim::run::Outcome::Passed);
}
