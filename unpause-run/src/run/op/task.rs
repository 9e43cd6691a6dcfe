//! A task, as others see it: aborted, woken, looked at, joined.

use super::kind::{Bits, Kind};
use super::{Access, Op};

const LIVES: Bits = 1 << 0;
const ENDS: Bits = 1 << 1;
const LOOKS: Bits = 1 << 2;
const JOINS: Bits = 1 << 3;
const ABORTS: Bits = 1 << 4;
const WAKES: Bits = 1 << 5;
const DISARMS: Bits = 1 << 6;
const STALLS: Bits = 1 << 7;
const COUNTS: Bits = 1 << 8;
const KILLS: Bits = 1 << 9;
const RESUMES: Bits = 1 << 10;
const PACES: Bits = 1 << 11;

/// The task took a step, whatever it did. In every step of it; asked for as long as it has not ended.
pub const LIVE: Kind =
    Kind::of(LIVES).conflicts_with(ABORTS | WAKES | DISARMS | STALLS | COUNTS | RESUMES | PACES);

/// The task ended.
pub const END: Kind =
    Kind::of(ENDS).conflicts_with(LOOKS | JOINS | ABORTS | STALLS | KILLS | RESUMES).enables(JOINS);

/// Another task acted on whether it had ended.
pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(ENDS | KILLS);

/// Another task took its result. Guard: it has ended.
pub const JOIN: Kind = Kind::of(JOINS).conflicts_with(ENDS | KILLS);

/// Another task aborted it before its next step. It can step then, whatever it waits for, and what it waits for is
/// not done.
pub const ABORT: Kind =
    Kind::of(ABORTS).conflicts_with(LIVES | ENDS | KILLS).enables(LIVES).disables(LIVES).fault();

/// Another task woke it by something that is not of this library.
pub const WAKE: Kind = Kind::of(WAKES).conflicts_with(LIVES | KILLS).enables(LIVES);

/// Another task moved or dropped a future that had announced an operation of it.
pub const DISARM: Kind = Kind::of(DISARMS).conflicts_with(LIVES | KILLS).disables(LIVES);

/// It takes no step any more.
pub const STALL: Kind =
    Kind::of(STALLS).conflicts_with(LIVES | ENDS | KILLS | RESUMES).disables(LIVES).fault();

/// It continues after it took no steps.
pub const RESUME: Kind =
    Kind::of(RESUMES).conflicts_with(LIVES | ENDS | KILLS | STALLS).enables(LIVES);

/// It ended because another task ended its group, whatever it did. The steps of the task that may
/// not be swapped with this say so themselves: their effects outlive the group. Other steps are as
/// if they had not been taken.
pub const KILL: Kind = Kind::of(KILLS)
    .conflicts_with(
        ENDS | LOOKS | JOINS | ABORTS | WAKES | DISARMS | STALLS | COUNTS | RESUMES | PACES,
    )
    .enables(JOINS)
    .disables(LIVES)
    .fault();

/// Another task acted on which tasks it had spawned.
pub const COUNT: Kind = Kind::of(COUNTS).conflicts_with(LIVES | KILLS);

/// Another task changed the time that its steps take.
pub const PACE: Kind = Kind::of(PACES).conflicts_with(LIVES | KILLS);

/// The call of a waker of a task that was not woken yet.
pub const WAKE_BY_WAKER: Op = Op::new("wake", Access::Tell);

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "task",
    kinds: &[
        ("live", LIVE),
        ("end", END),
        ("look", LOOK),
        ("join", JOIN),
        ("abort", ABORT),
        ("wake", WAKE),
        ("disarm", DISARM),
        ("stall", STALL),
        ("count", COUNT),
        ("resume", RESUME),
        ("kill", KILL),
        ("pace", PACE),
    ],
};
