//! Clashes: two steps that a search had assumed to commute, described as text.

use super::names::DisplayNames;
use crate::run::Run;
use crate::run::event::Event;
use crate::run::place::in_text;
use unpause_check::picture::screen::clean;

/// The description of a step of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StepText {
    /// The task, by its path and its name.
    pub task: String,
    /// The operations of the step.
    pub operations: String,
    /// The place of the first operation in the source; empty if the step has no operation.
    pub place: String,
}

/// Two steps that did not commute although sim knows no common object: their order made a difference.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clash {
    /// The steps, in one of their orders.
    pub steps: [StepText; 2],
    /// The first difference between the two orders; empty if no operation shows a difference.
    pub shows: String,
    /// True if the second step is the death of a node, and the difference is the first step itself. The death should
    /// have undone the first step.
    pub is_death: bool,
}

/// The reason why a search explores each order of steps as a separate run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// These two steps did not commute.
    Clash(Box<Clash>),
    /// A task depended on something outside sim. The text describes it: `0.1 woke 0.2 at src/lib.rs:3:5`.
    Contact(String),
}

/// The maximum number of operations in the text of a step.
const OPERATIONS_MAX: usize = 3;

impl StepText {
    /// Describes a step of a run.
    #[allow(dead_code, reason = "for searches, which the real build does not have")]
    #[doc(hidden)]
    pub fn of(run: &Run, step: u32) -> StepText {
        let names = DisplayNames::new(run);
        let task = run.steps.get(step as usize).map_or_else(String::new, |s| names.task(s.task));
        let own = || run.events.iter().filter(|event| event.step == step);
        let shown: Vec<&Event> = own().filter(|event| !event.op.quiet).collect();
        let shown = if shown.is_empty() { own().take(1).collect() } else { shown };
        let mut texts: Vec<String> =
            shown.iter().take(OPERATIONS_MAX).map(|event| names.operation(event)).collect();
        if shown.len() > OPERATIONS_MAX {
            texts.push(format!("{} more", shown.len() - OPERATIONS_MAX));
        }
        let place = shown.first().map_or_else(String::new, |event| in_text(event.place));
        StepText { task, operations: texts.join(", "), place }
    }

    /// Returns the step as part of a sentence.
    fn text(&self) -> String {
        let [task, operations, place] =
            [&self.task, &self.operations, &self.place].map(|t| clean(t));
        match place.is_empty() {
            true => format!("a step of {task} without an operation"),
            false => format!("{task}: {operations} at {place}"),
        }
    }
}

impl Clash {
    /// Returns the two steps and the difference as part of a sentence.
    pub(super) fn text(&self) -> String {
        let [first, second] = self.steps.each_ref().map(StepText::text);
        let mut text = match self.is_death {
            true => format!("({first}), although ({second}) then ends the node"),
            false => format!("({first}) and ({second})"),
        };
        if !self.shows.is_empty() {
            text += &format!(". The difference: {}", clean(&self.shows));
        }
        text
    }
}
