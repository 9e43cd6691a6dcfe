//! A driver that is stopped while it is in use (Qadeer and Wu, *KISS*, PLDI 2004; SCTBench:
//! bluetooth_driver).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "bluetooth",
    seeds: 400,
    buggy: |spawning| boxed(bluetooth(spawning, false)),
    fixed: |spawning| boxed(bluetooth(spawning, true)),
}];

struct Driver {
    /// The number of users, plus one until the driver is stopped.
    pending: Atomic<i64>,
    stopping: Atomic<bool>,
    idle: Atomic<bool>,
    stopped: Atomic<bool>,
}

impl Driver {
    async fn release(&self) {
        if self.pending.fetch_sub(1, SeqCst).await == 1 {
            self.idle.store(true, SeqCst).await;
        }
    }

    /// Checks if the driver may be used, then registers as a user. Fixed: registers first, then checks.
    async fn use_it(&self, fixed: bool) {
        if fixed {
            self.pending.fetch_add(1, SeqCst).await;
        }
        if !self.stopping.load(SeqCst).await {
            if !fixed {
                self.pending.fetch_add(1, SeqCst).await;
            }
            assert!(!self.stopped.load(SeqCst).await, "used after it was stopped");
        }
        self.release().await;
    }

    async fn stop(&self) {
        self.stopping.store(true, SeqCst).await;
        self.release().await;
        if self.idle.load(SeqCst).await {
            self.stopped.store(true, SeqCst).await;
        }
    }
}

async fn bluetooth(spawning: Spawning, fixed: bool) {
    let driver = Arc::new(Driver {
        pending: Atomic::new(1),
        stopping: Atomic::new(false),
        idle: Atomic::new(false),
        stopped: Atomic::new(false),
    });
    let user = driver.clone();
    let tasks = vec![
        boxed(async move { user.use_it(fixed).await }),
        boxed(async move { driver.stop().await }),
    ];
    together(spawning, tasks).await;
}
