//! Facts about the plain threads of a run that its operations do not show. Only a run that is shown has them.

use super::ids::ObjectId;

/// Facts about the plain threads of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadFacts {
    /// The tasks of a runtime that threads have polled, such as the tasks of tokio.
    pub spawns: Vec<SpawnRecord>,
    /// The locks that threads have at the end of the run. Only locks whose calls were stepped in detail: for others the
    /// [waits](super::Wait) have the holders.
    pub holds: Vec<HoldRecord>,
    /// The indices of operations that functions of the package under test did by themselves, in no
    /// [call](super::CallRecord).
    pub own: Vec<usize>,
    /// The place in the package under test that led to the panic of the first thread, if another package or the
    /// standard library panicked.
    pub panicked_from: Option<String>,
}

/// A task of a runtime.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpawnRecord {
    /// The memory with the state of the task.
    pub state: ObjectId,
    /// The place of the spawn, as `file:line:column`: in the package under test, if the package has led to it.
    pub place: String,
}

/// A lock that a thread has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HoldRecord {
    /// The memory of the lock.
    pub lock: ObjectId,
    /// The index in [`Run::events`](super::Run::events) of the operation that took it.
    pub event: usize,
    /// `true` if other threads may share it.
    pub shared: bool,
}
