//! The accesses of a thread, and the rounds of its loops, which [`super::spin`] compares.

use super::sites::Site;
use crate::rt::{WORLD, World};

/// An access of a thread, or a yield.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// [`SiteParts::lines`] of its place. The value is equal in all copies of an unrolled loop body.
    pub(super) lines: u64,
    /// The address of the access; 0 for a yield.
    pub(super) address: usize,
    /// The value before the access.
    pub(super) value: u64,
    /// The value after the access, if the access was a change. `None` for a read.
    pub(super) left: Option<u64>,
    /// A hash of the thread's registers before the access and of its address in the program, if the access may belong
    /// to a round that is compared; otherwise 0. In a loop with changes, it includes the stack.
    pub(super) state: u64,
    /// A hash of the thread's stack and of the memory around its locks. Known together with the state.
    pub(super) memory: u64,
    /// The number of events in the run before this access.
    pub(super) seen: usize,
    /// True for an access in a call of a library whose loops count their rounds, except the first access of the call.
    pub(super) is_in_call: bool,
}

impl Look {
    pub(super) fn is_same(&self, other: &Look) -> bool {
        let parts = |look: &Look| (look.lines, look.address, look.value, look.left);
        parts(self) == parts(other)
    }

    /// Returns `true` for accesses at the same place and address.
    pub(super) fn is_here(&self, other: &Look) -> bool {
        (self.lines, self.address) == (other.lines, other.address)
    }

    pub(super) fn is_yield(&self) -> bool {
        self.address == 0
    }

    /// Returns an access that is not performed yet, without its hashes.
    pub(super) fn at(address: usize, site: &Site) -> Look {
        let seen = WORLD.with(World::events);
        let (lines, is_in_call) = (site.lines, site.library.is_some());
        Look { lines, address, value: 0, left: None, state: 0, memory: 0, seen, is_in_call }
    }

    /// Returns `true` for an access to this address, or a yield with the address 0, at this place.
    pub(super) fn is_at(&self, address: usize, site: Site) -> bool {
        (self.lines, self.address) == (site.lines, address)
    }

    /// Returns a bit chosen by a hash of the place and the address. It differs for most pairs of places.
    #[inline]
    pub(super) fn bit(&self) -> u64 {
        let hash = (self.lines ^ self.address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        1 << (hash >> 58)
    }
}

/// A round of a loop.
#[derive(Debug)]
pub(super) struct Round {
    /// The addresses of the reads in the round, and a number of events of the run. A change of an address counts only
    /// after that many events.
    pub(super) looked: (Vec<usize>, usize),
    /// The number of accesses in the round that are no lock calls.
    pub(super) accesses: usize,
    /// True if the thread is held because its rounds are alike, and has not been held before at the same values.
    pub(super) is_new: bool,
    pub(super) release: Release,
}

/// The condition under which a held thread continues, if no other thread can.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Release {
    Always,
    /// The thread continues if its loop ends by itself: see [`super::endless`].
    IfItEnds,
    Never,
}

/// The next read of a thread, compared with its earlier reads.
#[derive(Debug)]
pub(super) enum Repeated {
    /// The read is a point.
    No,
    /// The read repeats an earlier one if it sees this value. It is then not a point.
    Again {
        value: u64,
        /// True if the read is recorded: once in each step for each address.
        noted: bool,
    },
    /// The read repeats an earlier one until one of these objects changes.
    Unchanged(Round),
}
