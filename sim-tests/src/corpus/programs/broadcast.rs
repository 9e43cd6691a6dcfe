//! A ring that overwrites items that slow receivers have not read. An item may be overwritten while
//! a receiver reads it.

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "broadcast_lag",
    seeds: 300,
    buggy: |spawning| boxed(broadcast(spawning, false)),
    fixed: |spawning| boxed(broadcast(spawning, true)),
}];

const CAPACITY: usize = 2;

#[derive(Default)]
struct Slot {
    position: Atomic<i64>,
    value: Atomic<i64>,
}

#[derive(Default)]
struct Ring {
    slots: [Slot; CAPACITY],
    tail: Watched,
}

/// Fixed: the receiver reads the position again after the value.
async fn broadcast(spawning: Spawning, fixed: bool) {
    let ring = Arc::new(Ring::default());
    let other = ring.clone();
    let tasks = vec![
        boxed(async move {
            for item in 0..3 {
                let slot = &other.slots[item as usize % CAPACITY];
                slot.position.store(-1, SeqCst).await;
                slot.value.store(100 + item, SeqCst).await;
                slot.position.store(item, SeqCst).await;
                other.tail.store(item + 1).await;
            }
        }),
        boxed(async move {
            let mut next = 0;
            for _ in 0..3 {
                if next == 3 {
                    return;
                }
                ring.tail.wait(|tail| tail > next).await;
                let slot = &ring.slots[next as usize % CAPACITY];
                if slot.position.load(SeqCst).await != next {
                    // The item was overwritten: continue with the last item.
                    next = ring.tail.load().await - 1;
                    continue;
                }
                let value = slot.value.load(SeqCst).await;
                if fixed && slot.position.load(SeqCst).await != next {
                    continue;
                }
                assert_eq!(value, 100 + next, "another item than the one asked for");
                next += 1;
            }
        }),
    ];
    together(spawning, tasks).await;
}
