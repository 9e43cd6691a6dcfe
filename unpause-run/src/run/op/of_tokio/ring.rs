//! A broadcast channel: each receiver gets all messages. The ring keeps the last messages.
//!
//! A new message replaces the oldest message. A receiver that has not read the replaced message learns how many
//! messages it has missed. Receivers do not affect each other.
//!
//! Messages have numbers. Sent message `n` replaces message `n - capacity`, so the send commutes with the receipt of
//! each message between these two.

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

/// The task sent a message to all receivers.
pub const SEND: Kind = Kind::of(SENDS)
    .conflicts_with(SENDS | READS | HEARS | MISSES | SUBSCRIBES | DROPS_RECEIVER | LOOKS)
    .enables(HEARS)
    .puts();

/// The task received a message or the number of missed messages, without waiting.
pub const READ: Kind = Kind::of(READS).conflicts_with(SENDS | LOOKS).takes();

/// The task received a message, the number of missed messages or the end, after a wait. Guard: a message was sent
/// since, or the end came.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(SENDS | DROPS | LOOKS).takes();

/// The task found no message, or found the end.
pub const MISS: Kind = Kind::of(MISSES).conflicts_with(SENDS | DROPS).looks();

/// The task created a receiver. A task that waits for the last receiver to be dropped, and was woken, then waits again.
pub const SUBSCRIBE: Kind = Kind::of(SUBSCRIBES)
    .conflicts_with(SENDS | DROPS_RECEIVER | LOOKS | SEES_CLOSED)
    .disables(SEES_CLOSED);

/// The task dropped a receiver, which may be the last one.
pub const DROP_RECEIVER: Kind = Kind::of(DROPS_RECEIVER)
    .conflicts_with(SENDS | SUBSCRIBES | LOOKS | SEES_CLOSED)
    .enables(SEES_CLOSED);

/// The task dropped a sender, which may be the last one.
pub const DROP: Kind =
    Kind::of(DROPS).conflicts_with(HEARS | MISSES | UPGRADES | LOOKS).enables(HEARS);

/// The task created a sender from another sender, or changed the number of weak senders.
pub const COUNT: Kind = Kind::of(COUNTS).conflicts_with(LOOKS);

/// The task created a sender from a weak sender.
pub const UPGRADE: Kind = Kind::of(UPGRADES).conflicts_with(DROPS | LOOKS);

/// The task read the number of messages, senders or receivers.
pub const LOOK: Kind = Kind::of(LOOKS)
    .conflicts_with(SENDS | READS | HEARS | SUBSCRIBES | DROPS_RECEIVER | DROPS | COUNTS | UPGRADES)
    .looks();

/// The task checked if there is a receiver, or continued because there is no receiver. Guard: there is no receiver.
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
