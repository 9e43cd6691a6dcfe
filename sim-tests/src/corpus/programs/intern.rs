//! The last reference is dropped while the table returns a new reference (internment, RUSTSEC-2020-0017).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Atomic, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "intern_drop",
    seeds: 250,
    buggy: |spawning| boxed(intern(spawning, false)),
    fixed: |spawning| boxed(intern(spawning, true)),
}];

struct Shared {
    /// True if the table contains the entry.
    table: Mutex<bool>,
    references: Atomic<i64>,
    freed: Atomic<bool>,
}

/// Fixed: references are dropped under the lock of the table.
async fn intern(spawning: Spawning, fixed: bool) {
    let shared = Arc::new(Shared {
        table: Mutex::new(true),
        references: Atomic::new(1),
        freed: Atomic::new(false),
    });
    let other = shared.clone();
    let tasks = vec![
        boxed(async move {
            let Shared { table, references, freed } = &*other;
            let held = if fixed { Some(table.lock().await) } else { None };
            if references.fetch_sub(1, SeqCst).await != 1 {
                return;
            }
            match held {
                Some(mut entry) => *entry = false,
                None => *table.lock().await = false,
            }
            freed.store(true, SeqCst).await;
        }),
        boxed(async move {
            let Shared { table, references, freed } = &*shared;
            let entry = table.lock().await;
            if !*entry {
                return;
            }
            references.fetch_add(1, SeqCst).await;
            drop(entry);
            assert!(!freed.load(SeqCst).await, "used after it was freed");
        }),
    ];
    together(spawning, tasks).await;
}
