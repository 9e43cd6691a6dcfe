//! Issue 8056: a task of `spawn_blocking` is never begun (1.52.0).

use std::sync::{Arc, Barrier};

use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

#[sim::test(native, seeds = 10_000, max_steps = 100_000)]
fn two_tasks_that_wait_for_each_other() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        spawn_blocking(|| {}).await.unwrap();
        let barrier = Arc::new(Barrier::new(2));
        let tasks =
            [barrier.clone(), barrier].map(|barrier| spawn_blocking(move || drop(barrier.wait())));
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[sim::test(native, seeds = 10_000, max_steps = 100_000)]
fn three_tasks_one_after_the_other() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for _ in 0..3 {
            spawn_blocking(|| {}).await.unwrap();
        }
    });
}

#[sim::test(native, seeds = 10_000, max_steps = 100_000)]
fn tasks_beside_a_worker() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        let first = [spawn_blocking(|| {}), spawn_blocking(|| {})];
        for task in first {
            task.await.unwrap();
        }
        spawn_blocking(|| {}).await.unwrap();
    });
}
