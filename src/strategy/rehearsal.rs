//! The runs a strategy learns from before it serves.
//!
//! They have seeds of their own, so what is learnt depends on nothing but the body and the
//! [lesson](super::lessons) of the seed: a seed that is run again, alone, is the same run. Learning from
//! earlier seeds would need them all.
//!
//! Half of them are random walks. A random walk hardly ever lets a task do ten steps in a row, and what a
//! task does then, because nobody has come between, may be another branch of the program. So in the
//! other half a task that can go on mostly does.

use super::dice::Dice;
use crate::run::board::Status;
use crate::run::choice::View;
use crate::run::op::Access;

/// How many runs: enough that one which fails early does not stand for the program.
pub(super) const REHEARSALS: u32 = 4;

/// In the second half of them a task that can go on does so, but for one of so many steps.
const STAYS: u64 = 8;

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

    /// Who steps in a rehearsal, as an index of the candidates.
    pub(super) fn pick(&self, dice: &mut impl Dice, view: &View<'_>) -> usize {
        if self.left < REHEARSALS / 2 {
            let goes_on = view.last().map(|task| view.task(task)).filter(|row| {
                // Who yields wants others to go first.
                row.status == Status::Ready && !row.announced.is_only(Access::Yield)
            });
            if let Some(row) = goes_on.filter(|_| dice.below(STAYS) != 0) {
                return row.candidate();
            }
        }
        dice.below(view.candidates().len() as u64) as usize
    }

    /// The mean of a sum over all rehearsals, rounded up.
    pub(super) fn mean(sum: u64) -> u64 {
        sum.div_ceil(u64::from(REHEARSALS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::choice::{Draw, Mismatch, Strategy};
    use crate::run::ids::Seed;
    use crate::run::rng::Rng;
    use crate::strategy::enumerate::{run, writers};

    /// Rehearses, and learns nothing.
    #[derive(Default)]
    struct Rehearses {
        dice: Rng,
        rehearsal: Rehearsal,
    }

    impl Strategy for Rehearses {
        fn begin(&mut self, _: Seed) {
            self.rehearsal.begin();
        }

        fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
            Ok(self.rehearsal.pick(&mut self.dice, view))
        }

        fn draw(&mut self, _: &Draw) -> Result<u64, Mismatch> {
            Ok(0)
        }
    }

    #[test]
    fn tasks_mostly_go_on_in_the_second_half() {
        let mut strategy = Rehearses::default();
        let mut switches = || {
            let order = run(&writers(&[200, 200]), &mut strategy);
            order.windows(2).filter(|two| two[0].0 != two[1].0).count()
        };
        // Of two tasks a walk changes to the other in half of the steps, the others in one of sixteen.
        let found: Vec<_> = (0..REHEARSALS).map(|_| switches()).collect();
        let (walks, others) = found.split_at(found.len() / 2);
        assert!(walks.iter().all(|switches| *switches > 120), "{found:?}");
        assert!(others.iter().all(|switches| (5..60).contains(switches)), "{found:?}");
    }
}
