//! A task from the viewpoint of other tasks: aborted, woken, observed, joined.

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

/// The task took a step, regardless of its operation. This operation is a part of every step of the task, and is
/// pending until the task ends.
pub const LIVE: Kind =
    Kind::of(LIVES).conflicts_with(ABORTS | WAKES | DISARMS | STALLS | COUNTS | RESUMES | PACES);

/// The task ended.
pub const END: Kind =
    Kind::of(ENDS).conflicts_with(LOOKS | JOINS | ABORTS | STALLS | KILLS | RESUMES).enables(JOINS);

/// Another task checked if this task had ended, and acted on the result.
pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(ENDS | KILLS);

/// Another task took the result of this task. Guard: this task has ended.
pub const JOIN: Kind = Kind::of(JOINS).conflicts_with(ENDS | KILLS);

/// Another task aborted this task before its next step. The task can then step even if it was blocked, and its pending
/// operation does not take effect.
pub const ABORT: Kind =
    Kind::of(ABORTS).conflicts_with(LIVES | ENDS | KILLS).enables(LIVES).disables(LIVES).fault();

/// Another task woke this task through something outside this library.
pub const WAKE: Kind = Kind::of(WAKES).conflicts_with(LIVES | KILLS).enables(LIVES);

/// Another task moved or dropped a future that had announced an operation of this task.
pub const DISARM: Kind = Kind::of(DISARMS).conflicts_with(LIVES | KILLS).disables(LIVES);

/// The task stalled: it takes no further steps.
pub const STALL: Kind =
    Kind::of(STALLS).conflicts_with(LIVES | ENDS | KILLS | RESUMES).disables(LIVES).fault();

/// The task continues after a stall.
pub const RESUME: Kind =
    Kind::of(RESUMES).conflicts_with(LIVES | ENDS | KILLS | STALLS).enables(LIVES);

/// Another task ended the group of this task, and so ended this task in any state. Some steps of the task must not be
/// swapped with this operation, because their effects outlive the group. These steps declare the conflict themselves.
/// All other steps are as if they had not been taken.
pub const KILL: Kind = Kind::of(KILLS)
    .conflicts_with(
        ENDS | LOOKS | JOINS | ABORTS | WAKES | DISARMS | STALLS | COUNTS | RESUMES | PACES,
    )
    .enables(JOINS)
    .disables(LIVES)
    .fault();

/// Another task read the list of tasks that this task had spawned, and acted on it.
pub const COUNT: Kind = Kind::of(COUNTS).conflicts_with(LIVES | KILLS);

/// Another task changed the duration of this task's steps.
pub const PACE: Kind = Kind::of(PACES).conflicts_with(LIVES | KILLS);

/// A call of a waker for a task that was not yet woken.
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
