//! Waits of plain threads: the calls that they are in, and what is known of locks whose code is stepped.
//!
//! A thread that waits inside a library waits for a word of memory. The line that a reader needs is that of the call in
//! the package under test, and the thread to look at is the last one that changed what the call has looked at.

#[cfg(test)]
mod tests;

use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::Access;
use crate::run::{CallRecord, Run, Wait};

/// The name of calls that wait for the threads of a scope.
pub(super) const SCOPE: &str = "thread::scope";

/// The call that a waiting thread is in.
pub(super) fn call_of<'a>(run: &'a Run, wait: &Wait) -> Option<&'a CallRecord> {
    run.calls.iter().find(|call| call.is_last && call.task == wait.task)
}

/// The places of the calls that a waiting thread is in, innermost first, without the place of the wait itself.
pub(super) fn called_from(run: &Run, wait: &Wait) -> Vec<String> {
    let Some(call) = call_of(run, wait) else { return Vec::new() };
    others(&wait.place.to_string(), call.waits_through(), &call.place)
}

/// The places of the calls in which an event happened, innermost first, without that of the event itself.
pub(super) fn callers(run: &Run, event: usize) -> Vec<String> {
    let Some(call) = run.calls.iter().find(|call| call.events.contains(&event)) else {
        return Vec::new();
    };
    others(&run.events[event].place.to_string(), call.through_at(event), &call.place)
}

/// Those of the places of a call that say more than `known`.
pub(super) fn others(known: &str, through: Option<&str>, place: &str) -> Vec<String> {
    let all = through.into_iter().chain([place]);
    all.filter(|other| !other.is_empty() && *other != known).map(str::to_owned).collect()
}

/// The threads that a task waits for at the end of a scope; `None` if it waits for something else.
pub(super) fn scope_threads(run: &Run, wait: &Wait) -> Option<Vec<TaskId>> {
    let resumes = wait.op.is_some_and(|op| op.access == Access::Resume);
    let call = call_of(run, wait).filter(|call| resumes && call.function == SCOPE)?;
    // The word that counts the threads of the scope.
    let is_look = |event: &&Event| event.op.access == Access::Read;
    let counter = events_in(run, call).find(is_look)?.object;
    let (mut threads, mut counts) = (Vec::new(), Vec::new());
    for event in &run.events {
        match event.values {
            // A thread is counted by the one that spawns it, right before.
            Values::Task(child)
                if event.op.access == Access::Spawn && counts.contains(&event.task) =>
            {
                counts.retain(|task| *task != event.task);
                threads.push(child);
            }
            Values::Changed(old, new) if event.object == counter && new == old + 1 => {
                counts.push(event.task);
            }
            // And not counted any more at its end.
            Values::Changed(..) if event.object == counter => {
                threads.retain(|thread| *thread != event.task);
            }
            _ => {}
        }
    }
    Some(threads)
}

/// The index of the event by which a lock was taken that is still held: a mutex of std that is stepped in detail, whose
/// word is 0 if nobody has it.
pub(super) fn taken_at(run: &Run, object: ObjectId) -> Option<usize> {
    if run.objects.get(object.index())?.kind != "Mutex" {
        return None;
    }
    let mut taken = None;
    for (index, event) in run.events.iter().enumerate().filter(|(_, e)| e.object == Some(object)) {
        match (event.op.access, event.values) {
            (Access::ReadModifyWrite, Values::Changed(0, 1..)) => taken = Some(index),
            (Access::ReadModifyWrite, Values::Changed(_, 0))
            | (Access::Write, Values::Wrote(0)) => taken = None,
            _ => {}
        }
    }
    taken
}

/// The index of the last change by another thread of the memory that the call of a waiting thread has looked at, before it
/// waits: the call would not wait if that had not changed.
pub(super) fn last_change(run: &Run, wait: &Wait) -> Option<usize> {
    let call = call_of(run, wait)?;
    let looks = events_in(run, call).filter(|event| {
        is_word(event) && event.is_look() && event.object != wait.object && !is_of_queues(event)
    });
    let mut changes = looks.filter_map(|look| {
        run.events.iter().rposition(|event| {
            event.object == look.object && event.task != wait.task && is_change(event)
        })
    });
    changes.next()
}

/// The events of a call and of the parts of it that count as other calls, the last first.
fn events_in<'a>(run: &'a Run, call: &'a CallRecord) -> impl Iterator<Item = &'a Event> + 'a {
    let is_part = move |other: &&CallRecord| {
        other.task == call.task && other.function == call.function && other.place == call.place
    };
    let indices = run.calls.iter().rev().filter(is_part).flat_map(|part| part.events.iter().rev());
    indices.filter_map(|index| run.events.get(*index))
}

/// Returns `true` for an operation on the queues of parking_lot, in which threads wait for all locks.
fn is_of_queues(event: &Event) -> bool {
    event.place.file().contains("parking_lot_core-")
}

/// Returns `true` for an operation on a word of memory.
fn is_word(event: &Event) -> bool {
    matches!(event.op.access, Access::Read | Access::Write | Access::ReadModifyWrite)
}

fn is_change(event: &Event) -> bool {
    is_word(event) && !event.is_look()
}
