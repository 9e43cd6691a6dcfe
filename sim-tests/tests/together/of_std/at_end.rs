//! Work at the ends of tasks.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use sim::task::{at_end, yield_now};
use sim::{Ordering::SeqCst, spawn};

use super::{fails, holds, panics};

/// Counts open connections, beside a task that may have been aborted.
async fn connections(at_the_end: bool) {
    let open = Arc::new(AtomicU32::new(0));
    let own = open.clone();
    let task = spawn(async move {
        own.fetch_add(1, SeqCst);
        let close = move || {
            own.fetch_sub(1, SeqCst);
        };
        if at_the_end {
            at_end(close);
            yield_now().await;
        } else {
            yield_now().await;
            close();
        }
    });
    yield_now().await;
    task.abort();
    let _ = task.await;
    assert_eq!(open.load(SeqCst), 0, "a connection is open");
}

#[test]
fn work_behind_the_last_await_is_lost_by_an_abort() {
    panics(
        "a connection is open",
        async || connections(false).await,
        async || connections(true).await,
    );
}

sim::task_local! { static NAME: &'static str; }

/// Notes its drop.
struct Noted(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

async fn order() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let own = log.clone();
    let task = spawn(NAME.scope("a", async move {
        let note = |text| Noted(text, own.clone());
        let (first, second, local) = (note("first"), note("second"), note("local"));
        at_end(move || {
            assert!(NAME.try_get().is_err(), "the value has died");
            drop(first);
        });
        at_end(move || drop(second));
        yield_now().await;
        drop(local);
        7
    }));
    assert_eq!(task.await.unwrap(), 7);
    assert_eq!(*log.lock().unwrap(), ["local", "second", "first"]);
}

#[test]
fn work_is_done_in_the_order_of_destructors() {
    holds(async || order().await);
    sim::block_on(order());
}

#[test]
fn work_may_add_work() {
    let body = async || {
        let log = Arc::new(Mutex::new(Vec::new()));
        let (own, inner) = (log.clone(), log.clone());
        let task = spawn(async move {
            at_end(move || {
                own.lock().unwrap().push(1);
                at_end(move || inner.lock().unwrap().push(2));
            });
        });
        task.await.unwrap();
        assert_eq!(*log.lock().unwrap(), [1, 2]);
    };
    holds(body);
    sim::block_on(body());
}

#[test]
fn tasks_that_are_left_and_the_body_end_too() {
    let done = AtomicU32::new(0);
    let done = Arc::new(done);
    let runner = sim::Runner::new().hermetic().seeds(0..3);
    let report = runner.run(async || {
        let (own, body) = (done.clone(), done.clone());
        at_end(move || {
            body.fetch_add(100, SeqCst);
        });
        let begun = Arc::new(AtomicU32::new(0));
        let begins = begun.clone();
        let task = spawn(async move {
            at_end(move || {
                own.fetch_add(1, SeqCst);
            });
            begins.store(1, SeqCst);
            std::future::pending::<()>().await;
        });
        while begun.load(SeqCst) == 0 {
            yield_now().await;
        }
        task.detach();
    });
    assert!(report.passed());
    let done = done.load(SeqCst);
    assert!(done >= 303 && done % 101 == 0, "{done}");
}

#[test]
fn a_panic_of_the_work_is_one_of_the_task() {
    let body = async || {
        let task = spawn(async { at_end(|| panic!("in the work")) });
        let _ = task.await;
    };
    if let Some((failure, screen)) = fails(body) {
        assert!(format!("{failure:?}").contains("in the work"), "{screen}");
    }
    sim::block_on(async {
        let task = spawn(async { at_end(|| panic!("in the work")) });
        assert!(task.await.unwrap_err().is_panic());
    });
}

#[test]
#[should_panic(expected = "there is no task here")]
fn there_must_be_a_task() {
    at_end(|| ());
}
