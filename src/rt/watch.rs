//! Tasks that wait until something changes.
//!
//! A condition that is asked over and over, and was false, is false for as long as nothing that it
//! looked at has changed. So it is asked again at once, up to its first point, and the operation
//! that it announces there is held: the task is no candidate until an operation of somebody else
//! has changed one of those objects. (The assume/await transformation of model checkers; Kokologiannakis,
//! Ren, Vafeiadis: Dynamic Partial Order Reductions for Spinloops, FMCAD 2021.) To be let go on and to
//! look again is one step, and a run in which nobody changes anything is a deadlock.
//!
//! That holds for conditions that only look. One that did more when it was last asked, or looked at
//! what the run does not see, is not held.

use std::task::Waker;

use super::now;
use super::object::Waiter;
use super::state::State;
use super::world::{WORLD, World};
use crate::run::board::Watch;
use crate::run::event::Event;
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Access;

/// What a condition looks at while it is asked.
#[derive(Debug)]
pub(crate) struct Look {
    objects: Vec<ObjectId>,
    /// The steps in which one of these was changed since it was looked at.
    changes: Vec<u32>,
    /// Whether it did anything else.
    more: bool,
    /// How much had happened in the run when it was last polled: operations, values drawn, effects
    /// on other tasks.
    events: usize,
    draws: usize,
    contacts: usize,
    /// The number of the next announcement, and whether there was one that the world has not seen.
    announcements: (u32, bool),
}

impl Look {
    /// Whether it looked at something and did nothing else.
    pub(crate) fn is_all(&self) -> bool {
        !self.more && !self.objects.is_empty()
    }
}

/// An announcement that is held until something changes. Let go when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    run: u64,
    /// The step in which it was announced.
    step: u32,
    waiter: Waiter,
}

impl World {
    /// A condition is about to be asked.
    pub(crate) fn look(&self) -> Look {
        let events = self.state().board.events.len();
        let (objects, changes) = (Vec::new(), Vec::new());
        let (more, draws, contacts, announcements) = (false, 0, 0, (0, false));
        Look { objects, changes, more, events, draws, contacts, announcements }
    }

    /// The condition is about to be polled.
    pub(crate) fn before_look(&self, look: &mut Look) {
        let state = self.state();
        for event in &state.board.events[look.events..] {
            note(event, &look.objects, &mut look.changes);
        }
        look.events = state.board.events.len();
        look.draws = state.record.draws.len();
        look.contacts = state.board.contacts.len();
        look.announcements = (state.announcements(), now::has_announced());
    }

    /// The condition was polled: what happened meanwhile is its doing.
    pub(crate) fn after_look(&self, look: &mut Look) {
        let state = self.state();
        for event in &state.board.events[look.events..] {
            match event.object {
                Some(object) if event.is_look() => {
                    if !look.objects.contains(&object) {
                        look.objects.push(object);
                    }
                }
                _ => look.more = true,
            }
        }
        look.events = state.board.events.len();
        look.more |= look.draws < state.record.draws.len();
        look.more |= look.contacts < state.board.contacts.len();
    }

    /// The current task began to ask a condition again, which is `look`, and announced its first
    /// operation: that is held until something changes that the condition looked at `before`. None if
    /// there is no such operation, or it waits for something itself.
    pub(crate) fn hold(&self, look: &Look, before: Look, place: Place) -> Option<Held> {
        let mut state = self.state();
        let task = state.current();
        let (next, unseen) = look.announcements;
        let announced = match (state.announcements() - next, now::unseen()) {
            (0, Some(announced)) if !unseen => announced,
            (1, seen) if seen.is_some() == unseen => {
                *state.board.tasks[task.index()].announced.iter().find(|a| a.key == next)?
            }
            _ => return None,
        };
        let waits = matches!(announced.op.access, Access::Lock | Access::Join | Access::Yield);
        if waits || announced.object.is_none() {
            return None;
        }
        let Look { objects, changes, .. } = before;
        let (key, seen) = (announced.key, state.board.events.len());
        state.board.watches.push(Watch { task, key, place, objects, changes, seen });
        state.attention = true;
        Some(Held { run: state.run, step: state.board.step, waiter: Waiter::new(task, key) })
    }

    /// Whether the current task has to go on waiting; if not, it is let go. `waker` wakes whoever waits.
    pub(crate) fn keeps_waiting(&self, held: &Held, waker: &Waker) -> bool {
        let state = self.state();
        let (task, key) = (held.waiter.task(), held.waiter.key());
        // Polled by another task, it is asked anew.
        if held.run != state.run || !now::is_current(task) {
            return false;
        }
        let row = &state.board.tasks[task.index()];
        let held_back = row.announced.iter().any(|a| a.key == key && !a.enabled && !a.passed_over);
        let waits = held_back || held.step == state.board.step;
        drop(state);
        if waits {
            self.look_at_waker(held.waiter, waker);
        }
        waits
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if now::run() != self.run {
            return;
        }
        let (task, key) = (self.waiter.task(), self.waiter.key());
        WORLD.with(|world| {
            world.state().board.watches.retain(|watch| (watch.task, watch.key) != (task, key));
        });
    }
}

impl State {
    /// A step is over: lets those go on who wait for something that it changed, and has those wait who
    /// began to in it.
    #[cold]
    pub(super) fn look_at_watches(&mut self) {
        let mut watches = std::mem::take(&mut self.board.watches);
        for watch in &mut watches {
            for event in &self.board.events[watch.seen..] {
                note(event, &watch.objects, &mut watch.changes);
            }
            watch.seen = self.board.events.len();
            let waiter = Waiter::new(watch.task, watch.key);
            self.set_enabled(waiter, !watch.changes.is_empty());
        }
        self.board.watches = watches;
    }
}

/// Notes the step of an event if it changed one of the objects.
fn note(event: &Event, objects: &[ObjectId], changes: &mut Vec<u32>) {
    let of_these = event.object.is_some_and(|object| objects.contains(&object));
    // Written, with another value as far as that is known, or given up.
    let changed = match event.op.access {
        Access::Write | Access::Unlock => true,
        Access::ReadModifyWrite => !event.is_look(),
        _ => false,
    };
    if of_these && changed && changes.last() != Some(&event.step) {
        changes.push(event.step);
    }
}
