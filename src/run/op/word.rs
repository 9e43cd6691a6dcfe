//! A word of memory: atomics and cells.

use super::kind::{Bits, Kind, WATCHES};

const READS: Bits = 1 << 0;
const WRITES: Bits = 1 << 1;

/// Saw the word and left it as it was: also a compare-exchange that failed, or a `fetch_max` that
/// changed nothing.
pub(crate) const READ: Kind = Kind::of(READS).conflicts_with(WRITES);

/// Changed the word.
pub(crate) const WRITE: Kind =
    Kind::of(WRITES).conflicts_with(READS | WRITES | WATCHES).enables(WATCHES);

#[cfg(test)]
pub(super) const MACHINE: super::kind::Machine =
    super::kind::Machine { name: "word", kinds: &[("read", READ), ("write", WRITE)] };
