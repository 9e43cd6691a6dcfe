//! The executor: lets the strategy choose a task, polls the task up to its next point, and ends the run.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use super::Parts;
use super::body::Body;
use super::choose::Choice;
use super::diagnose::{circle, doing, stuck, waiting, woken_from_outside};
use super::now;
use super::object::AnnouncementId;
use super::panics::{self, Panicked};
use super::state::RunState;
use super::task_waker::{Seat, Seats};
use super::worker::RunLimits;
use super::world::World;
use crate::run::Failure;
use crate::run::board::{Announced, Status, TaskRow};
use crate::run::ids::TaskId;
use crate::run::in_flight::InFlight;

/// The maximum number of rounds at the end of a run. A round drops the tasks that the destructors
/// of the previous round spawned.
const DROP_ROUNDS_MAX: u32 = 100;

/// A run in progress.
pub(super) struct Executor<'a> {
    pub(super) world: &'a World,
    pub(super) seats: &'a mut Seats,
    pub(super) main: Pin<&'a mut dyn Body>,
    pub(super) limits: &'a RunLimits,
    pub(super) progress: &'a AtomicU32,
}

impl Executor<'_> {
    /// Takes steps until the run is over. Not inlined, so that the loop can use all registers.
    #[inline(never)]
    pub(super) fn run(&mut self) {
        let hang = self.limits.hang.map_or(u32::MAX, |(step, _)| step);
        let stop = hang.min(self.limits.steps_max);
        loop {
            if tracing::enabled!(target: "sim", tracing::Level::TRACE) {
                self.show_step();
            }
            let mut state = self.world.unsettled();
            let plain = state.leave_plain_step(stop)
                || (!state.has_work() && state.leave_waiting_step(stop));
            if !plain && state.uses_any() {
                drop(state);
                Parts::look(self.world);
                state = self.world.unsettled();
            }
            let kept = if !plain && !state.lives.dying.is_empty() {
                drop(state);
                let kept = self.bury();
                state = self.world.unsettled();
                kept
            } else {
                None
            };
            if !plain && !self.leave(&mut state, kept) {
                return;
            }
            let Some((task, turn)) = self.choose(&mut state) else { return };
            let step = state.board.step;
            let has_work = !plain && state.has_work();
            drop(state);
            self.progress.store(step, Ordering::Relaxed);
            if !has_work {
                self.poll::<false>(step, task, turn);
            } else if !self.take_step(step, task) {
                return;
            }
        }
    }

    /// Ends a step that is not plain. `kept` is the announcement of the step, if it was taken out. Returns `false` if
    /// the run is over.
    #[inline(never)]
    fn leave(&mut self, state: &mut RunState, kept: Option<Announced>) -> bool {
        if now::is_done() {
            state.take_in_done();
        }
        if !state.inbox.is_empty() {
            self.empty_inbox(state);
        }
        state.leave_step(kept);
        if state.over {
            return false;
        }
        if state.board.ready.is_empty() {
            Parts::unblock(state);
        }
        if state.board.ready.is_empty() {
            if !state.over {
                let failure = stuck(self.world, state);
                let failure = state.failure_or_panic(failure);
                state.fail(failure);
            }
            return false;
        }
        if state.board.step >= self.limits.steps_max && !self.continues(state) {
            return false;
        }
        let step = state.board.step;
        if self.limits.hang.is_some_and(|(hang, _)| hang == step) {
            state.needs_work();
        }
        true
    }

    /// Lets the strategy choose a task. Returns the task and the key of the announcement whose turn it is. Returns
    /// `None` if the strategy gives no valid answer; the run is then over.
    #[inline(always)]
    fn choose(&mut self, state: &mut RunState) -> Option<(TaskId, u32)> {
        match World::choose(state, Choice::Task) {
            Ok(answer) => {
                let task = state.board.ready[answer as usize];
                let turn = state.enter_step(task);
                Some((task, turn))
            }
            Err(failure) => {
                state.fail(*failure);
                None
            }
        }
    }

    /// Executes the step of the chosen task if the step may need more than a poll. Returns `false` if the run is over.
    #[cold]
    fn take_step(&mut self, step: u32, task: TaskId) -> bool {
        let mut state = self.world.unsettled();
        if let Some((_, seconds)) = self.limits.hang.filter(|(hang, _)| *hang == step) {
            let last = doing(&state, task);
            let place = String::new();
            state.fail(Failure::Hang { task, last, place, seconds, unseen: Vec::new() });
            return false;
        }
        let aborted = state.takes_abort();
        let branches = !state.foreign.is_empty();
        let turn = state.turn();
        let (uses_parts, fuses) = (state.uses_any(), state.fuses);
        drop(state);
        if aborted {
            self.cancel(step, task);
            return true;
        }
        if step == 0 && uses_parts {
            now::enter_step(step, task, now::NO_KEY, &self.seats.at(task).waker);
            Parts::begin_body(self.world);
        }
        // An arriving message has no seat and no branches.
        if branches && self.seats.get(task).is_some() {
            self.wake_branches(step, task);
        }
        match fuses {
            true => self.poll::<true>(step, task, turn),
            false => self.poll::<false>(step, task, turn),
        }
        now::unfuse();
        true
    }

    /// Moves the bodies of spawned tasks from the inbox to their seats.
    fn empty_inbox(&mut self, state: &mut RunState) {
        while let Some((task, body)) = state.inbox.pop() {
            self.seats.set_body(task, body);
        }
    }

    /// Polls the task of the step, with [fused](now::fuse) points if `FUSED` is true.
    #[inline(always)]
    fn poll<const FUSED: bool>(&mut self, step: u32, task: TaskId, turn: u32) {
        let Some(Seat { waker, body: Some(body), .. }) = self.seats.get(task) else {
            // The task is the body of the test, or a part of the body that is a separate task.
            if task == TaskId::MAIN || !self.arrive(step, task) {
                self.poll_main::<FUSED>(step, task, turn);
            }
            return;
        };
        now::enter_step(step, task, turn, waker);
        if FUSED {
            now::fuse();
        }
        let mut cx = Context::from_waker(waker);
        match catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(&mut cx))) {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(())) => self.end(task, false),
            Err(payload) => self.unwound(task, payload),
        }
    }

    #[inline(always)]
    fn poll_main<const FUSED: bool>(&mut self, step: u32, task: TaskId, turn: u32) {
        let waker = &self.seats.at(task).waker;
        now::enter_step(step, task, turn, waker);
        if FUSED {
            now::fuse();
        }
        let mut cx = Context::from_waker(waker);
        match catch_unwind(AssertUnwindSafe(|| self.main.as_mut().poll(&mut cx))) {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(())) => self.end(TaskId::MAIN, false),
            Err(payload) => self.panicked(task, payload),
        }
    }

    /// Drops the future of an aborted task.
    #[cold]
    fn cancel(&mut self, step: u32, task: TaskId) {
        let seat = self.seats.at(task);
        now::enter_step(step, task, now::NO_KEY, &seat.waker);
        if let Some(body) = seat.body.as_mut() {
            let body = body.as_mut();
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body.clear())) {
                return self.unwound_by_abort(task, payload);
            }
        }
        self.end(task, true);
    }

    /// Drops the futures of the tasks whose lives ended in this step. Returns the announcement of the step, because
    /// their destructors must not replace it.
    #[cold]
    fn bury(&mut self) -> Option<Announced> {
        let mut state = self.world.state();
        let (step, current) = (state.board.step, state.current());
        self.empty_inbox(&mut state);
        drop(state);
        let kept = now::announces_in(step).then(now::announced);
        now::end();
        let mut ends_itself = false;
        loop {
            let next = {
                let mut state = self.world.state();
                self.empty_inbox(&mut state);
                state.lives.dying.pop()
            };
            let Some(task) = next else { break };
            let Some(body) = self.seats.at(task).body.take() else { continue };
            let life = self.world.state().life_of(task);
            now::enter_step(step, current, now::NO_KEY, &self.seats.at(current).waker);
            let dropped = catch_unwind(AssertUnwindSafe(|| {
                self.world.in_life(life, || self.world.as_task(task, || drop(body)));
            }));
            if let Err(payload) = dropped {
                // A panic in the destructor of an ended life has no effect.
                panics::take(&*payload);
                std::mem::forget(payload);
            }
            ends_itself |= task == current;
            now::end();
        }
        if ends_itself {
            self.end(current, true);
        }
        kept.filter(|_| !ends_itself)
    }

    pub(super) fn end(&mut self, task: TaskId, cancelled: bool) {
        let world = self.world;
        let mut state = world.state();
        if state.parts.has_ends() {
            drop(state);
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| Parts::end_task(world, task))) {
                self.panicked(task, payload);
            }
            state = world.state();
        }
        let body = self.seats.take_body(task);
        let (unwanted, wakers) = state.end_task(task, body, cancelled);
        drop(state);
        if unwanted.is_none() && wakers.is_empty() {
            return;
        }
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            wakers.into_iter().for_each(Waker::wake);
            drop(unwanted);
        }));
        if let Err(payload) = dropped {
            self.panicked(task, payload);
        }
    }

    /// Records the panic of a task, unless the task was unwound because its run had failed.
    #[cold]
    pub(super) fn panicked(&mut self, task: TaskId, payload: Box<dyn Any + Send>) {
        if let Some(Panicked { message, place }) = panics::take(&*payload) {
            self.world.state().fail(Failure::Panic { task, message, place });
        }
        // A payload has a destructor, too. If it panics, its payload is forgotten: another panic may follow.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            panics::take(&*payload);
            std::mem::forget(payload);
        }
    }

    /// Wakes the branches of combinators that have their own wakers and an enabled operation.
    #[cold]
    fn wake_branches(&mut self, step: u32, task: TaskId) {
        now::enter_step(step, task, now::NO_KEY, &self.seats.at(task).waker);
        let enabled: Vec<AnnouncementId> = {
            let state = self.world.state();
            let row: &TaskRow = &state.board.tasks[task.index()];
            let can = |key| row.announced.find(key).is_some_and(|a| a.enabled);
            state.foreign_of(task).filter(|id| can(id.key())).collect()
        };
        let wakers: Vec<Waker> =
            enabled.into_iter().filter_map(|id| self.foreign_waker(id)).collect();
        let woken = catch_unwind(AssertUnwindSafe(|| wakers.into_iter().for_each(Waker::wake)));
        if let Err(payload) = woken {
            self.panicked(task, payload);
        }
        self.world.state().board.tasks.at_mut(task.index()).woken = false;
    }

    /// Returns a copy of the waker of an announcement, if the announcement has its own waker. The copy is created
    /// without a borrow of the state, because `clone` is user code.
    fn foreign_waker(&self, id: AnnouncementId) -> Option<Waker> {
        let mut state = self.world.state();
        let at = state.find_foreign(id).ok()?;
        let waker = std::mem::replace(&mut state.foreign[at].1, Waker::noop().clone());
        drop(state);
        let copy = waker.clone();
        let mut state = self.world.state();
        if let Ok(at) = state.find_foreign(id) {
            state.foreign[at].1 = waker;
        }
        Some(copy)
    }

    /// Reports the operations of the last step to the subscriber of `tracing`, if any.
    #[cold]
    fn show_step(&self) {
        let mut index = {
            let state = self.world.state();
            let step = state.board.step;
            state.board.events.iter().rposition(|e| e.step != step).map_or(0, |i| i + 1)
        };
        while let Some(event) = {
            let state = self.world.state();
            state.board.events.get(index).copied()
        } {
            tracing::trace!(
                target: "sim",
                step = event.step,
                task = event.task.0,
                object = event.object.map(|o| o.index()),
                values = ?event.values,
                place = %event.place,
                "{}",
                event.op.name,
            );
            index += 1;
        }
    }

    /// Ends the run: the strategy may report a mismatch, and then the remaining tasks are dropped inside the run.
    pub(super) fn finish(&mut self) {
        now::end();
        let mut state = self.world.unsettled();
        let strayed = self.world.signals.strayed.load(Ordering::Acquire);
        if strayed != 0 && state.failure.is_none() {
            let failure = woken_from_outside(&state, TaskId(strayed - 1));
            state.fail(failure);
        }
        if !matches!(state.failure, Some(Failure::Diverged { .. })) {
            let end = state.end_choices();
            if let (Err(mismatch), None) = (end, &state.failure) {
                state.fail(mismatch.failure());
            }
        }
        if state.failure.is_none() && state.board.ready.is_empty() {
            note_stuck(&mut state);
        }
        note_circle(&mut state);
        Parts::judge(&mut state);
        drop(state);
        self.world.unsettled().resume(TaskId::MAIN);
        let (main, world) = (self.main.as_mut(), self.world);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
            main.clear();
            Parts::end_task(world, TaskId::MAIN);
        })) {
            self.panicked(TaskId::MAIN, payload);
        }
        // A destructor may spawn more tasks.
        let mut next = 1;
        for _ in 0..DROP_ROUNDS_MAX {
            let mut state = self.world.unsettled();
            self.empty_inbox(&mut state);
            let tasks = state.board.tasks.len();
            drop(state);
            while let Some(index) = self.first_left(next..tasks) {
                self.drop_task(TaskId(index as u32));
                next = index + 1;
            }
            next = tasks;
            let state = self.world.unsettled();
            if state.inbox.is_empty() && state.board.tasks.len() == tasks {
                return;
            }
        }
        // These tasks are forgotten: a drop here would spawn again, and kept tasks would reach the next run.
        let mut state = self.world.unsettled();
        let left = std::mem::take(&mut state.inbox);
        let place = state.board.tasks.last().map_or(String::new(), |row| row.place.to_string());
        let message = "a destructor spawns a task that spawns again when it is dropped, without \
                       end: end the tasks before the test body ends"
            .to_owned();
        state.fail(Failure::Misuse { message, place });
        state.slots.iter_mut().for_each(|slot| std::mem::forget(slot.in_flight.take()));
        std::mem::forget(left);
    }

    /// Returns the first of these tasks that may have left something to drop.
    fn first_left(&mut self, mut tasks: Range<usize>) -> Option<usize> {
        let state = self.world.unsettled();
        let has_ends = state.parts.has_ends();
        tasks.find(|index| {
            let slot = state.slots.at(*index);
            let mut has_body =
                || self.seats.get(TaskId(*index as u32)).is_some_and(|seat| seat.body.is_some());
            has_ends || slot.ended.is_some() || slot.in_flight.is_some() || has_body()
        })
    }

    /// Drops the future of a task that has not ended, or the result of a task that was not joined.
    #[inline]
    fn drop_task(&mut self, task: TaskId) {
        let mut state = self.world.unsettled();
        let has_ends = state.parts.has_ends();
        let slot = state.slots.at_mut(task.index());
        let (mut ended, body) = (slot.ended.take(), self.seats.take_body(task));
        let in_flight = slot.in_flight.take();
        if ended.is_none() && body.is_none() && in_flight.is_none() && !has_ends {
            return;
        }
        if body.is_some() || in_flight.is_some() || has_ends {
            state.resume(task);
        }
        drop(state);
        let (mut left, world) = (body, self.world);
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            drop(left.take());
            in_flight.into_iter().for_each(InFlight::lose);
            Parts::end_task(world, task);
            world.as_task(task, || drop(ended.take()));
        }));
        if let Err(payload) = dropped {
            self.panicked(task, payload);
        }
    }
}

