//! Deadlocks of futures: the screen has the lines at which they await.

use std::sync::Arc;

use sim::Runner;
use sim::report::{Style, text};
use tokio::sync::{Mutex, oneshot};

use super::{on_one_thread, on_workers};

/// The lines of the awaits below. The screens must contain them.
const TASK_OF_ONE: u32 = line!() + 9;
const MAIN_OF_ONE: u32 = line!() + 11;

fn nobody_sends() {
    on_one_thread(async {
        let (sender, receiver) = oneshot::channel::<()>();
        let ended = tokio::spawn(async { tokio::task::yield_now().await });
        ended.await.unwrap();
        let waits = tokio::spawn(async move {
            receiver.await.unwrap();
        });
        let _sender = sender;
        waits.await.unwrap();
    });
}

const TASK_OF_TWO: u32 = line!() + 9;
const MAIN_OF_TWO: u32 = line!() + 12;

fn locks_in_two_orders() {
    on_workers(async {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let other = locks.clone();
        let task = tokio::spawn(async move {
            let _one = other.0.lock().await;
            let _two = other.1.lock().await;
        });
        let _two = locks.1.lock().await;
        tokio::task::yield_now().await;
        let _one = locks.0.lock().await;
        drop((_one, _two));
        task.await.unwrap();
    });
}

/// The part of the screen about the deadlock, with single blanks.
fn deadlock(body: fn()) -> String {
    let report = Runner::new().hermetic().seeds(0..300).prove(0).why(0).run_native(body);
    let screen = text(&report, &Style::default());
    let from = screen.find("── deadlock").unwrap_or_else(|| panic!("no deadlock: {screen}"));
    let deadlock = &screen[from..];
    let to = deadlock.find("── schedule").unwrap_or(deadlock.len());
    deadlock[..to].split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_deadlock_has_the_lines_at_which_futures_await_and_were_spawned() {
    for (body, main, (spawn, task)) in [
        (nobody_sends as fn(), MAIN_OF_ONE, (TASK_OF_ONE - 1, TASK_OF_ONE)),
        (locks_in_two_orders, MAIN_OF_TWO, (TASK_OF_TWO - 2, TASK_OF_TWO)),
    ] {
        let deadlock = deadlock(body);
        let at = |said: &str, line: u32| format!("{said} tests/tokio/awaits.rs:{line}:");
        // The line of the future comes before the lines of the runtime.
        let rows = [
            at("main its future awaits", main),
            "in `block_on` tests/tokio.rs:".to_owned(),
            at("a task of tokio awaits", task),
            at("spawned", spawn),
        ];
        let mut from = 0;
        for row in &rows {
            let found = deadlock[from..].find(row.as_str());
            from += found.unwrap_or_else(|| panic!("no {row}: {deadlock}")) + row.len();
        }
        assert_eq!(deadlock.matches("a task of tokio").count(), 1, "{deadlock}");
    }
}

/// A runtime of one thread does not reach a task if another task blocks the thread.
#[test]
fn a_task_that_was_never_polled_has_the_line_of_its_spawn() {
    let deadlock = deadlock(|| {
        let (_sender, receiver) = std::sync::mpsc::channel::<()>();
        on_one_thread(async move {
            tokio::spawn(async { tokio::task::yield_now().await }).await.unwrap();
            drop(tokio::spawn(async { tokio::task::yield_now().await }));
            receiver.recv().unwrap();
        });
    });
    let row = "a task of tokio was never polled spawned tests/tokio/awaits.rs:";
    assert_eq!(deadlock.matches(row).count(), 1, "{deadlock}");
    assert_eq!(deadlock.matches("a task of tokio").count(), 1, "{deadlock}");
}

/// The thread that runs the task has the line of the spawn.
#[test]
fn a_task_that_blocks_its_thread_has_the_line_of_its_spawn() {
    let deadlock = deadlock(|| {
        let (_sender, receiver) = std::sync::mpsc::channel::<()>();
        on_workers(async move {
            let task = tokio::spawn(async move { receiver.recv().unwrap() });
            task.await.unwrap();
        });
    });
    let spawn = "in a task of tokio that was spawned tests/tokio/awaits.rs:";
    assert_eq!(deadlock.matches(spawn).count(), 1, "{deadlock}");
    assert!(!deadlock.contains("a task of tokio awaits"), "{deadlock}");
}
