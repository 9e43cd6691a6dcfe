//! Who may be picked and who is held back: for strategies that have some tasks wait although they can
//! step.

use super::dice::Dice;
use crate::choice::{Status, View};
use crate::ids::TaskId;

/// Where a task is, with its position there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// It cannot step, as far as is known.
    Nowhere,
    Free(u32),
    Held(u32),
}

/// The tasks that can step. A move costs the same however many they are.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: Vec<Place>,
    free: Vec<TaskId>,
    held: Vec<TaskId>,
}

impl Places {
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.free.clear();
        self.held.clear();
    }

    /// The next task, which is nowhere.
    pub(super) fn arrive(&mut self) {
        self.places.push(Place::Nowhere);
    }

    /// Who has just become able to step may be picked.
    #[inline]
    pub(super) fn let_in(&mut self, view: &View<'_>) {
        for task in view.arrived() {
            if self.places[task.index()] == Place::Nowhere {
                self.free(*task);
            }
        }
    }

    pub(super) fn is_held(&self, task: TaskId) -> bool {
        matches!(self.places[task.index()], Place::Held(_))
    }

    /// Those held.
    pub(super) fn held(&self) -> &[TaskId] {
        &self.held
    }

    /// From now on it may be picked.
    pub(super) fn free(&mut self, task: TaskId) {
        self.leave(task);
        self.places[task.index()] = Place::Free(self.free.len() as u32);
        self.free.push(task);
    }

    /// From now on it may not.
    pub(super) fn hold(&mut self, task: TaskId) {
        self.leave(task);
        self.places[task.index()] = Place::Held(self.held.len() as u32);
        self.held.push(task);
    }

    fn leave(&mut self, task: TaskId) {
        let place = std::mem::replace(&mut self.places[task.index()], Place::Nowhere);
        let (list, at) = match place {
            Place::Nowhere => return,
            Place::Free(at) => (&mut self.free, at),
            Place::Held(at) => (&mut self.held, at),
        };
        list.swap_remove(at as usize);
        if let Some(moved) = list.get(at as usize) {
            self.places[moved.index()] = place;
        }
    }

    /// One of the free that can step, any of them; those that cannot are nowhere from now on.
    #[inline]
    pub(super) fn draw_free(&mut self, dice: &mut impl Dice, view: &View<'_>) -> Option<TaskId> {
        self.draw(|places| &places.free, dice, view)
    }

    /// The same among those held.
    pub(super) fn draw_held(&mut self, dice: &mut impl Dice, view: &View<'_>) -> Option<TaskId> {
        self.draw(|places| &places.held, dice, view)
    }

    #[inline]
    fn draw(
        &mut self,
        list: impl Fn(&Places) -> &[TaskId],
        dice: &mut impl Dice,
        view: &View<'_>,
    ) -> Option<TaskId> {
        while !list(self).is_empty() {
            let tasks = list(self);
            let task = tasks[dice.below(tasks.len() as u64) as usize];
            if view.task(task).status == Status::Ready {
                return Some(task);
            }
            self.leave(task);
        }
        None
    }
}
