//! Rehearsals: the runs from which a strategy learns before it runs seeds.
//!
//! Rehearsals have their own seeds, so their result depends only on the body and the [lesson](mod@super::lessons) of
//! the seed. A seed that is run again alone therefore gives the same run. If a strategy learnt from earlier seeds,
//! repeating one seed would require repeating all earlier seeds.
//!
//! Half of the rehearsals are random walks. A random walk rarely lets a task take ten steps in a row, but a task may
//! take another branch of the program if no other task interferes. Therefore, in the other half, a task that can
//! continue usually does so.
//!
//! Every second rehearsal holds the [faults](super::fault_steps) known so far until all other steps are done, so that
//! the counts of their victims are complete.

use super::dice::Dice;
use super::fault_steps::FaultSteps;
use super::moments::Moments;
use crate::run::board::Status;
use crate::run::choice::View;
use crate::run::op::Access;

/// The number of rehearsals, large enough that one early failure does not determine the result.
pub(super) const REHEARSALS: u32 = 4;

/// In the second half of the rehearsals, a task that can continue does so, except in one of this many steps.
const STAYS: u64 = 8;

/// The progress of a strategy through its rehearsals.
#[derive(Debug)]
pub(super) struct Rehearsal {
    left: u32,
    on: bool,
    faults: FaultSteps,
    /// For each rehearsal, true if no fault made its task counts incomplete.
    whole: [bool; REHEARSALS as usize],
}

impl Default for Rehearsal {
    fn default() -> Rehearsal {
        let (faults, whole) = (FaultSteps::default(), [true; REHEARSALS as usize]);
        Rehearsal { left: REHEARSALS, on: false, faults, whole }
    }
}

impl Rehearsal {
    /// Begins a run. Returns `true` if it is the first run after the rehearsals.
    pub(super) fn begin(&mut self) -> bool {
        let before = self.on;
        self.on = self.left > 0;
        self.left = self.left.saturating_sub(1);
        if self.on {
            self.faults.restart();
        }
        let is_first = before && !self.on;
        if is_first {
            self.whole = self.faults.are_whole();
        }
        is_first
    }

    /// Ends a rehearsal.
    pub(super) fn end(&mut self, view: &View<'_>) {
        self.faults.end(view);
    }

    /// Returns the moments of the faults found in the rehearsals. Must be called once, at the first run after the
    /// rehearsals.
    pub(super) fn moments(&mut self) -> Moments {
        Moments::new(self.faults.finish())
    }

    /// Returns `true` if the current run is a rehearsal.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Returns the number of remaining rehearsals.
    pub(super) fn remaining(&self) -> u32 {
        self.left
    }

    /// Chooses the task for a step of a rehearsal. Returns its index among the candidates.
    pub(super) fn pick(&mut self, dice: &mut impl Dice, view: &View<'_>) -> usize {
        self.faults.watch(view);
        let holds = self.left % 2 == 0 && self.faults.hold(view);
        if self.left < REHEARSALS / 2 {
            let goes_on = view.last().map(|task| view.task(task)).filter(|row| {
                // A task that yields lets other tasks run first.
                let can_step = row.status == Status::Ready && !row.announced.is_only(Access::Yield);
                can_step && !(holds && self.faults.is_held(row.candidate()))
            });
            if let Some(row) = goes_on.filter(|_| dice.below(STAYS) != 0) {
                return row.candidate();
            }
        }
        match holds {
            true => self.faults.draw_other(dice),
            false => dice.below(view.candidates().len() as u64) as usize,
        }
    }

    /// Returns the typical value of a count, given its value in each rehearsal: the mean, rounded up, over the
    /// rehearsals without disturbing faults. If faults disturbed tasks in every rehearsal, each count is a lower bound,
    /// so the maximum is typical.
    pub(super) fn typical(&self, counts: &[u64; REHEARSALS as usize]) -> u64 {
        let of_whole = || counts.iter().zip(self.whole).filter(|(_, whole)| *whole);
        match of_whole().count() as u64 {
            0 => counts.iter().copied().max().unwrap_or(0),
            count => of_whole().map(|(count, _)| count).sum::<u64>().div_ceil(count),
        }
    }

    /// Returns `true` if no fault disturbed a task in the rehearsal with this number of [remaining](Self::remaining)
    /// rehearsals, or if faults disturbed tasks in every rehearsal.
    pub(super) fn is_whole(&self, remaining: usize) -> bool {
        self.whole[remaining] || !self.whole.contains(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::choice::{Draw, Mismatch, Strategy};
    use crate::run::ids::Seed;
    use crate::run::rng::Rng;
    use crate::strategy::enumerate::{run, writers};

    /// A strategy that rehearses but learns nothing.
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
        // With two tasks, a walk switches in half of the steps, and the other rehearsals switch in one of sixteen.
        let found: Vec<_> = (0..REHEARSALS).map(|_| switches()).collect();
        let (walks, others) = found.split_at(found.len() / 2);
        assert!(walks.iter().all(|switches| *switches > 120), "{found:?}");
        assert!(others.iter().all(|switches| (5..60).contains(switches)), "{found:?}");
    }
}
