//! Permits that tasks take and give back, in request order: semaphores, fair locks, the capacity of a bounded channel.
//!
//! A request takes the free permits and queues for the rest. Returned permits go to the first task in the queue until
//! it has all its permits, then to the next task. So permits are free only while the queue is empty. A task that leaves
//! the queue gives back the permits that it received there.

#[cfg(any(test, feature = "planted"))]
use crate::run::op::kind::Machine;
use crate::run::op::kind::{Bits, Kind};

const TAKES: Bits = 1 << 0;
const QUEUES: Bits = 1 << 1;
const FINDS_CLOSED: Bits = 1 << 2;
const HEARS: Bits = 1 << 3;
const GIVES: Bits = 1 << 4;
const LEAVES: Bits = 1 << 5;
const FAILS: Bits = 1 << 6;
const FORGETS: Bits = 1 << 7;
const CLOSES: Bits = 1 << 8;
const COUNTS: Bits = 1 << 9;
const SETTLES: Bits = 1 << 10;
const KEEPS: Bits = 1 << 11;

const CHANGES: Bits = TAKES | QUEUES | GIVES | LEAVES | FORGETS | CLOSES | SETTLES;

/// The task took free permits.
pub const TAKE: Kind = Kind::of(TAKES).conflicts_with(CHANGES | FAILS | COUNTS);

/// The task joined the queue, and took the permits that were free.
pub const QUEUE: Kind = Kind::of(QUEUES).conflicts_with(CHANGES | FAILS | COUNTS);

/// The task found that the object is closed: it gives no more permits.
pub const FIND_CLOSED: Kind = Kind::of(FINDS_CLOSED).conflicts_with(CLOSES | SETTLES).looks();

/// The task continued from the queue. Guard: the task has all its permits, or the object is closed.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(GIVES | LEAVES | CLOSES | SETTLES);

/// The task gave permits back, or added new permits.
pub const GIVE: Kind =
    Kind::of(GIVES).conflicts_with((CHANGES & !GIVES) | HEARS | FAILS | COUNTS).enables(HEARS);

/// The task left the queue, or gave back the permits that it had received there.
pub const LEAVE: Kind =
    Kind::of(LEAVES).conflicts_with(CHANGES | HEARS | FAILS | COUNTS).enables(HEARS);

/// The task tried to take more permits than were free, or found that the object is closed.
pub const FAIL: Kind = Kind::of(FAILS).conflicts_with(CHANGES).looks();

/// The task removed free permits permanently.
pub const FORGET: Kind = Kind::of(FORGETS).conflicts_with(CHANGES | FAILS | COUNTS);

/// The task kept its permits permanently.
pub const KEEP: Kind = Kind::of(KEEPS).looks();

/// The task closed the object: it gives no more permits.
pub const CLOSE: Kind = Kind::of(CLOSES)
    .conflicts_with((CHANGES & !CLOSES) | FINDS_CLOSED | HEARS | FAILS | COUNTS)
    .enables(HEARS);

/// The task closed the object, as the only operation that may close it.
pub const SETTLE: Kind = Kind::of(SETTLES)
    .conflicts_with(CHANGES | FINDS_CLOSED | HEARS | FAILS | COUNTS)
    .enables(HEARS);

/// The task read the number of free permits, or checked if the object is closed.
pub const COUNT: Kind = Kind::of(COUNTS).conflicts_with(CHANGES).looks();

#[cfg(any(test, feature = "planted"))]
pub(in crate::run::op) const MACHINE: Machine = Machine {
    name: "permits",
    kinds: &[
        ("take", TAKE),
        ("queue", QUEUE),
        ("find closed", FIND_CLOSED),
        ("hear", HEAR),
        ("give", GIVE),
        ("leave", LEAVE),
        ("fail", FAIL),
        ("forget", FORGET),
        ("keep", KEEP),
        ("close", CLOSE),
        ("settle", SETTLE),
        ("count", COUNT),
    ],
};
