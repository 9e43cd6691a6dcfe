//! Strategies: they answer the choices of a run. Each has a file, and a row in [`STRATEGIES`], or
//! in [`SEARCHES`] if it plans each run from the previous runs. The table has the texts of the
//! rows.
//!
//! # The registered strategies
//!
//! `strategy = "..."`, `Runner::strategy` or `SIM_STRATEGY` selects one. Each is good at
//! different bugs, and none at all of them; the default runs each seed with one of the others.
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
//! Most first count steps, tasks and accesses in a few rehearsals of the body. Rehearsals belong to
//! no seed, and their outcomes do not count. A test of one seed therefore executes its body more than once and reports
//! `1 run`; a seed that is run alone gives the same run as among others. The file of each strategy names its paper.
//!
//! # The moment of a fault
//!
//! The death of a node, its pause, an abort, a stall, the drop of a future and the cut of a link are steps that no
//! announcement foretells. In two seeds of three, every strategy but `random` draws the moment of each such fault of
//! the rehearsals uniformly among the steps of the tasks that it disturbs: of n steps, each of the n + 1 moments has a
//! probability of at least 2 / (3 (n + 1)). A random walk lets a fault come after k steps with a probability of about
//! 2^-k. The promises of the table are for programs without faults; in others, they hold with a third of the
//! probability.
//!
//! Searches ([`SEARCHES`]) plan each run from the previous runs: see `runner`.
//! `Runner::strategy_with` takes a strategy of your own.

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
pub use self::rerun::Rerun;
#[doc(hidden)]
pub use self::search::Search;
pub use self::search::{SEARCHES, SearchRow};

use std::sync::Arc;

/// A strategy that can be chosen by name.
#[derive(Clone, Copy, Debug)]
pub struct StrategyRow {
    /// Its name in `strategy = "..."` and `SIM_STRATEGY`.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The bugs that it finds well, for the table of this module, in one line of Markdown like the next two.
    pub good_at: &'static str,
    /// Its promise.
    pub promise: &'static str,
    /// The bugs that it finds badly.
    pub weak: &'static str,
    /// True if every interleaving has a probability above zero. If not, only the promise of its file holds.
    pub reaches_all: bool,
    /// Creates the strategy.
    pub create: fn() -> Box<dyn Strategy>,
    /// The same strategy with a number, written after the name and a colon: one row for each number. Without one, a
    /// strategy draws it from the seed.
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

/// A strategy that learns, with a lesson for each block of seeds.
fn lessons<S: Strategy + 'static>(create: fn() -> S) -> Box<dyn Strategy> {
    Box::new(lessons::Lessons::new(create))
}

/// All strategies that can be chosen by name, each the `ROW` of its file. The first is the default.
pub const STRATEGIES: &[StrategyRow] =
    &[portfolio::ROW, random::ROW, pct::ROW, pos::ROW, urw::ROW, surw::ROW, orders::ROW];

/// The strategy called `name`, which has no parameter.
///
/// ```
/// assert!(sim::strategy::find("random").is_some());
/// assert!(sim::strategy::find("rondom").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static StrategyRow> {
    STRATEGIES.iter().find(|row| row.name == name)
}

impl StrategyRow {
    /// The grammar of its names: `random`, or `pct (pct:1 to pct:8)`.
    #[doc(hidden)]
    pub fn grammar(&self) -> String {
        let numbered: Vec<_> = self.numbered.iter().map(|form| form.name).collect();
        grammar(self.name, &numbered)
    }
}

impl SearchRow {
    /// The same as for [`StrategyRow::grammar`].
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

/// A strategy chosen by its name, with a parameter or without.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Chosen {
    name: &'static str,
    kind: ChosenKind,
}

#[derive(Clone, Copy, Debug)]
enum ChosenKind {
    Sample(fn() -> Box<dyn Strategy>),
    /// With its bound, if it has one.
    Search(&'static SearchRow, Option<u32>),
}

impl Chosen {
    /// A strategy of the user, under a name that no registered one has.
    pub fn own(Numbered { name, create }: Numbered) -> Option<Chosen> {
        let is_new = !name.is_empty() && Chosen::parse(name).is_none();
        is_new.then_some(Chosen { name, kind: ChosenKind::Sample(create) })
    }

    /// The strategy that `text` names: a name of [`STRATEGIES`] or [`SEARCHES`], with a number or
    /// without.
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

    /// Its name, with the parameter.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The same strategy for runs whose loads may see old values. The portfolio has another mix then.
    #[must_use]
    pub fn for_stale_reads(self) -> Chosen {
        match self.name == portfolio::ROW.name {
            true => Chosen { kind: ChosenKind::Sample(portfolio::for_stale_reads), ..self },
            false => self,
        }
    }

    /// Creates the strategy; a search is at its beginning.
    pub fn create(self) -> Box<dyn Strategy> {
        match self.kind {
            ChosenKind::Sample(create) => create(),
            ChosenKind::Search(row, most) => (row.create)(most).strategy(),
        }
    }

    /// The search that takes over if this is a search that will not finish.
    pub fn fallback(self) -> Option<Arc<dyn Search>> {
        match self.kind {
            ChosenKind::Sample(_) => None,
            ChosenKind::Search(row, _) => Chosen::parse(row.fallback?)?.search(),
        }
    }

    /// Returns `true` if it is a search.
    pub fn is_search(self) -> bool {
        matches!(self.kind, ChosenKind::Search(..))
    }

    /// Creates the search, if it is one.
    pub fn search(self) -> Option<Arc<dyn Search>> {
        match self.kind {
            ChosenKind::Sample(_) => None,
            ChosenKind::Search(row, most) => Some((row.create)(most)),
        }
    }
}
