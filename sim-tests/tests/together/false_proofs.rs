//! Programs that an exhaustive search once called proven, though they fail.

use std::cell::Cell;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::check::models::{Counter, CounterOp, CounterRet};
use sim::report::{Cause, Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Atomic, History, Runner, SIMULATED};
use sim_tests::falsely_proven;

fn search(body: impl AsyncFn() + Sync) -> Report {
    Runner::new().hermetic().strategy("exhaustive").run(body)
}

/// Checks that the search itself finds the panic, and does not leave it to runs that are sampled later.
fn finds_the_panic(body: impl AsyncFn() + Sync) {
    if !SIMULATED {
        return;
    }
    let report = search(body);
    let failure = report.finding.as_ref().and_then(|finding| match &finding.run.outcome {
        Outcome::Failed(failure) => Some(failure),
        Outcome::Passed => None,
    });
    assert!(matches!(failure, Some(Failure::Panic { .. })), "{report:?}");
    assert!(report.searched.unwrap().audit.is_none());
}

#[test]
fn who_holds_a_lock_aborts_a_task_that_waits_for_it() {
    finds_the_panic(falsely_proven::abort_of_a_waiting_task);
}

#[test]
fn a_handle_is_polled_once_after_another_join() {
    finds_the_panic(falsely_proven::handle_polled_once);
}

#[test]
fn a_task_is_looked_at_whose_lock_order_is_open() {
    finds_the_panic(falsely_proven::look_at_a_task_among_joins);
}

#[cfg_attr(feature = "sim", test)]
fn a_lock_of_std_that_is_shared_is_searched_step_by_step() {
    // Each task executes one operation that this library sees, on its own object.
    let report = search(async || {
        let shared = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = Atomic::new(0);
        let task = |n: usize| {
            let shared = shared.clone();
            sim::spawn(async move {
                sim::task::yield_now().await;
                shared.lock().unwrap().push(n);
            })
        };
        let tasks = [task(1), task(2)];
        for task in tasks {
            task.await.unwrap();
        }
        let first = shared.lock().unwrap()[0];
        seen.store(first, SeqCst).await;
    });
    assert!(report.passed());
    let searched = report.searched.clone().unwrap();
    assert!(searched.by_step && searched.is_proof(), "{searched:?}");
    let screen = text(&report, &Style { color: false, width: 100 });
    assert!(screen.contains("each order of steps was a run of its own"), "{screen}");
    // The report names the steps in which the tasks take the lock.
    let Some(Cause::Clash(clash)) = &searched.cause else { panic!("{:?}", searched.cause) };
    for step in &clash.steps {
        assert!(step.place.contains("false_proofs.rs"), "{clash:?}");
        assert!(screen.replace("\n        ", " ").contains(&step.place), "{screen}");
    }
}

/// Records the first number in memory that no run sees, and then waits forever.
async fn notes(first: &Cell<u8>, number: u8) {
    if first.get() == 0 {
        first.set(number);
    }
    std::future::pending().await
}

#[cfg_attr(feature = "sim", test)]
fn a_search_step_by_step_has_each_order_of_branches_that_sampled_runs_have() {
    let report = search(async || {
        // The task wakes the body through another library, so each order of steps is a separate run.
        let (sender, receiver) = futures::channel::oneshot::channel::<()>();
        let task = sim::spawn(async move {
            sim::task::yield_now().await;
            sender.send(()).unwrap();
        });
        let first = Cell::new(0);
        sim::select! {
            () = notes(&first, 1) => {}
            () = notes(&first, 2) => {}
            () = sim::task::yield_now() => {}
        }
        if first.get() == 2 {
            Atomic::new(0_u8).store(1, SeqCst).await;
        }
        receiver.await.unwrap();
        task.await.unwrap();
    });
    assert!(report.passed());
    let searched = report.searched.unwrap();
    assert!(searched.by_step && searched.is_proof(), "{searched:?}");
}

#[cfg_attr(feature = "sim", test)]
fn branches_that_share_memory_are_searched_in_each_order() {
    let report = search(async || {
        let first = Cell::new(0);
        sim::select! {
            () = notes(&first, 1) => {}
            () = notes(&first, 2) => {}
            () = sim::task::yield_now() => {}
        }
        // The step makes the run belong to another class, but does not fail it.
        if first.get() == 2 {
            Atomic::new(0_u8).store(1, SeqCst).await;
        }
    });
    assert!(report.passed());
    let searched = report.searched.clone().unwrap();
    assert!(searched.by_step && searched.is_proof(), "{searched:?}");
    // There is one run for each branch that may be polled first.
    assert_eq!(report.runs, 3);
}

/// Six tasks note their numbers under a lock of std. Fails if the numbers are noted in the order `order`, one of their
/// 720 orders.
async fn notes_of_six(order: &[usize]) {
    let shared = Arc::new(std::sync::Mutex::new(Vec::new()));
    let task = |n: usize| {
        let shared = shared.clone();
        sim::spawn(async move { shared.lock().unwrap().push(n) })
    };
    let tasks = [0, 1, 2, 3, 4, 5].map(task);
    for task in tasks {
        task.await.unwrap();
    }
    assert_ne!(*shared.lock().unwrap(), order);
}

