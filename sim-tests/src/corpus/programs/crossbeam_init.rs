//! A channel that is dropped between the two steps that create its first block (crossbeam, issue 971).

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "two_step_init",
    seeds: 400,
    buggy: |spawning| boxed(two_steps(spawning, false)),
    fixed: |spawning| boxed(two_steps(spawning, true)),
}];

#[derive(Default)]
struct Channel {
    tail_block: Atomic<i64>,
    head_block: Watched,
    tail_index: Atomic<i64>,
}

/// Fixed: the receiver waits for the second step.
async fn two_steps(spawning: Spawning, fixed: bool) {
    let channel = Arc::new(Channel::default());
    let sender = || {
        let channel = channel.clone();
        boxed(async move {
            let Channel { tail_block, head_block, tail_index } = &*channel;
            if tail_block.load(SeqCst).await == 0
                && tail_block.compare_exchange(0, 1, SeqCst, SeqCst).await.is_ok()
            {
                head_block.store(1).await;
            }
            tail_index.fetch_add(1, SeqCst).await;
        })
    };
    let mut tasks = vec![sender(), sender()];
    tasks.push(boxed(async move {
        if channel.tail_index.load(SeqCst).await == 0 {
            return;
        }
        if fixed {
            channel.head_block.wait(|block| block != 0).await;
        }
        assert_ne!(channel.head_block.load().await, 0, "messages, but no first block");
    }));
    together(spawning, tasks).await;
}
