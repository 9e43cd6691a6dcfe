//! A lock that one task holds at a time. It has no queue: the waiter that is chosen next gets it.

use super::kind::{Bits, Kind, WATCHES};

const ACQUIRES: Bits = 1 << 0;
const RELEASES: Bits = 1 << 1;
const FAILS: Bits = 1 << 2;

/// Took the lock. Guard: it is free.
pub(crate) const ACQUIRE: Kind =
    Kind::of(ACQUIRES).conflicts_with(ACQUIRES | RELEASES | FAILS).disables(ACQUIRES);

/// Gave the lock up.
pub(crate) const RELEASE: Kind = Kind::of(RELEASES)
    .conflicts_with(ACQUIRES | RELEASES | FAILS | WATCHES)
    .enables(ACQUIRES | WATCHES);

/// Tried to take the lock while it was held.
pub(crate) const FAIL: Kind = Kind::of(FAILS).conflicts_with(ACQUIRES | RELEASES);

#[cfg(test)]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "lock",
    kinds: &[("acquire", ACQUIRE), ("release", RELEASE), ("fail", FAIL)],
};
