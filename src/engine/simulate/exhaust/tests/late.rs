//! The end of the time of a search.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::Runner;

/// Runs three tasks, and returns the order in which they took a lock.
async fn order() -> Vec<u32> {
    let order = Arc::new(crate::Mutex::new(Vec::new()));
    let tasks = [1, 2, 3].map(|number| {
        let order = order.clone();
        crate::spawn(async move {
            for _ in 0..3 {
                order.lock().await.push(number);
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    let order = order.lock().await;
    order.clone()
}

fn search() -> Runner {
    Runner::new().hermetic().strategy("exhaustive").seeds(0..100_000).shrink(false).prove(0).why(0)
}

/// The time limit passes during the first slice of a round. Meanwhile another thread finds the failure.
#[test]
fn a_failure_that_is_found_while_another_slice_is_cut_is_reported() {
    let orders = Arc::new(Mutex::new(Vec::new()));
    let seen = orders.clone();
    search().jobs(1).run(async move || {
        let order = order().await;
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(order);
    });
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    // The first round has 256 runs, and a slice of the next round has 32.
    let rare = orders[256 + 4 * 32 + 16].clone();
    assert!(!orders[..256 + 2 * 32].contains(&rare));

    let (made, here) = (AtomicU32::new(0), thread::current().id());
    let is_slow = move |run: u32| run == 0 || run > 256 && thread::current().id() == here;
    let made = Arc::new(made);
    let report = search().jobs(2).time(Duration::from_millis(900)).run(async move || {
        // Long enough for other threads to begin, and for this thread not to end its slice.
        if is_slow(made.fetch_add(1, Ordering::Relaxed)) {
            thread::sleep(Duration::from_millis(250));
        }
        assert_ne!(order().await, rare);
    });
    assert!(!report.passed());
    assert!(report.runs < 1_000, "{}", report.runs);
}
