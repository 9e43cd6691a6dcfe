//! A word of memory: atomics and cells. Tasks may wait for the word in a queue, as with a futex. The word may be a
//! count of references.

use super::kind::{Bits, Kind, WATCHES};

const READS: Bits = 1 << 0;
const WRITES: Bits = 1 << 1;
const ENQUEUES: Bits = 1 << 2;
const RESUMES: Bits = 1 << 3;
const WAKES: Bits = 1 << 4;
const WAKES_NONE: Bits = 1 << 5;
const GAINS: Bits = 1 << 6;
const LOSES: Bits = 1 << 7;
const ENDS: Bits = 1 << 8;
/// The changes of a count.
const COUNTS: Bits = GAINS | LOSES | ENDS;

/// The task read the word and left it unchanged. This includes a compare-exchange that failed, and a `fetch_max` that
/// changed nothing.
pub const READ: Kind = Kind::of(READS).conflicts_with(WRITES | COUNTS);

/// The task changed the word.
pub const WRITE: Kind =
    Kind::of(WRITES).conflicts_with(READS | WRITES | COUNTS | WATCHES | ENQUEUES).enables(WATCHES);

/// The task added a reference to the count in the word, by a reference that it counts. The task does not see the count.
pub const GAIN: Kind =
    Kind::of(GAINS).conflicts_with(READS | WRITES | WATCHES | ENQUEUES).enables(WATCHES);

/// The task removed a reference from the count in the word. The task does not see if it was the last one.
pub const LOSE: Kind =
    Kind::of(LOSES).conflicts_with(READS | WRITES | WATCHES | ENQUEUES).enables(WATCHES);

/// The task removed a reference from the count in the word. The task of the last removal ends the counted value.
//
// Two removals before the last one do not commute either: each kind must be the same in both orders of its step and a
// step without a conflict.
pub const END: Kind =
    Kind::of(ENDS).conflicts_with(READS | WRITES | ENDS | WATCHES | ENQUEUES).enables(WATCHES);

/// The task read the expected value and joined the queue. The order in the queue matters.
pub const ENQUEUE: Kind =
    Kind::of(ENQUEUES).conflicts_with(WRITES | COUNTS | ENQUEUES | WAKES | WAKES_NONE);

/// The task continued. Guard: the task was removed from the queue.
pub const RESUME: Kind = Kind::of(RESUMES).conflicts_with(WAKES);

/// The task removed waiters from the queue.
pub const WAKE: Kind =
    Kind::of(WAKES).conflicts_with(ENQUEUES | RESUMES | WAKES | WAKES_NONE).enables(RESUMES);

/// The task found no waiter.
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
        ("gain", GAIN),
        ("lose", LOSE),
        ("end", END),
    ],
};
