//! The exact order S of sequentially consistent operations, as C++20 defines it ([atomics.order] 4).
//!
//! By default the machine takes the order of execution for S, which loses outcomes. Here S is a graph. A *node* is a
//! sequentially consistent access or fence, and an edge is an order that C++20 demands: by strongly happens-before, or
//! by the coherence order of a word. An operation may choose a store if its edges close no cycle.
//!
//! A new event happens before no other event. So a cycle leaves the event, or a fence before it, by coherence order.
//! These edges lead to the nodes *ahead*: accesses of newer stores, and fences after such accesses. Each source of
//! these edges has an edge to each node ahead. So the edges close a cycle only if a node ahead precedes a source.
//!
//! The edges follow the axioms, with fences in both directions. A prototype had the same edges. The tests of this crate
//! compare all outcomes with the axioms.
//!
//! # Data and cost
//!
//! `earlier[n]` contains all nodes before node `n`. An operation takes time proportional to the stores of its word, and
//! a fence to the stores of all words with marks. At most [`NODES`] nodes and [`MARKS`] marks are kept. When one of
//! these limits is reached, S *restarts*: all nodes so far precede all later nodes. An operation is then not allowed if
//! it needs an edge to a node before the restart. This loses choices, but adds none.

use crate::clock::Clock;
use crate::operation::{SEQ_CST, acquires};
use crate::word::{Store, Word};

/// The maximum number of nodes.
pub(crate) const NODES: usize = 256;

/// The maximum number of stores with marks.
const MARKS: usize = 1024;

/// A set of nodes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Nodes([u64; NODES / 64]);

impl Nodes {
    fn is_empty(&self) -> bool {
        self.0 == [0; NODES / 64]
    }

    fn has(&self, node: usize) -> bool {
        self.0[node / 64] >> (node % 64) & 1 == 1
    }

    fn add(&mut self, node: usize) {
        self.0[node / 64] |= 1 << (node % 64);
    }

    fn join(&mut self, other: &Nodes) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own |= other);
    }

    fn remove(&mut self, other: &Nodes) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own &= !other);
    }

    fn meets(&self, other: &Nodes) -> bool {
        self.0.iter().zip(other.0).any(|(own, other)| own & other != 0)
    }

    /// Returns the last node.
    fn last(&self) -> Option<usize> {
        let at = self.0.iter().rposition(|bits| *bits != 0)?;
        Some(64 * at + self.0[at].ilog2() as usize)
    }
}

/// An event of a thread in S.
#[derive(Clone, Copy, Debug)]
struct InS {
    /// The thread's tick at the event.
    tick: u32,
    node: u8,
}

/// Returns the last of these events with at most this tick.
fn last_until(events: &[InS], tick: u32) -> Option<usize> {
    let event = events.iter().rev().find(|event| event.tick <= tick)?;
    Some(event.node.into())
}

/// The events of a thread in S, in program order.
#[derive(Clone, Default, Debug)]
struct OfThread {
    all: Vec<InS>,
    fences: Vec<InS>,
}

/// The nodes that belong to a store.
#[derive(Clone, Copy, Default, Debug)]
struct Marks {
    /// The nodes of the store and of its loads.
    own: Nodes,
    /// The nodes before each node that follows the store in coherence order: the store, and the fences before it. Of
    /// the fences of one thread, only the last is a member.
    by_store: Nodes,
    /// The same for the loads of the store.
    by_loads: Nodes,
    /// `true` if the store is a node. All marks of older stores then precede this node.
    is_node: bool,
    /// `true` if `by_store` contains the marks of older stores, which were removed.
    has_removed: bool,
}

/// An access with a chosen store: the source of its value, or the predecessor of its own store.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) thread: usize,
    pub(crate) place: usize,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) order: u8,
}

/// The exact order S of one run.
#[derive(Clone, Debug)]
pub(crate) struct ExactS {
    pub(crate) is_on: bool,
    /// The position in S, by execution, of the last node before the last restart.
    pub(crate) position: u32,
    /// The number of the last fence before the last restart.
    pub(crate) fence: u32,
    /// The maximum number of nodes, at most [`NODES`].
    nodes: usize,
    /// For each node, all nodes before it.
    earlier: Vec<Nodes>,
    /// For each node that is a fence, its clock. Longer than `earlier` after a restart.
    clocks: Vec<Clock>,
    threads: Vec<OfThread>,
    marks: Vec<Marks>,
    /// The number of the first mark. Stores with lower numbers have no marks.
    base: u32,
    /// The words with marks since the last restart.
    words: Vec<u32>,
    /// The number of restarts, counted from 1.
    pub(crate) restarts: u32,
}

