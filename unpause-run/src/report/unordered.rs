//! The reason why nothing orders a store before a load that missed this store, or one access to a cell before another.
//!
//! The load's task may know the store through a chain of reads: it read a value from the store's task, or from a task
//! with such a read. A chain orders the store before the load if each write in it releases and each read acquires, by
//! its own memory order or by a fence. The reason is the first weak link on the chain with the fewest weak links.
//!
//! The source of a read is the last store of the value that it returned. If two stores wrote this value, the source is
//! ambiguous, and no reason is given.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

use unpause_ordered::Map;

use crate::run::Run;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::memory_model::{CELL, MISSED, PRECEDED};
use crate::run::op::{Access, Op};

/// A reason why the store is not ordered before the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unordered {
    /// There is no chain of reads.
    Unconnected,
    /// The event at this position writes but does not release.
    NoRelease(usize),
    /// The event at this position reads but does not acquire.
    NoAcquire(usize),
}

/// A chain through which a task knows the store, or which a store publishes.
#[derive(Clone, Copy, Default, Debug)]
struct Chain {
    /// The number of weak links, which order nothing.
    weak: u32,
    first: Option<Unordered>,
}

impl Chain {
    /// Returns the chain with one more link.
    fn then(self, is_strong: bool, link: Unordered) -> Chain {
        match is_strong {
            true => self,
            false => Chain { weak: self.weak + 1, first: self.first.or(Some(link)) },
        }
    }
}

/// Returns the chain with fewer weak links.
fn better(one: Option<Chain>, other: Option<Chain>) -> Option<Chain> {
    match (one, other) {
        (Some(one), Some(other)) if other.weak < one.weak => Some(other),
        (one, other) => one.or(other),
    }
}

fn releases(order: Ordering) -> bool {
    matches!(order, Release | AcqRel | SeqCst)
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Acquire | AcqRel | SeqCst)
}

/// The knowledge of a task about the store.
#[derive(Clone, Copy, Default)]
struct Knower {
    /// The chain by happens-before, or by the happens-before of stronger orders.
    knows: Option<Chain>,
    /// The chain known at the task's last fence that releases.
    at_fence: Option<Chain>,
    /// The chain of reads that acquire only through a later fence.
    pending: Option<Chain>,
}

/// A traversal of the events from the store to the load.
struct Walk<'run> {
    run: &'run Run,
    tasks: Map<TaskId, Knower>,
    /// For each store, the chain that it publishes: its task's knowledge, limited by what the store releases.
    published: Map<usize, Chain>,
    /// For each object that is not an atomic, the combined knowledge of all tasks that have used it.
    objects: Map<ObjectId, Chain>,
}

/// Returns the reason why nothing orders the store at position `store` before the load at position `load`. `None` if
/// the reason is unknown.
pub(super) fn reason(run: &Run, store: usize, load: usize) -> Option<Unordered> {
    between(run, (run.events[store].task, store + 1), (run.events[load].task, load))
}

/// Returns the reason why nothing orders an access of a task before an access of another task. Each access has the
/// number of events before it.
pub(super) fn between(
    run: &Run,
    (by, from): (TaskId, usize),
    (task, to): (TaskId, usize),
) -> Option<Unordered> {
    let mut walk =
        Walk { run, tasks: Map::default(), published: Map::default(), objects: Map::default() };
    walk.tasks.insert(by, Knower { knows: Some(Chain::default()), ..Knower::default() });
    for at in from..to {
        walk.event(at)?;
    }
    match walk.task(task).knows {
        None => Some(Unordered::Unconnected),
        Some(chain) => chain.first,
    }
}

