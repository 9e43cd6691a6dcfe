//! A generic object, on which only operations that leave it unchanged commute.

#[cfg(any(test, feature = "planted"))]
use crate::run::op::kind::Machine;
use crate::run::op::kind::{Bits, Kind};

const CHANGES: Bits = 1 << 0;
const LOOKS: Bits = 1 << 1;
const HEARS: Bits = 1 << 2;
const HEARS_ALONE: Bits = 1 << 3;

/// The task changed the object.
pub const CHANGE: Kind = Kind::of(CHANGES)
    .conflicts_with(CHANGES | LOOKS | HEARS | HEARS_ALONE)
    .enables(HEARS | HEARS_ALONE);

/// The task left the object unchanged.
pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(CHANGES | HEARS).looks();

/// The task continued, and changed the object. Guard: the object has woken the task.
pub const HEAR: Kind = Kind::of(HEARS)
    .conflicts_with(CHANGES | LOOKS | HEARS | HEARS_ALONE)
    .enables(HEARS | HEARS_ALONE);

/// The task continued, and left the object unchanged for other tasks. Guard: the object has woken the task.
pub const HEAR_ALONE: Kind = Kind::of(HEARS_ALONE).conflicts_with(CHANGES | HEARS).looks();

#[cfg(any(test, feature = "planted"))]
pub(in crate::run::op) const MACHINE: Machine = Machine {
    name: "whole",
    kinds: &[("change", CHANGE), ("look", LOOK), ("hear", HEAR), ("hear alone", HEAR_ALONE)],
};
