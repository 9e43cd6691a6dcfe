//! Surplus edges: happens-before edges of a run that the real build, or an equivalent run, may not have.
//!
//! [`weak`](super::weak) orders two operations on the same object that is not an atomic, and all steps around a contact
//! of two tasks. In most cases these edges are exact, or belong to operations whose order the search varies. The other
//! edges can hide an outcome, so a search that had one is not a proof.

use crate::run::event::{Event, Values};
use crate::run::ids::TaskId;
use crate::run::op::Access;

/// The surplus edges of a run.
#[derive(Debug, Default)]
pub(super) struct Surplus {
    /// True if the run may have such an edge.
    pub(super) exists: bool,
    /// For each object, the task that has read it last, if no operation has changed it since.
    readers: Vec<Option<TaskId>>,
}

impl Surplus {
    pub(super) fn clear(&mut self) {
        self.exists = false;
        self.readers.clear();
    }

    /// Adds an event. `is_word` is true for an operation on an atomic.
    pub(super) fn add(&mut self, event: &Event, is_word: bool) {
        self.exists = self.exists || self.is_surplus(event, is_word);
    }

    /// Returns `true` if this event may create a surplus edge. Spawns, joins, fences, atomics, exclusive locks and
    /// cells create no such edge.
    fn is_surplus(&mut self, event: &Event, is_word: bool) -> bool {
        let Event { task, object, op, values, .. } = *event;
        let Some(object) = object.map(|object| object.index()) else {
            let is_exact = matches!(op.access, Access::Spawn | Access::Join);
            return matches!(values, Values::Task(_)) && !is_exact;
        };
        match op.access {
            // A peek at an atomic orders nothing.
            Access::Peek if is_word => false,
            _ if op.kind.is_some() => true,
            Access::Read | Access::Write | Access::ReadModifyWrite if is_word => false,
            Access::Lock | Access::Unlock => false,
            // A failed attempt orders nothing in the real build.
            Access::TryLock => event.is_look(),
            // In the real build a mutex orders two reads. But the search tries only one order of the reads.
            Access::Read => {
                if self.readers.len() <= object {
                    self.readers.resize(object + 1, None);
                }
                self.readers[object].replace(task).is_some_and(|reader| reader != task)
            }
            Access::Write | Access::ReadModifyWrite => {
                if let Some(reader) = self.readers.get_mut(object) {
                    *reader = None;
                }
                false
            }
            _ => true,
        }
    }
}
