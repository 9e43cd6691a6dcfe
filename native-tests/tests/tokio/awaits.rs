//! Deadlocks of futures: the screen has the lines at which they await.

use std::sync::Arc;

use sim::Runner;
use sim::report::{Style, text};
use tokio::sync::{Mutex, oneshot};

use super::{on_one_thread, on_workers};

/// The lines below, which the screens must have.
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

/// The rows of the screen about futures, with single blanks.
fn rows(body: fn()) -> Vec<String> {
    let report = Runner::new().hermetic().seeds(0..300).run_native(body);
    let screen = text(&report, &Style::default());
    let rows = screen.lines().filter(|row| row.contains("awaits  "));
    let rows: Vec<_> =
        rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(!rows.is_empty(), "{screen}");
    rows
}

#[test]
fn a_deadlock_has_the_lines_at_which_futures_await() {
    for (body, main, task) in [
        (nobody_sends as fn(), MAIN_OF_ONE, TASK_OF_ONE),
        (locks_in_two_orders, MAIN_OF_TWO, TASK_OF_TWO),
    ] {
        let rows = rows(body);
        let at = |said: &str, line: u32| format!("{said} tests/tokio/awaits.rs:{line}:");
        let expected = [at("its future awaits", main), at("a task of tokio awaits", task)];
        let is_it = |(row, expected): (&String, &String)| row.starts_with(expected.as_str());
        assert!(
            rows.len() == 2 && rows.iter().zip(&expected).all(is_it),
            "{rows:?}, expected {expected:?}"
        );
    }
}
