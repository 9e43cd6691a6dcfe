//! A weak handle that is upgraded on a closed channel (async-channel, pull request 60).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "weak_upgrade",
    seeds: 100,
    buggy: |spawning| boxed(upgrade(spawning, false)),
    fixed: |spawning| boxed(upgrade(spawning, true)),
}];

/// Buggy: increments the count, and resets it if it was 0. Another task may see the count in
/// between. Fixed: a compare-exchange that never changes 0.
async fn upgrade(spawning: Spawning, fixed: bool) {
    let handles = Arc::new(Atomic::new(0i64));
    let upgrader = || {
        let handles = handles.clone();
        boxed(async move {
            if fixed {
                let mut seen = handles.load(SeqCst).await;
                while seen != 0 {
                    match handles.compare_exchange(seen, seen + 1, SeqCst, SeqCst).await {
                        Ok(_) => panic!("upgraded although the channel is closed"),
                        Err(now) => seen = now,
                    }
                }
            } else {
                let others = handles.fetch_add(1, SeqCst).await;
                assert_eq!(others, 0, "upgraded although the channel is closed");
                handles.store(0, SeqCst).await;
            }
        })
    };
    together(spawning, vec![upgrader(), upgrader()]).await;
}
