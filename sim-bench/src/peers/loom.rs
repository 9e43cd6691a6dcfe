//! loom: exhaustive and with a memory model, so its work is different; at most 5 threads.
//!
//! Long bodies are cut off after the given number of interleavings. Short bodies are explored
//! completely, again and again. If they have few interleavings, the time includes the start of
//! loom's model.

use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicU64 as StdAtomicU64, Ordering::Relaxed};

use loom::sync::atomic::{AtomicU64, Ordering::SeqCst};
use loom::sync::{Arc, Mutex};
use loom::thread::{JoinHandle, spawn};

use super::Peer;
use crate::workload::{Shape, W2, W3, W4, Workload, check_loaded, sum_below};

/// loom without a log, and with a bound on branches that has no effect.
pub(crate) const PEER: Peer = Peer {
    name: "loom",
    can: |workload| matches!(workload, Workload::W0 | Workload::W2 | Workload::W3 | Workload::W4),
    run,
};

fn run(workload: Workload, runs: u64) {
    match workload {
        Workload::W0 => go(runs, || {}),
        Workload::W2 => go(runs, || load_store(W2)),
        Workload::W3 => go(runs, || load_store(W3)),
        Workload::W4 | Workload::W4t => go(runs, w4),
        _ => unreachable!("not for loom"),
    }
}

fn go<B: Fn() + Send + Sync + 'static>(runs: u64, body: B) {
    let done = StdArc::new(StdAtomicU64::new(0));
    let body = StdArc::new(body);
    while done.load(Relaxed) < runs {
        let (count, body) = (done.clone(), body.clone());
        let mut model = loom::model::Builder::new();
        model.max_branches = 10_000;
        model.log = false;
        // loom checks its limit only at intervals, and counts the run that it does not execute.
        model.checkpoint_interval = 1;
        model.max_permutations = Some((runs - done.load(Relaxed)) as usize + 1);
        model.check(move || {
            body();
            count.fetch_add(1, Relaxed);
        });
    }
    assert_eq!(done.load(Relaxed), runs);
}

fn sum(threads: Vec<JoinHandle<u64>>) -> u64 {
    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
}

fn load_store(shape: Shape) {
    let counter = Arc::new(AtomicU64::new(0));
    let spawn_one = |_| {
        let counter = counter.clone();
        spawn(move || {
            let mut old = 0;
            for _ in 0..shape.rounds {
                old = counter.load(SeqCst);
                counter.store(old + 1, SeqCst);
            }
            old
        })
    };
    let threads: Vec<_> = (0..shape.tasks).map(spawn_one).collect();
    let mut last = Vec::with_capacity(threads.len());
    for thread in threads {
        last.push(thread.join().unwrap());
    }
    check_loaded(shape, &last);
}

fn w4() {
    let counter = Arc::new(Mutex::new(0u64));
    let spawn_one = |_| {
        let counter = counter.clone();
        spawn(move || {
            let mut seen = 0;
            for _ in 0..W4.rounds {
                let mut counter = counter.lock().unwrap();
                seen += *counter;
                *counter += 1;
            }
            seen
        })
    };
    let threads: Vec<_> = (0..W4.tasks).map(spawn_one).collect();
    assert_eq!(sum(threads), sum_below(W4.tasks * W4.rounds));
}
