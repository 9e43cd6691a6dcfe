//! Waits of plain threads: the waiting calls, and the state of locks whose code is executed step by step.
//!
//! A thread that waits inside a library waits for a word of memory, which helps a reader little. More useful are the
//! line of the call in the package under test, and the thread that last changed the memory read by this call.

mod futures;
#[cfg(test)]
mod tests;

use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::Access;
use crate::run::place::is_foreign;
use crate::run::{CallRecord, Holder, Run, Wait};

pub(super) use self::futures::{Awaits, Pending, awaits, executor};

/// The name of calls that wait for the threads of a scope.
pub(super) const SCOPE: &str = "thread::scope";

/// Returns the call in which a thread waits.
pub(super) fn call_of<'a>(run: &'a Run, wait: &Wait) -> Option<&'a CallRecord> {
    run.calls.iter().find(|call| call.is_last && call.task == wait.task)
}

/// Returns the places of a waiting thread's calls, innermost first, without the place of the wait itself.
pub(super) fn called_from(run: &Run, wait: &Wait) -> Vec<String> {
    let Some(call) = call_of(run, wait) else { return Vec::new() };
    others(&wait.place.to_string(), call.waits_through(), &call.place)
}

/// Returns the places of the calls in which an event happened, innermost first, without the place of the event itself.
pub(super) fn callers(run: &Run, event: usize) -> Vec<String> {
    let Some(call) = run.calls.iter().find(|call| call.events.contains(&event)) else {
        return Vec::new();
    };
    others(&run.events[event].place.to_string(), call.through_at(event), &call.place)
}

/// Returns the places of a call that are not empty and differ from `known`.
pub(super) fn others(known: &str, through: Option<&str>, place: &str) -> Vec<String> {
    let all = through.into_iter().chain([place]);
    all.filter(|other| !other.is_empty() && *other != known).map(str::to_owned).collect()
}

/// Returns the threads that a task waits for at the end of a scope; `None` if the task waits for something else.
pub(super) fn scope_threads(run: &Run, wait: &Wait) -> Option<Vec<TaskId>> {
    let resumes = wait.op.is_some_and(|op| op.access == Access::Resume);
    let call = call_of(run, wait).filter(|call| resumes && call.function == SCOPE)?;
    // This word is the counter of the scope's threads.
    let is_look = |event: &&Event| event.op.access == Access::Read;
    let counter = events_in(run, call).find(is_look)?.object;
    let (mut threads, mut counts) = (Vec::new(), Vec::new());
    for event in &run.events {
        match event.values {
            // The spawning thread increments the counter right before it spawns a thread.
            Values::Task(child)
                if event.op.access == Access::Spawn && counts.contains(&event.task) =>
            {
                counts.retain(|task| *task != event.task);
                threads.push(child);
            }
            Values::Changed(old, new) if event.object == counter && new == old + 1 => {
                counts.push(event.task);
            }
            // A thread of the scope decrements the counter at its end.
            Values::Changed(..) if event.object == counter => {
                threads.retain(|thread| *thread != event.task);
            }
            _ => {}
        }
    }
    Some(threads)
}

/// Returns the waits, completed with the holders of locks whose calls were stepped in detail. If several readers share
/// a lock, the holder is the first reader that also waits, else the first reader.
pub(super) fn with_holders(run: &Run, waits: &[Wait]) -> Vec<Wait> {
    let waits_too =
        |task: TaskId, wait: &Wait| waits.iter().any(|o| o.task == task && task != wait.task);
    let complete = |wait: &Wait| {
        let holders: Vec<&Event> =
            holders(run, wait).into_iter().filter_map(|at| run.events.get(at)).collect();
        let holder = holders.iter().find(|at| waits_too(at.task, wait)).or(holders.first());
        let holder = holder.map(|at| Holder { task: at.task, step: at.step, place: at.place });
        Wait { holder: wait.holder.or(holder), ..wait.clone() }
    };
    waits.iter().map(complete).collect()
}

/// Returns the indices of the events that acquired the lock for which a thread waits. The lock is the lock of the wait,
/// or the lock on which the waiting call did its last operation. Only for locks that were stepped in detail and are
/// still held.
pub(super) fn holders(run: &Run, wait: &Wait) -> Vec<usize> {
    let holds = &run.threads.holds;
    let is_lock = |object: &ObjectId| holds.iter().any(|hold| hold.lock == *object);
    let last = call_of(run, wait)
        .and_then(|call| events_in(run, call).find(|event| is_word(event) && !is_of_queues(event)));
    // A call that has released the lock waits for something else, such as a notification.
    let gives_up = |event: &Event| matches!(event.values, Values::Changed(old, new) if new < old);
    let used = last.filter(|event| !gives_up(event)).and_then(|event| event.object);
    let Some(lock) = wait.object.filter(is_lock).or(used.filter(is_lock)) else {
        return Vec::new();
    };
    holds.iter().filter(|hold| hold.lock == lock).map(|hold| hold.event).collect()
}

/// Returns the index of the event with which the holder acquired the object of a wait.
pub(super) fn acquisition(run: &Run, wait: &Wait) -> Option<usize> {
    let holder = wait.holder?;
    let detailed = holders(run, wait);
    run.events.iter().enumerate().position(|(at, event)| {
        let of_step = event.step == holder.step && event.place == holder.place;
        of_step && (event.object == wait.object || detailed.contains(&at))
    })
}

/// Returns the line of the package under test in which a task waits.
pub(super) fn line(run: &Run, wait: &Wait) -> String {
    line_of_user(wait.place.to_string(), called_from(run, wait))
}

/// Returns the line of the package under test that acquired the object of a wait, if the object has a holder.
pub(super) fn holder_line(run: &Run, wait: &Wait) -> Option<String> {
    let called = acquisition(run, wait).map(|event| callers(run, event));
    Some(line_of_user(wait.holder?.place.to_string(), called.unwrap_or_default()))
}

/// Returns a place, or its outermost caller if the place is outside the user's workspace.
fn line_of_user(place: String, called: Vec<String>) -> String {
    match called.into_iter().next_back() {
        Some(caller) if is_foreign(&place) => caller,
        _ => place,
    }
}

/// Returns the index of another thread's last change of the memory that the waiting call read before its wait. Without
/// this change, the call would not wait.
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

/// Returns the events of a call, including parts of it that count as other calls, last event first.
fn events_in<'a>(run: &'a Run, call: &'a CallRecord) -> impl Iterator<Item = &'a Event> + 'a {
    let is_part = move |other: &&CallRecord| {
        other.task == call.task && other.function == call.function && other.place == call.place
    };
    let indices = run.calls.iter().rev().filter(is_part).flat_map(|part| part.events.iter().rev());
    indices.filter_map(|index| run.events.get(*index))
}

/// Returns `true` for an operation on parking_lot's queues of waiting threads, because all locks share these queues.
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
