//! Work registered for the ends of tasks.

use crate::rt::part::Part;
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::ids::TaskId;

/// Work to do at the end of a task.
type AtEnd = Box<dyn FnOnce() + Send>;

/// The maximum number of rounds of end work, because end work may add more end work.
const ROUNDS_MAX: u32 = 16;

/// The end work of all tasks that have not ended, in the order of its registration.
#[derive(Default)]
pub(in crate::rt) struct Ends(Vec<(TaskId, AtEnd)>);

impl Part for Ends {
    fn forget(&mut self) {
        // This work was added after the end of its run. The work is not dropped, because a destructor might use the
        // run.
        std::mem::forget(std::mem::take(self));
    }

    fn has_ends(&self) -> bool {
        !self.0.is_empty()
    }

    fn end_task(world: &World, task: TaskId) {
        world.do_at_end(task);
    }

    fn end(world: &World) {
        // This work was added after its task had ended. The work is not dropped, because a destructor might add more
        // work.
        std::mem::forget(std::mem::take(world.state().parts.get_mut::<Ends>()));
    }
}

impl World {
    /// Registers `work` to be done at the end of the current task.
    pub(crate) fn at_end(&self, work: AtEnd) {
        let mut state = self.state();
        let task = state.current();
        state.parts.get_mut::<Ends>().0.push((task, work));
    }

    /// Does the end work of `task`, which is the current task, in reverse order of registration.
    #[cold]
    fn do_at_end(&self, task: TaskId) {
        for _ in 0..ROUNDS_MAX {
            let work = self.state().take_ends(task);
            if work.is_empty() {
                return;
            }
            work.into_iter().rev().for_each(|work| work());
        }
        // The work is dropped while the state is not borrowed.
        let left = self.state().take_ends(task);
        drop(left);
    }
}

impl RunState {
    fn take_ends(&mut self, task: TaskId) -> Vec<AtEnd> {
        let Ends(ends) = self.parts.get_mut();
        let all = std::mem::take(ends).into_iter();
        let (own, others): (Vec<_>, Vec<_>) = all.partition(|(of, _)| *of == task);
        *ends = others;
        own.into_iter().map(|(_, work)| work).collect()
    }
}
