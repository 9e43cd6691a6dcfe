//! A condition variable: tasks wait for a notification, and a notification reaches one waiting task or all of them.
//! Notifications are not stored.

use super::kind::{Bits, Kind};

const REGISTERS: Bits = 1 << 0;
const HEARS: Bits = 1 << 1;
const NOTIFIES_ONE: Bits = 1 << 2;
const NOTIFIES_ALL: Bits = 1 << 3;
const LEAVES: Bits = 1 << 4;

const NOTIFIES: Bits = NOTIFIES_ONE | NOTIFIES_ALL | LEAVES;

/// The task began to wait. The order in which tasks begin to wait does not affect the choice of the notified task.
pub const REGISTER: Kind = Kind::of(REGISTERS).conflicts_with(NOTIFIES);

/// The task continued. Guard: the task was notified, or it wakes up spuriously.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(NOTIFIES);

/// The task notified one waiting task, if any.
pub const NOTIFY_ONE: Kind =
    Kind::of(NOTIFIES_ONE).conflicts_with(REGISTERS | HEARS | NOTIFIES).enables(HEARS);

/// The task notified all waiting tasks.
pub const NOTIFY_ALL: Kind =
    Kind::of(NOTIFIES_ALL).conflicts_with(REGISTERS | HEARS | NOTIFIES_ONE | LEAVES).enables(HEARS);

/// The task stopped waiting. A notification for this task passes to another task.
pub const LEAVE: Kind =
    Kind::of(LEAVES).conflicts_with(REGISTERS | HEARS | NOTIFIES).enables(HEARS);

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "condvar",
    kinds: &[
        ("register", REGISTER),
        ("hear", HEAR),
        ("notify one", NOTIFY_ONE),
        ("notify all", NOTIFY_ALL),
        ("leave", LEAVE),
    ],
};
