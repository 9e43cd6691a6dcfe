//! A value with versions: one writes, others look, and some wait for the next version.

use super::kind::{Bits, Kind};

const SENDS: Bits = 1 << 0;
const LOOKS: Bits = 1 << 1;
const HEARS: Bits = 1 << 2;
const COUNTS: Bits = 1 << 3;

/// Made a new version, or closed it for good.
pub(crate) const SEND: Kind =
    Kind::of(SENDS).conflicts_with(SENDS | LOOKS | HEARS | COUNTS).enables(HEARS);

/// Looked at the value or its version.
pub(crate) const LOOK: Kind = Kind::of(LOOKS).conflicts_with(SENDS);

/// Went on. Guard: there is a new version, or will be none, or the number of those who look is the one waited for.
pub(crate) const HEAR: Kind = Kind::of(HEARS).conflicts_with(SENDS | COUNTS);

/// Changed the number of those who send or look.
pub(crate) const COUNT: Kind =
    Kind::of(COUNTS).conflicts_with(SENDS | HEARS | COUNTS).enables(HEARS);

#[cfg(test)]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "version",
    kinds: &[("send", SEND), ("look", LOOK), ("hear", HEAR), ("count", COUNT)],
};
