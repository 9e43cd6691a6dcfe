//! Dining philosophers: each takes the left fork, then the right fork. Hard for PCT.

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "dining_3",
        seeds: 150,
        buggy: |spawning| boxed(dining(spawning, 3, false)),
        fixed: |spawning| boxed(dining(spawning, 3, true)),
    },
    Program {
        name: "dining_5",
        seeds: 500,
        buggy: |spawning| boxed(dining(spawning, 5, false)),
        fixed: |spawning| boxed(dining(spawning, 5, true)),
    },
    Program {
        name: "dining_7",
        seeds: 1000,
        buggy: |spawning| boxed(dining(spawning, 7, false)),
        fixed: |spawning| boxed(dining(spawning, 7, true)),
    },
];

/// Fixed: each philosopher takes the fork with the lower number first.
async fn dining(spawning: Spawning, count: usize, fixed: bool) {
    let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..count).map(|_| Mutex::new(())).collect());
    let philosopher = |left: usize| {
        let forks = forks.clone();
        boxed(async move {
            let right = (left + 1) % count;
            let swapped = fixed && right < left;
            let (first, second) = if swapped { (right, left) } else { (left, right) };
            let _first = forks[first].lock().await;
            let _second = forks[second].lock().await;
        })
    };
    together(spawning, (0..count).map(philosopher).collect()).await;
}
