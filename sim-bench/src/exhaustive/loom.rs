//! loom: partial-order reduction under a memory model, with at most five threads including the
//! first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use loom as peer;

use super::Explored;

#[path = "threads.rs"]
mod tools;

#[path = "programs.rs"]
#[allow(dead_code)] // What is known of a program is asked of ours.
mod programs;

/// Explores a program until the time limit.
pub(super) fn explore(index: usize, budget: Duration) -> Explored {
    let (began, runs) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let count = runs.clone();
    let mut model = loom::model::Builder::new();
    model.log = false;
    model.max_branches = 10_000;
    // loom reads the clock only once in this many runs.
    model.checkpoint_interval = 100;
    model.max_duration = Some(budget);
    model.check(move || {
        count.fetch_add(1, Relaxed);
        super::now((programs::PROGRAMS[index].body)());
    });
    let runs = runs.load(Relaxed);
    Explored { runs, blocked: 0, complete: began.elapsed() <= budget }
}
