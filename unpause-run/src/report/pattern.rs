//! Patterns: well-known faults of concurrent programs, recognized by the events of a failing run.
//!
//! A wrong name misleads more than no name. So the rules are strict: they compare values and kinds of operations, and
//! most failures have no name. docs/why.md lists the rules for users. The memory behind a mutex has no values here, so
//! a region of lock operations has no name.

#[cfg(test)]
mod tests;

use super::Finding;
use super::names::DisplayNames;
use super::places::ShortPlaces;
use super::waiting;
use super::why::Interruption;
use crate::run::event::{Event, ValueKind, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::kind::Kind;
use crate::run::op::of_tokio::tellings;
use crate::run::op::{Access, condvar, word};
use crate::run::{Failure, Outcome, Run, Site, Wait, circle_of};

/// The maximum number of tasks that the text about a circle of locks names.
const TASKS_MAX: usize = 3;
/// The beginning of the names of operations that write only if they find an expected value.
const EXCHANGE: &str = "compare_exchange";

/// The kind of a condition variable of std.
const CONDVAR: &str = "Condvar";

/// A well-known fault of concurrent programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// A task reads a value and overwrites it, after another task has changed it.
    LostUpdate,
    /// A compare-exchange succeeds because a value has changed and changed back.
    Aba,
    /// A task reads two objects, and another task changes both in between.
    TornRead,
    /// A task reads an object and then changes another object, although the first object has changed.
    CheckThenAct,
    /// A task begins to wait for a notification after the notification.
    LostWakeUp,
    /// Tasks take several locks in contradictory orders.
    LockOrder,
}

impl Pattern {
    /// The names of all patterns.
    #[doc(hidden)]
    pub const NAMES: &'static [&'static str] = &[
        Pattern::LostUpdate.name(),
        Pattern::Aba.name(),
        Pattern::TornRead.name(),
        Pattern::CheckThenAct.name(),
        Pattern::LostWakeUp.name(),
        Pattern::LockOrder.name(),
    ];

    /// Returns the name of the pattern, as screens show it.
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::LostUpdate => "lost update",
            Pattern::Aba => "ABA",
            Pattern::TornRead => "torn read",
            Pattern::CheckThenAct => "check then act",
            Pattern::LostWakeUp => "lost wake-up",
            Pattern::LockOrder => "lock order",
        }
    }

    /// Returns the pattern of a failure, if any.
    pub fn of_finding(finding: &Finding) -> Option<Pattern> {
        if circle_of_locks(&finding.run).is_some() {
            return Some(Pattern::LockOrder);
        }
        let cause = finding.why.as_ref()?.cause.as_ref()?;
        Pattern::of(&finding.run, cause)
    }

    /// Returns the pattern of an interruption in a failing run, if any.
    fn of(run: &Run, cause: &Interruption) -> Option<Pattern> {
        let Outcome::Failed(failure) = &run.outcome else { return None };
        if let Failure::Deadlock { waits } = failure {
            if is_lost_wake_up(run, waits, cause) {
                return Some(Pattern::LostWakeUp);
            }
        }
        let ends = ends(run, cause)?;
        if is_aba(run, cause.task, ends.1) {
            return Some(Pattern::Aba);
        }
        let region = ReadRegion::of(run, cause, ends)?;
        match () {
            () if region.is_lost_update() => Some(Pattern::LostUpdate),
            () if region.is_torn_read() => Some(Pattern::TornRead),
            () if region.is_check_then_act() => Some(Pattern::CheckThenAct),
            () => None,
        }
    }
}

/// Returns the events at both ends of an interrupted region, as indices. `None` if the run did not reach the end.
fn ends(run: &Run, cause: &Interruption) -> Option<(usize, usize)> {
    let (first, last) = (*cause.between.first()?, *cause.between.last()?);
    let is = |event: &Event, site: Site| {
        event.task == cause.task && Site { op: event.op.name, place: event.place } == site
    };
    let from = run.events.get(..first)?.iter().rposition(|e| is(e, cause.region.from))?;
    let after = last + 1;
    let to = run.events.get(after..)?.iter().position(|e| is(e, cause.region.to))? + after;
    cause.is_reached.then_some((from, to))
}

/// Returns `true` for an exchange of the value that the task had read, if other tasks have changed it in between and
/// changed it back.
fn is_aba(run: &Run, task: TaskId, exchange: usize) -> bool {
    let end = &run.events[exchange];
    let expected = match end.values {
        Values::Changed(found, _) if end.op.name.starts_with(EXCHANGE) => found,
        _ => return false,
    };
    // A flag that returns is mostly a lock that was taken and released.
    let kind = end.object.and_then(|object| run.objects.get(object.index())).map(|it| it.values);
    if matches!(kind, None | Some(ValueKind::Bool)) {
        return false;
    }
    let on = |event: &&Event| event.object == end.object;
    let before = &run.events[..exchange];
    let Some(last) = before.iter().rposition(|event| event.task == task && on(&event)) else {
        return false;
    };
    let changes = before[last + 1..].iter().filter(on).filter(|event| !event.is_look());
    let Some(lefts) = changes.map(left).collect::<Option<Vec<u64>>>() else { return false };
    let returns = lefts.len() > 1 && lefts.last() == Some(&expected);
    let leaves = lefts.iter().any(|left| *left != expected);
    read(&before[last]) == Some(expected) && returns && leaves
}

