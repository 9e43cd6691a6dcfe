//! Tests about the thread of a run: code that blocks it, threads that it starts, and calls of its panic hook.

use sim::Cell;

use super::{off, variant};

/// Blocks the thread of the run, and the library does not notice it.
#[sim::test(seeds = 2)]
async fn sleeps_on_the_thread() {
    if !off() && !variant("fixed") {
        Cell::new(0).set(1).await;
        match variant("join") {
            true => std::thread::spawn(nap).join().unwrap(),
            false => nap(),
        }
    }
}

fn nap() {
    std::thread::sleep(std::time::Duration::from_millis(60));
}

/// Starts a thread as a pool does, once for all runs. The run does not wait for it.
#[sim::test(seeds = 20)]
async fn starts_a_pool() {
    static POOL: std::sync::Once = std::sync::Once::new();
    if !off() && !variant("fixed") {
        Cell::new(0).set(1).await;
        POOL.call_once(|| {
            std::thread::spawn(|| {
                loop {
                    std::thread::park();
                }
            });
            nap();
        });
    }
}

/// A separate program that executes one run after another. Each run catches one panic, always in the same step.
#[test]
fn catches_a_panic_in_each_run() {
    if off() {
        return;
    }
    std::panic::set_hook(Box::new(|_| ()));
    for seed in 0..20 {
        let run = sim::Runner::new().run_seed(seed, async || {
            Cell::new(0).set(1).await;
            let caught = std::panic::catch_unwind(|| panic!("caught"));
            assert!(caught.is_err());
            assert!(!variant("twice") || std::panic::catch_unwind(|| panic!("again")).is_err());
        });
        assert_eq!(run.outcome, sim::run::Outcome::Passed);
    }
}
