//! A word of memory: atomics and cells. Tasks may wait for it in a queue, as for a futex.

use super::kind::{Bits, Kind, WATCHES};

const READS: Bits = 1 << 0;
const WRITES: Bits = 1 << 1;
const ENQUEUES: Bits = 1 << 2;
const RESUMES: Bits = 1 << 3;
const WAKES: Bits = 1 << 4;
const WAKES_NONE: Bits = 1 << 5;

/// Saw the word and left it as it was: also a compare-exchange that failed, or a `fetch_max` that
/// changed nothing.
pub const READ: Kind = Kind::of(READS).conflicts_with(WRITES);

/// Changed the word.
pub const WRITE: Kind =
    Kind::of(WRITES).conflicts_with(READS | WRITES | WATCHES | ENQUEUES).enables(WATCHES);

/// Saw the expected value and joined the queue. The order in the queue counts.
pub const ENQUEUE: Kind = Kind::of(ENQUEUES).conflicts_with(WRITES | ENQUEUES | WAKES | WAKES_NONE);

/// Continued. Guard: it was taken out of the queue.
pub const RESUME: Kind = Kind::of(RESUMES).conflicts_with(WAKES);

/// Took waiters out of the queue.
pub const WAKE: Kind =
    Kind::of(WAKES).conflicts_with(ENQUEUES | RESUMES | WAKES | WAKES_NONE).enables(RESUMES);

/// Found no waiter.
pub const WAKE_NONE: Kind = Kind::of(WAKES_NONE).conflicts_with(ENQUEUES | WAKES);

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "word",
    kinds: &[
        ("read", READ),
        ("write", WRITE),
        ("enqueue", ENQUEUE),
        ("resume", RESUME),
        ("wake", WAKE),
        ("wake none", WAKE_NONE),
    ],
};
