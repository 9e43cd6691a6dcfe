//! Panics that the handles of tasks receive.
//!
//! By default, the panic of a task fails the run. A task spawned by a tokio program is an exception: its handle keeps
//! the panic, as in tokio, and the run continues. The panic fails the run when no handle can receive it: if the task is
//! detached, or the run is over. A run that waits forever also fails with this panic, because the panic is the likely
//! cause.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::diagnose::last_place;
use super::executor::Executor;
use super::panics::{self, Halt, Panicked};
use super::state::RunState;
use super::world::World;
use crate::run::Failure;
use crate::run::event::Values;
use crate::run::ids::TaskId;
use crate::run::op::{Access, Op};
use crate::run::panics::TaskPanic;

const PANIC: Op = Op::new("panic", Access::Yield);

/// The panic of a task, until its handle takes it.
#[derive(Debug)]
pub(super) struct KeptPanic {
    payload: Box<dyn Any + Send>,
    panicked: Panicked,
}

impl KeptPanic {
    /// Returns the payload and the place, for the error of a join.
    pub(super) fn into_parts(self) -> (Box<dyn Any + Send>, String) {
        (self.payload, self.panicked.place)
    }
}

impl World {
    /// Drops the unread result of a task, in a step of another task. A panic of a destructor fails the run. The panic
    /// belongs to the task of the result, so it does not unwind the current task. tokio ignores such a panic.
    pub(super) fn drop_unread(&self, task: TaskId, result: impl Sized) {
        let dropped = catch_unwind(AssertUnwindSafe(|| self.as_task(task, || drop(result))));
        let Err(payload) = dropped else { return };
        match panics::take(&*payload) {
            Some(Panicked { message, place }) => {
                self.state().fail(Failure::Panic { task, message, place });
                // A destructor of the payload may panic again.
                std::mem::forget(payload);
            }
            // The run has failed, so the current task ends, too.
            None => resume_unwind(payload),
        }
    }

    /// Lets the handle of a task receive the panic of the task. Has no effect if the task belongs to another run.
    pub(crate) fn give_panic_to_handle(&self, run: u64, task: TaskId) {
        let mut state = self.state();
        if run == state.run {
            state.slots[task.index()].gives_panic = true;
        }
    }
}

impl RunState {
    /// Returns `true` if the handle of the task would receive a panic now.
    fn gives_panic(&self, task: TaskId) -> bool {
        let slot = &self.slots[task.index()];
        slot.gives_panic && slot.detached.is_none() && !self.over
    }

    /// Fails the run with the panic of the task, if no handle took it. Returns the payload, which the caller must drop.
    #[must_use]
    pub(super) fn fail_if_unseen(&mut self, task: TaskId) -> Option<Box<dyn Any + Send>> {
        let kept = self.slots.at_mut(task.index()).panic.take()?;
        let KeptPanic { payload, panicked } = *kept;
        let Panicked { message, place } = panicked;
        self.fail(Failure::Panic { task, message, place });
        Some(payload)
    }

    /// Returns the failure of a stuck run: the first panic that no handle took, or else `failure`.
    pub(super) fn failure_or_panic(&self, failure: Failure) -> Failure {
        let tasks = (0..self.board.tasks.len()).map(|task| TaskId(task as u32));
        let mut panics =
            tasks.filter_map(|task| Some((task, self.slots[task.index()].panic.as_deref()?)));
        match panics.next() {
            None => failure,
            Some((task, KeptPanic { panicked, .. })) => {
                let Panicked { message, place } = panicked.clone();
                Failure::Panic { task, message, place }
            }
        }
    }
}

impl Executor<'_> {
    /// Ends a spawned task that panicked: its handle receives the panic, or the run fails.
    #[cold]
    pub(super) fn unwound(&mut self, task: TaskId, payload: Box<dyn Any + Send>) {
        let gives = !payload.is::<Halt>() && self.world.state().gives_panic(task);
        let taken = if gives { panics::take(&*payload) } else { None };
        let Some(panicked) = taken else { return self.panicked(task, payload) };
        {
            let mut state = self.world.state();
            let place = last_place(&state, task);
            state.happened(&PANIC, None, place, Values::None);
            let Panicked { message, place } = panicked.clone();
            state.record.panics.push(TaskPanic { task, message, place });
            state.slots.at_mut(task.index()).panic =
                Some(Box::new(KeptPanic { payload, panicked }));
            state.has_panics = true;
        }
        // The values of the task are dropped in its step, like the values of an aborted task.
        if let Some(body) = self.seats.at(task).body.as_mut() {
            let body = body.as_mut();
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body.clear())) {
                self.panicked(task, payload);
            }
        }
        self.end(task, false);
    }

    /// Ends an aborted task whose destructors panicked. Like in tokio, its handle receives the panic and not the abort.
    #[cold]
    pub(super) fn unwound_by_abort(&mut self, task: TaskId, payload: Box<dyn Any + Send>) {
        self.unwound(task, payload);
        // No handle receives the panic, so the run has failed.
        let is_done = self.world.state().is_done(task);
        if !is_done {
            self.end(task, true);
        }
    }

    /// Fails the run, which is over, if no handle took the panic of a task.
    pub(super) fn fail_unseen_panics(&mut self) {
        let (tasks, panicked) = {
            let mut state = self.world.state();
            (state.board.tasks.len(), std::mem::take(&mut state.has_panics))
        };
        if !panicked {
            return;
        }
        for task in (1..tasks).map(|task| TaskId(task as u32)) {
            let unseen = self.world.state().fail_if_unseen(task);
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(unseen))) {
                self.panicked(task, payload);
            }
        }
    }
}