#[cfg_attr(feature = "sim", test)]
fn a_difference_that_few_orders_show_is_an_assumption_of_the_proof() {
    // No operation shows the order of the notes, and no sampled run has the failing order. So the search cannot detect
    // it. The search states its assumption, and a search that executes all orders finds the failure.
    let order = [3, 0, 5, 1, 4, 2];
    let report = search(async || notes_of_six(&order).await);
    let searched = report.searched.clone().unwrap();
    assert!(report.passed() && searched.is_proof() && !searched.by_step, "{searched:?}");
    assert_eq!(searched.assumption(), Some("tasks share memory through sim only"));
    let screen = text(&report, &Style { color: false, width: 100 });
    assert!(screen.contains("(assumes that tasks share memory through sim only)"), "{screen}");
    let bounded = Runner::new().hermetic().strategy("preemptions").seeds(0..5_000);
    let report = bounded.run(async || notes_of_six(&order).await);
    assert!(!report.passed());
    assert_eq!(report.searched.unwrap().assumption(), None);
}

#[cfg_attr(feature = "sim", test)]
fn a_failure_that_only_sampled_runs_show_is_a_failure() {
    let report = search(async || {
        let shared = Arc::new(std::sync::Mutex::new(0));
        let task = || {
            let shared = shared.clone();
            sim::spawn(async move {
                let old = *shared.lock().unwrap();
                sim::task::yield_now().await;
                *shared.lock().unwrap() = old + 1;
            })
        };
        let tasks = [task(), task()];
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*shared.lock().unwrap(), 2);
    });
    assert!(!report.passed());
    assert!(!report.searched.unwrap().is_proof());
}

#[cfg_attr(feature = "sim", test)]
fn what_tasks_share_by_this_library_alone_is_proven() {
    let report = search(async || {
        let sum = Arc::new(Atomic::new(0));
        let task = || {
            let sum = sum.clone();
            sim::spawn(async move { sum.fetch_add(1, SeqCst).await })
        };
        let tasks = [task(), task()];
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(sum.load(SeqCst).await, 2);
    });
    let searched = report.searched.clone().unwrap();
    assert!(searched.is_proof(), "{searched:?}");
    assert_eq!((searched.cause, searched.by_step), (None, false));
    assert_eq!(searched.audit.unwrap().runs, 100);
}

#[cfg_attr(feature = "sim", test)]
fn runs_before_a_restart_count_for_no_condition() {
    let report = search(async || {
        // The condition holds in exactly half of the runs.
        sim::cover!(sim::rand::below(2) == 0, 60, "zero");
        let history = History::new(Counter::new(0));
        history.invoke(CounterOp::Get).ok(CounterRet::Value(0));
        let word = Arc::new(Atomic::new(0));
        let task = || {
            let word = word.clone();
            sim::spawn(async move {
                let first = word.fetch_add(1, SeqCst).await;
                for _ in 0..2 {
                    word.fetch_add(1, SeqCst).await;
                }
                first
            })
        };
        let tasks = [task(), task(), task()];
        let mut first = [0; 3];
        for (first, task) in first.iter_mut().zip(tasks) {
            *first = task.await.unwrap();
        }
        if first == [6, 3, 0] {
            // The search learns late that the order of calls matters, and begins again.
            assert_eq!(history.operations().len(), 1);
        }
    });
    let failure = report.finding.as_ref().map(|finding| &finding.run.outcome);
    let Some(Outcome::Failed(Failure::TooSeldom { conditions, runs, .. })) = failure else {
        panic!("{report:?}");
    };
    assert_eq!((conditions[0].runs * 2, *runs), (report.runs, report.runs));
}

/// Two tasks store to one object. From the run `changes_at` on, a third task stores, too.
fn changes_what_it_captured(changes_at: u64) -> Report {
    let runs = std::sync::atomic::AtomicU64::new(0);
    search(async || {
        let value = Arc::new(Atomic::new(0));
        let is_changed = runs.fetch_add(1, SeqCst) >= changes_at;
        let task = |n: u8| {
            let value = value.clone();
            sim::spawn(async move { value.store(n, SeqCst).await })
        };
        let tasks = Vec::from_iter((0..if is_changed { 3 } else { 2 }).map(task));
        for task in tasks {
            task.await.unwrap();
        }
    })
}

#[cfg_attr(feature = "sim", test)]
fn values_that_a_closure_captured_and_changes_are_not_called_a_bug_of_unpause() {
    let report = changes_what_it_captured(30);
    let searched = report.searched.as_ref().unwrap();
    assert!(report.passed() && !searched.is_proof(), "{report:?}");
    let why = searched.shortfall().unwrap();
    assert!(why.contains("values that the closure captured changed between runs"), "{why}");
    let screen = text(&report, &Style { width: 1000, ..Style::default() });
    let remedy = "Create values that runs change inside the closure";
    assert!(screen.contains(remedy) && !screen.contains("This is a bug of unpause"), "{screen}");
    // The counter by itself makes no difference.
    assert!(changes_what_it_captured(u64::MAX).searched.unwrap().is_proof());
}
