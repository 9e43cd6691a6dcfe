//! Stronger memory orders that prevent a failure in all tested runs.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::stale;
use super::unordered::Unordered;
use crate::run::event::Event;
use crate::run::ids::Place;
use crate::run::memory_model::{Raise, Stronger, WeakLink};
use crate::run::op::{Access, Op};
use crate::run::place::portable;
use crate::run::{Failure, Outcome, Run};
use unpause_check::picture::screen::clean;

/// An operation with a strengthened memory order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strengthened {
    /// The name of the operation, such as `store`. A fence that the program lacks has a name such as `fence before the
    /// store`, and the place of the store.
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
    /// The number of seeds that ran with all these operations strengthened.
    pub runs: u64,
    /// The number of all interleavings with these operations strengthened, if a search has explored all of them and
    /// none fails. `None` if no search did.
    pub interleavings: Option<u64>,
}

impl Strengthening {
    /// Creates the strengthening of these links, which was tested by `runs` runs.
    #[doc(hidden)]
    pub fn by(links: &[WeakLink], runs: u64) -> Strengthening {
        let mut operations: Vec<Strengthened> = Vec::new();
        for WeakLink { raise, op, order } in links {
            let (op, place) = (*op, raise.place);
            if let Some(order) = raise.fence() {
                operations.push(Strengthened { op: fence_before(op), place, order });
                continue;
            }
            match operations.iter_mut().find(|known| (known.op, known.place) == (op, place)) {
                Some(known) => known.order = raise.of(known.order),
                None => operations.push(Strengthened { op, place, order: raise.of(*order) }),
            }
        }
        Strengthening { operations, runs, interleavings: None }
    }
}

/// Returns the name of a fence before an operation.
fn fence_before(op: &str) -> &'static str {
    match op {
        "load" => "fence before the load",
        "store" => "fence before the store",
        "swap" => "fence before the swap",
        "compare_exchange" | "compare_exchange_weak" => "fence before the compare_exchange",
        "fetch_add" => "fence before the fetch_add",
        "fetch_sub" => "fence before the fetch_sub",
        _ => "fence before the operation",
    }
}

fn order_of(run: &Run, event: usize) -> Option<Ordering> {
    // The marks are in event order.
    let at = run.orders.partition_point(|mark| mark.event < event);
    run.orders.get(at).filter(|mark| mark.event == event).map(|mark| mark.order)
}

/// Returns the operation with a memory order that is too weak, if the reason names such an operation.
fn weak_link(run: &Run, reason: Unordered) -> Option<WeakLink> {
    let (at, by) = match reason {
        Unordered::NoRelease(at) => (at, Stronger::Release),
        Unordered::NoAcquire(at) => (at, Stronger::Acquire),
        Unordered::Unconnected => return None,
    };
    let Event { op, place, .. } = run.events[at];
    Some(WeakLink { raise: Raise { place, by }, op: op.name, order: order_of(run, at)? })
}

/// Returns the operations of a run with memory orders that are the reason for its stale reads or its data race, each
/// operation once.
#[doc(hidden)]
pub fn weak_links(run: &Run) -> Vec<WeakLink> {
    let mut links: Vec<WeakLink> = Vec::new();
    for event in &run.events {
        links.extend(stale::unordered(run, event).and_then(|reason| weak_link(run, reason)));
    }
    if let Outcome::Failed(Failure::Memory(error)) = &run.outcome {
        links.extend(&error.too_weak);
        links.extend(stale::race(run, error).and_then(|reason| weak_link(run, reason)));
    }
    let mut each: Vec<WeakLink> = Vec::new();
    for link in links {
        if !each.iter().any(|known| known.raise == link.raise) {
            each.push(link);
        }
    }
    each
}

/// An operation whose memory order may be strengthened up to `SeqCst`. A new fence may also precede it.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The place of the operation.
    pub place: Place,
    op: &'static Op,
    order: Ordering,
}

impl Candidate {
    fn link(&self, by: Stronger) -> WeakLink {
        let raise = Raise { place: self.place, by };
        WeakLink { raise, op: self.op.name, order: self.order }
    }

    /// Returns the strongest order of the operation, if it is not its order already.
    pub fn strongest(&self) -> Option<WeakLink> {
        (self.order != Ordering::SeqCst).then(|| self.link(Stronger::SeqCst))
    }

