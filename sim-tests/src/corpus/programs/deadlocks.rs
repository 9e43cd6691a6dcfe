//! Locks in contradictory orders, or never released (SCTBench: carter01, deadlock01, phase01).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "carter01",
        seeds: 100,
        buggy: |spawning| boxed(carter(spawning, false)),
        fixed: |spawning| boxed(carter(spawning, true)),
    },
    Program {
        name: "deadlock01",
        seeds: 100,
        buggy: |spawning| boxed(deadlock(spawning, false)),
        fixed: |spawning| boxed(deadlock(spawning, true)),
    },
    Program {
        name: "phase01",
        seeds: 1,
        buggy: |spawning| boxed(phase(spawning, false)),
        fixed: |spawning| boxed(phase(spawning, true)),
    },
];

/// Two groups with one task each. Buggy: the first task of a group locks the resource while it holds the counters.
/// Fixed: the resource is locked first.
async fn carter(spawning: Spawning, fixed: bool) {
    let shared = Arc::new((Mutex::new([0; 2]), Mutex::new(())));
    let group = |group: usize| {
        let shared = shared.clone();
        boxed(async move {
            let (counters, resource) = &*shared;
            let early = if fixed { Some(resource.lock().await) } else { None };
            let mut inside = counters.lock().await;
            inside[group] += 1;
            let late = match inside[group] == 1 && !fixed {
                true => Some(resource.lock().await),
                false => None,
            };
            drop(inside);
            counters.lock().await[group] -= 1;
            drop((early, late));
        })
    };
    let bystander = || boxed(async {});
    together(spawning, vec![group(0), group(1), bystander(), bystander()]).await;
}

/// Acquires two locks in opposite orders.
async fn deadlock(spawning: Spawning, fixed: bool) {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let task = |first: usize| {
        let locks = locks.clone();
        boxed(async move {
            let _first = locks[first].lock().await;
            let _second = locks[1 - first].lock().await;
        })
    };
    together(spawning, vec![task(0), task(if fixed { 0 } else { 1 })]).await;
}

/// Buggy: the second guard of the first lock is never dropped, so every schedule fails.
async fn phase(spawning: Spawning, fixed: bool) {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let task = || {
        let locks = locks.clone();
        boxed(async move {
            drop(locks[0].lock().await);
            let kept = locks[0].lock().await;
            for _ in 0..2 {
                drop(locks[1].lock().await);
            }
            match fixed {
                true => drop(kept),
                false => std::mem::forget(kept),
            }
        })
    };
    together(spawning, vec![task(), task()]).await;
}
