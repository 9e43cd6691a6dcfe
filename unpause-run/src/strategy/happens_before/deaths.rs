//! Lost steps: steps that the death of a node undoes; see [`lives`](crate::strategy::exhaustive). Two runs that differ
//! only in such steps are equivalent.

use super::{HappensBefore, Index, NewStep, join};
use crate::run::ids::TaskId;
use crate::strategy::footprint::StepItem;

impl HappensBefore {
    /// Returns the order without the steps that node deaths undid. `None` if there are no such steps.
    pub(super) fn without_lost_steps(&self) -> Option<HappensBefore> {
        let lost = self.lost()?;
        let mut order = HappensBefore::default();
        let mut after_all = false;
        for (index, step) in (0..).zip(&self.steps) {
            after_all |= self.is_after_all(index);
            if lost[index as usize] {
                continue;
            }
            let (task, drawn, items) = (step.task, step.drawn, self.items_of(index));
            let after_all = std::mem::take(&mut after_all);
            let life = self.tasks[task.index()].life;
            order.push(NewStep { task, after_all, items, guarded: &[], born: &[], drawn, life });
        }
        Some(order)
    }

    /// Returns, for each step, `true` if a node death undid it: its task died, and the step did not happen before any
    /// step with effects that outlived the node. `None` if there are no such steps.
    pub fn lost(&self) -> Option<Vec<bool>> {
        let mut lost: Option<Vec<bool>> = None;
        for (life, log) in self.lives.iter().enumerate() {
            let is_end = |item: &StepItem| matches!(item, StepItem::Life { ends: true, .. });
            let Some((death, _)) = log.iter().find(|(_, item)| is_end(item)) else { continue };
            let mut needed = vec![0; self.tasks.len()];
            for (index, _) in log.iter().filter(|(_, item)| !is_end(item)) {
                join(&mut needed, self.clock(*index));
            }
            // A step may end several lives.
            let is_of_life = |task: &TaskId| self.tasks[task.index()].life.index() == life;
            for task in self.killed_by(*death).filter(is_of_life) {
                for step in &self.tasks[task.index()].steps {
                    if !self.knows(&needed, *step) {
                        lost.get_or_insert_with(|| vec![false; self.steps.len()])[*step as usize] =
                            true;
                    }
                }
            }
        }
        lost
    }

    /// Returns the tasks that died in a step.
    pub fn killed_by(&self, step: Index) -> impl Iterator<Item = TaskId> {
        self.items_of(step).iter().filter_map(StepItem::killed)
    }

    /// Returns `true` if step `a` precedes step `b` in every order that contains both steps: `a` happened before `b`,
    /// or the task of `a` died in `b`.
    pub fn comes_before(&self, a: Index, b: Index) -> bool {
        self.is_before(a, b) || a < b && self.kills(b, self.task_of(a))
    }

    /// Returns `true` if `task` died in a step.
    pub fn kills(&self, step: Index, task: TaskId) -> bool {
        self.killed_by(step).any(|killed| killed == task)
    }
}
