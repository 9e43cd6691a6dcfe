//! shuttle's events for `tracing`: the created tasks, and the end of the runs. They are sent when a check ends, outside
//! of the runs. The events of the test itself are sent at once: see [`heard`](crate::heard).

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::current::TaskId;

/// A task that a run has created.
struct Task {
    number: usize,
    signature: u64,
    /// A hash of the place of the spawn; 0 for the body.
    place: u64,
}

/// The tasks that the runs of a check have created. It is captured memory of the check, so its lock is not a step of a
/// run.
#[derive(Clone, Copy)]
pub(crate) struct Created(&'static Mutex<Vec<Task>>);

/// The data that a new task gets from the task that spawns it.
#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    created: Created,
    signature: u64,
}

thread_local! {
    /// The data of the current task; `None` if there is no subscriber.
    static CURRENT: Cell<Option<Inherited>> = const { Cell::new(None) };
    /// The number of tasks that the current task has spawned.
    static CHILDREN: Cell<u64> = const { Cell::new(0) };
}

impl Created {
    /// Returns an empty list if a subscriber listens to created tasks. The list is never freed.
    pub(crate) fn if_heard() -> Option<Created> {
        let is_heard =
            tracing::enabled!(target: "shuttle_engine::runtime::task", tracing::Level::DEBUG);
        is_heard.then(|| {
            let tasks: &'static Mutex<Vec<Task>> = Box::leak(Box::new(Mutex::new(Vec::new())));
            Created(tasks)
        })
    }

    fn tasks(self) -> MutexGuard<'static, Vec<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the created tasks.
    pub(crate) fn send(self) {
        let tasks = std::mem::take(&mut *self.tasks());
        for Task { number, signature, place } in tasks {
            tracing::debug!(
                target: "shuttle_engine::runtime::task",
                task_id = ?TaskId::from(number),
                signature,
                static_create_location = place,
                "created task"
            );
        }
    }
}

/// Makes the current task the first task of its run.
pub(crate) fn begin(created: Option<Created>) {
    inherit(created.map(|created| {
        let signature = hash(&0_u64);
        created.tasks().push(Task { number: 0, signature, place: 0 });
        Inherited { created, signature }
    }));
}

/// Records that the current task spawns the task with this number. Returns the data of the new task.
///
/// The signature is the same in each run: a hash of the spawning task's signature, the place, and the number of tasks
/// that the spawning task has spawned before.
pub(crate) fn created(number: usize, place: &Location<'_>) -> Option<Inherited> {
    let current = CURRENT.get()?;
    let nth = CHILDREN.replace(CHILDREN.get() + 1);
    let place = hash(&(place.file(), place.line(), place.column()));
    let signature = hash(&(current.signature, place, nth));
    current.created.tasks().push(Task { number, signature, place });
    Some(Inherited { signature, ..current })
}

/// Begins the current task with the data from the task that has spawned it.
pub(crate) fn inherit(inherited: Option<Inherited>) {
    CURRENT.set(inherited);
    CHILDREN.set(0);
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Reports the end of a check with this number of runs.
pub(crate) fn ended(iterations: u64) {
    tracing::info!(target: "shuttle_engine::scheduler::metrics", iterations, "run finished");
}
