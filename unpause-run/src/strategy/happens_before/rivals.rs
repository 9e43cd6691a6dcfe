//! The earlier steps that conflict with a new step.

use super::{HappensBefore, Index, covers};
use crate::run::ids::TaskId;
use crate::run::op::task::END;
use crate::strategy::footprint::StepItem;

impl HappensBefore {
    /// Collects the steps of other tasks that conflict with a step of `task`. May leave out a step that certainly
    /// happened before a collected step.
    pub(super) fn collect_rivals(&self, task: TaskId, items: &[StepItem], rivals: &mut Vec<Index>) {
        let mut add = |index: Index| {
            if self.steps[index as usize].task != task {
                rivals.push(index);
            }
        };
        conflicting(&self.tasks[task.index()].notes, &StepItem::lives(task), &mut add);
        for item in items {
            match item {
                StepItem::Object { object, .. } => {
                    self.rivals_on_object(object.index(), item, &mut add);
                }
                StepItem::Called { history, .. } => {
                    let log = self.histories.get(*history).map_or(&[][..], Vec::as_slice);
                    conflicting(log, item, &mut add);
                }
                StepItem::Counted { .. } => conflicting(&self.counts, item, &mut add),
                StepItem::Life { life, ends } => {
                    let log = self.lives.get(life.index()).map_or(&[][..], Vec::as_slice);
                    // No item of a life follows the end of the life.
                    let from = if *ends { 0 } else { log.len().saturating_sub(1) };
                    conflicting(&log[from..], item, &mut add);
                }
                StepItem::Task { target, kind, .. } if *target == task => {
                    // The end of the task itself: operations of other tasks that saw the task alive or ended must keep
                    // their order with this step.
                    debug_assert_eq!(*kind, END);
                    conflicting(&self.tasks[task.index()].notes, item, &mut add);
                }
                StepItem::Task { target, .. } => self.rivals_about_task(*target, item, &mut add),
                StepItem::Over => {
                    let last = self.tasks.iter().filter_map(|log| log.steps.last());
                    last.for_each(|index| add(*index));
                }
                // All steps conflict, so the last step is already ordered after all earlier steps.
                StepItem::Unseen => {
                    if let Some(last) = (self.steps.len() as Index).checked_sub(1) {
                        add(last);
                    }
                }
                StepItem::Spawned(_) => {}
            }
        }
    }

    /// Adds the steps on an object that conflict with a new step on it, latest first.
    fn rivals_on_object(&self, object: usize, item: &StepItem, add: &mut impl FnMut(Index)) {
        let StepItem::Object { kind, .. } = item else { return };
        let Some(log) = self.objects.get(object) else { return };
        for (index, other) in log.iter().rev() {
            if item.conflicts(other) {
                add(*index);
                // All earlier steps that conflict with the new step also conflict with this step.
                if covers(other, *kind) {
                    break;
                }
            }
        }
    }

    /// Adds the steps that conflict with `item`, an operation on the task `target` by another task.
    fn rivals_about_task(&self, target: TaskId, item: &StepItem, add: &mut impl FnMut(Index)) {
        let Some(log) = self.tasks.get(target.index()) else { return };
        // Another task may have ended the target.
        conflicting(&log.notes, item, add);
        let end = StepItem::Task { target, kind: END, done: true };
        let with_end = log.ended && item.conflicts(&end);
        if with_end || item.conflicts(&StepItem::lives(target)) {
            log.steps.last().into_iter().for_each(|last| add(*last));
        }
    }
}

/// Adds the steps of a log that conflict with an item.
fn conflicting(log: &[(Index, StepItem)], item: &StepItem, add: &mut impl FnMut(Index)) {
    for (index, other) in log {
        if item.conflicts(other) {
            add(*index);
        }
    }
}
