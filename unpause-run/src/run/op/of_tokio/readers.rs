//! A read-write lock that is granted in request order.
//!
//! Readers that request the lock one after the other form a group. The order of the readers within the group does not
//! matter. A reader that requests the lock while a writer queues waits behind this writer.

#[cfg(any(test, feature = "planted"))]
use crate::run::op::kind::Machine;
use crate::run::op::kind::{Bits, Kind};

const READS: Bits = 1 << 0;
const QUEUES_TO_READ: Bits = 1 << 1;
const HEARS_TO_READ: Bits = 1 << 2;
const ENDS_READING: Bits = 1 << 3;
const FAILS_TO_READ: Bits = 1 << 4;
const WRITES: Bits = 1 << 5;
const QUEUES_TO_WRITE: Bits = 1 << 6;
const HEARS_TO_WRITE: Bits = 1 << 7;
const ENDS_WRITING: Bits = 1 << 8;
const FAILS_TO_WRITE: Bits = 1 << 9;
const DOWNGRADES: Bits = 1 << 10;
const LEAVES: Bits = 1 << 11;

const ENTERS: Bits = READS | QUEUES_TO_READ;
const WRITER: Bits = WRITES | QUEUES_TO_WRITE;
const OPENS: Bits = ENDS_WRITING | DOWNGRADES | LEAVES;

/// The task acquired the lock for reading.
pub const READ: Kind = Kind::of(READS).conflicts_with(WRITER | OPENS | FAILS_TO_WRITE);

/// The task joined the queue for reading.
pub const QUEUE_TO_READ: Kind = Kind::of(QUEUES_TO_READ).conflicts_with(WRITER | OPENS);

/// The task continued from the queue, and holds the lock for reading.
pub const HEAR_TO_READ: Kind = Kind::of(HEARS_TO_READ).conflicts_with(OPENS);

/// The task released the read lock.
pub const END_READING: Kind = Kind::of(ENDS_READING)
    .conflicts_with(WRITER | OPENS | HEARS_TO_WRITE | FAILS_TO_WRITE)
    .enables(HEARS_TO_WRITE);

/// The task tried to acquire the lock for reading, and failed.
pub const FAIL_TO_READ: Kind = Kind::of(FAILS_TO_READ).conflicts_with(WRITER | OPENS).looks();

/// The task acquired the lock for writing.
pub const WRITE: Kind = Kind::of(WRITES)
    .conflicts_with(ENTERS | ENDS_READING | FAILS_TO_READ | WRITER | OPENS | FAILS_TO_WRITE);

/// The task joined the queue for writing.
pub const QUEUE_TO_WRITE: Kind = Kind::of(QUEUES_TO_WRITE)
    .conflicts_with(ENTERS | ENDS_READING | FAILS_TO_READ | WRITER | OPENS | FAILS_TO_WRITE);

/// The task continued from the queue, and holds the lock for writing.
pub const HEAR_TO_WRITE: Kind = Kind::of(HEARS_TO_WRITE).conflicts_with(ENDS_READING | OPENS);

/// The task released the write lock.
pub const END_WRITING: Kind = opens(ENDS_WRITING);

/// The task tried to acquire the lock for writing, and failed.
pub const FAIL_TO_WRITE: Kind =
    Kind::of(FAILS_TO_WRITE).conflicts_with(READS | ENDS_READING | WRITER | OPENS).looks();

/// The task downgraded the write lock to a read lock.
pub const DOWNGRADE: Kind = opens(DOWNGRADES);

/// The task left the queue without the lock.
pub const LEAVE: Kind = opens(LEAVES);

const fn opens(bit: Bits) -> Kind {
    let hears = HEARS_TO_READ | HEARS_TO_WRITE;
    let others = ENTERS | ENDS_READING | FAILS_TO_READ | WRITER | OPENS | FAILS_TO_WRITE;
    Kind::of(bit).conflicts_with(others | hears).enables(hears)
}

#[cfg(any(test, feature = "planted"))]
pub(in crate::run::op) const MACHINE: Machine = Machine {
    name: "readers",
    kinds: &[
        ("read", READ),
        ("queue to read", QUEUE_TO_READ),
        ("hear to read", HEAR_TO_READ),
        ("end reading", END_READING),
        ("fail to read", FAIL_TO_READ),
        ("write", WRITE),
        ("queue to write", QUEUE_TO_WRITE),
        ("hear to write", HEAR_TO_WRITE),
        ("end writing", END_WRITING),
        ("fail to write", FAIL_TO_WRITE),
        ("downgrade", DOWNGRADE),
        ("leave", LEAVE),
    ],
};