impl Default for ExactS {
    fn default() -> ExactS {
        let (earlier, clocks, threads, marks, words) = Default::default();
        ExactS {
            is_on: false,
            position: 0,
            fence: 0,
            nodes: NODES,
            earlier,
            clocks,
            threads,
            marks,
            base: 1,
            words,
            restarts: 1,
        }
    }
}

impl ExactS {
    /// Starts the next run, and keeps allocations. Keeps at most this number of nodes.
    pub(crate) fn reset(&mut self, is_on: bool, nodes: usize) {
        self.is_on = is_on;
        self.nodes = nodes.clamp(1, NODES);
        self.restart((0, 0));
        (self.base, self.restarts) = (1, 1);
    }

    /// Makes all nodes so far precede all later nodes. `position` and `fence` are the position of the last event in S,
    /// and the number of the last fence.
    pub(crate) fn restart(&mut self, (position, fence): (u32, u32)) {
        (self.position, self.fence) = (position, fence);
        self.base += self.marks.len() as u32;
        self.restarts += 1;
        self.earlier.clear();
        self.marks.clear();
        self.words.clear();
        for OfThread { all, fences } in &mut self.threads {
            all.clear();
            fences.clear();
        }
    }

    /// Returns `true` if S must restart after this event.
    pub(crate) fn is_full(&self) -> bool {
        self.earlier.len() >= self.nodes || self.marks.len() >= MARKS
    }

    /// Returns `true` if the removal of a word removes marks.
    pub(crate) fn has_marks(&self, word: &Word) -> bool {
        self.is_on && word.marked == self.restarts
    }

    fn marks(&self, store: &Store) -> Option<&Marks> {
        self.marks.get(store.marks.checked_sub(self.base)? as usize)
    }

    fn marks_mut(&mut self, store: &mut Store) -> &mut Marks {
        let at = match store.marks.checked_sub(self.base) {
            Some(at) => at as usize,
            None => {
                self.marks.push(Marks::default());
                store.marks = self.base + self.marks.len() as u32 - 1;
                self.marks.len() - 1
            }
        };
        &mut self.marks[at]
    }

    /// Moves the marks of the oldest store of a word, which is removed, to the next store: the removed store precedes
    /// all remaining stores in coherence order.
    pub(crate) fn removed(&mut self, oldest: &Store, next: &mut Store) {
        if let Some(Marks { by_store, by_loads, .. }) = self.marks(oldest).copied() {
            let marks = self.marks_mut(next);
            marks.by_store.join(&by_store);
            marks.by_store.join(&by_loads);
            marks.has_removed = true;
        }
    }

    /// Returns these nodes and all nodes before them.
    fn with_earlier(&self, mut nodes: Nodes) -> Nodes {
        let mut all = Nodes::default();
        while let Some(node) = nodes.last() {
            all.add(node);
            all.join(&self.earlier[node]);
            nodes.remove(&all);
        }
        all
    }

    /// Returns the nodes that strongly happen before the next event of a thread with this clock: of each thread, the
    /// last node. A node of another thread is included if a later event of its thread happens before an earlier event
    /// of this thread. If the node is itself the last event that happens before, C++20 orders it only by coherence.
    pub(crate) fn strongly_before(&self, thread: usize, clock: &Clock) -> Nodes {
        let mut nodes = Nodes::default();
        for (other, OfThread { all, .. }) in self.threads.iter().enumerate() {
            let until = if other == thread { u32::MAX } else { clock.get(other).saturating_sub(1) };
            last_until(all, until).into_iter().for_each(|node| nodes.add(node));
        }
        nodes
    }

    /// Returns the fences that happen before an event with this clock: of each thread, the last fence. The event may
    /// also acquire a message.
    fn fences_before(&self, clock: &Clock, message: Option<&Clock>) -> Nodes {
        let mut nodes = Nodes::default();
        for (thread, OfThread { fences, .. }) in self.threads.iter().enumerate() {
            let until = clock.get(thread).max(message.map_or(0, |message| message.get(thread)));
            last_until(fences, until).into_iter().for_each(|node| nodes.add(node));
        }
        nodes
    }

    /// Returns the nodes that precede an access of this store, because they or events after them precede it in
    /// coherence order. Only a write follows the loads of the store.
    fn coherently_before(&self, word: &Word, place: usize, writes: bool) -> Nodes {
        let mut nodes = Nodes::default();
        for (at, store) in word.stores[..=place].iter().enumerate().rev() {
            let Some(Marks { by_store, by_loads, is_node, .. }) = self.marks(store) else {
                continue;
            };
            nodes.join(by_store);
            if at < place || writes {
                nodes.join(by_loads);
            }
            if *is_node {
                break;
            }
        }
        nodes
    }

