//! Data in two stages with one lock each, and readers in between (SCTBench: twostage; PERIOD: twostage_20).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Cell, Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "twostage",
        seeds: 300,
        buggy: |spawning| boxed(twostage(spawning, 1, 1, false)),
        fixed: |spawning| boxed(twostage(spawning, 1, 1, true)),
    },
    Program {
        name: "twostage_20",
        seeds: 400,
        buggy: |spawning| boxed(twostage(spawning, 10, 10, false)),
        fixed: |spawning| boxed(twostage(spawning, 10, 10, true)),
    },
    Program {
        name: "twostage_50",
        seeds: 1000,
        buggy: |spawning| boxed(twostage(spawning, 40, 10, false)),
        fixed: |spawning| boxed(twostage(spawning, 40, 10, true)),
    },
];

#[derive(Default)]
struct Stages {
    locks: [Mutex<()>; 2],
    data: [Cell<i64>; 2],
}

/// Fixed: the first lock is held until the second stage is written.
async fn twostage(spawning: Spawning, writers: usize, readers: usize, fixed: bool) {
    let stages = Arc::new(Stages::default());
    let writer = |_| {
        let stages = stages.clone();
        boxed(async move {
            let Stages { locks, data } = &*stages;
            let mut first = Some(locks[0].lock().await);
            data[0].set(1).await;
            first.take_if(|_| !fixed);
            let _second = locks[1].lock().await;
            let value = data[0].get().await;
            data[1].set(value + 1).await;
        })
    };
    let mut tasks: Vec<_> = (0..writers).map(writer).collect();
    let reader = |_| {
        let stages = stages.clone();
        boxed(async move {
            let Stages { locks, data } = &*stages;
            let first = locks[0].lock().await;
            if data[0].get().await == 0 {
                return;
            }
            let early = data[0].get().await;
            drop(first);
            let second = locks[1].lock().await;
            let late = data[1].get().await;
            drop(second);
            assert_eq!(late, early + 1);
        })
    };
    tasks.extend((0..readers).map(reader));
    together(spawning, tasks).await;
}
