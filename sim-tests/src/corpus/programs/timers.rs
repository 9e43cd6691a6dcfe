//! A timer that never fires: it is inserted after the search for the earliest deadline, but before
//! this deadline is stored (tokio, pull request 6683).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Atomic, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "timer_lost",
    seeds: 150,
    buggy: |spawning| boxed(timers(spawning, false)),
    fixed: |spawning| boxed(timers(spawning, true)),
}];

struct Timers {
    /// The earliest deadline of each shard.
    shards: [Mutex<i64>; 2],
    /// The time at which the driver wakes up; in the past while the driver runs.
    next_wake: Atomic<i64>,
    woken: Atomic<bool>,
}

/// Fixed: the driver holds the locks until it has stored the earliest deadline.
async fn timers(spawning: Spawning, fixed: bool) {
    let timers = Arc::new(Timers {
        shards: [100, 100].map(Mutex::new),
        next_wake: Atomic::new(0),
        woken: Atomic::new(false),
    });
    let (driver, inserter) = (timers.clone(), timers.clone());
    let tasks = vec![
        boxed(async move {
            let first = driver.shards[0].lock().await;
            let mut earliest = *first;
            let first = Some(first).filter(|_| fixed);
            let second = driver.shards[1].lock().await;
            earliest = earliest.min(*second);
            let second = Some(second).filter(|_| fixed);
            driver.next_wake.store(earliest, SeqCst).await;
            drop((first, second));
        }),
        boxed(async move {
            *inserter.shards[0].lock().await = 10;
            if inserter.next_wake.load(SeqCst).await > 10 {
                inserter.woken.store(true, SeqCst).await;
            }
        }),
    ];
    together(spawning, tasks).await;
    let woken = timers.woken.load(SeqCst).await;
    assert!(woken || timers.next_wake.load(SeqCst).await <= 10, "nobody wakes up in time");
}