    /// Adds the nodes ahead of an event that precedes this store in coherence order: the store, its loads, and of each
    /// thread the first fence after any of them.
    pub(crate) fn add_ahead(&self, store: &Store, ahead: &mut Nodes) {
        if let Some(marks) = self.marks(store) {
            ahead.join(&marks.own);
        }
        for OfThread { fences, .. } in &self.threads {
            let is_later = |fence: &InS| !store.is_known(&self.clocks[usize::from(fence.node)]);
            let first = fences.get(fences.partition_point(is_later));
            first.into_iter().for_each(|fence| ahead.add(fence.node.into()));
        }
    }

    /// Returns `true` if an access of a thread with this clock closes no cycle. `ahead` contains the nodes that follow
    /// the access, from the newer stores.
    pub(crate) fn allows(&self, access: Access, clock: &Clock, word: &Word, ahead: &Nodes) -> bool {
        if ahead.is_empty() {
            return true;
        }
        let Access { thread, place, reads, writes, order } = access;
        let message = (reads && acquires(order)).then_some(&word.stores[place].message);
        let mut sources = self.fences_before(clock, message);
        if order == SEQ_CST {
            sources.join(&self.strongly_before(thread, clock));
            sources.join(&self.coherently_before(word, place, writes));
        }
        !self.with_earlier(sources).meets(ahead)
    }

    /// Adds an access with this tick, which is already part of its word. `clock` is the clock after the access, and
    /// `strongly` contains the nodes that strongly happen before it.
    pub(crate) fn add(
        &mut self,
        access: Access,
        (tick, clock): (u32, &Clock),
        strongly: Nodes,
        (at, word): (usize, &mut Word),
    ) {
        let Access { thread, place, writes, order, .. } = access;
        let fences = self.fences_before(clock, None);
        if order != SEQ_CST && fences.is_empty() {
            return;
        }
        let own_place = place + usize::from(writes);
        let mut ahead = Nodes::default();
        word.stores[own_place + 1..].iter().for_each(|store| self.add_ahead(store, &mut ahead));
        let (mut sources, mut own, mut marked) =
            (self.with_earlier(fences), Nodes::default(), fences);
        if order == SEQ_CST {
            let mut before = strongly;
            before.join(&self.coherently_before(word, place, writes));
            let earlier = self.with_earlier(before);
            let node = self.add_node(thread, tick, earlier);
            own.add(node);
            marked.add(node);
            sources.join(&earlier);
            sources.add(node);
        }
        if !ahead.is_empty() {
            debug_assert!(!sources.meets(&ahead), "an access closes a cycle of S");
            for (node, earlier) in self.earlier.iter_mut().enumerate() {
                if ahead.has(node) || earlier.meets(&ahead) {
                    earlier.join(&sources);
                }
            }
        }
        if word.marked != self.restarts {
            word.marked = self.restarts;
            self.words.push(at as u32);
        }
        let marks = self.marks_mut(&mut word.stores[own_place]);
        marks.own.join(&own);
        marks.is_node |= writes && order == SEQ_CST;
        (if writes { &mut marks.by_store } else { &mut marks.by_loads }).join(&marked);
    }

    /// Adds a fence of a thread with this tick. `clock` is the clock after the fence, and `strongly` contains the nodes
    /// that strongly happen before it.
    pub(crate) fn add_fence(
        &mut self,
        thread: usize,
        (tick, clock): (u32, &Clock),
        strongly: Nodes,
        words: &[Word],
    ) {
        let mut before = strongly;
        for at in &self.words {
            let word = &words[*at as usize];
            // All events that precede the last known event in coherence order. If it may belong to a removed store, the
            // marks of that store are among the marks of the oldest store.
            let known = word.stores.iter().rposition(|store| store.is_known(clock));
            let has_removed = || self.marks(&word.stores[0]).is_some_and(|marks| marks.has_removed);
            if let Some(place) = known.or_else(|| has_removed().then_some(0)) {
                before.join(&self.coherently_before(word, place, false));
            }
        }
        let earlier = self.with_earlier(before);
        let node = self.add_node(thread, tick, earlier);
        self.threads[thread].fences.push(InS { tick, node: node as u8 });
        self.clocks[node].set(clock);
    }

    fn add_node(&mut self, thread: usize, tick: u32, earlier: Nodes) -> usize {
        let node = self.earlier.len();
        self.earlier.push(earlier);
        if self.clocks.len() <= node {
            self.clocks.push(Clock::default());
        }
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, OfThread::default);
        }
        self.threads[thread].all.push(InS { tick, node: node as u8 });
        node
    }
}
