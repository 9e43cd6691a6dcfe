//! A sum that is computed before all parts exist, because a barrier is missing (like in PARSEC streamcluster).

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Cell, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "barrier",
    seeds: 150,
    buggy: |spawning| boxed(barrier(spawning, false)),
    fixed: |spawning| boxed(barrier(spawning, true)),
}];

#[derive(Default)]
struct Shared {
    parts: [Cell<i64>; 3],
    arrived: Watched,
}

async fn barrier(spawning: Spawning, fixed: bool) {
    let shared = Arc::new(Shared::default());
    let worker = |me: usize| {
        let shared = shared.clone();
        boxed(async move {
            shared.parts[me].set(5).await;
            if fixed {
                shared.arrived.add(1).await;
                shared.arrived.wait(|arrived| arrived >= 3).await;
            }
            if me == 0 {
                let mut sum = 0;
                for part in &shared.parts {
                    sum += part.get().await;
                }
                assert_eq!(sum, 15);
            }
        })
    };
    together(spawning, (0..3).map(worker).collect()).await;
}
