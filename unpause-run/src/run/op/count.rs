//! A value with shared ownership: it lives as long as it has owning references. There are owning
//! and weak references. A task may wait until their number changes.

use super::kind::{Bits, Kind, WATCHES};

const GAINS: Bits = 1 << 0;
const LOSES: Bits = 1 << 1;
const ENDS: Bits = 1 << 2;
const UPGRADES: Bits = 1 << 3;
const TAKES: Bits = 1 << 4;
const COUNTS: Bits = 1 << 5;
const WEIGHS: Bits = 1 << 6;

/// The task created a non-owning reference from an owning reference.
pub const GAIN: Kind = Kind::of(GAINS).conflicts_with(COUNTS | WATCHES).enables(WATCHES);

/// The task dropped a reference to a value without a destructor: nothing distinguishes the last drop from the others.
pub const LOSE: Kind =
    Kind::of(LOSES).conflicts_with(UPGRADES | TAKES | COUNTS | WATCHES).enables(WATCHES);

/// The task dropped a reference to a value with a destructor, which the last drop calls.
pub const END: Kind =
    Kind::of(ENDS).conflicts_with(ENDS | UPGRADES | TAKES | COUNTS | WATCHES).enables(WATCHES);

/// The task created an owning reference from a weak reference, if the value was still alive.
pub const UPGRADE: Kind =
    Kind::of(UPGRADES).conflicts_with(LOSES | ENDS | TAKES | COUNTS | WATCHES).enables(WATCHES);

/// The task tried to take the value out of a reference. This succeeds only for the last reference; otherwise the
/// reference is dropped or kept.
pub const TAKE: Kind = Kind::of(TAKES)
    .conflicts_with(LOSES | ENDS | UPGRADES | TAKES | COUNTS | WATCHES)
    .enables(WATCHES);

/// The task read the reference counts.
pub const COUNT: Kind =
    Kind::of(COUNTS).conflicts_with(GAINS | LOSES | ENDS | UPGRADES | TAKES | WEIGHS).looks();

/// The task created or dropped a weak reference.
pub const WEIGH: Kind = Kind::of(WEIGHS).conflicts_with(COUNTS | WATCHES).enables(WATCHES);

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
