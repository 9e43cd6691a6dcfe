//! Groups of tasks that end together, and values that a run stores.

use std::sync::Arc;

use super::node_clock::NodeClock;
use super::{Here, in_run};
use crate::real::groups;
use crate::rt::{self, WORLD};
use crate::run::board::Life;

/// A group of tasks; see [`node`](mod@crate::node).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Group {
    Run(Life),
    Real(u32),
}

impl Group {
    /// Begins a group with this name. The tasks of the group use this clock.
    pub(crate) fn begin(name: Arc<str>, clock: &NodeClock) -> Group {
        match clock.number() {
            Some(clock) => Group::Run(WORLD.with(|world| world.begin_life(name, clock))),
            None => Group::Real(groups::begin()),
        }
    }

    /// Returns the group of the current run. `None` for a group outside of runs.
    pub(super) fn in_run(self) -> Option<Life> {
        match self {
            Group::Run(group) if in_run() => Some(group),
            _ => None,
        }
    }

    /// Returns the group of tasks that are in no other group.
    pub(crate) fn outside() -> Group {
        if in_run() { Group::Run(Life::OUTSIDE) } else { Group::Real(groups::OUTSIDE) }
    }

    /// Returns the group of the running code.
    pub(crate) fn current() -> Group {
        match in_run() {
            true => Group::Run(WORLD.with(rt::World::life)),
            false => Group::Real(groups::current()),
        }
    }

    /// Calls `act` as code of the group.
    pub(crate) fn enter<R>(self, act: impl FnOnce() -> R) -> R {
        match self {
            Group::Run(group) if in_run() => WORLD.with(|world| world.in_life(group, act)),
            Group::Run(_) => act(),
            Group::Real(group) => groups::within(group, act),
        }
    }

    /// Returns `true` if the group is not over.
    pub(crate) fn lives(self) -> bool {
        match self {
            Group::Run(group) => in_run() && WORLD.with(|world| world.lives(group)),
            Group::Real(group) => groups::lives(group),
        }
    }

    /// Ends the group and its tasks. Returns the number of these tasks.
    pub(crate) fn end(self, here: Here) -> u32 {
        match self {
            Group::Run(group) if in_run() => WORLD.with(|world| world.end_life(group, here)),
            Group::Run(_) => 0,
            Group::Real(group) => {
                groups::end(group);
                0
            }
        }
    }

    /// Pauses the tasks of the group, or resumes them, and returns their number. Outside of runs,
    /// does nothing.
    pub(crate) fn set_paused(self, is_paused: bool, here: Here) -> u32 {
        match self {
            Group::Run(group) if in_run() => {
                WORLD.with(|world| world.set_paused(group, is_paused, here))
            }
            _ => 0,
        }
    }

    /// Makes each step of its tasks take `rest` nanoseconds. Outside of runs, does nothing.
    pub(crate) fn set_pace(self, rest: u64, here: Here) {
        if let Some(group) = self.in_run() {
            WORLD.with(|world| world.set_pace(group, rest, here));
        }
    }

    /// Returns `true` if each step of its tasks takes time. Outside of runs, returns `false`.
    pub(crate) fn is_slow(self) -> bool {
        self.in_run().is_some_and(|group| WORLD.with(|world| world.is_slow(group)))
    }

    /// Records a change. All steps of the group's tasks depend on it.
    pub(crate) fn touch(self, here: Here) {
        if let Some(group) = self.in_run() {
            WORLD.with(|world| world.touch_life(group, here));
        }
    }

    /// Lets several groups use the same objects.
    pub(crate) fn share_objects(here: Here) {
        if in_run() {
            WORLD.with(|world| world.share_between_lives(here));
        }
    }
}

/// Returns the run's value of this type, created on first use. Outside of runs, returns a value of
/// the process.
pub(crate) fn kept<T: Default + Send + Sync + 'static>() -> Arc<T> {
    if in_run() { WORLD.with(rt::World::kept) } else { crate::real::kept::of_process() }
}
