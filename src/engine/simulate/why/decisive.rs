//! The decisive events of an interruption: the operations of other tasks that a region as one step would exclude.
//!
//! Two orders of steps are equivalent if they differ only in the order of operations that do not conflict. Therefore an
//! interruption matters only if a chain of dependent operations leads out of the region and back into it:
//! `a → e1 → … → ek → b`, with `a` and `b` in the region. If the region were one step, the chain would be a cycle. This
//! is the test of conflict serializability (Papadimitriou, 1979). The shortest chain names the fewest operations.
//!
//! These functions are pure: they execute no runs.

use crate::run::Run;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::kind::{Kind, Span};

/// The maximum number of decisive events.
const EVENTS_MAX: usize = 3;
/// A chain is computed from at most this number of events. The time is quadratic in this number.
const EXAMINED_MAX: usize = 2000;

/// The number of events in a chain, the number of these events that screens omit, and the number that leave their
/// objects unchanged. A chain with a lower cost is preferred.
type Cost = (usize, usize, usize);

/// Returns the decisive events of other tasks in a region of `task`, as indices in ascending order, at most three.
///
/// The region begins at the event `from` and ends at the event `to`. If the run ended before it, `to` is `None`, and
/// `to_object` is the object of its last operation, if known.
pub(super) fn decisive(
    run: &Run,
    task: TaskId,
    from: usize,
    to: Option<usize>,
    to_object: Option<ObjectId>,
) -> Vec<usize> {
    let interrupted = Interrupted::new(run, task, from, to, to_object);
    let mut named = interrupted.chain().unwrap_or_else(|| interrupted.without_chain());
    if let Some(last) = named.last().copied().filter(|_| named.len() > EVENTS_MAX) {
        named.truncate(EVENTS_MAX - 1);
        named.push(last);
    }
    named
}

/// A region of a run that other tasks interrupted.
struct Interrupted<'a> {
    events: &'a [Event],
    /// The events of the task in the region. Invariant: ascending, begins with the first event of the region.
    own: Vec<usize>,
    /// The events of other tasks in the region. Invariant: ascending.
    others: Vec<usize>,
    /// The object of the last operation, if the run ended before it.
    pending: Option<ObjectId>,
    /// The objects of the operations at both ends.
    objects: [Option<ObjectId>; 2],
}

impl<'a> Interrupted<'a> {
    fn new(
        run: &'a Run,
        task: TaskId,
        from: usize,
        to: Option<usize>,
        to_object: Option<ObjectId>,
    ) -> Interrupted<'a> {
        let events = &run.events[..];
        let end = to.map_or(events.len(), |to| to + 1).min(events.len());
        let (own, others) = (from..end).partition(|at| events[*at].task == task);
        let object = |at: usize| events.get(at).and_then(|event| event.object);
        Interrupted {
            events,
            own,
            others,
            pending: to_object.filter(|_| to.is_none()),
            objects: [object(from), to.map_or(to_object, object)],
        }
    }

    /// Returns the cheapest chain of dependent events out of the region and back into it, if any.
    fn chain(&self) -> Option<Vec<usize>> {
        let others = &self.others[..self.others.len().min(EXAMINED_MAX)];
        // For each event, the cost of the cheapest chain that ends with this event, and the position of the previous
        // event in this chain.
        let mut chains: Vec<Option<(Cost, Option<usize>)>> = Vec::new();
        for (at, event) in others.iter().enumerate() {
            let begins = self.begins(*event).then_some(((0, 0, 0), None));
            let continues = (0..at).filter_map(|before| {
                let (cost, _) = chains[before]?;
                self.is_linked(others[before], *event).then_some((cost, Some(before)))
            });
            let cheapest = begins.into_iter().chain(continues).min_by_key(|(cost, _)| *cost);
            chains.push(cheapest.map(|(cost, before)| (self.with(cost, *event), before)));
        }
        let ends = (0..others.len()).filter(|at| self.ends(others[*at]));
        let known = ends.filter_map(|at| Some((chains[at]?.0, at)));
        let (_, last) = known.min_by_key(|(cost, _)| *cost)?;
        let previous = |at: &usize| chains[*at].and_then(|(_, before)| before);
        let mut chain: Vec<usize> =
            std::iter::successors(Some(last), previous).map(|at| others[at]).collect();
        chain.reverse();
        Some(chain)
    }

    /// Returns the cost of a chain with one more event.
    fn with(&self, (length, omitted, looks): Cost, event: usize) -> Cost {
        let event = &self.events[event];
        (length + 1, omitted + usize::from(is_omitted(event)), looks + usize::from(event.is_look()))
    }

    /// Returns `true` if an event depends on an earlier event of the region.
    fn begins(&self, event: usize) -> bool {
        let mut earlier = self.own.iter().take_while(|own| **own < event);
        earlier.any(|own| self.conflict(*own, event))
    }

    /// Returns `true` if a later event of the region, or its pending operation, depends on an event.
    fn ends(&self, event: usize) -> bool {
        let Event { object, .. } = self.events[event];
        let is_awaited = object.is_some() && object == self.pending;
        let mut later = self.own.iter().rev().take_while(|own| **own > event);
        later.any(|own| self.conflict(event, *own)) || is_awaited && !self.events[event].is_look()
    }

    /// Returns `true` if the second of two events of other tasks depends on the first.
    fn is_linked(&self, first: usize, second: usize) -> bool {
        self.events[first].task == self.events[second].task || self.conflict(first, second)
    }

    /// Returns `true` if two events are on the same object and must not be swapped.
    fn conflict(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.events[one], &self.events[other]);
        if one.object.is_none() || one.object != other.object {
            return false;
        }
        let (Some(kind), Some(other_kind)) = (kind(one), kind(other)) else { return false };
        let numbers = [(kind, span(one)), (other_kind, span(other))];
        kind.conflicts(other_kind) && !Kind::are_apart(numbers[0], numbers[1])
    }

    /// Returns the events to name without a chain: the first event that conflicts with the beginning of the region. If
    /// there is no such event, the first and the last change of the objects at the ends of the region.
    fn without_chain(&self) -> Vec<usize> {
        let is_shown = |at: &usize| !is_omitted(&self.events[*at]);
        let shown: Vec<usize> = self.others.iter().copied().filter(is_shown).collect();
        if let Some(first) = self.own.first() {
            if let Some(other) = shown.iter().find(|other| self.conflict(*first, **other)) {
                return vec![*other];
            }
        }
        let is_shared = |at: &usize| {
            let object = self.events[*at].object;
            object.is_some() && self.objects.contains(&object)
        };
        let shared: Vec<usize> = shown.iter().copied().filter(is_shared).collect();
        let shared = if shared.is_empty() { shown } else { shared };
        let changes = |at: &usize| !self.events[*at].is_look();
        let changed: Vec<usize> = shared.iter().copied().filter(changes).collect();
        match if changed.is_empty() { &shared[..] } else { &changed[..] } {
            [first, .., last] => vec![*first, *last],
            few => few.to_vec(),
        }
    }
}

