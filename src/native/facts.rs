//! Facts about a run that a report shows: the places where the tasks of a runtime were spawned, and the locks that
//! threads hold at the end of the run.

use std::cell::RefCell;

use unpause_native::{Frame, Request};
use unpause_ordered::Map;

use super::calls::{frames, is_between, place};
use super::families::Family;
use super::memory::is_of_package;
use super::sites::{Site, is_ours};
use super::threads::with;
use crate::rt::Vacancy;
use crate::run::Requested;
use crate::run::event::{Event, Values};
use crate::run::functions::{is_task_state, last_name};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::Access;
use crate::run::threads::{HoldRecord, SpawnRecord, ThreadFacts};

thread_local! {
    /// The facts about requests, each with the number of its request.
    static NOTED: RefCell<Vec<(usize, Fact)>> = const { RefCell::new(Vec::new()) };
    /// The place in the user's code that led to the panic of the first thread.
    static PANICKED_FROM: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A fact about the object of a request.
enum Fact {
    /// The object is the state of a task that was spawned at this place.
    Spawned(String),
    /// The object is the word of a lock.
    Lock(Family),
}

/// Forgets the facts of the previous run.
pub(super) fn begin() {
    NOTED.with_borrow_mut(Vec::clear);
    PANICKED_FROM.take();
}

/// Records the facts about request `number` of the run.
pub(super) fn note(number: usize, request: &Request, site: Site) {
    let Request::Access(access) = request else { return };
    let fact = match site.lock {
        Some(part) => Some(Fact::Lock(part.family)),
        None if is_task_state(site.place.file()) => {
            let callers = with(|threads| threads.execution().allocated_by(access.address));
            spawned(&frames(&callers)).map(Fact::Spawned)
        }
        None => None,
    };
    NOTED.with_borrow_mut(|all| all.extend(fact.map(|fact| (number, fact))));
}

/// Returns the place of a spawn from the functions that allocated a task, innermost first. Returns `None` for a runtime
/// worker, because tokio allocates a task for a worker, too.
fn spawned(frames: &[Frame]) -> Option<String> {
    if frames.iter().any(is_launch) {
        return None;
    }
    let of_library = |frame: &&Frame| {
        is_between(frame) && !unpause_native::shortened(&frame.file).starts_with("tokio-")
    };
    let own = frames.iter().find(|frame| is_of_package(frame));
    own.or_else(|| frames.iter().find(of_library)).map(place)
}

/// Returns `true` for the function of tokio that starts the workers of a runtime.
fn is_launch(frame: &Frame) -> bool {
    frame.file.ends_with("/src/runtime/scheduler/multi_thread/worker.rs")
        && last_name(&frame.function) == "launch"
}

/// Records the callers of the panic of the first thread, which has ended.
pub(super) fn note_panic() {
    let callers = with(|threads| threads.execution().panicked_by(0));
    let frames = frames(&callers);
    // The panic also calls the hook of this library.
    let own = frames.iter().find(|frame| is_of_package(frame) && !is_ours(frame));
    PANICKED_FROM.set(own.map(place));
}

/// Returns the facts about the run with these requests and events.
pub(super) fn take(requests: &[Requested], events: &[Event]) -> ThreadFacts {
    let (mut spawns, mut locks) = (Map::new(), Map::new());
    for (number, fact) in NOTED.take() {
        let first = done(&requests[number..], events).next();
        let Some(object) = first.and_then(|first| events[first].object) else { continue };
        match fact {
            Fact::Spawned(place) => _ = spawns.insert(object, place),
            Fact::Lock(family) => _ = locks.insert(object, family),
        }
    }
    let spawns = spawns.into_iter().map(|(state, place)| SpawnRecord { state, place }).collect();
    let is_own = |at: &usize| requests[*at].within.is_none() && requests[*at].position < usize::MAX;
    let own = (0..requests.len()).filter(is_own).flat_map(|at| done(&requests[at..], events));
    let (own, holds) = (own.collect(), holds(events, &locks));
    ThreadFacts { spawns, holds, own, panicked_from: PANICKED_FROM.take() }
}

/// Returns the indices of the events that belong to the first of these requests.
fn done(requests: &[Requested], events: &[Event]) -> impl Iterator<Item = usize> {
    let first = requests.first();
    let later =
        requests.iter().skip(1).find(|later| Some(later.task) == first.map(|first| first.task));
    let begin = first.map_or(events.len(), |first| first.events.min(events.len()));
    let end = later.map_or(events.len(), |later| later.events.min(events.len()));
    (begin..end).filter(move |at| first.is_some_and(|first| events[*at].task == first.task))
}

/// The operations that acquired a lock and whose holds have not ended yet.
#[derive(Default)]
struct HeldLock {
    exclusive: Option<usize>,
    shared: Vec<(TaskId, usize)>,
}

/// Returns the locks that are held at the end of these events.
fn holds(events: &[Event], locks: &Map<ObjectId, Family>) -> Vec<HoldRecord> {
    let mut all: Map<ObjectId, HeldLock> = Map::new();
    for (index, event) in events.iter().enumerate() {
        let Some((object, family)) =
            event.object.and_then(|object| Some((object, *locks.get(&object)?)))
        else {
            continue;
        };
        // A wait in the queue of the word has values, too, so the access kind is checked.
        let (Access::ReadModifyWrite | Access::Act, Values::Changed(old, new)) =
            (event.op.access, event.values)
        else {
            continue;
        };
        let held = all.entry(object).or_default();
        let is_exclusive = |word| family.vacancy(word) == Vacancy::Held;
        match (is_exclusive(old), is_exclusive(new)) {
            (false, true) => held.exclusive = Some(index),
            (true, false) => held.exclusive = None,
            _ => {}
        }
        let (before, after) = (family.readers(old), family.readers(new));
        if after > before {
            held.shared.push((event.task, index));
        } else if after < before {
            // A guard may be dropped by a thread that did not create it.
            let own = held.shared.iter().rposition(|(task, _)| *task == event.task);
            own.or(held.shared.len().checked_sub(1)).map(|at| held.shared.remove(at));
        }
    }
    let records = all.into_iter().flat_map(|(lock, held)| {
        // A writer marks a parking_lot lock before the last reader has released it.
        let exclusive = held.exclusive.filter(|_| held.shared.is_empty());
        let shared = held.shared.into_iter().map(|(_, event)| (event, true));
        let both = exclusive.map(|event| (event, false)).into_iter().chain(shared);
        both.map(|(event, shared)| HoldRecord { lock, event, shared }).collect::<Vec<_>>()
    });
    records.collect()
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;
    use crate::run::op::Op;

    const EXCHANGE: Op = Op::new("compare_exchange", Access::ReadModifyWrite);

    /// Returns the holders after these changes of a lock word. A change is a task, the old value and the new value.
    fn held(family: Family, changes: &[(u32, u64, u64)]) -> Vec<(u32, bool)> {
        let object = ObjectId::new(0);
        let event = |(task, old, new): &(u32, u64, u64)| Event {
            step: 0,
            task: TaskId(*task),
            object: Some(object),
            op: &EXCHANGE,
            place: std::panic::Location::caller(),
            values: Values::Changed(*old, *new),
        };
        let events: Vec<Event> = changes.iter().map(event).collect();
        let records = holds(&events, &[(object, family)].into_iter().collect());
        records.iter().map(|record| (events[record.event].task.0, record.shared)).collect()
    }

    pub(in super::super) fn the_words_of_locks_have_holders() {
        let writer = (1 << 30) - 1;
        let waits = 1 << 31;
        for (family, changes, expected) in [
            (Family::StdMutex, &[(1, 0, 1), (2, 1, 2)][..], &[(1, false)][..]),
            (Family::StdMutex, &[(1, 0, 1), (1, 1, 0)], &[]),
            (Family::RawMutex, &[(1, 0, 1), (2, 1, 3)], &[(1, false)]),
            (Family::RawMutex, &[(1, 0, 1), (2, 1, 3), (1, 3, 2)], &[]),
            (
                Family::StdRwLock,
                &[(1, 0, 1), (2, 1, 2), (3, 2, 2 | waits)],
                &[(1, true), (2, true)],
            ),
            (Family::StdRwLock, &[(1, 0, 1), (2, 1, 2), (2, 2, 1)], &[(1, true)]),
            // Thread 3 drops the guard of thread 1.
            (Family::StdRwLock, &[(1, 0, 1), (3, 1, 0)], &[]),
            (Family::StdRwLock, &[(1, 0, writer)], &[(1, false)]),
            (Family::StdRwLock, &[(1, 0, writer), (1, writer, 1)], &[(1, true)]),
            // A writer waits for the reader.
            (Family::RawRwLock, &[(1, 0, 0b1_0000), (2, 0b1_0000, 0b1_1000)], &[(1, true)]),
            (Family::RawRwLock, &[(2, 0b1_0000, 0b1_1000), (1, 0b1_1000, 0b1000)], &[(2, false)]),
        ] {
            assert_eq!(held(family, changes), expected, "{family:?} {changes:?}");
        }
    }
}
