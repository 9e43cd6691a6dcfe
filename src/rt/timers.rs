//! Virtual time: tasks that wait until a time are woken when no task can step, the earliest first.

use super::object::AnnouncementId;
use super::state::RunState;
use super::world::World;
use crate::run::board::Contact;
use crate::run::ids::TaskId;
use crate::run::op::Access;

/// The tasks of a run that wait until a time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Times, in nanoseconds, and tasks.
    waiting: Vec<(u64, TaskId)>,
}

impl Timers {
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}

impl RunState {
    /// Wakes the tasks that wait until the earliest time. Returns `false` if no task waits.
    #[cold]
    pub(super) fn advance_time(&mut self) -> bool {
        let Some(earliest) = self.timers.waiting.iter().map(|(time, _)| *time).min() else {
            return false;
        };
        self.end_timers(earliest);
        !self.board.ready.is_empty()
    }

    /// Wakes the tasks that wait until `time` or an earlier one.
    fn end_timers(&mut self, time: u64) {
        let mut due: Vec<TaskId> = Vec::new();
        self.timers.waiting.retain(|(until, task)| {
            let is_due = *until <= time;
            due.extend(is_due.then_some(*task));
            !is_due
        });
        for task in due {
            self.touch(task, Contact::TimedOut);
            if !self.enable_resume(task) && !self.let_go(task) {
                self.wake(task);
            }
        }
    }

    /// Lets a task that is held until a change go on without one. Returns `false` if none is held.
    fn let_go(&mut self, task: TaskId) -> bool {
        let step = self.board.step;
        let watches = self.board.watches.iter_mut();
        let Some(watch) = watches.into_iter().find(|watch| watch.task == task) else {
            return false;
        };
        watch.changes.push(step);
        let id = AnnouncementId::new(task, watch.key);
        self.set_enabled(id, true);
        true
    }

    /// Lets a task that has announced to resume go on. Returns `false` if it has not.
    fn enable_resume(&mut self, task: TaskId) -> bool {
        let announced = &self.board.tasks.at(task.index()).announced;
        let resume = announced.iter().find(|announced| announced.op.access == Access::Resume);
        let Some(key) = resume.map(|announced| announced.key) else { return false };
        self.set_enabled(AnnouncementId::new(task, key), true);
        true
    }
}

#[cfg_attr(not(unpause_native), allow(dead_code))]
impl World {
    /// Has the current task woken at `time`, when no task can step before.
    pub(crate) fn set_timer(&self, time: u64) {
        let mut state = self.state();
        let task = state.current();
        state.timers.waiting.push((time, task));
    }

    /// Moves the time on to `time`, because a timer of the current task ends although other tasks can step. Timers that
    /// are due before end, too.
    pub(crate) fn pass_time(&self, time: u64) {
        let mut state = self.state();
        let task = state.current();
        state.touch(task, Contact::TimedOut);
        state.end_timers(time);
    }

    /// Lets a task that has announced to [resume](crate::run::op::Access::Resume) go on.
    pub(crate) fn resume(&self, task: TaskId) {
        self.state().enable_resume(task);
    }

    /// Forgets the timer of the current task. Returns `false` if it has none.
    pub(crate) fn clear_timer(&self) -> bool {
        let mut state = self.state();
        let task = state.current();
        let before = state.timers.waiting.len();
        state.timers.waiting.retain(|(_, waiting)| *waiting != task);
        state.timers.waiting.len() < before
    }
}
