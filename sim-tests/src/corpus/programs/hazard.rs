//! A hazard pointer that is set but not validated: the protected node may already be freed.

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "hazard_pointer",
    seeds: 200,
    buggy: |spawning| boxed(hazard(spawning, false)),
    fixed: |spawning| boxed(hazard(spawning, true)),
}];

#[derive(Default)]
struct Shared {
    pointer: Atomic<i64>,
    hazard: Atomic<i64>,
    freed: [Atomic<bool>; 3],
}

/// Fixed: the pointer is read again after it is protected.
async fn hazard(spawning: Spawning, fixed: bool) {
    let shared = Arc::new(Shared { pointer: Atomic::new(1), ..Shared::default() });
    let other = shared.clone();
    let tasks = vec![
        boxed(async move {
            let Shared { pointer, hazard, freed } = &*other;
            for _ in 0..3 {
                let object = pointer.load(SeqCst).await;
                hazard.store(object, SeqCst).await;
                if fixed && pointer.load(SeqCst).await != object {
                    continue;
                }
                assert!(!freed[object as usize].load(SeqCst).await, "used after it was freed");
                break;
            }
            hazard.store(0, SeqCst).await;
        }),
        boxed(async move {
            let old = shared.pointer.swap(2, SeqCst).await;
            if shared.hazard.load(SeqCst).await != old {
                shared.freed[old as usize].store(true, SeqCst).await;
            }
        }),
    ];
    together(spawning, tasks).await;
}
