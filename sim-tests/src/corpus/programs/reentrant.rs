//! A reentrant mutex that is released before its count is reset (lock_api, commit da16c2c). Needs
//! two preemptions.

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Cell, Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "reentrant_unlock",
    seeds: 200,
    buggy: |spawning| boxed(reentrant(spawning, false)),
    fixed: |spawning| boxed(reentrant(spawning, true)),
}];

#[derive(Default)]
struct Lock {
    mutex: Mutex<()>,
    count: Cell<i64>,
}

/// Fixed: the count is reset first.
async fn reentrant(spawning: Spawning, fixed: bool) {
    let lock = Arc::new(Lock::default());
    let task = || {
        let lock = lock.clone();
        boxed(async move {
            let mut held = Some(lock.mutex.lock().await);
            lock.count.set(1).await;
            assert_eq!(lock.count.get().await, 1, "the count of whoever holds the lock");
            held.take_if(|_| !fixed);
            lock.count.set(0).await;
        })
    };
    together(spawning, vec![task(), task()]).await;
}
