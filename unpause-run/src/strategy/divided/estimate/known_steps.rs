//! The steps that tasks can take, as far as runs have shown them.
//!
//! A sleeping step wakes up when another task takes a conflicting step. If no known step can wake it up, the runs below
//! are probably all given up, so an estimate visits few of their nodes. Knowledge from runs may be incomplete. It
//! affects the precision of an estimate, and never its mean.

use super::super::top::SampledStep;
use crate::run::ids::TaskId;
use crate::run::op::kind::Span;
use crate::strategy::footprint::{Footprint, StepItem};

/// The maximum number of different items of a task. A task with more items is assumed to conflict with every step.
const ITEMS_MAX: usize = 64;

/// The number of steps that each task has taken.
pub(super) type Progress = Vec<u32>;

/// The known steps of all tasks.
#[derive(Debug, Default)]
pub(super) struct KnownSteps {
    tasks: Vec<TaskSteps>,
}

/// The known steps of one task.
#[derive(Debug, Default)]
struct TaskSteps {
    /// The items of each step, over all runs.
    steps: Vec<Items>,
    /// For each step of this task: the items of steps that other tasks took directly before it, since the previous step
    /// of this task.
    beside: Vec<Items>,
    /// Each item, with the last step that had the item.
    last: Vec<(StepItem, u32)>,
    has_many: bool,
}

/// A set of items.
#[derive(Debug, Default)]
struct Items {
    items: Vec<StepItem>,
    has_many: bool,
}

impl Items {
    fn add(&mut self, item: StepItem) {
        if self.has_many || self.contains(&item) {
            return;
        }
        self.items.push(item);
        self.has_many = self.items.len() > ITEMS_MAX;
    }

    fn contains(&self, item: &StepItem) -> bool {
        self.has_many || self.items.iter().any(|known| is_same(known, item))
    }
}

impl KnownSteps {
    /// Adds the steps of a run.
    pub(super) fn add_run(&mut self, steps: &[SampledStep]) {
        let mut progress = Progress::new();
        for (task, items) in steps {
            self.add(&progress, *task, items);
            count_step(&mut progress, *task);
        }
    }

    /// Adds the next step of `task` after this progress.
    pub(super) fn add(&mut self, progress: &[u32], task: TaskId, items: &[StepItem]) {
        let tasks = progress.len().max(task.index() + 1);
        self.tasks.resize_with(self.tasks.len().max(tasks), TaskSteps::default);
        for (other, steps) in self.tasks.iter_mut().enumerate() {
            let nth = taken(progress, other);
            if other == task.index() {
                steps.add(nth, items);
            } else {
                let beside = entry(&mut steps.beside, nth);
                items.iter().for_each(|item| beside.add(without_span(item)));
            }
        }
    }

    /// Returns `true` if no known step of another task can conflict with the next step of the task, which has this
    /// footprint.
    pub(super) fn never_wakes(&self, step: &Footprint, progress: &[u32]) -> bool {
        let own = step.task.index();
        let nth = taken(progress, own);
        let Some(beside) = self.tasks.get(own).and_then(|own| own.beside.get(nth)) else {
            return false;
        };
        let mut others = (0..self.tasks.len()).filter(|other| *other != own);
        others.all(|other| {
            let (task, steps) = (TaskId(other as u32), &self.tasks[other]);
            let taken = taken(progress, other) as u32;
            let mut later = steps.last.iter().filter(|(_, last)| *last >= taken);
            let wakes =
                |item: &StepItem| step.conflicts_elsewhere(task, item) && beside.contains(item);
            !steps.has_many && !later.any(|(item, _)| wakes(item))
        })
    }

    /// Returns `true` if the next step of this task is known, and never wakes up while it sleeps.
    pub(super) fn is_free(&self, task: TaskId, progress: &[u32]) -> bool {
        let steps = self.tasks.get(task.index()).map(|own| &own.steps);
        let known = steps.and_then(|steps| steps.get(taken(progress, task.index())));
        known.is_some_and(|known| {
            let items = known.items.clone();
            let footprint = Footprint { task, items, ..Footprint::default() };
            !known.has_many && self.never_wakes(&footprint, progress)
        })
    }
}

impl TaskSteps {
    fn add(&mut self, nth: usize, items: &[StepItem]) {
        entry(&mut self.beside, nth);
        entry(&mut self.steps, nth);
        for item in items {
            let item = without_span(item);
            self.steps[nth].add(item);
            match self.last.iter().position(|(known, _)| is_same(known, &item)) {
                Some(at) => self.last[at].1 = self.last[at].1.max(nth as u32),
                None if self.last.len() < ITEMS_MAX => self.last.push((item, nth as u32)),
                None => self.has_many = true,
            }
        }
    }
}

fn entry(all: &mut Vec<Items>, nth: usize) -> &mut Items {
    all.resize_with(all.len().max(nth + 1), Items::default);
    &mut all[nth]
}

fn taken(progress: &[u32], task: usize) -> usize {
    progress.get(task).map_or(0, |steps| *steps as usize)
}

/// Counts a step of this task.
pub(super) fn count_step(progress: &mut Progress, task: TaskId) {
    progress.resize(progress.len().max(task.index() + 1), 0);
    progress[task.index()] += 1;
}

/// Returns the item without the numbers of messages, which differ from run to run.
fn without_span(item: &StepItem) -> StepItem {
    match *item {
        StepItem::Object { object, key, kind, done, .. } => {
            StepItem::Object { object, key, kind, span: Span::NONE, done }
        }
        item => item,
    }
}

/// Returns `true` if two items of different runs are the same. The number of an object may differ.
fn is_same(one: &StepItem, other: &StepItem) -> bool {
    match (*one, *other) {
        (
            StepItem::Object { key, kind, done, .. },
            StepItem::Object { key: other_key, kind: other_kind, done: other_done, .. },
        ) => (key, kind, done) == (other_key, other_kind, other_done),
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::op::task::{END, WAKE};

    /// An operation on a task, which conflicts with the end of this task.
    fn on(target: u32, kind: crate::run::op::kind::Kind) -> StepItem {
        StepItem::Task { target: TaskId(target), kind, done: true }
    }

    fn step(task: u32, items: &[StepItem]) -> (TaskId, Vec<StepItem>) {
        (TaskId(task), items.to_vec())
    }

    #[test]
    fn a_step_wakes_up_only_for_a_later_step_that_was_seen_before_it() {
        let (end, wake) = (on(1, END), on(1, WAKE));
        let footprint = |items: &[StepItem]| Footprint {
            task: TaskId(1),
            items: items.to_vec(),
            ..Footprint::default()
        };
        let mut known = KnownSteps::default();
        assert!(!known.never_wakes(&footprint(&[]), &[0, 0]), "nothing is known");
        known.add_run(&[step(1, &[]), step(1, &[end]), step(0, &[]), step(0, &[wake])]);
        assert!(known.is_free(TaskId(1), &[0, 0]));
        // No run has shown the wake before the end.
        assert!(known.never_wakes(&footprint(&[end]), &[0, 1]));
        known.add_run(&[step(1, &[]), step(0, &[]), step(0, &[wake]), step(1, &[end])]);
        assert!(!known.never_wakes(&footprint(&[end]), &[0, 1]));
        assert!(!known.never_wakes(&footprint(&[end]), &[1, 1]));
        // The first task has already taken the step that wakes.
        assert!(known.never_wakes(&footprint(&[end]), &[2, 1]));
        assert!(!known.is_free(TaskId(1), &[0, 2]), "the step is unknown");
    }
}
