//! Stronger memory orders that prevent a failure in all tested runs.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::stale;
use super::unordered::Unordered;
use crate::run::Run;
use crate::run::ids::Place;
use crate::run::memory_model::Raise;
use crate::run::place::portable;
use unpause_check::picture::screen::clean;

/// An operation with a strengthened memory order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strengthened {
    /// The name of the operation, such as `store`.
    pub op: &'static str,
    /// The place of the operation.
    pub place: Place,
    /// The memory order that prevented the failure.
    pub order: Ordering,
}

/// Strengthened memory orders under which a failure did not recur.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strengthening {
    /// The strengthened operations. The failure recurs if any of them keeps its original order.
    pub operations: Vec<Strengthened>,
    /// The number of runs with all these operations strengthened.
    pub runs: u64,
}

impl Strengthening {
    /// Creates the strengthening of these links, which was tested by `runs` runs.
    #[doc(hidden)]
    pub fn by(links: &[WeakLink], runs: u64) -> Strengthening {
        let mut operations: Vec<Strengthened> = Vec::new();
        for WeakLink { raise, op, order } in links {
            match operations.iter_mut().find(|known| known.place == raise.place) {
                Some(known) => known.order = raise.of(known.order),
                None => operations.push(Strengthened {
                    op,
                    place: raise.place,
                    order: raise.of(*order),
                }),
            }
        }
        Strengthening { operations, runs }
    }
}

/// An operation with a memory order too weak to order anything.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeakLink {
    /// The missing ordering, and the place of the operation.
    pub raise: Raise,
    /// The name of the operation.
    pub op: &'static str,
    /// The current memory order of the operation.
    pub order: Ordering,
}

/// Returns the operations of a run with memory orders that are the reason for its stale reads, each
/// operation once.
#[doc(hidden)]
pub fn weak_links(run: &Run) -> Vec<WeakLink> {
    let mut links: Vec<WeakLink> = Vec::new();
    for event in &run.events {
        let (at, releases) = match stale::unordered(run, event) {
            Some(Unordered::NoRelease(at)) => (at, true),
            Some(Unordered::NoAcquire(at)) => (at, false),
            Some(Unordered::Unconnected) | None => continue,
        };
        let Some(mark) = run.orders.iter().find(|mark| mark.event == at) else { continue };
        let weak = &run.events[at];
        let raise = Raise { place: weak.place, releases };
        let link = WeakLink { raise, op: weak.op.name, order: mark.order };
        if !links.iter().any(|known| known.raise == raise) {
            links.push(link);
        }
    }
    links
}

/// Returns the strengthening as a hint for the user.
pub(super) fn hint(strengthening: &Strengthening, runs: u64) -> String {
    let Strengthening { operations, runs: tried } = strengthening;
    let mut text = "with ".to_owned();
    for (nth, Strengthened { op, place, order }) in operations.iter().enumerate() {
        let and = if nth == 0 { "" } else { " and " };
        let place = portable(&clean(&place.to_string()));
        let _ = write!(text, "{and}{order:?} for the {op} at {place}");
    }
    format!("{text} it did not come again in {tried} runs (it came within {runs})")
}