/// Records a cycle of tasks that wait for each other while other tasks can step.
fn note_circle(state: &mut RunState) {
    let blocked = state.board.tasks.iter().filter(|row| row.status == Status::Blocked).count();
    if blocked >= 2 && !matches!(state.failure, Some(Failure::Deadlock { .. })) {
        state.record.circle = circle(state);
    }
}

/// Records the detached tasks that still wait when no task can step.
fn note_stuck(state: &mut RunState) {
    // If a handle was dropped together with the body, it counts as kept: its task is leaked, not stuck.
    let last = state.board.step.saturating_sub(1);
    for index in 1..state.board.tasks.len() {
        let task = TaskId(index as u32);
        let waits = state.board.tasks[index].status == Status::Blocked;
        if waits
            && !state.slots[index].is_of_run
            && state.slots[index].detached.is_some_and(|step| step < last || step == 0)
        {
            // Such a task may wait for a task that has stalled.
            if state.has_stalled() {
                return;
            }
            let waiting = waiting(state, task);
            state.record.stuck.push((task, waiting));
        }
    }
}

impl RunState {
    /// Returns `true` if a task has stalled permanently.
    pub(super) fn has_stalled(&self) -> bool {
        self.board.tasks.iter().any(|row| row.held & TaskRow::STALLED != 0)
    }

    /// Makes `task` the current task while its future is dropped after the end of the run.
    fn resume(&mut self, task: TaskId) {
        self.board.current = task;
        self.slots.at_mut(task.index()).left_over = true;
    }
}
