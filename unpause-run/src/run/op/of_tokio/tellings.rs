//! Notifications: tasks wait to be notified, one at a time or all at once. If no task waits, a
//! notification for one task is stored. At most one notification is stored.

#[cfg(any(test, feature = "planted"))]
use crate::run::op::kind::Machine;
use crate::run::op::kind::{Bits, Kind};

const CREATES: Bits = 1 << 0;
const REGISTERS: Bits = 1 << 1;
const TAKES: Bits = 1 << 2;
const HEARS: Bits = 1 << 3;
const TELLS_ONE: Bits = 1 << 4;
const TELLS_LAST: Bits = 1 << 5;
const TELLS_ALL: Bits = 1 << 6;
const LEAVES: Bits = 1 << 7;

const TELLS: Bits = TELLS_ONE | TELLS_LAST | TELLS_ALL | LEAVES;

/// The task read how many times all tasks had been notified, for a later comparison.
pub const CREATE: Kind = Kind::of(CREATES).conflicts_with(TELLS_ALL).looks();

/// The task joined the queue of the waiting tasks.
pub const REGISTER: Kind = Kind::of(REGISTERS).conflicts_with(REGISTERS | TAKES | TELLS);

/// The task took a stored notification, or found that all tasks had been notified.
pub const TAKE: Kind = Kind::of(TAKES).conflicts_with(REGISTERS | TAKES | TELLS);

/// The task continued. Guard: the task was notified.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(TELLS);

/// The task notified the first waiting task, or stored the notification.
pub const TELL_ONE: Kind =
    Kind::of(TELLS_ONE).conflicts_with(queue() | (TELLS & !TELLS_ONE)).enables(HEARS);

/// The task notified the last waiting task, or stored the notification.
pub const TELL_LAST: Kind =
    Kind::of(TELLS_LAST).conflicts_with(queue() | (TELLS & !TELLS_LAST)).enables(HEARS);

/// The task notified all waiting tasks.
pub const TELL_ALL: Kind =
    Kind::of(TELLS_ALL).conflicts_with(queue() | CREATES | (TELLS & !TELLS_ALL)).enables(HEARS);

/// The task stopped waiting. A notification for this task passes to another task.
pub const LEAVE: Kind = Kind::of(LEAVES).conflicts_with(queue() | TELLS).enables(HEARS);

const fn queue() -> Bits {
    REGISTERS | TAKES | HEARS
}

#[cfg(any(test, feature = "planted"))]
pub(in crate::run::op) const MACHINE: Machine = Machine {
    name: "tellings",
    kinds: &[
        ("create", CREATE),
        ("register", REGISTER),
        ("take", TAKE),
        ("hear", HEAR),
        ("tell one", TELL_ONE),
        ("tell last", TELL_LAST),
        ("tell all", TELL_ALL),
        ("leave", LEAVE),
    ],
};
