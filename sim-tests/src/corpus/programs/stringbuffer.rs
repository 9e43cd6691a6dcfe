//! A length is read, and the string is shorter when the length is used (CB: stringbuffer-jdk1.4).
//! Needs two preemptions, which a PCT of depth 2 cannot enforce.

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "stringbuffer",
    seeds: 200,
    buggy: |spawning| boxed(stringbuffer(spawning, false)),
    fixed: |spawning| boxed(stringbuffer(spawning, true)),
}];

/// Fixed: the lock is held from the read of the length to its use.
async fn stringbuffer(spawning: Spawning, fixed: bool) {
    let length = Arc::new(Mutex::new(3));
    let other = length.clone();
    let tasks = vec![
        boxed(async move {
            let mut guard = length.lock().await;
            let taken = *guard;
            if !fixed {
                drop(guard);
                guard = length.lock().await;
            }
            assert!(taken <= *guard, "characters that are not there");
        }),
        boxed(async move {
            *other.lock().await = 0;
            *other.lock().await += 3;
        }),
    ];
    together(spawning, tasks).await;
}