    /// Returns the strongest fence before the operation, unless the operation is a fence.
    pub fn fence(&self) -> Option<WeakLink> {
        let order = Ordering::SeqCst;
        (self.op.name != Op::FENCE.name).then(|| self.link(Stronger::Fence(order)))
    }

    /// Returns smaller changes than the strongest order, or than the strongest fence, in order of their strength.
    pub fn weaker(&self, than: Stronger) -> Vec<Vec<WeakLink>> {
        let (release, acquire) = (self.link(Stronger::Release), self.link(Stronger::Acquire));
        let changes = match (than, self.op.access) {
            (Stronger::Fence(_), _) => {
                let orders = [Ordering::Release, Ordering::Acquire, Ordering::AcqRel];
                return orders.map(|order| vec![self.link(Stronger::Fence(order))]).to_vec();
            }
            (_, Access::Read) => vec![vec![acquire]],
            (_, Access::Write) => vec![vec![release]],
            _ => vec![vec![release], vec![acquire], vec![release, acquire]],
        };
        let is_change = |links: &Vec<WeakLink>| {
            links.iter().all(|link| link.raise.of(self.order) != self.order)
        };
        changes.into_iter().filter(is_change).collect()
    }
}

/// Returns the operations whose stronger orders might prevent the stale reads and the early stores of a run. The
/// candidates are the stale read, the missed store, and the operations of both tasks in between. If `all` is true, also
/// the other operations on these objects.
#[doc(hidden)]
pub fn candidates(run: &Run, all: bool) -> Vec<Candidate> {
    let mut positions = Vec::new();
    for event in &run.events {
        let Some((store, operation)) = stale::places(run, event) else { continue };
        let tasks = [store, operation].map(|at| run.events[at].task);
        let is_of_task = |at: &usize| tasks.contains(&run.events[*at].task);
        // The nearest operations are first.
        let between = (store + 1..operation).rev().filter(is_of_task);
        positions.extend([operation, store].into_iter().chain(between));
    }
    if all {
        let objects: Vec<_> = positions.iter().filter_map(|at| run.events[*at].object).collect();
        let is_of_known = |at: &usize| match run.events[*at].object {
            Some(object) => objects.contains(&object),
            None => *run.events[*at].op == Op::FENCE,
        };
        positions.extend((0..run.events.len()).filter(is_of_known));
    }
    let mut found: Vec<Candidate> = Vec::new();
    for at in positions {
        let Event { place, op, .. } = run.events[at];
        let Some(order) = order_of(run, at) else { continue };
        if !found.iter().any(|known| known.place == place) {
            found.push(Candidate { place, op, order });
        }
    }
    found
}

