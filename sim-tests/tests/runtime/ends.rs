//! Ends of runs: panics of every kind, faulty destructors, limits, errors.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use futures::FutureExt;
use sim::Ordering::SeqCst;
use sim::run::Failure;
use sim::run::ids::TaskId;
use sim::{Atomic, Mutex, Runner, SIMULATED};
use sim_tests::seeds::{fails, failure, passes, runner};

#[test]
fn a_panic_in_the_body_names_the_body_and_the_place() {
    let Failure::Panic { task, message, place } =
        fails("body", async || -> () { panic!("in the body") })
    else {
        panic!("another failure")
    };
    assert_eq!((task, message.as_str()), (TaskId::MAIN, "in the body"));
    assert!(place.starts_with(file!()), "{place}");
}

#[cfg_attr(feature = "sim", test)]
fn a_panic_in_a_task_fails_the_run_though_nobody_joins_it() {
    let failure = fails("task", async || {
        drop(sim::spawn(async { panic!("in a task") }));
        for _ in 0..5 {
            sim::task::yield_now().await;
        }
    });
    assert!(matches!(failure, Failure::Panic { task: TaskId(1), .. }), "{failure:?}");
}

#[test]
fn a_payload_that_is_not_text_is_said_to_be_none() {
    let failure = fails("payload", async || -> () {
        sim::task::yield_now().await;
        std::panic::panic_any(42u64)
    });
    let Failure::Panic { message, .. } = failure else { panic!("{failure:?}") };
    assert!(message.contains("not text"), "{message}");
}

#[test]
fn a_payload_whose_destructor_panics_fails_the_run_only() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in the payload");
        }
    }
    if !SIMULATED {
        return;
    }
    let found = fails("payload_bomb", async || -> () { resume_unwind(Box::new(Bomb)) });
    assert!(matches!(found, Failure::Panic { .. }), "{found:?}");
}

