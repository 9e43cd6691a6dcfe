//! Node clocks: in this build, each node clock is the system clock, which counts as true.

use super::{Group, Here};
use crate::run::node_clock::{ClockChange, ClockMet, ClockState};
use crate::run::op::Op;

/// The clock of a node.
#[derive(Debug)]
pub(crate) struct NodeClock;

impl NodeClock {
    pub(crate) fn new(_: &str, _: Here) -> NodeClock {
        NodeClock
    }

    /// Does nothing.
    pub(crate) fn change(&self, _: ClockChange, _: &'static Op, _: &str, _: Here) {}

    pub(crate) fn state(&self, _: Here) -> ClockState {
        ClockState::default()
    }

    pub(crate) fn is_wrong(&self, _: Here) -> bool {
        false
    }

    pub(crate) fn has_late_timers(&self) -> bool {
        false
    }

    pub(crate) fn met(&self) -> ClockMet {
        ClockMet::default()
    }

    /// Does nothing.
    pub(crate) fn set_late_timers(&self, _: u8, _: Option<Group>, _: Here) {}
}
