//! The clock of a run: the time that timers wait for.
//!
//! The time moves to the next deadline when no task can step. This move is not an operation. The move is ordered after
//! all earlier steps and before all later steps, so no search reverses it.

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

/// The task read the time, or set a timer relative to it.
pub const READ: Kind = Kind::of(READS).conflicts_with(ADVANCES | MOVES).looks();

/// The task continued after a timer. Guard: the time has reached the timer's deadline.
pub const DUE: Kind = Kind::of(DUES).conflicts_with(ADVANCES | RESETS | MOVES).looks();

/// Advanced the time.
pub const ADVANCE: Kind = Kind::of(ADVANCES)
    .conflicts_with(READS | DUES | ADVANCES | SETS | MOVES | ADJUSTS)
    .enables(DUES)
    .disables(MOVES);

/// The task changed the deadline of another task's timer.
pub const RESET: Kind = Kind::of(RESETS)
    .conflicts_with(DUES | RESETS | MOVES)
    .enables(DUES | MOVES)
    .disables(DUES | MOVES);

/// The task began to wait for a future deadline. The operation is recorded only if the time may move at any moment.
pub const SET: Kind = Kind::of(SETS).conflicts_with(ADVANCES | MOVES).enables(MOVES).looks();

/// The task stopped waiting for a deadline. The operation is recorded only if the time may move at any moment.
pub const UNSET: Kind = Kind::of(UNSETS).conflicts_with(MOVES).disables(MOVES).looks();

/// Moved the time to the next deadline, although tasks can step. Guard: there is a future deadline.
pub const MOVE: Kind = Kind::of(MOVES)
    .conflicts_with(READS | DUES | ADVANCES | RESETS | SETS | UNSETS | MOVES | ADJUSTS)
    .enables(DUES)
    .disables(MOVES);

/// The task changed the rate of a node's clock, which continues from its current time. The change affects the moments
/// of future deadlines, but makes no timer due now. Another object orders the changes of one clock.
pub const ADJUST: Kind = Kind::of(ADJUSTS).conflicts_with(ADVANCES | MOVES);

/// Observed that the time has moved because no task could step. Guard: the time has moved. The move is a barrier and
/// not an operation, so this operation has no relation to other operations.
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
