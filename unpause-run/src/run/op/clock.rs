//! The clock of a run: the time, which timers wait for.
//!
//! The time moves to the next deadline when no task can step. That move is not an operation. It comes after all steps
//! before it and before all steps after it, so no search reverses it.

use super::kind::{Bits, Kind};

const READS: Bits = 1 << 0;
const DUES: Bits = 1 << 1;
const ADVANCES: Bits = 1 << 2;
const RESETS: Bits = 1 << 3;
const SETS: Bits = 1 << 4;
const UNSETS: Bits = 1 << 5;
const MOVES: Bits = 1 << 6;
const RESTS: Bits = 1 << 7;
const ADJUSTS: Bits = 1 << 8;

/// Read the time, or set a timer relative to it.
pub const READ: Kind = Kind::of(READS).conflicts_with(ADVANCES | MOVES).looks();

/// Continued after a timer. Guard: the time has reached its deadline.
pub const DUE: Kind = Kind::of(DUES).conflicts_with(ADVANCES | RESETS | MOVES).looks();

/// Moved the time on.
pub const ADVANCE: Kind = Kind::of(ADVANCES)
    .conflicts_with(READS | DUES | ADVANCES | SETS | MOVES | ADJUSTS)
    .enables(DUES)
    .disables(MOVES);

/// Changed the deadline of another task's timer.
pub const RESET: Kind = Kind::of(RESETS)
    .conflicts_with(DUES | RESETS | MOVES)
    .enables(DUES | MOVES)
    .disables(DUES | MOVES);

/// Began to wait for a deadline to come. Recorded if the time may move at any moment.
pub const SET: Kind = Kind::of(SETS).conflicts_with(ADVANCES | MOVES).enables(MOVES).looks();

/// Gave up such a wait. Recorded if the time may move at any moment.
pub const UNSET: Kind = Kind::of(UNSETS).conflicts_with(MOVES).disables(MOVES).looks();

/// Moved the time to the next deadline, although tasks can step. Guard: there is a deadline to come.
pub const MOVE: Kind = Kind::of(MOVES)
    .conflicts_with(READS | DUES | ADVANCES | RESETS | SETS | UNSETS | MOVES | ADJUSTS)
    .enables(DUES)
    .disables(MOVES);

/// Changed the rate of a node's clock, which continues from its time. So timers are due at other
/// times to come, and none at the present one. Changes of one clock have another object that orders
/// them.
pub const ADJUST: Kind = Kind::of(ADJUSTS).conflicts_with(ADVANCES | MOVES);

/// Found that the time has moved because no task could step. Guard: it has. That move is a barrier and no operation, so
/// this one has no relation.
pub const REST: Kind = Kind::of(RESTS).looks();

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "clock",
    kinds: &[
        ("read", READ),
        ("due", DUE),
        ("advance", ADVANCE),
        ("reset", RESET),
        ("set", SET),
        ("unset", UNSET),
        ("move", MOVE),
        ("rest", REST),
        ("adjust", ADJUST),
    ],
};
