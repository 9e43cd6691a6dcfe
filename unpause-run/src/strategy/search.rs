//! Searches: strategies that enumerate runs and detect when none is left.
//!
//! A sampling strategy draws a run from a seed. A search plans each run from the previous runs. One
//! search therefore makes all runs, one after the other, and the number of a run takes the place of
//! a seed.

use std::sync::Arc;

use super::bounded::{Bounded, DELAYS, PREEMPTIONS};
use super::divided::{Look, Part, SearchTree, Slice, TreeEstimate};
use super::exhaustive::{ClosureVerdict, Exhaustive};
use crate::run::choice::Strategy;
use crate::run::recording::Timed;
use crate::run::{DrawRecord, StepRecord};

/// A search. Its [`strategy`](Self::strategy) answers the choices of a run; after each run, its driver calls
/// [`advance`](Self::advance).
pub trait Search: Send + Sync {
    /// Answers the choices of all runs, one after the other.
    fn strategy(&self) -> Box<dyn Strategy>;

    /// Advances to the next run. Returns `false` if there is none. `cut` is true if a step ended the last run, because
    /// the body returned or the run failed; it is false if no task could step, or if the run was too long.
    fn advance(&self, cut: bool) -> bool;

    /// Returns `true` if the last run does not count: it was given up, because earlier runs had explored all its
    /// continuations, or it repeated an earlier run.
    fn is_blocked(&self) -> bool;

    /// Calls `holds` with the number and the calls of each other history in the class of the last run. Valid after
    /// [`advance`](Self::advance). A search without classes of runs has no other histories.
    fn look_at_orders(&self, _holds: &mut dyn FnMut(usize, &[Timed]) -> bool) -> ClosureVerdict {
        ClosureVerdict::Consistent
    }

    /// Starts again, so that these differences, too, distinguish runs.
    fn tell_apart(&self, _differences: Apart) {}

    /// Returns `true` if the search computes the classes of its runs. A search that makes every run does not.
    fn has_classes(&self) -> bool {
        false
    }

    /// The progress of the search. Valid after [`advance`](Self::advance).
    fn progress(&self) -> SearchProgress;

    /// The decisions of the current run, for repeating it.
    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>);

    /// The same search for another worker, which has not begun.
    fn another(&self) -> Arc<dyn Search>;

    /// The tree of the whole search, [divided](super::divided).
    fn tree(&self) -> SearchTree;

    /// Takes over a part of the tree. [`advance`](Self::advance) then ends with it.
    fn adopt(&self, part: Part);

    /// Gets ready for a run of a probe, which finds what the part does not say. Returns `false` if there is none to be
    /// made. Probes are made before the first run of a slice, and their outcome does not count.
    fn next_probe(&self) -> bool {
        false
    }

    /// Evaluates a run of a probe; `cut` as for [`advance`](Self::advance).
    fn probed(&self, _cut: bool) {}

    /// Has the next run, after probes, be a [look](super::divided::Look) below the path of the part.
    fn begin_look(&self) {}

    /// Ends a look.
    fn end_look(&self) -> Look {
        Look::default()
    }

    /// Returns `true` if the last run has shown that the search must begin again.
    fn has_learnt(&self) -> bool {
        false
    }

    /// Ends a slice: returns what its runs have shown, and what is left of the part.
    fn leave(&self) -> Slice;
}

/// Differences between runs that distinguish them only if the program, or who looks at the runs, can tell them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Apart {
    /// The order of returns and invocations of calls that no step orders. If it does not count, the search must check
    /// all these orders for each run.
    pub orders: bool,
    /// The numbers of messages that cuts and clogs have met. If they do not count, a message that is sent is the same
    /// before the end of a cut and after it.
    pub counts: bool,
    /// The order of a death of a node and all steps of its tasks, because others see memory that it leaves. If it does
    /// not count, a death makes a difference only to steps whose effects outlive the node.
    pub deaths: bool,
    /// The order in which tasks added nodes. It decides the addresses of the nodes. If it does not
    /// count, two nodes of different names are added in any order.
    pub nodes: bool,
    /// The order of all steps, because tasks share something that is not of this library.
    pub steps: bool,
    /// The instructions of locks of plain threads. If they do not count, a call of a lock is one step.
    pub locks: bool,
}

