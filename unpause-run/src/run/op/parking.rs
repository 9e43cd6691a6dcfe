//! The parking token of a task: this task waits for it, and other tasks give it. The token is
//! binary.

use super::kind::{Bits, Kind};

const TAKES: Bits = 1 << 0;
const RESTS: Bits = 1 << 1;
const HEARS: Bits = 1 << 2;
const TELLS: Bits = 1 << 3;

/// The operations of the task that owns the token.
const OWN: Bits = TAKES | RESTS | HEARS;

/// The task took the token, which was available.
pub const TAKE: Kind = Kind::of(TAKES).conflicts_with(OWN | TELLS);

/// The task found no token, and began to wait for it.
pub const REST: Kind = Kind::of(RESTS).conflicts_with(OWN | TELLS);

/// The task continued with the token, if any. Guard: the token was given, or the task wakes up spuriously.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(OWN | TELLS);

/// The task gave the token. Giving it a second time changes nothing.
pub const TELL: Kind = Kind::of(TELLS).conflicts_with(OWN).enables(HEARS);

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "parking",
    kinds: &[("take", TAKE), ("rest", REST), ("hear", HEAR), ("tell", TELL)],
};
