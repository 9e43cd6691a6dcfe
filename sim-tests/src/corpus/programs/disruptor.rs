//! A ring whose producers claim slots one by one and publish them in any order, similar to the
//! Disruptor.

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, Cell, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "disruptor",
    seeds: 100,
    buggy: |spawning| boxed(disruptor(spawning, false)),
    fixed: |spawning| boxed(disruptor(spawning, true)),
}];

const PRODUCERS: usize = 3;

struct Ring {
    claimed: Atomic<i64>,
    slots: [Cell<i64>; PRODUCERS],
    /// The last published slot.
    cursor: Watched,
}

/// Fixed: a producer waits until the previous slot is published.
async fn disruptor(spawning: Spawning, fixed: bool) {
    let ring = Arc::new(Ring {
        claimed: Atomic::new(0),
        slots: [0; PRODUCERS].map(Cell::new),
        cursor: Watched::new(-1),
    });
    let producer = |_| {
        let ring = ring.clone();
        boxed(async move {
            let slot = ring.claimed.fetch_add(1, SeqCst).await;
            ring.slots[slot as usize].set(1).await;
            if fixed {
                ring.cursor.wait(|cursor| cursor == slot - 1).await;
            }
            ring.cursor.store(slot).await;
        })
    };
    let mut tasks: Vec<_> = (0..PRODUCERS).map(producer).collect();
    let consumer = ring.clone();
    tasks.push(boxed(async move {
        let mut next = 0;
        for _ in 0..2 {
            if next == PRODUCERS as i64 {
                return;
            }
            let cursor = consumer.cursor.wait(|cursor| cursor >= next).await;
            while next <= cursor {
                let item = consumer.slots[next as usize].get().await;
                assert_eq!(item, 1, "slot {next} was published before it was filled");
                next += 1;
            }
        }
    }));
    together(spawning, tasks).await;
}