impl Walk<'_> {
    fn task(&self, task: TaskId) -> Knower {
        self.tasks.get(&task).copied().unwrap_or_default()
    }

    fn is_of_cell(&self, object: ObjectId) -> bool {
        self.run.objects.get(object.index()).is_some_and(|record| record.kind == CELL)
    }

    /// Processes an event. Returns `None` if the source of its value is unknown.
    fn event(&mut self, at: usize) -> Option<()> {
        let event = &self.run.events[at];
        let Event { task, object, op, values, .. } = *event;
        let is_mark = op.name == MISSED.name || op.name == PRECEDED.name;
        // The words of a cell are relaxed, and order nothing.
        if is_mark || op.access == Access::Peek || object.is_some_and(|it| self.is_of_cell(it)) {
            return Some(());
        }
        let mark = self.run.orders.iter().find(|mark| mark.event == at);
        let mut knower = self.task(task);
        match (mark, object) {
            (Some(mark), Some(object)) => {
                let from = match values {
                    Values::Read(seen) | Values::Refused(seen, _) | Values::Changed(seen, _) => {
                        self.source(at, object, seen)?
                    }
                    _ => None,
                };
                let seen = from.and_then(|from| self.published.get(&from).copied());
                if let Some(seen) = seen {
                    let acquired = seen.then(acquires(mark.order), Unordered::NoAcquire(at));
                    knower.knows = better(knower.knows, Some(acquired));
                    knower.pending = better(knower.pending, Some(seen));
                }
                if let Values::Wrote(_) | Values::Changed(..) = values {
                    let own = match (releases(mark.order), knower.at_fence) {
                        (false, Some(at_fence)) => Some(at_fence),
                        (is_strong, _) => {
                            knower.knows.map(|own| own.then(is_strong, Unordered::NoRelease(at)))
                        }
                    };
                    // A read-modify-write continues the release sequence of its source.
                    if let Some(own) = better(own, seen) {
                        self.published.insert(at, own);
                    }
                }
            }
            (Some(mark), None) if *op == Op::FENCE => {
                if acquires(mark.order) {
                    knower.knows = better(knower.pending, knower.knows);
                }
                if releases(mark.order) {
                    knower.at_fence = knower.knows;
                }
            }
            _ => {
                if let Some(object) = object {
                    let all = better(self.objects.get(&object).copied(), knower.knows);
                    knower.knows = all;
                    if let Some(all) = all {
                        self.objects.insert(object, all);
                    }
                }
                if let Values::Task(target) = values {
                    let mut other = self.task(target);
                    match op.access {
                        Access::Join => knower.knows = better(knower.knows, other.knows),
                        _ => other.knows = better(other.knows, knower.knows),
                    }
                    self.tasks.insert(target, other);
                }
            }
        }
        self.tasks.insert(task, knower);
        Some(())
    }

    /// Returns the store from which an event read; the inner value is `None` if this store is before the traversal. The
    /// outer value is `None` if two stores wrote the value.
    fn source(&self, at: usize, object: ObjectId, value: u64) -> Option<Option<usize>> {
        let left = |(_, event): &(usize, &Event)| match event.values {
            Values::Wrote(left) | Values::Changed(_, left) => {
                event.object == Some(object) && left == value
            }
            _ => false,
        };
        let mut stores = self.run.events[..at].iter().enumerate().filter(left);
        let store = stores.next().map(|(at, _)| at);
        if stores.next().is_some() { None } else { Some(store) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::super::sample::{LOAD, STORE, Sample};
    use super::*;
    use crate::run::event::ValueKind;
    use crate::run::memory_model::OrderMark;

    /// Message passing with these orders and fences: task 1 stores the data and the flag, task 2 loads the flag.
    fn message_passing(
        [store, load]: [Ordering; 2],
        fences: [Option<Ordering>; 2],
    ) -> Option<Unordered> {
        let mut sample = Sample::of(&["a", "b", "c"]);
        let data = sample.object("atomic", ValueKind::Unsigned);
        let flag = sample.object("atomic", ValueKind::Unsigned);
        let mut orders = Vec::new();
        let mut did = |sample: &mut Sample, task, op, object, values, order| {
            orders.push(OrderMark { event: sample.run.events.len(), order });
            sample.step(task).did(op, object, values);
        };
        did(&mut sample, 1, &STORE, Some(data), Values::Wrote(1), Relaxed);
        if let Some(order) = fences[0] {
            did(&mut sample, 1, &Op::FENCE, None, Values::None, order);
        }
        did(&mut sample, 1, &STORE, Some(flag), Values::Wrote(1), store);
        did(&mut sample, 2, &LOAD, Some(flag), Values::Read(1), load);
        if let Some(order) = fences[1] {
            did(&mut sample, 2, &Op::FENCE, None, Values::None, order);
        }
        did(&mut sample, 2, &LOAD, Some(data), Values::Read(0), Relaxed);
        let mut run = sample.run;
        run.orders = orders;
        reason(&run, 0, run.events.len() - 1)
    }

    #[test]
    fn the_reason_is_the_link_that_orders_nothing() {
        let of = |store, load| message_passing([store, load], [None, None]);
        assert_eq!(of(Relaxed, Acquire), Some(Unordered::NoRelease(1)));
        assert_eq!(of(Relaxed, Relaxed), Some(Unordered::NoRelease(1)));
        assert_eq!(of(Release, Relaxed), Some(Unordered::NoAcquire(2)));
        // The memory model would have ordered the store and the load.
        assert_eq!(of(Release, Acquire), None);
    }

    #[test]
    fn a_fence_makes_a_link_order() {
        let of = |fences| message_passing([Relaxed, Relaxed], fences);
        assert_eq!(of([Some(Release), Some(Acquire)]), None);
        assert_eq!(of([Some(Release), None]), Some(Unordered::NoAcquire(3)));
        assert_eq!(of([None, Some(Acquire)]), Some(Unordered::NoRelease(1)));
        assert_eq!(of([Some(Acquire), Some(Release)]), Some(Unordered::NoRelease(2)));
    }

    /// A cell of another tool counts its accesses in a word, which its user cannot strengthen.
    #[test]
    fn words_of_cells_are_no_links() {
        let mut sample = Sample::of(&["a", "b"]);
        let data = sample.object(CELL, ValueKind::Word);
        let other = sample.object(CELL, ValueKind::Word);
        sample.step(0).did(&STORE, Some(data), Values::Changed(0, 1));
        sample.step(0).did(&STORE, Some(other), Values::Changed(0, 1));
        sample.step(1).did(&LOAD, Some(other), Values::Read(1));
        sample.step(1).did(&LOAD, Some(data), Values::Read(0));
        let mut run = sample.run;
        assert_eq!(reason(&run, 0, 3), Some(Unordered::Unconnected));
        run.orders = (0..4).map(|event| OrderMark { event, order: Relaxed }).collect();
        assert_eq!(reason(&run, 0, 3), Some(Unordered::Unconnected));
    }

    #[test]
    fn tasks_that_share_nothing_else_are_not_connected() {
        let mut sample = Sample::of(&["a", "b"]);
        let data = sample.object("atomic", ValueKind::Unsigned);
        sample.step(0).did(&STORE, Some(data), Values::Wrote(1));
        sample.step(1).did(&LOAD, Some(data), Values::Read(0));
        assert_eq!(reason(&sample.run, 0, 1), Some(Unordered::Unconnected));
    }
}
