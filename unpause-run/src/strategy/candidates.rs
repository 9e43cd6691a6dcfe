//! The candidates of a strategy that holds some enabled tasks back.

use super::dice::Dice;
use crate::run::board::Status;
use crate::run::choice::View;
use crate::run::ids::TaskId;

/// The enabled tasks, in two groups: free tasks and held tasks. Moving a task between the groups
/// takes constant time.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// All tasks: first the free tasks, then the held tasks, then the tasks that could not step at
    /// the last update.
    order: Vec<TaskId>,
    /// The position of each task in `order`.
    at: Vec<u32>,
    /// The ends of the free tasks and of the held tasks in `order`.
    free: u32,
    held: u32,
}

impl Candidates {
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.at.clear();
        self.free = 0;
        self.held = 0;
    }

    /// Adds the next task. The task cannot step yet.
    pub(super) fn arrive(&mut self) {
        let at = self.at.len() as u32;
        self.at.push(at);
        self.order.push(TaskId(at));
    }

    /// Adds the tasks that have just become enabled, as free tasks.
    #[inline(always)]
    pub(super) fn let_in(&mut self, view: &View<'_>) {
        for task in view.arrived() {
            if self.at[task.index()] >= self.held {
                self.enter(*task);
            }
        }
    }

    /// Removes a task if a moment holds it, and adds it again if no moment holds it any more.
    #[cold]
    pub(super) fn change(&mut self, view: &View<'_>, task: TaskId, is_held: bool) {
        let is_in = self.at[task.index()] < self.held;
        match is_held {
            true if is_in => self.leave(task),
            false if !is_in && view.task(task).status == Status::Ready => self.enter(task),
            _ => {}
        }
    }

    #[inline]
    fn enter(&mut self, task: TaskId) {
        self.swap(self.at[task.index()], self.held);
        self.held += 1;
        self.free(task);
    }

    #[inline]
    pub(super) fn is_held(&self, task: TaskId) -> bool {
        (self.free..self.held).contains(&self.at[task.index()])
    }

    #[inline]
    pub(super) fn is_free(&self, task: TaskId) -> bool {
        self.at[task.index()] < self.free
    }

    /// Returns the held tasks.
    #[inline]
    pub(super) fn held(&self) -> &[TaskId] {
        &self.order[self.free as usize..self.held as usize]
    }

    /// Frees a held task.
    #[inline]
    pub(super) fn free(&mut self, task: TaskId) {
        self.swap(self.at[task.index()], self.free);
        self.free += 1;
    }

    /// Holds a free task.
    #[inline]
    pub(super) fn hold(&mut self, task: TaskId) {
        self.free -= 1;
        self.swap(self.at[task.index()], self.free);
    }

    /// Holds a task if it is free.
    #[inline]
    pub(super) fn hold_if_free(&mut self, task: TaskId) {
        if self.is_free(task) {
            self.hold(task);
        }
    }

    /// Frees a task if it is held.
    #[inline]
    pub(super) fn free_if_held(&mut self, task: TaskId) {
        if self.is_held(task) {
            self.free(task);
        }
    }

    /// Removes a task from both groups.
    #[cold]
    fn leave(&mut self, task: TaskId) {
        if !self.is_held(task) {
            self.hold(task);
        }
        self.held -= 1;
        self.swap(self.at[task.index()], self.held);
    }

    #[inline]
    fn swap(&mut self, a: u32, b: u32) {
        let (first, second) = (self.order[a as usize], self.order[b as usize]);
        self.order[a as usize] = second;
        self.order[b as usize] = first;
        self.at[first.index()] = b;
        self.at[second.index()] = a;
    }

    /// Draws one of the enabled free tasks uniformly. Removes drawn tasks that can no longer step.
    #[inline]
    pub(super) fn draw_free(&mut self, dice: &mut impl Dice, view: &View<'_>) -> Option<TaskId> {
        self.draw(|candidates| &candidates.order[..candidates.free as usize], dice, view)
    }

    /// Like [`draw_free`](Self::draw_free), but draws among the held tasks.
    pub(super) fn draw_held(&mut self, dice: &mut impl Dice, view: &View<'_>) -> Option<TaskId> {
        self.draw(Candidates::held, dice, view)
    }

    // Inlined once for each list, because it would otherwise be the most expensive call of a step.
    #[inline(always)]
    fn draw(
        &mut self,
        list: impl Fn(&Candidates) -> &[TaskId],
        dice: &mut impl Dice,
        view: &View<'_>,
    ) -> Option<TaskId> {
        while !list(self).is_empty() {
            let tasks = list(self);
            // If some tasks are held, usually only one task is free.
            let at = if tasks.len() == 1 { 0 } else { dice.below(tasks.len() as u64) as usize };
            let task = tasks[at];
            if view.task(task).status == Status::Ready {
                return Some(task);
            }
            self.leave(task);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::rng::Rng;

    #[derive(Clone, Copy, PartialEq)]
    enum Is {
        Out,
        Free,
        Held,
    }

    #[test]
    fn every_task_is_where_it_was_last_sent() {
        let mut rng = Rng::new(1);
        let mut places = Candidates::default();
        for tasks in [1, 2, 7, 40] {
            places.clear();
            let mut known: Vec<Is> = Vec::new();
            for _ in 0..1000 {
                if known.len() < tasks && rng.below(3) == 0 {
                    places.arrive();
                    known.push(Is::Out);
                }
                if known.is_empty() {
                    continue;
                }
                let at = rng.below(known.len() as u64) as usize;
                let task = TaskId(at as u32);
                let stays = rng.below(2) == 0;
                let (sent, is): (fn(&mut Candidates, TaskId), Is) = match (known[at], stays) {
                    (Is::Out, _) => (Candidates::enter, Is::Free),
                    (Is::Free, true) => (Candidates::hold, Is::Held),
                    (Is::Held, true) => (Candidates::free, Is::Free),
                    (_, false) => (Candidates::leave, Is::Out),
                };
                sent(&mut places, task);
                known[at] = is;
                for (at, is) in known.iter().enumerate() {
                    let task = TaskId(at as u32);
                    let is_free = places.order[..places.free as usize].contains(&task);
                    assert_eq!(is_free, *is == Is::Free);
                    assert_eq!(places.held().contains(&task), *is == Is::Held);
                    assert_eq!(places.is_held(task), *is == Is::Held);
                    assert_eq!(places.order[places.at[at] as usize], task);
                }
            }
        }
    }
}
