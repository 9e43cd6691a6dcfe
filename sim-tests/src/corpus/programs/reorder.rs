//! A checker runs between the two stores of one setter, before any second store (SCTBench: reorder_3 to reorder_20;
//! PERIOD: reorder_50, reorder_100). A random walk has no chance if there are many setters.

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Atomic, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "reorder_3",
        seeds: 300,
        buggy: |spawning| boxed(reorder(spawning, 2, 1, false)),
        fixed: |spawning| boxed(reorder(spawning, 2, 1, true)),
    },
    Program {
        name: "reorder_4",
        seeds: 400,
        buggy: |spawning| boxed(reorder(spawning, 3, 1, false)),
        fixed: |spawning| boxed(reorder(spawning, 3, 1, true)),
    },
    Program {
        name: "reorder_5",
        seeds: 500,
        buggy: |spawning| boxed(reorder(spawning, 4, 1, false)),
        fixed: |spawning| boxed(reorder(spawning, 4, 1, true)),
    },
    Program {
        name: "reorder_10",
        seeds: 800,
        buggy: |spawning| boxed(reorder(spawning, 9, 1, false)),
        fixed: |spawning| boxed(reorder(spawning, 9, 1, true)),
    },
    Program {
        name: "reorder_20",
        seeds: 500,
        buggy: |spawning| boxed(reorder(spawning, 10, 10, false)),
        fixed: |spawning| boxed(reorder(spawning, 10, 10, true)),
    },
    Program {
        name: "reorder_50",
        seeds: 1000,
        buggy: |spawning| boxed(reorder(spawning, 40, 10, false)),
        fixed: |spawning| boxed(reorder(spawning, 40, 10, true)),
    },
];

#[derive(Default)]
struct Shared {
    lock: Mutex<()>,
    a: Atomic<i64>,
    b: Atomic<i64>,
}

/// Fixed: the two words are written and checked under a lock.
async fn reorder(spawning: Spawning, setters: usize, checkers: usize, fixed: bool) {
    let shared = Arc::new(Shared::default());
    let setter = |_| {
        let shared = shared.clone();
        boxed(async move {
            let Shared { lock, a, b } = &*shared;
            let _lock = if fixed { Some(lock.lock().await) } else { None };
            a.store(1, SeqCst).await;
            b.store(-1, SeqCst).await;
        })
    };
    let mut tasks: Vec<_> = (0..setters).map(setter).collect();
    let checker = |_| {
        let shared = shared.clone();
        boxed(async move {
            let Shared { lock, a, b } = &*shared;
            let _lock = if fixed { Some(lock.lock().await) } else { None };
            let none = a.load(SeqCst).await == 0 && b.load(SeqCst).await == 0;
            let both = none || a.load(SeqCst).await == 1 && b.load(SeqCst).await == -1;
            assert!(both, "one without the other");
        })
    };
    tasks.extend((0..checkers).map(checker));
    together(spawning, tasks).await;
}
