//! Searches: strategies that go through runs in an order of their own and know when they are through.
//!
//! A sampling strategy draws a run from a seed. A search makes each run from those before it, so
//! one value serves all of them, one after the other, and the number of a run stands where the seed
//! of others does.

use std::sync::Arc;

use super::bounded::{Bounded, DELAYS, PREEMPTIONS};
use super::exhaustive::{Exhaustive, Orders};
use crate::run::choice::Strategy;
use crate::run::recording::Timed;
use crate::run::{DrawRecord, StepRecord};

/// A search. Its [`strategy`](Self::strategy) answers the choices of a run; then it is told how the run
/// ended, and turns to the next.
pub(crate) trait Search: Send + Sync {
    /// Answers the choices of all runs, one after the other.
    fn strategy(&self) -> Box<dyn Strategy>;

    /// Turns to the next run; false if there is none. `cut` tells whether a step ended the last one:
    /// the body returned or something failed. Else nobody could go on, or it was too long.
    fn advance(&self, cut: bool) -> bool;

    /// Whether the run that was on does not count: it was given up, because all it could still do had
    /// been done, or it was an earlier one once more.
    fn is_blocked(&self) -> bool;

    /// Asks `holds` about the histories, by number, that the last run stands for besides its own. To be
    /// called after [`advance`](Self::advance). A search whose runs have one history each has none.
    fn look_at_orders(&self, _holds: &mut dyn FnMut(usize, &[Timed]) -> bool) -> Orders {
        Orders::Hold
    }

    /// Begins anew, so that each order of recorded calls is a run of its own.
    fn tell_orders_apart(&self) {}

    /// Whether it does, from the start or since it had to.
    fn tells_orders_apart(&self) -> bool {
        false
    }

    /// Whether one of its runs was of this class, by [`HappensBefore::class`]; none if it does not know
    /// classes, because it makes every run.
    ///
    /// [`HappensBefore::class`]: super::happens_before::HappensBefore::class
    fn has_class(&self, _class: u64) -> Option<bool> {
        None
    }

    /// How far it is. To be asked after [`advance`](Self::advance).
    fn progress(&self) -> Progress;

    /// The decisions of the run that is on, for doing it again.
    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>);
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Progress {
    /// Runs that came to their end.
    pub(crate) runs: u64,
    /// Runs that were given up.
    pub(crate) blocked: u64,
    /// Runs that were made once more. Not among `runs`.
    pub(crate) repeated: u64,
    /// The part of the tree of runs that is done, from 0 to 1, if every branch that is known is as
    /// large as its siblings: Knuth's estimate (1975), from the one path the search is on. Of a search
    /// within a bound: the part of the runs within the number that is on.
    pub(crate) part: f64,
    /// Whether tasks woke each other by something that is not of this library. What they share is not
    /// seen, so not all orders were tried.
    pub(crate) blind: bool,
    /// What the search is restricted to; none if it left nothing out.
    pub(crate) within: Option<Within>,
}

/// What a search is restricted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Within {
    /// What is counted in a run, one of it in a word.
    pub(crate) what: &'static str,
    /// All runs with at most this many are done; none if not even those with none are.
    pub(crate) through: Option<u32>,
}

/// A search that can be chosen by name.
#[derive(Clone, Copy)]
pub struct SearchRow {
    /// What it is called in `strategy = "..."` and `SIM_STRATEGY`.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its names with a bound, which is their position here: what can be written behind the name and a
    /// colon. With the name alone there is no bound.
    pub numbered: &'static [&'static str],
    /// The search that gets the rest of the runs if this one will not be through: see
    /// [`Runner::strategy`](crate::Runner::strategy).
    pub fallback: Option<&'static str>,
    /// Makes one, with that bound.
    pub(crate) create: fn(Option<u32>) -> Arc<dyn Search>,
}

impl std::fmt::Debug for SearchRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchRow").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All searches that can be chosen by name, beside [`STRATEGIES`](super::STRATEGIES).
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
