//! Permits that tasks take and give back, in the order of their requests: semaphores, fair locks,
//! the capacity of a bounded channel.
//!
//! A task that asks takes the free permits, and queues for the rest. Permits that are given back go to the head of the
//! queue until it has all, then to the next; so permits are free only while the queue is empty. A
//! task that leaves the queue gives back the permits that it had got.

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

/// Took free permits.
pub const TAKE: Kind = Kind::of(TAKES).conflicts_with(CHANGES | FAILS | COUNTS);

/// Joined the queue, with what was free.
pub const QUEUE: Kind = Kind::of(QUEUES).conflicts_with(CHANGES | FAILS | COUNTS);

/// Found that no more permits are given.
pub const FIND_CLOSED: Kind = Kind::of(FINDS_CLOSED).conflicts_with(CLOSES | SETTLES).looks();

/// Continued from the queue. Guard: it has all that it asked for, or no more permits are given.
pub const HEAR: Kind = Kind::of(HEARS).conflicts_with(GIVES | LEAVES | CLOSES | SETTLES);

/// Gave permits back, or added some.
pub const GIVE: Kind =
    Kind::of(GIVES).conflicts_with((CHANGES & !GIVES) | HEARS | FAILS | COUNTS).enables(HEARS);

/// Left the queue, or gave up what it had got there.
pub const LEAVE: Kind =
    Kind::of(LEAVES).conflicts_with(CHANGES | HEARS | FAILS | COUNTS).enables(HEARS);

/// Tried to take more than was free, or found that no more are given.
pub const FAIL: Kind = Kind::of(FAILS).conflicts_with(CHANGES).looks();

/// Took free permits away for good.
pub const FORGET: Kind = Kind::of(FORGETS).conflicts_with(CHANGES | FAILS | COUNTS);

/// Kept permits that it had taken for good.
pub const KEEP: Kind = Kind::of(KEEPS).looks();

/// Ended the giving of permits.
pub const CLOSE: Kind = Kind::of(CLOSES)
    .conflicts_with((CHANGES & !CLOSES) | FINDS_CLOSED | HEARS | FAILS | COUNTS)
    .enables(HEARS);

/// Ended the giving of permits, as the only operation that may do so.
pub const SETTLE: Kind = Kind::of(SETTLES)
    .conflicts_with(CHANGES | FINDS_CLOSED | HEARS | FAILS | COUNTS)
    .enables(HEARS);

/// Looked at the number of free permits, or whether permits are given.
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
