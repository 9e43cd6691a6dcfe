//! Chains of locks. A chain is a task that waits for a lock while it holds another lock. Without chains, tasks cannot
//! deadlock in a circle of locks.
//!
//! In a circle, each task holds one lock and waits for the next lock. A run that looks for circles therefore holds each
//! task before it acquires a second lock, until no other task can continue. Such runs quickly find a circle of any
//! length. Random orders at each lock find a circle of n tasks in only one run of about 2^n. DeadlockFuzzer pauses
//! threads in this way at the places of one precomputed circle (Joshi, Park, Sen, Naik, *A Randomized Dynamic Program
//! Analysis Technique for Detecting Real Deadlocks*, PLDI 2009). This module precomputes no circle, so the rehearsals
//! need not contain it.

use crate::run::choice::View;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::Access;

/// The holders of locks in this run, and the existence of chains in the rehearsals. For a shared lock, only the last
/// task to acquire it counts as the holder.
#[derive(Debug, Default)]
pub(super) struct Chains {
    are_there: bool,
    /// For each object, the task that holds it.
    holders: Vec<Option<TaskId>>,
    /// For each task, the number of locks that it holds.
    held: Vec<u32>,
    /// The number of events of this run that were read so far.
    seen: usize,
}

impl Chains {
    /// Begins a run.
    pub(super) fn restart(&mut self) {
        self.holders.clear();
        self.held.clear();
        self.seen = 0;
    }

    /// Returns `true` if a task of the rehearsals acquired a lock while it held another lock.
    pub(super) fn are_there(&self) -> bool {
        self.are_there
    }

    /// Reads the new events. Must be called at the end of a rehearsal, and before each choice of
    /// a run that looks for circles.
    pub(super) fn watch(&mut self, view: &View<'_>) {
        let events = view.events();
        for event in &events[self.seen..] {
            self.read_event(event);
        }
        self.seen = events.len();
    }

    fn read_event(&mut self, event: &Event) {
        let Some(object) = event.object else { return };
        match event.op.access {
            Access::Lock | Access::LockShared => self.take(event.task, object),
            Access::TryLock if event.values != Values::Failed => self.take(event.task, object),
            // The task that unlocks need not be the holder.
            Access::Unlock | Access::UnlockShared => self.give_up(object),
            _ => {}
        }
    }

    fn take(&mut self, task: TaskId, object: ObjectId) {
        self.are_there |= self.holds_any(task);
        self.held.resize(self.held.len().max(task.index() + 1), 0);
        self.held[task.index()] += 1;
        self.holders.resize(self.holders.len().max(object.index() + 1), None);
        if let Some(before) = self.holders[object.index()].replace(task) {
            self.held[before.index()] -= 1;
        }
    }

    fn give_up(&mut self, object: ObjectId) {
        let holder = self.holders.get_mut(object.index()).and_then(Option::take);
        if let Some(holder) = holder {
            self.held[holder.index()] -= 1;
        }
    }

    fn holds_any(&self, task: TaskId) -> bool {
        self.held.get(task.index()).is_some_and(|count| *count > 0)
    }

    /// Returns `true` if the task waits for a lock while it holds another lock.
    pub(super) fn extends_chain(&self, view: &View<'_>, task: TaskId) -> bool {
        let announced = &view.task(task).announced;
        self.holds_any(task) && announced.any(|one| one.op.access.waits())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::run::op::Op;

    const LOCK: Op = Op::new("lock", Access::Lock);
    const TRY_LOCK: Op = Op::new("try_lock", Access::TryLock);
    const UNLOCK: Op = Op::new("unlock", Access::Unlock);

    /// Returns `true` if there are chains after these events, given as (task, operation, object, success).
    fn chains(acts: &[(u32, &'static Op, u32, bool)]) -> bool {
        let mut chains = Chains::default();
        for (task, op, object, succeeds) in acts {
            chains.read_event(&Event {
                step: 0,
                task: TaskId(*task),
                object: Some(ObjectId::new(*object)),
                op,
                place: Location::caller(),
                values: if *succeeds { Values::None } else { Values::Failed },
            });
        }
        chains.are_there()
    }

    #[test]
    fn a_chain_is_a_lock_taken_while_another_is_held() {
        assert!(chains(&[(0, &LOCK, 0, true), (0, &LOCK, 1, true)]));
        assert!(chains(&[(0, &TRY_LOCK, 0, true), (0, &LOCK, 1, true)]));
        assert!(!chains(&[(0, &LOCK, 0, true), (1, &LOCK, 1, true)]));
        assert!(!chains(&[(0, &TRY_LOCK, 0, false), (0, &LOCK, 1, true)]));
        assert!(!chains(&[(0, &LOCK, 0, true), (0, &UNLOCK, 0, true), (0, &LOCK, 1, true)]));
    }

    #[test]
    fn a_lock_can_be_given_up_by_another_task() {
        let given = [(0, &LOCK, 0, true), (1, &UNLOCK, 0, true), (0, &LOCK, 1, true)];
        assert!(!chains(&given));
        assert!(chains(&[given[0], given[1], (1, &LOCK, 2, true), (1, &LOCK, 1, true)]));
    }
}