/// Returns `true` for an event that screens omit, or that only releases an object.
fn is_omitted(event: &Event) -> bool {
    event.op.quiet && event.values != Values::Failed || event.op.access.gives_up()
}

fn kind(event: &Event) -> Option<Kind> {
    event.op.kind.or_else(|| event.op.access.kind(event.is_look()))
}

fn span(event: &Event) -> Span {
    match event.values {
        Values::Messages { from, to, .. } => Span { from, to },
        _ => Span::NONE,
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::run::Failure;
    use crate::run::ids::Seed;
    use crate::run::op::{Access, Op};
    use crate::run::rng::Rng;

    const LOAD: Op = Op::new("load", Access::Read);
    const STORE: Op = Op::new("store", Access::Write);
    const HIDDEN: Op = Op::new("mark", Access::Write).quiet();
    const LOCK: Op = Op::new("lock", Access::Lock);
    const UNLOCK: Op = Op::new("unlock", Access::Unlock);

    /// Returns a run with these events, each as a task, an operation and an object.
    fn run(events: &[(u32, &'static Op, u32)]) -> Run {
        let mut run = Run::empty(Seed(1), Failure::Error { message: String::new() });
        run.events = (0..)
            .zip(events)
            .map(|(step, (task, op, object))| Event {
                step,
                task: TaskId(*task),
                object: Some(ObjectId::new(*object)),
                op,
                place: Location::caller(),
                values: Values::None,
            })
            .collect();
        run
    }

    fn of(
        events: &[(u32, &'static Op, u32)],
        to: Option<usize>,
        pending: Option<u32>,
    ) -> Vec<usize> {
        decisive(&run(events), TaskId(0), 0, to, pending.map(ObjectId::new))
    }

    #[test]
    fn the_lost_update_has_one_decisive_event() {
        let events = [(0, &LOAD, 0), (1, &LOAD, 0), (1, &STORE, 0), (1, &STORE, 1), (0, &STORE, 0)];
        assert_eq!(of(&events, Some(4), None), [2]);
        // A load changes nothing, so it is preferred only to nothing.
        assert_eq!(of(&[(0, &LOAD, 0), (1, &LOAD, 0), (0, &STORE, 0)], Some(2), None), [1]);
    }

    #[test]
    fn a_chain_leads_over_several_objects_and_tasks() {
        let torn = [(0, &LOAD, 0), (1, &STORE, 0), (1, &LOAD, 2), (1, &STORE, 1), (0, &LOAD, 1)];
        assert_eq!(of(&torn, Some(4), None), [1, 3]);
        // Only the first event of the second task depends on the region.
        let far = [
            (0, &LOAD, 0),
            (1, &STORE, 0),
            (1, &STORE, 1),
            (2, &LOAD, 1),
            (2, &STORE, 2),
            (0, &LOAD, 2),
        ];
        // The chain names three of the four events.
        assert_eq!(of(&far, Some(5), None), [1, 2, 4]);
    }

    #[test]
    fn the_end_may_be_pending() {
        let events = [(0, &LOCK, 0), (0, &UNLOCK, 0), (1, &LOCK, 0), (1, &STORE, 1)];
        assert_eq!(of(&events, None, Some(1)), [2, 3]);
        // Without the object, the chain ends with the first event that conflicts with the beginning.
        assert_eq!(of(&events, None, None), [2]);
    }

    #[test]
    fn without_a_dependence_changes_of_the_objects_are_named() {
        let events = [(0, &LOAD, 0), (1, &STORE, 1), (1, &LOAD, 0), (1, &STORE, 2), (0, &LOAD, 2)];
        assert_eq!(of(&events, Some(4), None), [3]);
        let unrelated = [(0, &LOAD, 0), (1, &STORE, 1), (2, &STORE, 1), (1, &STORE, 2)];
        assert_eq!(of(&unrelated, None, None), [1, 3]);
        assert_eq!(of(&[(0, &LOAD, 0), (1, &HIDDEN, 1)], None, None), [0; 0]);
    }

    /// The cost of the cheapest chain, by a trial of all subsequences of the other events.
    fn cheapest(events: &[(u32, &'static Op, u32)], to: usize) -> Option<Cost> {
        let conflict = |one: usize, other: usize| {
            let ((_, one_op, on), (_, other_op, other_on)) = (events[one], events[other]);
            on == other_on && (*one_op != LOAD || *other_op != LOAD)
        };
        let others: Vec<usize> = (0..to).filter(|at| events[*at].0 != 0).collect();
        let own = |at: &usize| events[*at].0 == 0;
        let is_chain = |chain: &[usize]| {
            let begins = (0..chain[0]).filter(own).any(|a| conflict(a, chain[0]));
            let last = chain[chain.len() - 1];
            let ends = (last + 1..=to).filter(own).any(|b| conflict(last, b));
            let linked = |pair: &[usize]| {
                events[pair[0]].0 == events[pair[1]].0 || conflict(pair[0], pair[1])
            };
            begins && ends && chain.windows(2).all(linked)
        };
        let subsets = (1..1usize << others.len()).map(|bits| {
            let chosen = others.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            chosen.map(|(_, event)| *event).collect::<Vec<usize>>()
        });
        let cost = |chain: Vec<usize>| {
            let count = |op: &Op| chain.iter().filter(|at| events[**at].1 == op).count();
            (chain.len(), count(&HIDDEN), count(&LOAD))
        };
        subsets.filter(|chain| is_chain(chain)).map(cost).min()
    }

    #[test]
    fn no_other_chain_is_cheaper() {
        let mut found = [0; 5];
        for seed in 0..4000 {
            let mut rng = Rng::new(seed);
            let length = 5 + rng.below(8) as usize;
            let mut events: Vec<(u32, &'static Op, u32)> = (0..length)
                .map(|_| {
                    let op: &'static Op = match rng.below(5) {
                        0 | 1 => &LOAD,
                        2 | 3 => &STORE,
                        _ => &HIDDEN,
                    };
                    (rng.below(4) as u32, op, rng.below(3) as u32)
                })
                .collect();
            let to = length - 1;
            (events[0].0, events[to].0) = (0, 0);
            let run = run(&events);
            let interrupted = Interrupted::new(&run, TaskId(0), 0, Some(to), None);
            let chain = interrupted.chain();
            let cost = chain.as_ref().map(|chain| {
                chain.iter().fold((0, 0, 0), |cost, event| interrupted.with(cost, *event))
            });
            assert_eq!(cost, cheapest(&events, to), "{seed}: {chain:?}");
            if let Some(chain) = chain {
                assert!(chain.windows(2).all(|pair| pair[0] < pair[1]), "{seed}: {chain:?}");
                found[chain.len().min(4)] += 1;
            } else {
                found[0] += 1;
            }
            let named = decisive(&run, TaskId(0), 0, Some(to), None);
            assert!(named.len() <= EVENTS_MAX, "{seed}: {named:?}");
        }
        assert!(found[..4].iter().all(|count| *count > 0), "{found:?}");
    }
}
