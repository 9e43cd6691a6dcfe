//! A sequence lock that increments its count only once, after both halves were written.

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "seqlock",
    seeds: 150,
    buggy: |spawning| boxed(seqlock(spawning, false)),
    fixed: |spawning| boxed(seqlock(spawning, true)),
}];

#[derive(Default)]
struct Shared {
    count: Atomic<i64>,
    a: Atomic<i64>,
    b: Atomic<i64>,
}

/// Fixed: the count is odd while the halves are written.
async fn seqlock(spawning: Spawning, fixed: bool) {
    let shared = Arc::new(Shared::default());
    let other = shared.clone();
    let tasks = vec![
        boxed(async move {
            let Shared { count, a, b } = &*other;
            for value in 1..=2 {
                if fixed {
                    count.fetch_add(1, SeqCst).await;
                }
                a.store(value, SeqCst).await;
                b.store(value, SeqCst).await;
                count.fetch_add(if fixed { 1 } else { 2 }, SeqCst).await;
            }
        }),
        boxed(async move {
            let Shared { count, a, b } = &*shared;
            for _ in 0..3 {
                let before = count.load(SeqCst).await;
                if before % 2 == 1 {
                    continue;
                }
                let read = (a.load(SeqCst).await, b.load(SeqCst).await);
                if count.load(SeqCst).await == before {
                    assert_eq!(read.0, read.1, "two halves of different values");
                    return;
                }
            }
        }),
    ];
    together(spawning, tasks).await;
}