#[cfg_attr(feature = "sim", test)]
fn a_panic_that_was_caught_is_not_told_as_another_one() {
    let found = fails("caught", async || -> () {
        let first = AssertUnwindSafe(async { panic!("caught") }).catch_unwind().await;
        assert!(first.is_err());
        sim::task::yield_now().await;
        resume_unwind(Box::new("the one that counts"))
    });
    let Failure::Panic { message, .. } = found else { panic!("{found:?}") };
    assert_eq!(message, "the one that counts");
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("in a destructor");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_panic_in_a_destructor_of_a_task_left_over_fails_the_run() {
    let found = fails("drop_panics", async || {
        let bomb = PanicsWhenDropped;
        drop(sim::spawn(async move {
            let _bomb = bomb;
            std::future::pending::<()>().await;
        }));
        sim::task::yield_now().await;
    });
    let Failure::Panic { task: TaskId(1), message, .. } = found else { panic!("{found:?}") };
    assert_eq!(message, "in a destructor");
}

#[cfg_attr(feature = "sim", test)]
fn a_panic_in_the_destructor_of_an_aborted_task_fails_the_run() {
    let found = fails("abort_panics", async || {
        let task = sim::spawn(async {
            let _bomb = PanicsWhenDropped;
            std::future::pending::<()>().await;
        });
        sim::task::yield_now().await;
        task.abort();
        let _ = task.await;
    });
    assert!(matches!(found, Failure::Panic { task: TaskId(1), .. }), "{found:?}");
}

/// The panic belongs to the task of the result, not to the task that drops the handle.
#[cfg_attr(feature = "sim", test)]
fn a_panic_in_the_destructor_of_an_unread_result_fails_the_run() {
    let found = fails("unread_panics", async || {
        let task = sim::spawn(async { PanicsWhenDropped });
        while !task.is_finished() {
            sim::task::yield_now().await;
        }
        drop(task);
    });
    let Failure::Panic { task: TaskId(1), message, .. } = found else { panic!("{found:?}") };
    assert_eq!(message, "in a destructor");
}

struct SpawnsWhenDropped(Option<Arc<Atomic<u8>>>);

impl Drop for SpawnsWhenDropped {
    fn drop(&mut self) {
        let inner = self.0.take();
        drop(sim::spawn(async move {
            if let Some(inner) = inner {
                inner.fetch_add(1, SeqCst).await;
            }
        }));
    }
}

#[test]
fn a_destructor_may_spawn_at_the_end_of_the_run() {
    passes("drop_spawns", async || {
        let bomb = SpawnsWhenDropped(Some(Arc::new(Atomic::new(0))));
        drop(sim::spawn(async move {
            let _bomb = bomb;
            sim::task::yield_now().await;
        }));
        sim::task::yield_now().await;
    });
}

struct Hydra;

impl Drop for Hydra {
    fn drop(&mut self) {
        let head = Hydra;
        drop(sim::spawn(async move {
            let _head = head;
        }));
    }
}

#[cfg_attr(feature = "sim", test)]
fn destructors_that_spawn_without_end_do_no_harm_to_the_next_run() {
    let failure = failure(&runner("hydra").run_seed(0, async || drop(Hydra)));
    assert!(matches!(failure, Failure::Misuse { .. }), "{failure:?}");
    // The same worker runs many seeds. Remains of one run must not appear in the next run.
    let found = fails("hydra_again", async || {
        if sim::rand::below(2) == 0 {
            drop(Hydra);
        }
        let task = sim::spawn(async { 5 });
        assert_eq!(task.await.unwrap(), 5);
    });
    assert!(matches!(found, Failure::Misuse { .. }), "{found:?}");
}

struct DrawsWhenDropped;

impl Drop for DrawsWhenDropped {
    fn drop(&mut self) {
        sim::rand::below(100);
    }
}

#[test]
fn a_destructor_may_draw_at_the_end_of_the_run() {
    passes("drop_draws", async || {
        let draws = DrawsWhenDropped;
        drop(sim::spawn(async move {
            let _draws = draws;
            std::future::pending::<()>().await;
        }));
        sim::task::yield_now().await;
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_destructor_may_draw_while_a_panic_unwinds() {
    let found = fails("unwind_draws", async || -> () {
        let _draws = DrawsWhenDropped;
        sim::task::yield_now().await;
        panic!("on purpose");
    });
    assert!(
        matches!(&found, Failure::Panic { message, .. } if message == "on purpose"),
        "{found:?}"
    );
}

#[cfg_attr(feature = "sim", test)]
fn a_trace_that_fits_no_longer_does_not_abort_a_destructor_that_draws() {
    let replay = Runner::new().hermetic().replay("sim2:0,0").run(async || -> () {
        let _draws = DrawsWhenDropped;
        sim::task::yield_now().await;
        panic!("on purpose");
    });
    assert!(replay.finding.is_some());
}

#[cfg_attr(feature = "sim", test)]
fn a_future_nobody_wakes_is_a_deadlock_of_something_foreign() {
    let failure = fails("foreign", async || std::future::pending::<()>().await);
    let Failure::Deadlock { waits } = failure else { panic!("{failure:?}") };
    assert_eq!((waits.len(), waits[0].op), (1, None));
}

#[cfg_attr(feature = "sim", test)]
fn the_step_limit_names_the_steps_that_repeat() {
    let report = runner("limit").max_steps(500).seeds(0..1).run(async || {
        let flag = Atomic::new(false);
        while !flag.load(SeqCst).await {}
    });
    let found = failure(&report.finding.unwrap().run);
    let Failure::StepLimit { steps: 500, cycle } = found else { panic!("{found:?}") };
    assert_eq!(cycle.len(), 1);
    let free = runner("no_limit").max_steps(3).seeds(0..50).run(async || {
        sim::task::yield_now().await;
        sim::task::yield_now().await;
    });
    assert!(free.finding.is_none());
}

#[test]
fn an_error_of_the_body_is_its_debug_text() {
    let failure = fails("error", async || -> Result<(), std::num::ParseIntError> {
        sim::task::yield_now().await;
        "x".parse::<u8>().map(drop)
    });
    let Failure::Error { message } = failure else { panic!("{failure:?}") };
    assert_eq!(message, "ParseIntError { kind: InvalidDigit }");
}

#[test]
fn an_error_whose_text_panics_is_a_panic() {
    struct Mean;
    impl std::fmt::Debug for Mean {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no text")
        }
    }
    if !SIMULATED {
        return;
    }
    let failure = fails("mean", async || Err::<(), Mean>(Mean));
    assert!(matches!(failure, Failure::Panic { .. }), "{failure:?}");
}

#[cfg_attr(feature = "sim", test)]
fn what_the_body_holds_at_a_failure_is_freed_by_the_body() {
    let run = Runner::new().hermetic().run_seed(0, async || {
        let lock = Arc::new(Mutex::new(()));
        let _guard = lock.lock().await;
        let task = sim::spawn(async { panic!("while the body holds a lock") });
        task.await.unwrap();
    });
    let unlock = run.events.iter().find(|event| event.op.name == "unlock").expect("an unlock");
    assert_eq!(unlock.task, TaskId::MAIN);
}
