//! The clock of a run: the time, which timers wait for.
//!
//! The move of the time to the next deadline when no task can step is not an operation. It comes after all steps before
//! it and before all steps after it, so no search reverses it.

use super::kind::{Bits, Kind};

const READS: Bits = 1 << 0;
const DUES: Bits = 1 << 1;
const ADVANCES: Bits = 1 << 2;
const RESETS: Bits = 1 << 3;

/// Read the time, or set a timer relative to it.
pub(crate) const READ: Kind = Kind::of(READS).conflicts_with(ADVANCES);

/// Went on after a timer. Guard: the time has reached its deadline.
pub(crate) const DUE: Kind = Kind::of(DUES).conflicts_with(ADVANCES | RESETS);

/// Moved the time on.
pub(crate) const ADVANCE: Kind =
    Kind::of(ADVANCES).conflicts_with(READS | DUES | ADVANCES).enables(DUES);

/// Changed the deadline of another task's timer.
pub(crate) const RESET: Kind =
    Kind::of(RESETS).conflicts_with(DUES | RESETS).enables(DUES).disables(DUES);

#[cfg(test)]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "clock",
    kinds: &[("read", READ), ("due", DUE), ("advance", ADVANCE), ("reset", RESET)],
};
