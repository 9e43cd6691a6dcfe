//! A set that moves a key during a lookup: the key always exists, but never where the lookup reads. Needs two
//! preemptions.

use std::sync::Arc;

use sim::History;
use sim::check::models::{Set, SetOp};

use super::{Program, Spawning, together};
use crate::tools::{Cell, Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "set_compaction",
    seeds: 300,
    buggy: |spawning| boxed(compaction(spawning, false)),
    fixed: |spawning| boxed(compaction(spawning, true)),
}];

/// Fixed: moves and lookups of the key hold a lock.
async fn compaction(spawning: Spawning, fixed: bool) {
    let history = History::new(Set::from_iter([5u64]));
    let shared = Arc::new((Mutex::new(()), Cell::new(5u64), Cell::new(0u64)));
    let (other, calls) = (shared.clone(), history.clone());
    let tasks = vec![
        boxed(async move {
            let (lock, first, second) = &*other;
            let _lock = if fixed { Some(lock.lock().await) } else { None };
            second.set(5).await;
            first.set(0).await;
            first.set(5).await;
            second.set(0).await;
        }),
        boxed(async move {
            let (lock, first, second) = &*shared;
            let contains = async {
                let _lock = if fixed { Some(lock.lock().await) } else { None };
                first.get().await == 5 || second.get().await == 5
            };
            calls.call(SetOp::Contains(5), contains).await;
        }),
    ];
    together(spawning, tasks).await;
    history.assert_linearizable();
}
