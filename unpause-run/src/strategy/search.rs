//! Searches: strategies that enumerate runs and detect when no run is left.
//!
//! A sampling strategy draws a run from a seed. A search plans each run from the previous runs. A single search
//! therefore produces all runs, one after the other, and the number of a run replaces the seed.

use std::sync::Arc;

use super::bounded::{Bounded, DELAYS, PREEMPTIONS};
use super::divided::{Look, Part, SearchTree, Slice, TreeEstimate};
use super::exhaustive::{ClosureVerdict, Exhaustive};
use crate::run::choice::Strategy;
use crate::run::recording::Timed;
use crate::run::{DrawRecord, StepRecord};

/// A strategy that plans each run from the previous runs. The [`strategy`](Self::strategy) of a search answers the
/// choices of a run. After each run, the driver of the search calls [`advance`](Self::advance).
pub trait Search: Send + Sync {
    /// Returns the strategy that answers the choices of all runs, one run after the other.
    fn strategy(&self) -> Box<dyn Strategy>;

    /// Advances to the next run. Returns `false` if no run is left. `cut` is true if a step ended the last run, because
    /// the body returned or the run failed. `cut` is false if no task could step or the run was too long.
    fn advance(&self, cut: bool) -> bool;

    /// Returns `true` if the last run does not count. Either it was given up because earlier runs had explored all its
    /// continuations, or it repeated an earlier run.
    fn is_blocked(&self) -> bool;

    /// Calls `holds` for each other history in the class of the last run, with the number and the calls of the history.
    /// Valid after [`advance`](Self::advance). A search without classes of runs has no other histories.
    fn look_at_orders(&self, _holds: &mut dyn FnMut(usize, &[Timed]) -> bool) -> ClosureVerdict {
        ClosureVerdict::Consistent
    }

    /// Restarts the search, so that these differences also distinguish runs. A search without classes distinguishes all
    /// runs, so it only records that operations could choose among [stores](Apart::stores).
    fn tell_apart(&self, _differences: Apart) {}

    /// Returns `true` if the search computes the classes of its runs. A search that executes every run has no classes.
    fn has_classes(&self) -> bool {
        false
    }

    /// Returns the progress of the search. Valid after [`advance`](Self::advance).
    fn progress(&self) -> SearchProgress;

    /// Returns the decisions of the current run, so that it can be repeated.
    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>);

    /// Creates the same search, at its beginning, for another worker.
    fn another(&self) -> Arc<dyn Search>;

    /// Returns the tree of the whole search, [divided](super::divided) into parts.
    fn tree(&self) -> SearchTree;

    /// Takes over a part of the tree. From then on, [`advance`](Self::advance) returns `false` at the end of this part.
    fn adopt(&self, part: Part);

    /// Prepares a probe run, which discovers data that the part does not contain. Returns `false` if no probe run is
    /// needed. Probe runs come before the first run of a slice, and their outcomes do not count.
    fn next_probe(&self) -> bool {
        false
    }

    /// Evaluates a probe run. `cut` has the same meaning as for [`advance`](Self::advance).
    fn probed(&self, _cut: bool) {}

    /// Makes the next run, after any probes, a [look](super::divided::Look) below the path of the part, or a sampled
    /// run.
    fn begin_look(&self) {}

    /// Ends a look and returns its result. `cut` has the same meaning as for [`advance`](Self::advance).
    fn end_look(&self, _cut: bool) -> Look {
        Look::default()
    }

    /// Returns `true` if the last run has shown that the search must restart.
    fn has_learnt(&self) -> bool {
        false
    }

    /// Ends a slice. Returns the results of the runs of this slice, and the rest of the part.
    fn leave(&self) -> Slice;
}

/// Differences that distinguish two runs only if the program or an observer of the runs can detect them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Apart {
    /// The order of those returns and invocations of calls that no step orders. If this order does not count, the
    /// search must check all such orders for each run.
    pub orders: bool,
    /// The numbers of messages that cuts and clogs have stopped. If these numbers do not count, sending a message
    /// before or after the end of a cut makes no difference.
    pub counts: bool,
    /// The order of a node's death and all steps of its tasks, because other tasks see the memory that the node leaves.
    /// If this order does not count, a death conflicts only with steps whose effects outlive the node.
    pub deaths: bool,
    /// The order in which tasks added nodes, which determines the node addresses. If this order does not count,
    /// additions of two nodes with different names do not conflict.
    pub nodes: bool,
    /// The order of all steps, because tasks share something outside this library.
    pub steps: bool,
    /// Each store of an atomic or a cell, because loads may choose among the stores, or because its clock can order two
    /// accesses. If stores do not count, a store that leaves the value unchanged is like a load.
    pub stores: bool,
    /// The single instructions inside the locks of plain threads. If these instructions do not count, each call of a
    /// lock is one step.
    pub locks: bool,
    /// The counts of the `Arc`s of plain threads, because a thread reads a count, or the last reference ends a value by
    /// operations that other threads see. If these counts do not count, cloning and dropping an `Arc` conflicts with
    /// nothing.
    pub references: bool,
}

impl Apart {
    /// No differences: only operations distinguish runs.
    pub const NOTHING: Apart = Apart {
        orders: false,
        counts: false,
        deaths: false,
        nodes: false,
        steps: false,
        stores: false,
        locks: false,
        references: false,
    };
    pub const ORDERS: Apart = Apart { orders: true, ..Apart::NOTHING };
    pub const COUNTS: Apart = Apart { counts: true, ..Apart::NOTHING };
    pub const DEATHS: Apart = Apart { deaths: true, ..Apart::NOTHING };
    pub const NODES: Apart = Apart { nodes: true, ..Apart::NOTHING };
    pub const STEPS: Apart = Apart { steps: true, ..Apart::NOTHING };
    pub const STORES: Apart = Apart { stores: true, ..Apart::NOTHING };
    pub const LOCKS: Apart = Apart { locks: true, ..Apart::NOTHING };
    pub const REFERENCES: Apart = Apart { references: true, ..Apart::NOTHING };

