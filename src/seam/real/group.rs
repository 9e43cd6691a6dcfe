//! Groups of tasks that end together, and values that the process stores.

use std::sync::Arc;

use super::{Here, NodeClock};
use crate::real::groups;

/// A group of tasks; see [`node`](mod@crate::node).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Group(u32);

impl Group {
    /// Begins a group with this name.
    pub(crate) fn begin(_: Arc<str>, _: &NodeClock) -> Group {
        Group(groups::begin())
    }

    /// Returns the group of tasks that are in no other group.
    pub(crate) fn outside() -> Group {
        Group(groups::OUTSIDE)
    }

    /// Returns the group of the running code.
    pub(crate) fn current() -> Group {
        Group(groups::current())
    }

    /// Calls `act` as code of the group.
    pub(crate) fn enter<R>(self, act: impl FnOnce() -> R) -> R {
        groups::within(self.0, act)
    }

    /// Returns `true` if the group is not over.
    pub(crate) fn lives(self) -> bool {
        groups::lives(self.0)
    }

    /// Ends the group and its tasks. Returns 0, because the tasks are not counted.
    pub(crate) fn end(self, _: Here) -> u32 {
        groups::end(self.0);
        0
    }

    /// Does nothing: real tasks cannot be paused.
    pub(crate) fn set_paused(self, _: bool, _: Here) -> u32 {
        0
    }

    /// Does nothing: real tasks run at the speed of the system.
    pub(crate) fn set_pace(self, _: u64, _: Here) {}

    /// Returns `false`: real tasks run at the speed of the system.
    pub(crate) fn is_slow(self) -> bool {
        false
    }

    /// Does nothing, because no search sees real steps.
    pub(crate) fn touch(self, _: Here) {}

    /// Does nothing: real memory is shared.
    pub(crate) fn share_objects(_: Here) {}
}

/// Returns the value of this type that the process stores. The first call creates it.
pub(crate) fn kept<T: Default + Send + Sync + 'static>() -> Arc<T> {
    crate::real::kept::of_process()
}