impl Apart {
    /// None.
    pub const NOTHING: Apart = Apart {
        orders: false,
        counts: false,
        deaths: false,
        nodes: false,
        steps: false,
        locks: false,
    };
    pub const ORDERS: Apart = Apart { orders: true, ..Apart::NOTHING };
    pub const COUNTS: Apart = Apart { counts: true, ..Apart::NOTHING };
    pub const DEATHS: Apart = Apart { deaths: true, ..Apart::NOTHING };
    pub const NODES: Apart = Apart { nodes: true, ..Apart::NOTHING };
    pub const STEPS: Apart = Apart { steps: true, ..Apart::NOTHING };
    pub const LOCKS: Apart = Apart { locks: true, ..Apart::NOTHING };

    /// The single differences, by name.
    const NAMED: [(&str, Apart); 6] = [
        ("orders", Apart::ORDERS),
        ("counts", Apart::COUNTS),
        ("deaths", Apart::DEATHS),
        ("nodes", Apart::NODES),
        ("steps", Apart::STEPS),
        ("locks", Apart::LOCKS),
    ];

    /// The names of the differences.
    pub fn names(self) -> Vec<&'static str> {
        let named = Apart::NAMED.iter().filter(|(_, one)| self.and(*one) == self);
        named.map(|(name, _)| *name).collect()
    }

    /// The difference with this name.
    pub fn named(name: &str) -> Option<Apart> {
        Apart::NAMED.iter().find(|(own, _)| *own == name).map(|(_, one)| *one)
    }

    /// These, and others.
    pub const fn and(self, others: Apart) -> Apart {
        Apart {
            orders: self.orders || others.orders,
            counts: self.counts || others.counts,
            deaths: self.deaths || others.deaths,
            nodes: self.nodes || others.nodes,
            steps: self.steps || others.steps,
            locks: self.locks || others.locks,
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
    /// The estimated explored part of the tree of runs, from 0 to 1: Knuth's estimate (1975), from the current path,
    /// under the assumption that siblings have equally large subtrees. For a bounded search, the part of the runs
    /// within the current bound.
    pub part: f64,
    /// The number of all runs, if it was estimated; for a bounded search, of all runs within the current bound. `part`
    /// then follows from it.
    pub estimate: Option<TreeEstimate>,
    /// True if time moved on by a way that is not seen, so that not all orders were tried.
    pub blind: bool,
    /// True if each order of steps is a run of its own, because tasks share something that is not of this library.
    pub by_step: bool,
    /// The bound of the search; `None` if it left nothing out.
    pub within: Option<SearchBound>,
}

/// The bound of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchBound {
    /// The name of the counted quantity, in the singular.
    pub what: &'static str,
    /// All runs with at most this many are explored; `None` if not even the runs with 0 are.
    pub through: Option<u32>,
}

/// A value that a step drew, as a node of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drawn {
    pub value: u64,
    pub bound: u64,
    /// True if the value is given and no other one is explored.
    pub given: bool,
}

impl Drawn {
    /// Returns `true` if a search explores a higher value, too.
    pub fn has_next(&self) -> bool {
        !self.given && self.value + 1 < self.bound
    }

    /// Advances draws to the next values, from position `fixed` on. Returns `false` if there are none: the draws are
    /// then removed.
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

/// A search that can be chosen by name.
#[derive(Clone, Copy)]
pub struct SearchRow {
    /// Its name in `strategy = "..."` and `SIM_STRATEGY`.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// Its names with a bound; the bound is the position in this list. The name alone has no bound.
    pub numbered: &'static [&'static str],
    /// The search that gets the remaining runs if this one will not finish: see
    /// `Runner::strategy`.
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

/// All searches that can be chosen by name, in addition to [`STRATEGIES`](super::STRATEGIES).
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
