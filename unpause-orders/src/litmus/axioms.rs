//! The memory model as axioms over a finished execution graph: the reference implementation, with no incremental
//! computation.
//!
//! The axioms are C++20, [intro.races] and [atomics.order], without consume. Cycles of program order and reads-from are
//! forbidden. RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer; PLDI 2017) with the release sequences of C++20 allows more
//! executions. The tests compare both models.

use crate::operation::{SEQ_CST, acquires, releases};

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// `None` for the initial value of a word.
    pub(super) thread: Option<usize>,
    /// `None` for a fence.
    pub(super) word: Option<usize>,
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) order: u8,
}

/// An execution graph.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// The initial values, then the events of each thread in program order.
    pub(super) events: Vec<Event>,
    /// For each reading event, the event that wrote the value.
    pub(super) source: Vec<Option<usize>>,
    /// For each writing event, its place in the modification order of its word.
    pub(super) place: Vec<usize>,
}

/// A relation of up to 32 events: bit `b` of row `a` is set if `a` is related to `b`.
#[derive(Clone, Copy)]
struct Relation {
    rows: [u32; 32],
    count: usize,
}

impl Relation {
    fn new(count: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let mut rows = [0; 32];
        for (a, row) in rows.iter_mut().enumerate().take(count) {
            *row = (0..count).fold(0, |row, b| row | u32::from(holds(a, b)) << b);
        }
        Relation { rows, count }
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    fn or(mut self, other: Relation) -> Relation {
        for (row, other) in self.rows.iter_mut().zip(other.rows) {
            *row |= other;
        }
        self
    }

    /// Returns the composition with `other`.
    fn then(self, other: Relation) -> Relation {
        let mut rows = [0; 32];
        for (row, mut left) in rows.iter_mut().zip(self.rows) {
            while left != 0 {
                *row |= other.rows[left.trailing_zeros() as usize];
                left &= left - 1;
            }
        }
        Relation { rows, ..self }
    }

    fn or_equal(mut self) -> Relation {
        (0..self.count).for_each(|a| self.rows[a] |= 1 << a);
        self
    }

    /// Returns the transitive closure.
    fn plus(mut self) -> Relation {
        for middle in 0..self.count {
            let row = self.rows[middle];
            for from in &mut self.rows[..self.count] {
                if *from >> middle & 1 == 1 {
                    *from |= row;
                }
            }
        }
        self
    }

    /// Returns the pairs from one set of events to another set.
    fn only(mut self, from: u32, to: u32) -> Relation {
        for (a, row) in self.rows.iter_mut().enumerate() {
            *row = if from >> a & 1 == 1 { *row & to } else { 0 };
        }
        self
    }

    fn is_irreflexive(&self) -> bool {
        (0..self.count).all(|a| !self.has(a, a))
    }

    fn is_acyclic(self) -> bool {
        self.plus().is_irreflexive()
    }
}

/// The models that allow an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Allowed {
    pub(super) by_cpp20: bool,
    pub(super) by_rc11: bool,
}

impl Graph {
    fn set(&self, is_in: impl Fn(&Event) -> bool) -> u32 {
        let events = self.events.iter().enumerate();
        events.fold(0, |set, (at, event)| set | u32::from(is_in(event)) << at)
    }

    /// Returns the models that allow this execution. In the execution, a read-modify-write must directly follow the
    /// store that it reads.
    pub(super) fn allowed(&self) -> Allowed {
        const NEVER: Allowed = Allowed { by_cpp20: false, by_rc11: false };
        let (events, count) = (&self.events, self.events.len());
        let relation = |holds: &dyn Fn(usize, usize) -> bool| Relation::new(count, holds);
        let program_order = relation(&|a, b| match (events[a].thread, events[b].thread) {
            (None, Some(_)) => true,
            (Some(first), Some(second)) => first == second && a < b,
            _ => false,
        });
        let reads_from = relation(&|a, b| self.source[b] == Some(a));
        if !program_order.or(reads_from).is_acyclic() {
            return NEVER;
        }
        let same =
            |a: usize, b: usize| events[a].word.is_some() && events[a].word == events[b].word;
        let write = |event: usize| events[event].writes;
        let modification =
            relation(&|a, b| write(a) && write(b) && same(a, b) && self.place[a] < self.place[b]);
        let from_read =
            relation(&|a, b| self.source[a].is_some_and(|w| a != b && modification.has(w, b)));
        let coherence = reads_from.or(modification).or(from_read).plus();

        let all = u32::MAX;
        let fences = self.set(|event| event.word.is_none());
        let writes = self.set(|event| event.writes);
        let updates = self.set(|event| event.reads && event.writes);
        let released =
            self.set(|event| releases(event.order) && (event.writes || event.word.is_none()));
        let acquired =
            self.set(|event| acquires(event.order) && (event.reads || event.word.is_none()));
        let sequence = reads_from.only(all, updates).plus().or_equal().only(writes, writes);
        let from = program_order.only(fences, writes).or_equal().only(released, all);
        let to = program_order.only(all, fences).or_equal().only(all, acquired);
        let synchronizes = from.then(sequence).then(reads_from).then(to);
        let before = program_order.or(synchronizes).plus();
        if !before.is_irreflexive() || !before.then(coherence).is_irreflexive() {
            return NEVER;
        }

        let in_s = self.set(|event| event.order == SEQ_CST);
        let fences_in_s = in_s & fences;
        let itself = relation(&|a, b| a == b).only(in_s, in_s);
        let begins = itself.or(before.only(fences_in_s, all));
        let ends = itself.or(before.only(all, fences_in_s));
        let strongly = program_order
            .or(synchronizes.only(in_s, in_s))
            .or(program_order.then(before).then(program_order))
            .plus();
        let cpp20 = strongly.only(in_s, in_s).or(begins.then(coherence).then(ends));

        let elsewhere = relation(&|a, b| program_order.has(a, b) && !same(a, b));
        let here = relation(&|a, b| before.has(a, b) && same(a, b));
        let base = program_order
            .or(elsewhere.then(before).then(elsewhere))
            .or(here)
            .or(modification)
            .or(from_read);
        let of_fences = before.or(before.then(coherence).then(before));
        let rc11 = begins.then(base).then(ends).or(of_fences.only(fences_in_s, fences_in_s));
        Allowed { by_cpp20: cpp20.is_acyclic(), by_rc11: rc11.is_acyclic() }
    }
}
