//! Strategies answer the choices of a run. Each strategy has its own file, and a row in [`STRATEGIES`], or in
//! [`SEARCHES`] if it plans each run from the previous runs. The table below contains the texts of these rows.
//!
//! # The registered strategies
//!
//! `strategy = "..."`, `Runner::strategy` or `SIM_STRATEGY` selects a strategy. Each strategy is good at different
//! bugs, and no strategy is good at all bugs. The default therefore runs each seed with one of the other strategies.
//!
//! | name | good at | promise | where it is weak |
//! |---|---|---|---|
//! | `portfolio`, the default | a bug of which nothing is known | never much worse than the best of `orders`, `urw`, `pos` and `pct`, each of which gets its share of the seeds | a bug that one strategy alone finds, and rarely |
//! | `random` | few steps, many switches | every interleaving is possible | one late step of a short task against many of a long one |
//! | `pct`, `pct:1` to `pct:8` | few orderings far apart | `pct:d` meets a bug of d orderings with a probability of at least 1 / (n k^(d-1)), for n tasks and k steps | many switches: at most d - 1 are enforced; `pct` draws d from the seed, 2 to 5 |
//! | `pos` | conflicts among much that is private | every partial order is possible | bugs of few orderings far apart |
//! | `urw` | tasks of unequal length | all interleavings have the same probability, if nothing waits | much that is private |
//! | `surw` | one contended object | all orders of the accesses to one object, drawn by the seed, have the same probability, if nothing waits | bugs between several objects |
//! | `orders` | several contended objects, one task among many, locks taken in a circle | each possible choice of an order of the accesses for every object has at least the probability of drawing it, if nothing waits, in a run that leaves no object out and favours nobody | tasks that go through the same objects in different orders |
//!
//! Most strategies first count steps, tasks and accesses in a few rehearsals of the body. Rehearsals belong to no seed,
//! and their outcomes do not count. A test of one seed therefore executes its body more than once but reports `1 run`.
//! A seed gives the same run alone and among other seeds. The file of each strategy names its paper.
//!
//! # The moment of a fault
//!
//! Some steps are not announced: the death or pause of a node, an abort, a stall, the drop of a future and the cut of a
//! link. In two seeds out of three, every strategy except `random` draws a moment for each such fault found in the
//! rehearsals. The moment is drawn uniformly among the steps of the tasks that the fault disturbs. With n such steps,
//! each of the n + 1 moments has a probability of at least 2 / (3 (n + 1)). In a random walk, a fault occurs after k
//! steps with a probability of only about 2^-k. The promises in the table are for programs without faults. In programs
//! with faults, they hold with a third of the probability.
//!
//! Searches ([`SEARCHES`]) plan each run from the previous runs: see `runner`. `Runner::strategy_with` accepts a
//! user-defined strategy.

#[doc(hidden)]
pub mod bounded;
#[doc(hidden)]
pub mod divided;
#[doc(hidden)]
pub mod exhaustive;
#[doc(hidden)]
pub mod guided;
mod lenient_replay;
mod orders;
mod pct;
mod pending_by_object;
mod portfolio;
mod pos;
mod random;
mod replay;
mod rerun;
mod surw;
mod urw;

// Parts of strategies.
mod accesses;
#[doc(hidden)]
pub mod after;
mod candidates;
mod dice;
mod fault_steps;
#[doc(hidden)]
pub mod footprint;
#[doc(hidden)]
pub mod happens_before;
#[doc(hidden)]
pub mod held;
mod known_objects;
mod lessons;
mod moments;
#[doc(hidden)]
pub mod newest;
mod queue;
mod rehearsal;
mod roster;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod sum;
mod tally;
mod weights;
#[doc(hidden)]
pub mod witness;

#[cfg(test)]
mod enumerate;

#[doc(inline)]
pub use crate::run::board::{Announced, Announcements, Status, TaskRow};
#[doc(inline)]
pub use crate::run::choice::{Draw, Mismatch, Strategy, View};

pub use self::lenient_replay::LenientReplay;
pub use self::replay::Replay;
pub use self::rerun::{ONE_TASK, Rerun};
#[doc(hidden)]
pub use self::search::Search;
pub use self::search::{SEARCHES, SearchRow};

use std::sync::Arc;

/// A strategy that can be selected by name.
#[derive(Clone, Copy, Debug)]
pub struct StrategyRow {
    /// The name of the strategy in `strategy = "..."` and `SIM_STRATEGY`.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The bugs that it finds well, as one line of Markdown for the table of this module. The next two fields have the
    /// same form.
    pub good_at: &'static str,
    /// The promise of the strategy.
    pub promise: &'static str,
    /// The bugs that it rarely finds.
    pub weak: &'static str,
    /// True if every interleaving has a probability above zero. If false, only the promise in the file of the strategy
    /// holds.
    pub reaches_all: bool,
    /// Creates the strategy.
    pub create: fn() -> Box<dyn Strategy>,
    /// The variants with a number after the name and a colon, one row for each number. Without a number, the strategy
    /// draws the number from the seed.
    pub numbered: &'static [Numbered],
}

