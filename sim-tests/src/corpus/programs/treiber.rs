//! Treiber's stack with reused nodes: the compare-exchange of a slow pop succeeds although the head was removed and
//! pushed again (ABA).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Atomic, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "treiber_aba",
    seeds: 400,
    buggy: |spawning| boxed(treiber(spawning, false)),
    fixed: |spawning| boxed(treiber(spawning, true)),
}];

const NODES: usize = 3;
const TRIES: usize = 6;
/// The factor of the tag in a word. The remainder is the node; 0 means no node.
const TAG: i64 = 16;

struct Stack {
    head: Atomic<i64>,
    next: [Atomic<i64>; NODES + 1],
    /// True if each change of the head uses a new tag.
    tagged: bool,
}

impl Stack {
    fn changed(&self, head: i64, node: i64) -> i64 {
        if self.tagged { (head / TAG + 1) * TAG + node } else { node }
    }

    async fn pop(&self) -> Option<i64> {
        for _ in 0..TRIES {
            let head = self.head.load(SeqCst).await;
            let node = head % TAG;
            if node == 0 {
                return None;
            }
            let next = self.next[node as usize].load(SeqCst).await;
            let new = self.changed(head, next);
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).await.is_ok() {
                return Some(node);
            }
        }
        None
    }

    /// Pushes a node. Returns `true` if this succeeded within the allowed number of attempts.
    async fn push(&self, node: i64) -> bool {
        for _ in 0..TRIES {
            let head = self.head.load(SeqCst).await;
            self.next[node as usize].store(head % TAG, SeqCst).await;
            let new = self.changed(head, node);
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).await.is_ok() {
                return true;
            }
        }
        false
    }
}

/// Fixed: the head has a tag that every change increments.
async fn treiber(spawning: Spawning, fixed: bool) {
    let stack = Arc::new(Stack {
        head: Atomic::new(1),
        next: [0, 2, 3, 0].map(Atomic::new),
        tagged: fixed,
    });
    let held = Arc::new(Mutex::new(Vec::new()));
    let (other_stack, other_held) = (stack.clone(), held.clone());
    let tasks = vec![
        boxed(async move {
            let taken = other_stack.pop().await;
            other_held.lock().await.extend(taken);
        }),
        boxed({
            let (stack, held) = (stack.clone(), held.clone());
            async move {
                let first = stack.pop().await;
                let mut mine = Vec::from_iter(stack.pop().await);
                if let Some(first) = first {
                    if !stack.push(first).await {
                        mine.push(first);
                    }
                }
                held.lock().await.extend(mine);
            }
        }),
    ];
    together(spawning, tasks).await;
    let mut nodes = held.lock().await.clone();
    while let Some(node) = stack.pop().await {
        nodes.push(node);
        assert!(nodes.len() <= NODES, "a node is in two places: {nodes:?}");
    }
    nodes.sort_unstable();
    assert_eq!(nodes, [1, 2, 3], "each node is held once or in the stack once");
}
