//! Two-phase commit with a participant that votes yes and later aborts on its own.

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "presumed_abort",
    seeds: 100,
    buggy: |spawning| boxed(commit(spawning, false)),
    fixed: |spawning| boxed(commit(spawning, true)),
}];

const NONE: i64 = 0;
const COMMIT: i64 = 1;
const ABORT: i64 = 2;

#[derive(Default)]
struct Shared {
    prepare: [Watched; 2],
    votes: [Watched; 2],
    decision: Watched,
    timeout: Atomic<bool>,
    outcomes: [Atomic<i64>; 2],
}

/// Fixed: after its vote, a participant waits for the decision without a timeout.
async fn commit(spawning: Spawning, fixed: bool) {
    let shared = Arc::new(Shared::default());
    let participant = |me: usize| {
        let shared = shared.clone();
        boxed(async move {
            shared.prepare[me].wait(|asked| asked == 1).await;
            shared.votes[me].store(1).await;
            let impatient = me == 1 && !fixed;
            let outcome = if impatient
                && shared.timeout.load(SeqCst).await
                && shared.decision.load().await == NONE
            {
                ABORT
            } else {
                shared.decision.wait(|decision| decision != NONE).await
            };
            shared.outcomes[me].store(outcome, SeqCst).await;
        })
    };
    let mut tasks = vec![participant(0), participant(1)];
    let coordinator = shared.clone();
    tasks.push(boxed(async move {
        for prepare in &coordinator.prepare {
            prepare.store(1).await;
        }
        for vote in &coordinator.votes {
            vote.wait(|vote| vote == 1).await;
        }
        coordinator.decision.store(COMMIT).await;
    }));
    let timer = shared.clone();
    tasks.push(boxed(async move { timer.timeout.store(true, SeqCst).await }));
    together(spawning, tasks).await;
    let [first, second] = &shared.outcomes;
    assert_eq!(first.load(SeqCst).await, second.load(SeqCst).await, "two outcomes");
}
