//! Memory errors of plain threads, and data races.

use super::ids::{Place, TaskId};
use super::memory_model::WeakLink;
use unpause_ordered::sort;

/// A step that led to a [`MemoryError`]: an access, an allocation or a deallocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryStep {
    /// The kind, such as `write`, `freed` or `allocated`.
    pub label: String,
    /// The task.
    pub task: TaskId,
    /// The place of the step, as `file:line:column`, in the innermost function outside the standard library.
    pub place: String,
    /// The line of the tested package that led to the step; empty if `place` is that line.
    pub called_from: String,
}

/// A memory error that was found in a run of plain threads, or a data race on a `RaceCell`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryError {
    /// The kind, such as `double free`, `use after free`, `use after return`, `out of bounds`, `leak` or `data race`.
    pub problem: &'static str,
    /// The description of the error.
    pub message: String,
    /// The steps that led to the error, starting with the error itself.
    pub steps: Vec<MemoryStep>,
    /// The remedy; empty if no remedy is known.
    pub remedy: String,
    /// The operations that would order a data race if their memory orders were stronger.
    #[doc(hidden)]
    pub too_weak: Vec<WeakLink>,
    /// For a data race on a `RaceCell`: the number of events before the earlier access, and before the later access.
    #[doc(hidden)]
    pub unordered: Option<Box<[usize; 2]>>,
}

impl MemoryStep {
    /// Creates a step of a task at a place in its source.
    #[doc(hidden)]
    pub fn at(label: &str, task: TaskId, place: Place) -> MemoryStep {
        let (label, place) = (label.to_owned(), place.to_string());
        MemoryStep { label, task, place, called_from: String::new() }
    }
}

impl MemoryError {
    /// Returns the places of the error as text. Errors of two runs are the same error if these texts are equal.
    #[doc(hidden)]
    pub fn identity(&self) -> String {
        let mut places: Vec<&str> = self.steps.iter().map(|step| &*step.place).collect();
        // The order of two accesses depends on the schedule.
        sort(&mut places);
        places.dedup();
        places.join(", ")
    }
}
