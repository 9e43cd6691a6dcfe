//! A queue of messages from many senders to one receiver, with room for a number of them or for all.
//!
//! A sender asks for room, queues for it if there is none, and puts its message in. Each received message gives its
//! room to the first in that queue. Room that is given up without a message goes the same way. The receiver finds
//! the end when all senders are gone, or when it has closed the queue and no room is taken.
//!
//! Messages and the room for them have numbers. Let `n` be the number of a message that is put in,
//! and `k` the number of its room: the sender needs the `k - capacity`-th receipt, or an earlier
//! one if room was given up without a message. So it commutes with the receipt of each message
//! between that receipt and its own. Taking room is the same without a message. Queueing for room
//! commutes with the receipts before the needed one, as long as no room was given up.

#[cfg(any(test, feature = "planted"))]
use crate::run::op::kind::Machine;
use crate::run::op::kind::{Bits, Kind};

const PUSHES: Bits = 1 << 0;
const ASKS: Bits = 1 << 1;
const GOES: Bits = 1 << 2;
const GOES_AND_PUSHES: Bits = 1 << 3;
const GIVES: Bits = 1 << 4;
const LEAVES: Bits = 1 << 5;
const POPS: Bits = 1 << 6;
const HEARS: Bits = 1 << 7;
const MISSES: Bits = 1 << 8;
const CLOSES: Bits = 1 << 9;
const DROPS: Bits = 1 << 10;
const COUNTS: Bits = 1 << 11;
const UPGRADES: Bits = 1 << 12;
const LOOKS: Bits = 1 << 13;
const SEES_CLOSED: Bits = 1 << 14;

/// Operations after a wait for room.
const HAVE_ROOM: Bits = GOES | GOES_AND_PUSHES;
/// Operations that give room to waiting senders.
const GIVE_ROOM: Bits = GIVES | LEAVES | POPS | HEARS | CLOSES;

/// Put a message in. Took the room for it, or had it.
pub const PUSH: Kind = Kind::of(PUSHES)
    .conflicts_with(PUSHES | GOES_AND_PUSHES | ASKS | GIVE_ROOM | MISSES | LOOKS)
    .enables(HEARS)
    .puts();

/// Took room, or queued for it.
pub const ASK: Kind = Kind::of(ASKS).conflicts_with(PUSHES | ASKS | GIVE_ROOM | LOOKS).puts();

/// Continued with room. Guard: it has all that it asked for, or the queue of messages is closed.
pub const GO: Kind = Kind::of(GOES).conflicts_with(GIVE_ROOM).puts();

/// Continued with room, and put a message in. Guard: as for [`GO`].
pub const GO_AND_PUSH: Kind = Kind::of(GOES_AND_PUSHES)
    .conflicts_with(PUSHES | GOES_AND_PUSHES | GIVE_ROOM | MISSES | LOOKS)
    .enables(HEARS)
    .puts();

/// Gave room back without a message.
pub const GIVE: Kind = Kind::of(GIVES)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | LEAVES | HEARS | MISSES | CLOSES | LOOKS)
    .enables(HAVE_ROOM | HEARS);

/// Left the queue for room, or gave up what it had got there.
pub const LEAVE: Kind = Kind::of(LEAVES)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | GIVE_ROOM | MISSES | LOOKS)
    .enables(HAVE_ROOM | HEARS);

/// Received messages, without a wait.
pub const POP: Kind = Kind::of(POPS)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | (GIVE_ROOM & !GIVES) | MISSES | LOOKS)
    .enables(HAVE_ROOM)
    .takes();

/// Received messages or the end, after a wait. Guard: there was a message since, or the end.
pub const HEAR: Kind = Kind::of(HEARS)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | GIVE_ROOM | MISSES | DROPS | LOOKS)
    .enables(HAVE_ROOM)
    .takes();

/// Found no message, or the end.
pub const MISS: Kind =
    Kind::of(MISSES).conflicts_with(PUSHES | GOES_AND_PUSHES | GIVE_ROOM | DROPS).looks();

/// Closed the queue of messages: no room is given any more.
pub const CLOSE: Kind = Kind::of(CLOSES)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | GIVE_ROOM | MISSES | LOOKS | SEES_CLOSED)
    .enables(HAVE_ROOM | HEARS | SEES_CLOSED);

/// Dropped a sender, which may be the last one.
pub const DROP: Kind =
    Kind::of(DROPS).conflicts_with(HEARS | MISSES | UPGRADES | LOOKS).enables(HEARS);

/// Made a sender of another one, or changed the number of weak ones.
pub const COUNT: Kind = Kind::of(COUNTS).conflicts_with(LOOKS);

/// Made a sender of a weak one.
pub const UPGRADE: Kind = Kind::of(UPGRADES).conflicts_with(DROPS | LOOKS);

/// Looked at the number of messages, of senders, or at the room.
pub const LOOK: Kind = Kind::of(LOOKS)
    .conflicts_with(PUSHES | ASKS | GOES_AND_PUSHES | GIVE_ROOM | DROPS | COUNTS | UPGRADES)
    .looks();

/// Looked whether the queue is closed, or continued because it is. Guard: it is closed.
pub const SEE_CLOSED: Kind = Kind::of(SEES_CLOSED).conflicts_with(CLOSES).looks();

#[cfg(any(test, feature = "planted"))]
pub(in crate::run::op) const MACHINE: Machine = Machine {
    name: "mail",
    kinds: &[
        ("push", PUSH),
        ("ask", ASK),
        ("go", GO),
        ("go and push", GO_AND_PUSH),
        ("give", GIVE),
        ("leave", LEAVE),
        ("pop", POP),
        ("hear", HEAR),
        ("miss", MISS),
        ("close", CLOSE),
        ("drop", DROP),
        ("count", COUNT),
        ("upgrade", UPGRADE),
        ("look", LOOK),
        ("see closed", SEE_CLOSED),
    ],
};
