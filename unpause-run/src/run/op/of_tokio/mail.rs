//! A queue of messages from many senders to one receiver, with bounded or unbounded room.
//!
//! A sender asks for room, queues if there is no room, and then puts its message in. Each received message gives its
//! room to the first sender in that queue. Room that is returned without a message goes to the same sender. The
//! receiver finds the end when all senders are gone, or when the receiver has closed the queue and no room is taken.
//!
//! Messages and their rooms have numbers. Let `n` be the number of a message, and `k` the number of its room. The
//! sender needs receipt number `k - capacity`, or an earlier receipt if room was returned without a message. So putting
//! the message in commutes with each receipt between that receipt and the message's own receipt. Taking room obeys the
//! same rule without a message. Queueing for room commutes with the receipts before the needed receipt, as long as no
//! room was returned.

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
/// Operations that free room for waiting senders.
const GIVE_ROOM: Bits = GIVES | LEAVES | POPS | HEARS | CLOSES;

/// The task put a message into the channel. The sender had reserved a slot, or the operation itself took a free slot.
pub const PUSH: Kind = Kind::of(PUSHES)
    .conflicts_with(PUSHES | GOES_AND_PUSHES | ASKS | GIVE_ROOM | MISSES | LOOKS)
    .enables(HEARS)
    .puts();

/// The task took room, or began to queue for room.
pub const ASK: Kind = Kind::of(ASKS).conflicts_with(PUSHES | ASKS | GIVE_ROOM | LOOKS).puts();

/// The task continued with room. Guard: the sender has all the room that it asked for, or the queue of messages is
/// closed.
pub const GO: Kind = Kind::of(GOES).conflicts_with(GIVE_ROOM).puts();

/// The task continued with room, and put a message in. Guard: the same as for [`GO`].
pub const GO_AND_PUSH: Kind = Kind::of(GOES_AND_PUSHES)
    .conflicts_with(PUSHES | GOES_AND_PUSHES | GIVE_ROOM | MISSES | LOOKS)
    .enables(HEARS)
    .puts();

/// The task returned room without a message.
pub const GIVE: Kind = Kind::of(GIVES)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | LEAVES | HEARS | MISSES | CLOSES | LOOKS)
    .enables(HAVE_ROOM | HEARS);

/// The task left the queue for room, or returned the room it had received there.
pub const LEAVE: Kind = Kind::of(LEAVES)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | GIVE_ROOM | MISSES | LOOKS)
    .enables(HAVE_ROOM | HEARS);

/// The task received messages without waiting.
pub const POP: Kind = Kind::of(POPS)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | (GIVE_ROOM & !GIVES) | MISSES | LOOKS)
    .enables(HAVE_ROOM)
    .takes();

/// The task received messages or found the end, after a wait. Guard: a message arrived since, or the queue ended.
pub const HEAR: Kind = Kind::of(HEARS)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | GIVE_ROOM | MISSES | DROPS | LOOKS)
    .enables(HAVE_ROOM)
    .takes();

/// The task found no message, or found the end.
pub const MISS: Kind =
    Kind::of(MISSES).conflicts_with(PUSHES | GOES_AND_PUSHES | GIVE_ROOM | DROPS).looks();

/// The task closed the queue of messages: no more room is given.
pub const CLOSE: Kind = Kind::of(CLOSES)
    .conflicts_with(PUSHES | ASKS | HAVE_ROOM | GIVE_ROOM | MISSES | LOOKS | SEES_CLOSED)
    .enables(HAVE_ROOM | HEARS | SEES_CLOSED);

/// The task dropped a sender, which may be the last one.
pub const DROP: Kind =
    Kind::of(DROPS).conflicts_with(HEARS | MISSES | UPGRADES | LOOKS).enables(HEARS);

/// The task created a sender from another sender, or changed the number of weak senders.
pub const COUNT: Kind = Kind::of(COUNTS).conflicts_with(LOOKS);

/// The task created a sender from a weak sender.
pub const UPGRADE: Kind = Kind::of(UPGRADES).conflicts_with(DROPS | LOOKS);

/// The task read the number of messages, the number of senders or the available room.
pub const LOOK: Kind = Kind::of(LOOKS)
    .conflicts_with(PUSHES | ASKS | GOES_AND_PUSHES | GIVE_ROOM | DROPS | COUNTS | UPGRADES)
    .looks();

/// The task checked if the queue is closed, or continued after it was closed. Guard: the queue is closed.
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
