//! A lock that one task holds exclusively or several tasks share. The lock has no queue: the strategy chooses the
//! waiter that acquires it next.
//!
//! A lock may support queueing of writers. While a writer queues, no further task can acquire the lock in shared mode.

use super::kind::{Bits, Kind, WATCHES};

const ACQUIRES: Bits = 1 << 0;
const RELEASES: Bits = 1 << 1;
const FAILS: Bits = 1 << 2;
const SHARES: Bits = 1 << 3;
const LEAVES: Bits = 1 << 4;
const QUEUES: Bits = 1 << 5;
const TOUCHES: Bits = 1 << 6;
const LOOKS: Bits = 1 << 7;

const TOUCHED: Bits = TOUCHES | LOOKS;

/// The task acquired the lock exclusively. Guard: the lock is free.
pub const ACQUIRE: Kind = Kind::of(ACQUIRES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | SHARES | LEAVES | TOUCHED)
    .disables(ACQUIRES | SHARES);

/// The task released the exclusive lock.
pub const RELEASE: Kind = Kind::of(RELEASES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | SHARES | LEAVES | TOUCHED | WATCHES)
    .enables(ACQUIRES | SHARES | WATCHES);

/// The task tried to acquire the lock while it was held.
pub const FAIL: Kind =
    Kind::of(FAILS).conflicts_with(ACQUIRES | RELEASES | SHARES | LEAVES | TOUCHES);

/// The task acquired the lock in shared mode. Guard: no task holds it exclusively, and no writer queues.
pub const SHARE: Kind = Kind::of(SHARES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | QUEUES | TOUCHED)
    .disables(ACQUIRES);

/// The task released a lock that was held in shared mode.
pub const LEAVE: Kind = Kind::of(LEAVES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | TOUCHED | WATCHES)
    .enables(ACQUIRES | WATCHES);

/// Queued, to acquire the lock exclusively in a later step.
//
// A task may queue even while the lock is free, because every step of another task that is possible then is also
// possible later. So this operation commutes with the operations that release the lock, and with the queueing of other
// writers.
pub const QUEUE: Kind = Kind::of(QUEUES).conflicts_with(SHARES).disables(SHARES);

/// The task changed the memory of the lock, or tried to, by an operation outside the calls of the lock.
pub const TOUCH: Kind = Kind::of(TOUCHES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | SHARES | LEAVES | TOUCHED | WATCHES)
    .enables(ACQUIRES | SHARES | WATCHES)
    .disables(ACQUIRES | SHARES);

/// The task read the memory of the lock by an operation outside the calls of the lock.
pub const LOOK: Kind =
    Kind::of(LOOKS).conflicts_with(ACQUIRES | RELEASES | SHARES | LEAVES | TOUCHES).looks();

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "lock",
    kinds: &[
        ("acquire", ACQUIRE),
        ("release", RELEASE),
        ("fail", FAIL),
        ("share", SHARE),
        ("leave", LEAVE),
        ("queue", QUEUE),
        ("touch", TOUCH),
        ("look", LOOK),
    ],
};
