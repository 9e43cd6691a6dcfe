//! Facts about the plain threads of a run that are not visible in its operations. Only a run that is shown has these
//! facts.

use super::ids::ObjectId;

/// Facts about the plain threads of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadFacts {
    /// The tasks of an async runtime (such as tokio) that the threads polled.
    pub spawns: Vec<SpawnRecord>,
    /// The locks that threads hold at the end of the run. The list contains only locks with calls that were stepped in
    /// detail; for other locks, the [waits](super::Wait) contain the holders.
    pub holds: Vec<HoldRecord>,
    /// The indices of operations that functions of the package under test did themselves, outside any
    /// [call](super::CallRecord).
    pub own: Vec<usize>,
    /// The place in the package under test that led to the panic of the first thread, if another package or the
    /// standard library raised the panic.
    pub panicked_from: Option<String>,
}

/// A task of an async runtime.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpawnRecord {
    /// The memory word that contains the state of the task.
    pub state: ObjectId,
    /// The place of the spawn, as `file:line:column`. The place is in the package under test if that package caused the
    /// spawn.
    pub place: String,
}

/// A lock that a thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HoldRecord {
    /// The memory of the lock.
    pub lock: ObjectId,
    /// The index in [`Run::events`](super::Run::events) of the operation that acquired the lock.
    pub event: usize,
    /// `true` if the thread holds the lock in shared mode.
    pub shared: bool,
}
