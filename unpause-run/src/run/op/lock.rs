//! A lock that one task holds alone, or several tasks share. It has no queue: the waiter that is chosen next gets it.
//!
//! A lock may let writers queue. No task then begins to share the lock until the writer has taken it.

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

/// Took the lock. Guard: it is free.
pub const ACQUIRE: Kind = Kind::of(ACQUIRES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | SHARES | LEAVES | TOUCHED)
    .disables(ACQUIRES | SHARES);

/// Gave the lock up.
pub const RELEASE: Kind = Kind::of(RELEASES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | SHARES | LEAVES | TOUCHED | WATCHES)
    .enables(ACQUIRES | SHARES | WATCHES);

/// Tried to take the lock while it was held.
pub const FAIL: Kind =
    Kind::of(FAILS).conflicts_with(ACQUIRES | RELEASES | SHARES | LEAVES | TOUCHES);

/// Took the lock together with others. Guard: no task holds it alone, and none queues.
pub const SHARE: Kind = Kind::of(SHARES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | QUEUES | TOUCHED)
    .disables(ACQUIRES);

/// Gave up a lock that it had taken together with others.
pub const LEAVE: Kind = Kind::of(LEAVES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | TOUCHED | WATCHES)
    .enables(ACQUIRES | WATCHES);

/// Queued, to take the lock alone in a later step.
//
// It may be done while the lock is free: no step of another task is then possible that would not be
// possible later. So it commutes with the operations that release the lock, and with the queueing
// of other writers.
pub const QUEUE: Kind = Kind::of(QUEUES).conflicts_with(SHARES).disables(SHARES);

/// Changed the memory of the lock by an operation that is no call of it, or tried to.
pub const TOUCH: Kind = Kind::of(TOUCHES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | SHARES | LEAVES | TOUCHED | WATCHES)
    .enables(ACQUIRES | SHARES | WATCHES)
    .disables(ACQUIRES | SHARES);

/// Read the memory of the lock by an operation that is no call of it.
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
