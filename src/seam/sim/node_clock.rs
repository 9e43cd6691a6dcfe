//! Node clocks; see [`node`](mod@crate::node). Outside of runs, the system clock is the only clock, and counts as true.

use super::group::Group;
use super::wrapped::Wrapped;
use super::{Here, in_run};
use crate::rt::WORLD;
use crate::run::node_clock::{ClockChange, ClockMet, ClockState};
use crate::run::op::Op;

/// The clock of a node.
#[derive(Debug)]
pub(crate) struct NodeClock {
    /// The number of the clock in the run; `None` outside of runs.
    number: Option<u32>,
}

impl NodeClock {
    /// Returns a clock with this name that is initially true.
    pub(crate) fn new(name: &'static str, here: Here) -> NodeClock {
        let number = in_run().then(|| {
            let mark = Wrapped::outside_known("clock", name, None, here).id(here);
            WORLD.with(|world| world.add_clock(mark))
        });
        NodeClock { number }
    }

    /// Returns the number of the clock in the run.
    pub(super) fn number(&self) -> Option<u32> {
        self.number.filter(|_| in_run())
    }

    /// Changes the clock. Reports name the operation `op`, and the clock `text`. Outside of runs, does nothing.
    pub(crate) fn change(&self, change: ClockChange, op: &'static Op, text: &str, here: Here) {
        let Some(number) = self.number() else { return };
        Wrapped::outside_named("clocks", text, here).last(op, here);
        WORLD.with(|world| world.change_clock(number, change, here));
    }

    pub(crate) fn state(&self, here: Here) -> ClockState {
        let read = |number| WORLD.with(|world| world.clock_state(number, here));
        self.number().map_or_else(ClockState::default, read)
    }

    /// Returns `true` if the clock has an offset or a drift. Outside of runs, returns `false`.
    pub(crate) fn is_wrong(&self, here: Here) -> bool {
        let is_wrong = |number| WORLD.with(|world| world.is_clock_wrong(number, here));
        self.number().is_some_and(is_wrong)
    }

    /// Returns `true` if timers of its node may be late. Outside of runs, returns `false`.
    pub(crate) fn has_late_timers(&self) -> bool {
        self.number().is_some_and(|number| WORLD.with(|world| world.has_late_timers(number)))
    }

    /// Returns the events so far that observed a deviation of the clock.
    pub(crate) fn met(&self) -> ClockMet {
        let met = |number| WORLD.with(|world| world.clock_met(number));
        self.number().map_or_else(ClockMet::default, met)
    }

    /// Lets `late` timers of each task of its node fire late. The tasks are in `group`.
    pub(crate) fn set_late_timers(&self, late: u8, group: Option<Group>, here: Here) {
        let Some(number) = self.number() else { return };
        let group = group.and_then(Group::in_run);
        WORLD.with(|world| world.set_late_timers(number, late, group, here));
    }
}