/// A region of a task that begins with a read, and whose end was reached.
struct ReadRegion<'a> {
    run: &'a Run,
    cause: &'a Interruption,
    /// The events at both ends, as indices.
    ends: (usize, usize),
    /// The object that the first operation read.
    object: ObjectId,
    /// The value that it read.
    value: u64,
}

impl<'a> ReadRegion<'a> {
    fn of(run: &'a Run, cause: &'a Interruption, ends: (usize, usize)) -> Option<ReadRegion<'a>> {
        let from = &run.events[ends.0];
        Some(ReadRegion { run, cause, ends, object: from.object?, value: read(from)? })
    }

    fn end(&self) -> &'a Event {
        &self.run.events[self.ends.1]
    }

    /// Returns the decisive events.
    fn decisive(&self) -> impl Iterator<Item = (usize, &'a Event)> {
        let at = move |at: &usize| Some((*at, self.run.events.get(*at)?));
        self.cause.decisive.iter().filter_map(at)
    }

    /// Returns the index of the last decisive event that left another value in the object than the task had read.
    /// `None` if the task has accessed the object again after this event and before the end of the region.
    fn unseen_change(&self) -> Option<usize> {
        let is_change = |(_, event): &(usize, &Event)| {
            event.object == Some(self.object) && left(event).is_some_and(|left| left != self.value)
        };
        let (change, _) = self.decisive().filter(is_change).last()?;
        let own = |event: &&Event| event.task == self.cause.task;
        let later = &self.run.events[change + 1..self.ends.1.max(change + 1)];
        let mut accesses = later.iter().filter(own).map(|event| event.object);
        (!accesses.any(|object| object == Some(self.object))).then_some(change)
    }

    /// Returns `true` if the object contains a number or an address, and not only a mark.
    fn is_counted(&self) -> bool {
        let object = self.run.objects.get(self.object.index());
        object.is_some_and(|it| !matches!(it.values, ValueKind::Opaque | ValueKind::Bool))
    }

    /// The last operation overwrites the object that the first operation read.
    fn is_lost_update(&self) -> bool {
        let end = self.end();
        let overwrites = end.op.access == Access::Write && matches!(end.values, Values::Wrote(_));
        let is_same = end.object == Some(self.object);
        overwrites && is_same && self.is_counted() && self.unseen_change().is_some()
    }

    /// The last operation reads another object. In between, one task changes both objects, and the last operation reads
    /// the new value.
    fn is_torn_read(&self) -> bool {
        let end = self.end();
        let (Some(seen), Some(change)) = (read(end), self.unseen_change()) else { return false };
        let writer = self.run.events[change].task;
        let changes = |(at, event): (usize, &Event)| {
            at > change
                && event.task == writer
                && event.object == end.object
                && left(event) == Some(seen)
        };
        let is_of_program = end.object.is_some() && !is_condvar(self.run, end.object);
        is_of_program && end.object != Some(self.object) && self.decisive().any(changes)
    }

    /// The last operation changes another object.
    fn is_check_then_act(&self) -> bool {
        let end = self.end();
        let acts = matches!(end.op.access, Access::Write | Access::ReadModifyWrite);
        let is_other = end.object.is_some() && end.object != Some(self.object);
        acts && !end.is_look() && is_other && self.unseen_change().is_some()
    }
}

/// Returns the value that a read has found.
fn read(event: &Event) -> Option<u64> {
    match event.values {
        Values::Read(value) if event.op.access == Access::Read => Some(value),
        _ => None,
    }
}

/// Returns the value that a change has left.
fn left(event: &Event) -> Option<u64> {
    match event.values {
        Values::Wrote(left) | Values::Changed(_, left) if !event.is_look() => Some(left),
        _ => None,
    }
}

/// Returns `true` if the interrupted task waits for a notification at the end of the run, and the notification came
/// before the task began to wait. No other task has received the notification.
fn is_lost_wake_up(run: &Run, waits: &[Wait], cause: &Interruption) -> bool {
    let is_end = |wait: &&Wait| {
        let Some(op) = wait.op else { return false };
        let is_same = op.name == cause.region.to.op;
        // A plain thread waits by several operations of one line.
        let is_wait_of_line = is_same || op.access == Access::Resume;
        let is_pending = is_wait_of_line && wait.place == cause.region.to.place;
        let is_begun = || {
            let mut own = run.events.iter().filter(|event| event.task == cause.task);
            own.any(|event| {
                let site = Site { op: event.op.name, place: event.place };
                event.object == wait.object && site == cause.region.to && is_beginning(event)
            })
        };
        wait.task == cause.task && (is_pending || cause.is_reached && is_begun())
    };
    let Some(object) = waits.iter().find(is_end).and_then(|wait| wait.object) else { return false };
    let on = |event: &&Event| event.object == Some(object);
    let is_lost = |at: &usize| {
        let is_sent = |event: &&Event| notifies(event) || is_counted(run, event);
        let Some(event) = run.events.get(*at).filter(on).filter(is_sent) else {
            return false;
        };
        let before = || run.events[..*at].iter().filter(on);
        let begun = before().filter(|event| is_beginning(event)).count();
        let ended = before().filter(|event| is_end_of_wait(event)).count();
        event.task != cause.task && begun == ended
    };
    cause.decisive.iter().any(is_lost)
}

