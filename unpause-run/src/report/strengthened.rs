//! Stronger memory orders with which a failure does not come again.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::stale;
use super::unordered::Unordered;
use crate::run::Run;
use crate::run::ids::Place;
use crate::run::memory_model::Raise;
use crate::run::place::portable;
use unpause_check::picture::screen::clean;

/// An operation with a stronger order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strengthened {
    /// Its name, such as `store`.
    pub op: &'static str,
    /// Its place.
    pub place: Place,
    /// The order with which the failure did not come again.
    pub order: Ordering,
}

/// Stronger memory orders with which a failure did not come again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strengthening {
    /// The operations. If one of them keeps its order the failure comes.
    pub operations: Vec<Strengthened>,
    /// The number of runs that were made with all of them.
    pub runs: u64,
}

impl Strengthening {
    /// The strengthening by these links, judged by so many runs.
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

/// An operation that orders nothing.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeakLink {
    /// Its place, and what it lacks.
    pub raise: Raise,
    /// Its name.
    pub op: &'static str,
    /// Its order.
    pub order: Ordering,
}

/// The operations of a run whose orders are the reasons of its stale reads, each once.
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

/// The hint, in words.
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
