//! A cancelled waiter that keeps its granted permit (tokio, issue 1898).

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "cancelled_waiter",
    seeds: 150,
    buggy: |spawning| boxed(cancelled(spawning, false)),
    fixed: |spawning| boxed(cancelled(spawning, true)),
}];

#[derive(Default)]
struct Semaphore {
    /// The number of free permits, and the waiting tasks.
    state: Mutex<(u32, VecDeque<usize>)>,
    granted: [Watched; 2],
    cancel: Atomic<bool>,
}

impl Semaphore {
    /// Returns `true` if it acquired a permit at once; otherwise it enters the queue.
    async fn take_or_queue(&self, me: usize) -> bool {
        let (permits, queue) = &mut *self.state.lock().await;
        if *permits > 0 {
            *permits -= 1;
            return true;
        }
        queue.push_back(me);
        false
    }

    async fn release(&self) {
        let mut state = self.state.lock().await;
        match state.1.pop_front() {
            Some(next) => self.granted[next].store(1).await,
            None => state.0 += 1,
        }
    }
}

/// Fixed: the cancelled waiter passes the permit on.
async fn cancelled(spawning: Spawning, fixed: bool) {
    let semaphore = Arc::new(Semaphore::default());
    let [cancelled, patient, releaser] = [(); 3].map(|()| semaphore.clone());
    let tasks = vec![
        boxed(async move {
            if !cancelled.take_or_queue(0).await {
                if cancelled.cancel.load(SeqCst).await {
                    let mut state = cancelled.state.lock().await;
                    let before = state.1.len();
                    state.1.retain(|task| *task != 0);
                    let granted = state.1.len() == before;
                    drop(state);
                    if !(fixed && granted) {
                        return;
                    }
                } else {
                    cancelled.granted[0].wait(|granted| granted == 1).await;
                }
            }
            cancelled.release().await;
        }),
        boxed(async move {
            if !patient.take_or_queue(1).await {
                patient.granted[1].wait(|granted| granted == 1).await;
            }
            patient.release().await;
        }),
        boxed(async move { releaser.release().await }),
        boxed(async move { semaphore.cancel.store(true, SeqCst).await }),
    ];
    together(spawning, tasks).await;
}
