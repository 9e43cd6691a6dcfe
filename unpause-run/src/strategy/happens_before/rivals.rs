//! The earlier steps that conflict with a new one.

use super::{HappensBefore, Index, covers};
use crate::run::ids::TaskId;
use crate::run::op::task::END;
use crate::strategy::footprint::StepItem;

impl HappensBefore {
    /// Collects the steps of other tasks that conflict with a step of `task`. May leave out a step that certainly
    /// happened before another collected one.
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
                    // Nothing of a life comes after its end.
                    let from = if *ends { 0 } else { log.len().saturating_sub(1) };
                    conflicting(&log[from..], item, &mut add);
                }
                StepItem::Task { target, kind, .. } if *target == task => {
                    // Its own end: other tasks that saw it alive or ended must keep their order
                    // with it.
                    debug_assert_eq!(*kind, END);
                    conflicting(&self.tasks[task.index()].notes, item, &mut add);
                }
                StepItem::Task { target, .. } => self.rivals_about_task(*target, item, &mut add),
                StepItem::Over => {
                    let last = self.tasks.iter().filter_map(|log| log.steps.last());
                    last.for_each(|index| add(*index));
                }
                // The last step conflicts with all before it.
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
                // All earlier steps that conflict with the new one conflict with this one, too.
                if covers(other, *kind) {
                    break;
                }
            }
        }
    }

    /// Adds the steps that conflict with a new step of another task about `target`.
    fn rivals_about_task(&self, target: TaskId, item: &StepItem, add: &mut impl FnMut(Index)) {
        let Some(log) = self.tasks.get(target.index()) else { return };
        // Of two others one may have ended it.
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
