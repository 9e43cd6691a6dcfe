//! Messages that each receiver gets. The last ones are kept.
//!
//! A message takes the place of the oldest one. If a receiver has not read the replaced message, it
//! learns the number of messages that it has missed. Receivers do not affect each other.
//!
//! Messages have numbers. A sent message `n` takes the place of message `n - capacity`, so it
//! commutes with the receipt of each message between the two.

#[cfg(any(test, feature = "planted"))]
use crate::run::op::kind::Machine;
use crate::run::op::kind::{Bits, Kind};

const SENDS: Bits = 1 << 0;
const READS: Bits = 1 << 1;
const HEARS: Bits = 1 << 2;
const MISSES: Bits = 1 << 3;
const SUBSCRIBES: Bits = 1 << 4;
const DROPS: Bits = 1 << 5;
const COUNTS: Bits = 1 << 6;
const UPGRADES: Bits = 1 << 7;
const LOOKS: Bits = 1 << 8;
const SEES_CLOSED: Bits = 1 << 9;
const DROPS_RECEIVER: Bits = 1 << 10;

/// Sent a message to all receivers.
pub const SEND: Kind = Kind::of(SENDS)
    .conflicts_with(SENDS | READS | HEARS | MISSES | SUBSCRIBES | DROPS_RECEIVER | LOOKS)
    .enables(HEARS)
    .puts();

/// Received a message or the number of those missed, without a wait.
pub const READ: Kind = Kind::of(READS).conflicts_with(SENDS | LOOKS).takes();

/// Received a message, the number of those missed or the end, after a wait. Guard: one was sent since, or the end came.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(SENDS | DROPS | LOOKS).takes();

/// Found no message, or the end.
pub const MISS: Kind = Kind::of(MISSES).conflicts_with(SENDS | DROPS).looks();

/// Made a receiver.
pub const SUBSCRIBE: Kind =
    Kind::of(SUBSCRIBES).conflicts_with(SENDS | DROPS_RECEIVER | LOOKS | SEES_CLOSED);

/// Dropped a receiver, which may be the last one.
pub const DROP_RECEIVER: Kind = Kind::of(DROPS_RECEIVER)
    .conflicts_with(SENDS | SUBSCRIBES | LOOKS | SEES_CLOSED)
    .enables(SEES_CLOSED);

/// Dropped a sender, which may be the last one.
pub const DROP: Kind =
    Kind::of(DROPS).conflicts_with(HEARS | MISSES | UPGRADES | LOOKS).enables(HEARS);

/// Made a sender of another one, or changed the number of weak ones.
pub const COUNT: Kind = Kind::of(COUNTS).conflicts_with(LOOKS);

/// Made a sender of a weak one.
pub const UPGRADE: Kind = Kind::of(UPGRADES).conflicts_with(DROPS | LOOKS);

/// Looked at the number of messages, senders or receivers.
pub const LOOK: Kind = Kind::of(LOOKS)
    .conflicts_with(SENDS | READS | HEARS | SUBSCRIBES | DROPS_RECEIVER | DROPS | COUNTS | UPGRADES)
    .looks();

/// Looked whether there is a receiver, or continued because there is none. Guard: there was none.
pub const SEE_CLOSED: Kind =
    Kind::of(SEES_CLOSED).conflicts_with(SUBSCRIBES | DROPS_RECEIVER).looks();

#[cfg(any(test, feature = "planted"))]
pub(in crate::run::op) const MACHINE: Machine = Machine {
    name: "ring",
    kinds: &[
        ("send", SEND),
        ("read", READ),
        ("hear", HEAR),
        ("miss", MISS),
        ("subscribe", SUBSCRIBE),
        ("drop receiver", DROP_RECEIVER),
        ("drop", DROP),
        ("count", COUNT),
        ("upgrade", UPGRADE),
        ("look", LOOK),
        ("see closed", SEE_CLOSED),
    ],
};