    /// Each difference alone, with its name.
    const NAMED: [(&str, Apart); 8] = [
        ("orders", Apart::ORDERS),
        ("counts", Apart::COUNTS),
        ("deaths", Apart::DEATHS),
        ("nodes", Apart::NODES),
        ("steps", Apart::STEPS),
        ("stores", Apart::STORES),
        ("locks", Apart::LOCKS),
        ("references", Apart::REFERENCES),
    ];

    /// Returns the names of the differences.
    pub fn names(self) -> Vec<&'static str> {
        let named = Apart::NAMED.iter().filter(|(_, one)| self.and(*one) == self);
        named.map(|(name, _)| *name).collect()
    }

    /// Returns the difference with this name.
    pub fn named(name: &str) -> Option<Apart> {
        Apart::NAMED.iter().find(|(own, _)| *own == name).map(|(_, one)| *one)
    }

    /// Returns the union of both sets of differences.
    pub const fn and(self, others: Apart) -> Apart {
        Apart {
            orders: self.orders || others.orders,
            counts: self.counts || others.counts,
            deaths: self.deaths || others.deaths,
            nodes: self.nodes || others.nodes,
            steps: self.steps || others.steps,
            stores: self.stores || others.stores,
            locks: self.locks || others.locks,
            references: self.references || others.references,
        }
    }
}

/// The progress of a search.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SearchProgress {
    /// The number of complete runs.
    pub runs: u64,
    /// The number of runs that were given up.
    pub blocked: u64,
    /// The number of repeated runs, not counted in `runs`.
    pub repeated: u64,
    /// The explored part of the runs, from 0 to 1, according to `estimate`. The part is 1 if no run is left, and `None`
    /// if it is unknown. For a bounded search, the part of the runs within the current bound.
    pub part: Option<f64>,
    /// The estimated number of all runs, or, for a bounded search, of all runs within the current bound.
    pub estimate: Option<TreeEstimate>,
    /// True if time advanced in a way that the search does not see, so that it did not try all orders.
    pub blind: bool,
    /// True if the search explores each order of steps separately, because tasks share something outside this library.
    pub by_step: bool,
    /// The bound of the search; `None` if the search left out no runs.
    pub within: Option<SearchBound>,
}

/// The bound of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchBound {
    /// The name of the counted quantity, in the singular.
    pub what: &'static str,
    /// The explored bound: all runs with at most this count are explored. `None` if not even all runs with count 0 are
    /// explored.
    pub through: Option<u32>,
}

/// A value that a step drew, as a node of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drawn {
    pub value: u64,
    pub bound: u64,
    /// True if the value is given, so the search explores no other value.
    pub given: bool,
}

impl Drawn {
    /// Returns `true` if a search also explores a higher value.
    pub fn has_next(&self) -> bool {
        !self.given && self.value + 1 < self.bound
    }

    /// Advances the draws from position `fixed` on to their next combination of values. If no combination is left,
    /// removes these draws and returns `false`.
    pub fn advance(draws: &mut Vec<Drawn>, fixed: usize) -> bool {
        while draws.len() > fixed {
            let Some(drawn) = draws.pop() else { return false };
            if drawn.has_next() {
                draws.push(Drawn { value: drawn.value + 1, ..drawn });
                return true;
            }
        }
        false
    }
}

/// A search that can be selected by name.
#[derive(Clone, Copy)]
pub struct SearchRow {
    /// The name of the search in `strategy = "..."` and `SIM_STRATEGY`.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The names of the search with a bound. The bound is the position in this list. The plain name means no bound.
    pub numbered: &'static [&'static str],
    /// The search that gets the remaining runs if this search will not finish; see `Runner::strategy`.
    pub fallback: Option<&'static str>,
    /// Creates the search, with an optional bound.
    #[doc(hidden)]
    pub create: fn(Option<u32>) -> Arc<dyn Search>,
}

impl std::fmt::Debug for SearchRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchRow").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All searches that can be selected by name, in addition to [`STRATEGIES`](super::STRATEGIES).
pub const SEARCHES: &[SearchRow] = &[
    SearchRow {
        name: "exhaustive",
        summary: "one run for each order of conflicting steps, until there is no other",
        numbered: &[],
        fallback: Some("preemptions"),
        create: |_| Arc::new(Exhaustive::default()),
    },
    SearchRow {
        name: "preemptions",
        summary: "all runs with no preemption, then all with one, and so on up to the bound",
        numbered: &[
            "preemptions:0",
            "preemptions:1",
            "preemptions:2",
            "preemptions:3",
            "preemptions:4",
            "preemptions:5",
            "preemptions:6",
            "preemptions:7",
            "preemptions:8",
        ],
        fallback: None,
        create: |most| Arc::new(Bounded::new(&PREEMPTIONS, most)),
    },
    SearchRow {
        name: "delays",
        summary: "the run of a round-robin scheduler, then all that skip a task once, and so on",
        numbered: &[
            "delays:0", "delays:1", "delays:2", "delays:3", "delays:4", "delays:5", "delays:6",
            "delays:7", "delays:8",
        ],
        fallback: None,
        create: |most| Arc::new(Bounded::new(&DELAYS, most)),
    },
];
