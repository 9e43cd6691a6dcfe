//! Rehearsals: the runs from which a strategy learns before it serves seeds.
//!
//! They have seeds of their own, so the result depends only on the body and the
//! [lesson](mod@super::lessons) of the seed: a seed that is run again, alone, is the same run. If a strategy learnt from
//! earlier seeds, all of them would have to be run again.
//!
//! Half of them are random walks. A random walk hardly ever lets a task do ten steps in a row, but without
//! interference the task may take another branch of the program. In the other half, therefore, a task that can go on
//! mostly does.

use super::dice::Dice;
use crate::run::board::Status;
use crate::run::choice::View;
use crate::run::op::Access;

/// The number of rehearsals: enough that one early failure does not determine the result.
pub(super) const REHEARSALS: u32 = 4;

/// In the second half of them, a task that can go on does so, except in one step of this many.
const STAYS: u64 = 8;

/// The progress of a strategy with its rehearsals.
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
    /// Begins a run. Returns `true` if it is the first one after the rehearsals.
    pub(super) fn begin(&mut self) -> bool {
        let before = self.on;
        self.on = self.left > 0;
        self.left = self.left.saturating_sub(1);
        before && !self.on
    }

    /// Returns `true` if the current run is a rehearsal.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// The number of remaining rehearsals.
    pub(super) fn remaining(&self) -> u32 {
        self.left
    }

    /// Chooses the task of a step of a rehearsal, as an index of the candidates.
    pub(super) fn pick(&self, dice: &mut impl Dice, view: &View<'_>) -> usize {
        if self.left < REHEARSALS / 2 {
            let goes_on = view.last().map(|task| view.task(task)).filter(|row| {
                // A task that yields lets others go first.
                row.status == Status::Ready && !row.announced.is_only(Access::Yield)
            });
            if let Some(row) = goes_on.filter(|_| dice.below(STAYS) != 0) {
                return row.candidate();
            }
        }
        dice.below(view.candidates().len() as u64) as usize
    }

    /// The mean of a sum over all rehearsals, rounded up.
    pub(super) fn mean_of_runs(sum: u64) -> u64 {
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
