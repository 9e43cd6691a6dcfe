//! Data that two tasks protect by different locks (SCTBench: wronglock, wronglock_3).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Cell, Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "wronglock_3",
        seeds: 150,
        buggy: |spawning| boxed(wronglock(spawning, 3, false)),
        fixed: |spawning| boxed(wronglock(spawning, 3, true)),
    },
    Program {
        name: "wronglock",
        seeds: 200,
        buggy: |spawning| boxed(wronglock(spawning, 7, false)),
        fixed: |spawning| boxed(wronglock(spawning, 7, true)),
    },
];

#[derive(Default)]
struct Shared {
    locks: [Mutex<()>; 2],
    data: Cell<i64>,
}

async fn wronglock(spawning: Spawning, others: usize, fixed: bool) {
    let shared = Arc::new(Shared::default());
    let other = |_| {
        let shared = shared.clone();
        boxed(async move {
            let _lock = shared.locks[usize::from(!fixed)].lock().await;
            let value = shared.data.get().await;
            shared.data.set(value + 1).await;
        })
    };
    let mut tasks: Vec<_> = (0..others).map(other).collect();
    let first = boxed(async move {
        let _lock = shared.locks[0].lock().await;
        let before = shared.data.get().await;
        let value = shared.data.get().await;
        shared.data.set(value + 1).await;
        assert_eq!(shared.data.get().await, before + 1);
    });
    tasks.insert(0, first);
    together(spawning, tasks).await;
}
