//! A ring for one producer and one consumer that announces an item before it writes the item.

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Cell, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "spsc_ring",
    seeds: 100,
    buggy: |spawning| boxed(spsc(spawning, false)),
    fixed: |spawning| boxed(spsc(spawning, true)),
}];

const ITEMS: i64 = 3;

#[derive(Default)]
struct Ring {
    slots: [Cell<i64>; 2],
    head: Watched,
    tail: Watched,
}

/// Fixed: the slot is written first.
async fn spsc(spawning: Spawning, fixed: bool) {
    let ring = Arc::new(Ring::default());
    let other = ring.clone();
    let tasks = vec![
        boxed(async move {
            let Ring { slots, head, tail } = &*other;
            for item in 1..=ITEMS {
                head.wait(|head| item - 1 - head < 2).await;
                let slot = &slots[(item - 1) as usize % 2];
                if fixed {
                    slot.set(item).await;
                }
                tail.store(item).await;
                if !fixed {
                    slot.set(item).await;
                }
            }
        }),
        boxed(async move {
            let Ring { slots, head, tail } = &*ring;
            for item in 1..=ITEMS {
                tail.wait(|tail| tail >= item).await;
                assert_eq!(slots[(item - 1) as usize % 2].get().await, item);
                head.store(item).await;
            }
        }),
    ];
    together(spawning, tasks).await;
}
