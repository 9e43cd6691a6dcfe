//! A sorted linked list from which a node is removed in one step. A node that is inserted behind it at
//! the same time is lost (Harris, *A Pragmatic Implementation of Non-Blocking Linked-Lists*, DISC
//! 2001).

use std::sync::Arc;

use sim::History;
use sim::check::models::{Set, SetOp};

use super::{Program, Spawning, together};
use crate::tools::{Atomic, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "harris_list",
    seeds: 100,
    buggy: |spawning| boxed(harris(spawning, false)),
    fixed: |spawning| boxed(harris(spawning, true)),
}];

/// A list of the keys 1 to 3. Node k holds key k, and node 0 is the head. As a link, 0 means "no node".
struct List {
    /// By node: twice the number of the next node, plus one if the node is being removed.
    next: [Atomic<u64>; 4],
    marks: bool,
}

impl List {
    async fn changed(&self, node: u64, from: u64, to: u64) -> bool {
        self.next[node as usize].compare_exchange(from, to, SeqCst, SeqCst).await.is_ok()
    }

    /// Returns the last node before `key` and the node after it, 0 for no node. Unlinks marked nodes.
    async fn find(&self, key: u64) -> (u64, u64) {
        'again: loop {
            let mut before = 0;
            let mut node = self.next[0].load(SeqCst).await / 2;
            while node != 0 {
                let next = self.next[node as usize].load(SeqCst).await;
                if next % 2 == 1 {
                    if !self.changed(before, 2 * node, next - 1).await {
                        continue 'again;
                    }
                } else if node >= key {
                    break;
                } else {
                    before = node;
                }
                node = next / 2;
            }
            return (before, node);
        }
    }

    async fn insert(&self, key: u64) -> bool {
        loop {
            let (before, node) = self.find(key).await;
            if node == key {
                return false;
            }
            self.next[key as usize].store(2 * node, SeqCst).await;
            if self.changed(before, 2 * node, 2 * key).await {
                return true;
            }
        }
    }

    async fn remove(&self, key: u64) -> bool {
        loop {
            let (before, node) = self.find(key).await;
            if node != key {
                return false;
            }
            let next = self.next[node as usize].load(SeqCst).await;
            if self.marks {
                if next % 2 == 0 && self.changed(node, next, next + 1).await {
                    // If this fails, the next task that passes the node unlinks it.
                    self.changed(before, 2 * node, next).await;
                    return true;
                }
            } else if self.changed(before, 2 * node, next).await {
                return true;
            }
        }
    }

    async fn contains(&self, key: u64) -> bool {
        let mut node = self.next[0].load(SeqCst).await / 2;
        while node != 0 && node < key {
            node = self.next[node as usize].load(SeqCst).await / 2;
        }
        node == key && self.next[node as usize].load(SeqCst).await % 2 == 0
    }
}

/// Fixed: a node is marked before it is unlinked, and no node is inserted behind a marked node.
async fn harris(spawning: Spawning, fixed: bool) {
    let history = History::new(Set::from_iter([1u64, 3]));
    let list = Arc::new(List { next: [2, 6, 0, 0].map(Atomic::new), marks: fixed });
    let (other, other_history) = (list.clone(), history.clone());
    let calls = history.clone();
    let tasks = vec![
        boxed(async move {
            other_history.call(SetOp::Remove(1), other.remove(1)).await;
            other_history.call(SetOp::Contains(2), other.contains(2)).await;
        }),
        boxed(async move {
            calls.call(SetOp::Insert(2), list.insert(2)).await;
            calls.call(SetOp::Contains(2), list.contains(2)).await;
        }),
    ];
    together(spawning, tasks).await;
    history.assert_linearizable();
}
