//! Work at the ends of tasks.

use super::state::RunState;
use super::world::World;
use crate::run::ids::TaskId;

/// Work to do at the end of a task.
type AtEnd = Box<dyn FnOnce() + Send>;

/// The maximum number of rounds of work that adds work at the end of a task.
const ROUNDS_MAX: u32 = 16;

/// The end work of all tasks that have not ended, in the order of its registration.
#[derive(Default)]
pub(super) struct Ends(Vec<(TaskId, AtEnd)>);

impl Ends {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl World {
    /// Has `work` done at the end of the current task.
    pub(crate) fn at_end(&self, work: AtEnd) {
        let mut state = self.state();
        let task = state.current();
        state.ends.0.push((task, work));
    }

    /// Does the work of the end of `task`, which is the current one, the last first.
    #[inline]
    pub(super) fn do_at_end(&self, task: TaskId) {
        let has_none = self.state().ends.is_empty();
        if !has_none {
            self.do_all_at_end(task);
        }
    }

    /// Forgets work that was added when its task had ended. Not dropped, because a destructor might add more.
    pub(super) fn forget_ends(&self) {
        std::mem::forget(std::mem::take(&mut self.state().ends));
    }

    #[cold]
    fn do_all_at_end(&self, task: TaskId) {
        for _ in 0..ROUNDS_MAX {
            let work = self.state().take_ends(task);
            if work.is_empty() {
                return;
            }
            work.into_iter().rev().for_each(|work| work());
        }
        // Dropped without a borrow.
        let left = self.state().take_ends(task);
        drop(left);
    }
}

impl RunState {
    fn take_ends(&mut self, task: TaskId) -> Vec<AtEnd> {
        let all = std::mem::take(&mut self.ends.0).into_iter();
        let (own, others): (Vec<_>, Vec<_>) = all.partition(|(of, _)| *of == task);
        self.ends.0 = others;
        own.into_iter().map(|(_, work)| work).collect()
    }
}
