//! The runs a strategy learns from before it serves.
//!
//! They are walked at random, under seeds of their own, so what is learnt depends on the body alone:
//! a seed that is run again, alone, is the same run. Learning from earlier seeds would need them all.

/// How many runs: enough that one which fails early does not stand for the program.
pub(super) const REHEARSALS: u32 = 4;

/// How far a strategy is with its rehearsals.
#[derive(Debug)]
pub(super) struct Rehearsal {
    left: u32,
    on: bool,
}

impl Default for Rehearsal {
    fn default() -> Rehearsal {
        Rehearsal { left: REHEARSALS, on: false }
    }
}

impl Rehearsal {
    /// A run begins; true if it is the first that counts.
    pub(super) fn begin(&mut self) -> bool {
        let before = self.on;
        self.on = self.left > 0;
        self.left = self.left.saturating_sub(1);
        before && !self.on
    }

    /// Whether the current run is a rehearsal.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// How many there are still to be.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// The mean of a sum over all rehearsals, rounded up.
    pub(super) fn mean(sum: u64) -> u64 {
        sum.div_ceil(u64::from(REHEARSALS))
    }
}
