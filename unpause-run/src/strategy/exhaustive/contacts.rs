//! Signs that tasks depend on something outside this library, described in words.

use crate::run::board::TaskRow;
use crate::run::choice::View;
use crate::run::event::{Event, Values};
use crate::run::ids::TaskId;
use crate::run::op::task::WAKE_BY_WAKER;
use crate::run::place::in_text;
use crate::strategy::roster::path_of;

/// A sign, in a step, that tasks depend on something outside this library.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
    /// The first task woke the second task.
    Woke(TaskId, TaskId),
    /// A task left a custom waker of the program in an object.
    LeftWaker(TaskId),
}

impl Sign {
    /// Returns the sign as a sentence. `events` are the events of the step.
    pub(super) fn text(self, view: &View<'_>, events: &[Event]) -> String {
        match self {
            Sign::Woke(by, woken) => {
                let wakes = |event: &&Event| {
                    *event.op == WAKE_BY_WAKER && event.values == Values::Task(woken)
                };
                let at = events.iter().find(wakes).map(|event| format!(" at {}", event.place));
                let (by, woken) = (name(view, by), name(view, woken));
                format!(
                    "{by} woke {woken}{}, by a waker that sim does not know",
                    at.unwrap_or_default()
                )
            }
            Sign::LeftWaker(task) => {
                format!("{} left a waker of its own in an object", name(view, task))
            }
        }
    }
}

/// Describes a task that still waits at the end of a run for something outside this library.
pub(super) fn waits(view: &View<'_>, task: TaskId) -> String {
    let TaskRow { place, .. } = view.task(task);
    let last = view.events().iter().rev().find(|event| event.task == task);
    let at = match last {
        Some(event) => format!("after {} at {}", event.op.name, in_text(event.place)),
        None => format!("spawned at {}", in_text(place)),
    };
    format!("{} waits for something that sim does not know, {at}", name(view, task))
}

/// Returns the name of a task for messages: its path and, if set, its name.
fn name(view: &View<'_>, task: TaskId) -> String {
    match (&view.task(task).name, task) {
        (Some(name), _) => format!("{} {name}", path_of(view, task)),
        (None, TaskId::MAIN) => "main".to_owned(),
        (None, _) => path_of(view, task).to_string(),
    }
}
