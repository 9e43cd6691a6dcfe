//! A cache that is filled by every task that finds it empty.

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "cache_stampede",
    seeds: 50,
    buggy: |spawning| boxed(stampede(spawning, false)),
    fixed: |spawning| boxed(stampede(spawning, true)),
}];

#[derive(Default)]
struct Cache {
    /// The cached value, and true if a task is fetching it.
    entry: Mutex<(Option<i64>, bool)>,
    filled: Watched,
    loads: Atomic<i64>,
}

/// Fixed: one task fetches the value, and the others wait.
async fn stampede(spawning: Spawning, fixed: bool) {
    let cache = Arc::new(Cache::default());
    let user = |_| {
        let cache = cache.clone();
        boxed(async move {
            let mut entry = cache.entry.lock().await;
            if entry.0.is_some() {
                return;
            }
            let fetched = std::mem::replace(&mut entry.1, true);
            drop(entry);
            if fixed && fetched {
                cache.filled.wait(|filled| filled > 0).await;
                return;
            }
            cache.loads.fetch_add(1, SeqCst).await;
            cache.entry.lock().await.0 = Some(7);
            cache.filled.store(1).await;
        })
    };
    together(spawning, (0..3).map(user).collect()).await;
    assert_eq!(cache.loads.load(SeqCst).await, 1);
}
