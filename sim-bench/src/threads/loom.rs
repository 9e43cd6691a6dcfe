//! loom, on the programs with timed runs. It explores them exhaustively, under a memory model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cpu_time::ProcessTime;

/// The primitives for the program files.
mod names {
    pub(super) use loom::{sync, thread};
}

#[allow(unreachable_pub, dead_code)]
#[path = "../../../native-tests/src/sizes.rs"]
pub(super) mod sizes;

/// Returns the processor time per run in microseconds. Explores a program with fewer than `runs` interleavings again.
pub(super) fn cost(program: fn(), runs: u64) -> f64 {
    let done = Arc::new(AtomicU64::new(0));
    let began = ProcessTime::now();
    while done.load(Relaxed) < runs {
        let count = done.clone();
        let mut model = loom::model::Builder::new();
        model.max_branches = 100_000;
        model.log = false;
        // loom checks its limit only at intervals, and counts the run that it does not execute.
        model.checkpoint_interval = 1;
        model.max_permutations = Some((runs - done.load(Relaxed)) as usize + 1);
        model.check(move || {
            count.fetch_add(1, Relaxed);
            program();
        });
    }
    began.elapsed().as_secs_f64() * 1e6 / done.load(Relaxed) as f64
}