fn is_one_of(event: &Event, kinds: &[Kind]) -> bool {
    let kind = event.op.kind.or_else(|| event.op.access.kind(event.is_look()));
    kind.is_some_and(|kind| kinds.contains(&kind))
}

/// Returns `true` for a notification that is not stored for tasks that wait later.
fn notifies(event: &Event) -> bool {
    let kinds =
        [tellings::TELL_ALL, condvar::NOTIFY_ONE, condvar::NOTIFY_ALL, word::WAKE, word::WAKE_NONE];
    is_one_of(event, &kinds)
}

/// Returns `true` if the operation counts a notification of a condition variable of std. The notification follows it in
/// the same call.
fn is_counted(run: &Run, event: &Event) -> bool {
    event.op.access == Access::ReadModifyWrite && is_condvar(run, event.object)
}

fn is_condvar(run: &Run, object: Option<ObjectId>) -> bool {
    let object = object.and_then(|object| run.objects.get(object.index()));
    object.is_some_and(|object| object.kind == CONDVAR)
}

/// Returns `true` for an operation that begins to wait for a notification.
fn is_beginning(event: &Event) -> bool {
    is_one_of(event, &[tellings::REGISTER, condvar::REGISTER, word::ENQUEUE])
}

/// Returns `true` for an operation that ends such a wait.
fn is_end_of_wait(event: &Event) -> bool {
    let heard = [tellings::HEAR, condvar::HEAR, word::RESUME];
    is_one_of(event, &heard) || is_one_of(event, &[tellings::LEAVE, condvar::LEAVE])
}

/// A lock and a place in the source.
type Lock = (ObjectId, String);

/// A task in a circle of locks.
struct Locker {
    task: TaskId,
    /// The lock that the task holds, and the place where it acquired the lock.
    holds: Lock,
    /// The lock that the task waits for, and the place of the wait.
    wants: Lock,
}

/// Returns the tasks that wait for each other's locks, if the failing run ends with such a circle. Each task in the
/// circle wants the lock that the next task holds.
fn circle_of_locks(run: &Run) -> Option<Vec<Locker>> {
    let waits = match &run.outcome {
        Outcome::Failed(Failure::Deadlock { waits }) => waits,
        Outcome::Failed(Failure::StepLimit { .. }) => &run.circle,
        _ => return None,
    };
    let waits = waiting::with_holders(run, waits);
    let circle = circle_of(&waits);
    if circle.len() < 2 {
        return None;
    }
    let next = circle.iter().cycle().skip(1);
    let wants = circle.iter().zip(next).map(|(task, next)| {
        let is_link = |wait: &&Wait| {
            wait.task == *task && wait.holder.is_some_and(|holder| holder.task == *next)
        };
        let wait = waits.iter().find(is_link)?;
        Some((wait, acquired(run, wait)?))
    });
    let wants: Vec<(&Wait, Lock)> = wants.collect::<Option<_>>()?;
    // If two tasks share a lock and both want it exclusively, no order of locks helps.
    let is_repeated = |at: usize| wants[..at].iter().any(|(_, lock)| lock.0 == wants[at].1.0);
    if (0..wants.len()).any(is_repeated) {
        return None;
    }
    let previous = wants.iter().cycle().skip(wants.len() - 1);
    let lockers = wants.iter().zip(previous).map(|((wait, lock), (_, held))| Locker {
        task: wait.task,
        holds: held.clone(),
        wants: (lock.0, waiting::line(run, wait)),
    });
    Some(lockers.collect())
}

/// Returns the lock of a wait, and the place where its holder acquired it.
fn acquired(run: &Run, wait: &Wait) -> Option<Lock> {
    // A plain thread may wait for another word than the word of its lock.
    let event = waiting::acquisition(run, wait).and_then(|at| run.events[at].object);
    Some((event.or(wait.object)?, waiting::holder_line(run, wait)?))
}

/// Returns the text about tasks that take locks in contradictory orders, if the failing run ends with such tasks.
pub(super) fn lock_order(run: &Run) -> Option<String> {
    let circle = circle_of_locks(run)?;
    let names = DisplayNames::new(run);
    let mut places = ShortPlaces::default();
    let mut lock =
        |(object, place): &Lock| format!("{} ({})", names.object(*object), places.short(place));
    let order = |Locker { task, holds, wants }: &Locker| {
        format!("{} takes {}, then {}", names.task(*task), lock(holds), lock(wants))
    };
    let mut orders: Vec<String> = circle.iter().take(TASKS_MAX).map(order).collect();
    if circle.len() > TASKS_MAX {
        orders.push(format!("and {} more tasks", circle.len() - TASKS_MAX));
    }
    Some(orders.join("; "))
}