/// A strategy with its parameter, such as `pct:3`.
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    /// The name with the parameter.
    pub name: &'static str,
    /// Creates the strategy.
    pub create: fn() -> Box<dyn Strategy>,
}

/// Wraps a strategy that learns, so that each block of seeds has its own lesson.
fn lessons<S: Strategy + 'static>(create: fn() -> S) -> Box<dyn Strategy> {
    Box::new(lessons::Lessons::new(create))
}

/// All strategies that can be selected by name; each entry is the `ROW` of its file. The first strategy is the default.
pub const STRATEGIES: &[StrategyRow] =
    &[portfolio::ROW, random::ROW, pct::ROW, pos::ROW, urw::ROW, surw::ROW, orders::ROW];

/// Returns the row of the strategy called `name`, without a parameter.
///
/// ```
/// assert!(sim::strategy::find("random").is_some());
/// assert!(sim::strategy::find("rondom").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static StrategyRow> {
    STRATEGIES.iter().find(|row| row.name == name)
}

impl StrategyRow {
    /// Returns the grammar of its names, for example `random` or `pct (pct:1 to pct:8)`.
    #[doc(hidden)]
    pub fn grammar(&self) -> String {
        let numbered: Vec<_> = self.numbered.iter().map(|form| form.name).collect();
        grammar(self.name, &numbered)
    }
}

impl SearchRow {
    /// Returns the grammar of its names, like [`StrategyRow::grammar`].
    #[doc(hidden)]
    pub fn grammar(&self) -> String {
        grammar(self.name, self.numbered)
    }
}

fn grammar(name: &str, numbered: &[&str]) -> String {
    match numbered {
        [first, .., last] => format!("{name} ({first} to {last})"),
        _ => name.to_owned(),
    }
}

/// A strategy selected by its name, with or without a parameter.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Chosen {
    name: &'static str,
    kind: ChosenKind,
}

#[derive(Clone, Copy, Debug)]
enum ChosenKind {
    Sample(fn() -> Box<dyn Strategy>),
    /// A search with its bound, if any.
    Search(&'static SearchRow, Option<u32>),
}

impl Chosen {
    /// Returns a user-defined strategy; `None` if its name is empty or belongs to a registered strategy.
    pub fn own(Numbered { name, create }: Numbered) -> Option<Chosen> {
        let is_new = !name.is_empty() && Chosen::parse(name).is_none();
        is_new.then_some(Chosen { name, kind: ChosenKind::Sample(create) })
    }

    /// Returns the strategy that `text` names: a name from [`STRATEGIES`] or [`SEARCHES`], with or without a number.
    pub fn parse(text: &str) -> Option<Chosen> {
        let rows = STRATEGIES.iter().map(|row| (row.name, ChosenKind::Sample(row.create)));
        let numbered = STRATEGIES.iter().flat_map(|row| row.numbered);
        let numbered = numbered.map(|form| (form.name, ChosenKind::Sample(form.create)));
        let searches = SEARCHES.iter().map(|row| (row.name, ChosenKind::Search(row, None)));
        let bounded = SEARCHES.iter().flat_map(|row| {
            (0..).zip(row.numbered).map(move |(n, name)| (*name, ChosenKind::Search(row, Some(n))))
        });
        let mut all = rows.chain(numbered).chain(searches).chain(bounded);
        all.find(|(name, _)| *name == text).map(|(name, kind)| Chosen { name, kind })
    }

    /// Returns its name, with the parameter.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns the same strategy for runs in which loads may return old values. For these runs, the portfolio uses a
    /// different mix.
    #[must_use]
    pub fn for_stale_reads(self) -> Chosen {
        match self.name == portfolio::ROW.name {
            true => Chosen { kind: ChosenKind::Sample(portfolio::for_stale_reads), ..self },
            false => self,
        }
    }

    /// Creates the strategy. A search starts at its beginning.
    pub fn create(self) -> Box<dyn Strategy> {
        match self.kind {
            ChosenKind::Sample(create) => create(),
            ChosenKind::Search(row, most) => (row.create)(most).strategy(),
        }
    }

    /// Returns the search that takes over if this search will not finish; `None` for a strategy without a fallback.
    pub fn fallback(self) -> Option<Arc<dyn Search>> {
        match self.kind {
            ChosenKind::Sample(_) => None,
            ChosenKind::Search(row, _) => Chosen::parse(row.fallback?)?.search(),
        }
    }

    /// Returns `true` if this strategy is a search.
    pub fn is_search(self) -> bool {
        matches!(self.kind, ChosenKind::Search(..))
    }

    /// Returns the bound of the search, if its name has one: the name of the search without the bound, and the maximum.
    pub fn bound(self) -> Option<(&'static str, u32)> {
        match self.kind {
            ChosenKind::Search(row, Some(most)) => Some((row.name, most)),
            _ => None,
        }
    }

    /// Creates the search; `None` if this strategy is not a search.
    pub fn search(self) -> Option<Arc<dyn Search>> {
        match self.kind {
            ChosenKind::Sample(_) => None,
            ChosenKind::Search(row, most) => Some((row.create)(most)),
        }
    }
}
