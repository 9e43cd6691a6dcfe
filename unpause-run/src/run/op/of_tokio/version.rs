//! A value with versions: tasks write it, read it, and wait for the next version.

#[cfg(any(test, feature = "planted"))]
use crate::run::op::kind::Machine;
use crate::run::op::kind::{Bits, Kind, WATCHES};

const SENDS: Bits = 1 << 0;
const DROPS: Bits = 1 << 1;
const LOOKS: Bits = 1 << 2;
const HEARS: Bits = 1 << 3;
const SUBSCRIBES: Bits = 1 << 4;
const DROPS_RECEIVER: Bits = 1 << 5;
const COUNTS: Bits = 1 << 6;
const TALLIES: Bits = 1 << 7;
const SEES_CLOSED: Bits = 1 << 8;

/// The task wrote a new version, if there was a receiver.
pub const SEND: Kind = Kind::of(SENDS)
    .conflicts_with(SENDS | LOOKS | HEARS | SUBSCRIBES | DROPS_RECEIVER | WATCHES)
    .enables(HEARS | WATCHES);

/// The task dropped a sender. If it was the last sender, there will be no new version.
pub const DROP: Kind =
    Kind::of(DROPS).conflicts_with(LOOKS | HEARS | TALLIES | WATCHES).enables(HEARS | WATCHES);

/// The task read the value or its version.
pub const LOOK: Kind = Kind::of(LOOKS).conflicts_with(SENDS | DROPS).looks();

/// The task continued. Guard: there is a new version, or there can be no new version.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(SENDS | DROPS).looks();

/// The task created a receiver when there may have been no receiver. A task that waits for the last receiver to be
/// dropped, and was woken, then waits again.
pub const SUBSCRIBE: Kind = Kind::of(SUBSCRIBES)
    .conflicts_with(SENDS | DROPS_RECEIVER | TALLIES | SEES_CLOSED)
    .disables(SEES_CLOSED);

/// The task dropped a receiver, which may be the last one.
pub const DROP_RECEIVER: Kind = Kind::of(DROPS_RECEIVER)
    .conflicts_with(SENDS | SUBSCRIBES | TALLIES | SEES_CLOSED)
    .enables(SEES_CLOSED);

/// The task created a sender from a sender, or a receiver from a receiver.
pub const COUNT: Kind = Kind::of(COUNTS).conflicts_with(TALLIES);

/// The task read the number of senders or receivers.
pub const TALLY: Kind =
    Kind::of(TALLIES).conflicts_with(SUBSCRIBES | DROPS_RECEIVER | DROPS | COUNTS).looks();

/// The task checked if there is a receiver, or continued because there is no receiver. Guard: there is no receiver.
pub const SEE_CLOSED: Kind =
    Kind::of(SEES_CLOSED).conflicts_with(SUBSCRIBES | DROPS_RECEIVER).looks();

#[cfg(any(test, feature = "planted"))]
pub(in crate::run::op) const MACHINE: Machine = Machine {
    name: "version",
    kinds: &[
        ("send", SEND),
        ("drop", DROP),
        ("look", LOOK),
        ("hear", HEAR),
        ("subscribe", SUBSCRIBE),
        ("drop receiver", DROP_RECEIVER),
        ("count", COUNT),
        ("tally", TALLY),
        ("see closed", SEE_CLOSED),
    ],
};
