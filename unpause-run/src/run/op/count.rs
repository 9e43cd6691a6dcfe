//! A value that is kept by its references: shared ownership, with owning and weak references.

use super::kind::{Bits, Kind};

const GAINS: Bits = 1 << 0;
const LOSES: Bits = 1 << 1;
const ENDS: Bits = 1 << 2;
const UPGRADES: Bits = 1 << 3;
const TAKES: Bits = 1 << 4;
const COUNTS: Bits = 1 << 5;
const WEIGHS: Bits = 1 << 6;

/// Created a non-owning reference from an owning reference.
pub const GAIN: Kind = Kind::of(GAINS).conflicts_with(COUNTS);

/// Dropped a reference to a value without a destructor: nothing tells the last drop from the others.
pub const LOSE: Kind = Kind::of(LOSES).conflicts_with(UPGRADES | TAKES | COUNTS);

/// Dropped a reference to a value whose destructor the last drop calls.
pub const END: Kind = Kind::of(ENDS).conflicts_with(ENDS | UPGRADES | TAKES | COUNTS);

/// Created an owning reference from a weak one, if the value was still there.
pub const UPGRADE: Kind = Kind::of(UPGRADES).conflicts_with(LOSES | ENDS | TAKES | COUNTS);

/// Gave up a reference, and took the value if it was the last; or kept the reference if it was not.
pub const TAKE: Kind = Kind::of(TAKES).conflicts_with(LOSES | ENDS | UPGRADES | TAKES | COUNTS);

/// Looked at the counts.
pub const COUNT: Kind =
    Kind::of(COUNTS).conflicts_with(GAINS | LOSES | ENDS | UPGRADES | TAKES | WEIGHS).looks();

/// Made or dropped a reference that does not own.
pub const WEIGH: Kind = Kind::of(WEIGHS).conflicts_with(COUNTS);

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "count",
    kinds: &[
        ("gain", GAIN),
        ("lose", LOSE),
        ("end", END),
        ("upgrade", UPGRADE),
        ("take", TAKE),
        ("count", COUNT),
        ("weigh", WEIGH),
    ],
};
