//! The distribution of the moment of a fault, computed for small programs.

use super::*;
use crate::run::choice::Strategy;
use crate::strategy::enumerate::{
    AbstractOp, All, Exact, Order, Program, WRITE, orders, run, sums, writers,
};
use crate::strategy::orders::Orders;
use crate::strategy::pct::Pct;
use crate::strategy::pos::Pos;
use crate::strategy::surw::Surw;
use crate::strategy::urw::Urw;

/// A task that kills the other task, a writer. The first answers of the rehearsals let it come first.
fn killed(writes: usize) -> Program {
    vec![vec![AbstractOp::Kill(1)], vec![AbstractOp::To(0, &WRITE); writes]]
}

/// The writes before the kill.
fn gap(order: &Order) -> usize {
    order.iter().take_while(|(task, _)| *task == 1).count()
}

/// The probability of each gap.
fn gaps<S: Strategy>(writes: usize, create: impl Fn(All) -> S) -> Vec<Exact> {
    let found = sums(orders(&killed(writes), create), gap);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), (0..=writes).collect::<Vec<_>>());
    found.into_values().collect()
}

#[track_caller]
fn assert_even<S: Strategy>(name: &str, create: impl Fn(All) -> S) {
    for writes in 1..=3 {
        let least = Exact::new(1, 3 * (writes as u128 + 1));
        for (gap, p) in gaps(writes, &create).into_iter().enumerate() {
            assert!(!p.is_less(least), "{name}: gap {gap} of {writes} writes: {p:?}");
        }
    }
}

macro_rules! with {
    ($strategy:expr) => {
        |dice: All| {
            let mut strategy = $strategy;
            strategy.dice = dice;
            strategy
        }
    };
}

#[test]
fn each_gap_takes_at_most_three_times_the_runs_of_a_uniform_draw() {
    assert_even("orders", with!(Orders::<All>::default()));
    assert_even("urw", with!(Urw::<All>::default()));
    assert_even("surw", with!(Surw::<All>::default()));
    assert_even("pos", with!(Pos::<All>::default()));
    assert_even("pct", with!(Pct::<All>::with_depth(Some(2))));
}

#[test]
fn a_seed_with_moments_draws_them_uniformly() {
    // Only the moments are tested: this strategy always picks the first task that is not held.
    struct First(All, crate::strategy::rehearsal::Rehearsal, Moments);
    impl Strategy for First {
        fn begin(&mut self, _: crate::run::ids::Seed) {
            if self.1.begin() {
                self.2 = self.1.moments();
            }
            if !self.1.is_on() {
                self.2.begin(&mut self.0);
            }
        }

        fn rehearsals(&self) -> u32 {
            self.1.remaining()
        }

        fn sees_forced_steps(&self) -> bool {
            true
        }

        fn pick(&mut self, view: &View<'_>) -> Result<usize, crate::run::choice::Mismatch> {
            if self.1.is_on() {
                return Ok(self.1.pick(&mut self.0, view));
            }
            if self.2.is_on() {
                self.2.see(view);
            }
            let free = view.candidates().iter().position(|task| !self.2.holds(*task));
            Ok(free.unwrap_or_else(|| self.2.pick_held(&mut self.0, view)))
        }

        fn draw(
            &mut self,
            _: &crate::run::choice::Draw,
        ) -> Result<u64, crate::run::choice::Mismatch> {
            Ok(0)
        }

        fn end(&mut self, view: &View<'_>) -> Result<(), crate::run::choice::Mismatch> {
            if self.1.is_on() {
                self.1.end(view);
            }
            Ok(())
        }
    }
    for writes in 1..=6 {
        let first = |dice| First(dice, Default::default(), Moments::default());
        let found = sums(orders(&killed(writes), first), gap);
        // The first step of a task counts, too, so two moments come before the first write. Without moments, the killer
        // steps first.
        let steps = writes as u128 + 1;
        for (gap, p) in found {
            let moments = Exact::new(if gap == 0 { 4 } else { 2 }, 3 * (steps + 1));
            let plain = if gap == 0 { Exact::new(1, 3) } else { Exact::ZERO };
            assert_eq!(p, moments.plus(plain), "gap {gap} of {writes} writes");
        }
    }
}

#[test]
fn no_value_is_drawn_for_a_program_without_faults() {
    let mut dice = All::default();
    let mut rehearsal = crate::strategy::rehearsal::Rehearsal::default();
    let mut moments = Moments::default();
    for _ in 0..=crate::strategy::rehearsal::REHEARSALS {
        if rehearsal.begin() {
            moments = rehearsal.moments();
        }
    }
    moments.begin(&mut dice);
    assert!(!moments.is_on());
    // If no task is killed, a program has as many orders as without moments.
    assert_eq!(run(&writers(&[2]), &mut with!(Urw::<All>::default())(dice)).len(), 2);
}