/// Returns the strengthening as a hint for the user.
pub(super) fn hint(strengthening: &Strengthening, runs: u64) -> String {
    let Strengthening { operations, runs: tried, interleavings } = strengthening;
    let mut text = "with ".to_owned();
    for (nth, Strengthened { op, place, order }) in operations.iter().enumerate() {
        let and = if nth == 0 { "" } else { " and " };
        let place = portable(&clean(&place.to_string()));
        let _ = match op.starts_with("fence before") {
            true => write!(text, "{and}a {order:?} {op} at {place}"),
            false => write!(text, "{and}{order:?} for the {op} at {place}"),
        };
    }
    match interleavings {
        Some(all) => {
            format!("{text}: proved, all {all} interleavings pass (it was found within {runs})")
        }
        None => format!("{text}: not found again in {tried} seeds (it was found within {runs})"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

    use super::super::sample::{COMPARE_EXCHANGE, LOAD, STORE, Sample, here};
    use super::*;
    use crate::run::MemoryError;
    use crate::run::event::{ValueKind, Values};
    use crate::run::memory_model::{MISSED, OrderMark};

    /// Store buffering: the load of the second task misses the store of the first task. A third task loads the word.
    fn store_buffering() -> Run {
        let mut sample = Sample::of(&["a", "b", "c"]);
        let x = sample.object("atomic", ValueKind::Unsigned);
        let y = sample.object("atomic", ValueKind::Unsigned);
        sample.step(1).did(&STORE, Some(x), Values::Wrote(1));
        sample.step(1).did(&LOAD, Some(y), Values::Read(0));
        sample.step(2).did(&STORE, Some(y), Values::Wrote(1));
        sample.step(3).did(&LOAD, Some(x), Values::Read(1));
        sample.step(2).did(&LOAD, Some(x), Values::Read(0));
        sample.did(&MISSED, Some(x), Values::Read(1));
        let mut run = sample.run;
        let orders = [Release, Acquire, Release, Relaxed, Acquire].into_iter().enumerate();
        run.orders = orders.map(|(event, order)| OrderMark { event, order }).collect();
        run
    }

    #[test]
    fn the_operations_around_a_stale_read_are_candidates() {
        let run = store_buffering();
        let places = |all: bool| {
            let at = |candidate: &Candidate| {
                run.events.iter().position(|event| event.place == candidate.place)
            };
            candidates(&run, all).iter().filter_map(at).collect::<Vec<usize>>()
        };
        assert_eq!(places(false), [4, 0, 2, 1]);
        assert_eq!(places(true), [4, 0, 2, 1, 3]);
        // A run without a stale read has no candidates.
        let passed = Run { events: run.events[..5].to_vec(), ..run.clone() };
        assert_eq!(candidates(&passed, true), []);
    }

    #[test]
    fn weaker_changes_are_real_changes() {
        let of = |op: &'static Op, order: Ordering| Candidate { place: here(), op, order };
        let orders = |candidate: Candidate, than: Stronger| -> Vec<Ordering> {
            let raised = |links: Vec<WeakLink>| {
                links.iter().fold(candidate.order, |order, link| link.raise.of(order))
            };
            candidate.weaker(than).into_iter().map(raised).collect()
        };
        assert_eq!(orders(of(&LOAD, Relaxed), Stronger::SeqCst), [Acquire]);
        assert_eq!(orders(of(&LOAD, Acquire), Stronger::SeqCst), []);
        assert_eq!(orders(of(&STORE, Relaxed), Stronger::SeqCst), [Release]);
        let exchange = of(&COMPARE_EXCHANGE, Relaxed);
        assert_eq!(orders(exchange, Stronger::SeqCst), [Release, Acquire, AcqRel]);
        assert_eq!(orders(of(&COMPARE_EXCHANGE, Acquire), Stronger::SeqCst), [AcqRel]);
        let fences: Vec<_> = exchange.weaker(Stronger::Fence(SeqCst)).concat();
        let fences: Vec<_> = fences.iter().map(|link| link.raise.fence()).collect();
        assert_eq!(fences, [Some(Release), Some(Acquire), Some(AcqRel)]);
        assert_eq!(of(&LOAD, SeqCst).strongest(), None);
        assert_eq!(of(&Op::FENCE, Acquire).fence(), None);
    }

    #[test]
    fn a_hint_names_orders_and_new_fences() {
        let (load, store) = (here(), here());
        let link = |place, by, op| WeakLink { raise: Raise { place, by }, op, order: Relaxed };
        let links = [
            link(store, Stronger::Release, "store"),
            link(store, Stronger::Acquire, "store"),
            link(load, Stronger::Fence(SeqCst), "load"),
        ];
        let strengthening = Strengthening::by(&links, 900);
        let [load, store] = [load, store].map(|place| portable(&place.to_string()));
        let expected = format!(
            "with AcqRel for the store at {store} and a SeqCst fence before the load at {load}: not found again in 900 \
             seeds (it was found within 7)"
        );
        assert_eq!(hint(&strengthening, 7), expected);
    }

    #[test]
    fn the_operations_of_a_data_race_are_links() {
        let mut run = store_buffering();
        assert_eq!(weak_links(&run), []);
        let raise = Raise { place: here(), by: Stronger::Release };
        let link = WeakLink { raise, op: "store", order: Relaxed };
        let (problem, message) = ("data race", String::new());
        let (steps, remedy, too_weak) = (Vec::new(), String::new(), vec![link, link]);
        let unordered = None;
        let error = MemoryError { problem, message, steps, remedy, too_weak, unordered };
        run.outcome = Outcome::Failed(Failure::Memory(error));
        assert_eq!(weak_links(&run), [link]);
    }
}
