//! A lock-free stack whose nodes come from a lock-free free list; each change of a head gives it a new tag. Planted
//! bug: the tag has only two bits, so a slow pop succeeds on an old head after the tag has wrapped around (ABA).

#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Cell};

const NODES: usize = 5;
const TASKS: u64 = 5;
/// The number of rounds of each task. In a round it moves one node.
const ROUNDS: u64 = 40;
/// The number of bits of a tag.
const TAG_BITS: u32 = 2;

/// The number of bits of a node. Node 0 is none.
const NODE_BITS: u32 = 8;

const fn node_of(head: u64) -> usize {
    (head & ((1 << NODE_BITS) - 1)) as usize
}

struct Node {
    /// The node below this one, or 0.
    next: Atomic<u64>,
    value: Cell<u64>,
    is_held: Atomic<bool>,
}

struct Lists {
    /// The number of different tags.
    tags: u64,
    /// Node 0 means no node.
    nodes: Vec<Node>,
    /// The heads of both lists: a tag and a node.
    free: Atomic<u64>,
    full: Atomic<u64>,
}

impl Lists {
    /// Creates the lists, with all nodes in the free list.
    fn new(tags: u64) -> Lists {
        let node = |number: u64| Node {
            next: Atomic::new(number.saturating_sub(1)).named("next"),
            value: Cell::new(0).named("value"),
            is_held: Atomic::new(false).named("is_held"),
        };
        Lists {
            tags,
            nodes: (0..=NODES as u64).map(node).collect(),
            free: Atomic::new(NODES as u64).named("free"),
            full: Atomic::new(0).named("full"),
        }
    }

    /// Returns the head that follows: the next tag, and this node.
    fn changed(&self, head: u64, node: u64) -> u64 {
        let tag = ((head >> NODE_BITS) + 1) % self.tags;
        (tag << NODE_BITS) | node
    }

    async fn pop(&self, list: &Atomic<u64>) -> Option<usize> {
        let mut tries = 0u64;
        loop {
            let head = list.load(SeqCst).await;
            let node = node_of(head);
            if node == 0 {
                return None;
            }
            let next = self.nodes[node].next.load(SeqCst).await;
            let new = self.changed(head, next);
            tries += 1;
            if list.compare_exchange(head, new, SeqCst, SeqCst).await.is_ok() {
                crate::watermark!(tries, "tries of a pop");
                crate::sometimes_each!((node, next), "links");
                return Some(node);
            }
        }
    }

    async fn push(&self, list: &Atomic<u64>, node: usize) {
        let mut tries = 0u64;
        loop {
            let head = list.load(SeqCst).await;
            self.nodes[node].next.store(node_of(head) as u64, SeqCst).await;
            let new = self.changed(head, node as u64);
            tries += 1;
            if list.compare_exchange(head, new, SeqCst, SeqCst).await.is_ok() {
                crate::watermark!(tries, "tries of a push");
                return;
            }
        }
    }

    /// Pops a node and marks it as held.
    async fn take(&self, list: &Atomic<u64>) -> Option<usize> {
        let node = self.pop(list).await?;
        let was_held = self.nodes[node].is_held.swap(true, SeqCst).await;
        assert!(!was_held, "two tasks hold node {node}");
        Some(node)
    }

    async fn give(&self, list: &Atomic<u64>, node: usize) {
        self.nodes[node].is_held.store(false, SeqCst).await;
        self.push(list, node).await;
    }

    /// Runs the rounds of a task. Returns the stored values and the taken values.
    async fn run(&self, task: u64) -> (Vec<u64>, Vec<u64>) {
        let (mut stored, mut taken) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            if sim::rand::bool() {
                let node = self.take(&self.free).await;
                crate::sometimes!(node.is_none(), "the free list is empty");
                let Some(node) = node else { continue };
                let value = task * ROUNDS + round;
                self.nodes[node].value.set(value).await;
                stored.push(value);
                self.give(&self.full, node).await;
            } else {
                let node = self.take(&self.full).await;
                crate::sometimes!(node.is_none(), "the stack is empty");
                let Some(node) = node else { continue };
                taken.push(self.nodes[node].value.get().await);
                self.give(&self.free, node).await;
            }
        }
        (stored, taken)
    }
}

/// Fixed: the tag does not wrap during the run.
pub(crate) async fn body(fixed: bool) {
    let lists = Arc::new(Lists::new(1 << if fixed { 32 } else { TAG_BITS }));
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let lists = lists.clone();
        tasks.push(sim::spawn(async move { lists.run(task).await }));
    }
    let (mut stored, mut taken) = (Vec::new(), Vec::new());
    for task in tasks {
        let (more_stored, more_taken) = task.await.unwrap();
        stored.extend(more_stored);
        taken.extend(more_taken);
    }
    let mut found = Vec::new();
    for list in [&lists.full, &lists.free] {
        while let Some(node) = lists.pop(list).await {
            found.push(node);
            assert!(found.len() <= NODES, "a node is in two places: {found:?}");
            if std::ptr::eq(list, &lists.full) {
                taken.push(lists.nodes[node].value.get().await);
            }
        }
    }
    found.sort_unstable();
    assert!(found.iter().copied().eq(1..=NODES), "each node is in one list: {found:?}");
    stored.sort_unstable();
    taken.sort_unstable();
    assert_eq!(stored, taken, "each value is taken once");
}
