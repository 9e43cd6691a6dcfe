//! Errors of plain threads in the use of memory.

use super::ids::TaskId;
use unpause_ordered::sort;

/// An access, an allocation or a free that led to a [`MemoryError`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryStep {
    /// The kind, such as `write`, `freed` or `allocated`.
    pub label: String,
    /// The task.
    pub task: TaskId,
    /// The place, as `file:line:column`: the innermost function that is not of the standard library.
    pub place: String,
    /// The line of the tested package that led there; empty if that is the place.
    pub called_from: String,
}

/// An error in the use of memory, found in a run of plain threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryError {
    /// The kind, such as `double free`, `use after free`, `use after return`, `out of bounds`, `leak` or `data race`.
    pub problem: &'static str,
    /// The error in words.
    pub message: String,
    /// The steps that led to it: the error itself first.
    pub steps: Vec<MemoryStep>,
    /// The remedy; empty if there is none to name.
    pub remedy: String,
}

impl MemoryError {
    /// The places of the error, as text: in two runs with the same one it is the same error.
    #[doc(hidden)]
    pub fn identity(&self) -> String {
        let mut places: Vec<&str> = self.steps.iter().map(|step| &*step.place).collect();
        // The order of two accesses depends on the schedule.
        sort(&mut places);
        places.dedup();
        places.join(", ")
    }
}
