//! Finds the two steps that did not commute, when a run gives another result in another order of its steps.
//!
//! Both orders are linear extensions of the same happens-before order. Therefore swaps of adjacent steps without a
//! conflict transform one order into the other. The first order gives the sampled result, the last order does not. A
//! binary search over the swaps finds the swap that makes the difference. For n swaps, it needs about log2(n) runs.

use super::again::{Again, Sight, difference, sight};
use crate::report::{Clash, StepText};
use crate::run::Run;
use crate::run::event::Values;
use crate::run::ids::TaskId;
use crate::run::op::{Access, task};

/// The expected result of a run in all orders of its steps that must make no difference.
pub(super) struct Expected<'r> {
    pub(super) run: &'r Run,
    /// The expected class; `None` if classes are not compared.
    pub(super) class: Option<u64>,
}

impl Expected<'_> {
    /// Returns `true` if the steps of the run were already in this order.
    pub(super) fn is_made_by(&self, order: &[u32]) -> bool {
        self.run.steps.iter().map(|step| step.task).eq(self.tasks(order))
    }

    /// Returns `true` if the last run, which has this class, gives the same result. Steps that are lost are ignored.
    pub(super) fn is_met(&self, again: &Again<'_, '_>, class: u64, lost: &[bool]) -> bool {
        self.class.is_none_or(|expected| expected == class)
            && sight(&again.outline(), &[]) == sight(self.run, lost)
    }

    /// Returns the tasks that take the steps in this order.
    pub(super) fn tasks(&self, order: &[u32]) -> Vec<TaskId> {
        order.iter().map(|step| self.run.steps[*step as usize].task).collect()
    }

    fn is_shown(&self, again: &mut Again<'_, '_>, order: &[u32], lost: &[bool]) -> bool {
        let (failure, class) = again.make(&self.tasks(order), |order| order.class());
        failure.is_none() && self.is_met(again, class, lost)
    }

    /// Returns the two steps that do not commute. The steps are found on the way to the order `target`, which gives
    /// another result.
    pub(super) fn clash(&self, again: &mut Again<'_, '_>, target: &[u32]) -> Option<Clash> {
        let swaps = first_that_differs(swaps_to(target), |swaps| {
            let (order, _) = after_swaps(target, swaps);
            self.is_shown(again, &order, &[])
        })?;
        // The order before this swap still gives the sampled result. The swap exchanges the steps at `at` and `at + 1`.
        let (order, at) = after_swaps(target, swaps - 1);
        let (run, shown) = self.made(again, &order);
        let (_, otherwise) = self.made(again, &after_swaps(target, swaps).0);
        let steps = [at as u32, at as u32 + 1].map(|step| StepText::of(&run, step));
        Some(Clash { steps, shows: difference(&shown, &otherwise), is_death: false })
    }

    /// Returns a step that a death should have rolled back, and the death. `lost` marks the steps that deaths roll
    /// back.
    pub(super) fn clash_with_death(
        &self,
        again: &mut Again<'_, '_>,
        lost: &[bool],
    ) -> Option<Clash> {
        let all: Vec<u32> = (0..).zip(lost).filter(|(_, lost)| **lost).map(|(at, _)| at).collect();
        let without = |count: usize| {
            let mut lost = vec![false; lost.len()];
            // The last steps are left out first, so no remaining step misses an earlier lost step.
            all.iter().rev().take(count).for_each(|step| lost[*step as usize] = true);
            let kept: Vec<u32> = (0..).zip(&lost).filter(|(_, l)| !**l).map(|(at, _)| at).collect();
            (lost, kept)
        };
        let count = first_that_differs(all.len(), |count| {
            let (lost, kept) = without(count);
            self.is_shown(again, &kept, &lost)
        })?;
        // If one fewer lost step is left out, the result is the same. So the last omitted step makes the difference.
        let step = all[all.len() - count];
        let dead = self.run.steps[step as usize].task;
        let kills = |event: &&crate::run::event::Event| {
            event.op.access == Access::Tell
                && event.op.kind == Some(task::KILL)
                && event.values == Values::Task(dead)
        };
        let death = self.run.events.iter().find(kills)?.step;
        let (lost, kept) = without(count);
        let (_, otherwise) = self.made(again, &kept);
        let steps = [step, death].map(|step| StepText::of(self.run, step));
        let shows = difference(&sight(self.run, &lost), &otherwise);
        Some(Clash { steps, shows, is_death: true })
    }

    /// Repeats the run with its steps in this order. Returns the run and its observations.
    fn made(&self, again: &mut Again<'_, '_>, order: &[u32]) -> (Run, Sight) {
        again.make(&self.tasks(order), |_| ());
        let run = again.outline();
        let shown = sight(&run, &[]);
        (run, shown)
    }
}

/// Returns the first number up to `most` at which the run differs. The run is the same for the previous number; this
/// number is found by bisection. Returns `None` if the run is the same for `most`.
pub(super) fn first_that_differs(
    most: usize,
    mut is_same: impl FnMut(usize) -> bool,
) -> Option<usize> {
    // For 0, the run is the sampled run.
    let (mut same, mut differs) = (0, most);
    if most == 0 || is_same(most) {
        return None;
    }
    while differs - same > 1 {
        let middle = same + (differs - same) / 2;
        match is_same(middle) {
            true => same = middle,
            false => differs = middle,
        }
    }
    Some(differs)
}

/// Returns the number of adjacent swaps that transform the sorted order into `target`.
pub(super) fn swaps_to(target: &[u32]) -> usize {
    // Each swap on the way creates exactly one inversion of `target`.
    let inversions = |at: usize| target[at..].iter().filter(|later| **later < target[at]).count();
    (0..target.len()).map(inversions).sum()
}

/// Returns the order after the first `swaps` swaps, and the position of the next swap. This swap exchanges the step at
/// this position and its successor.
pub(super) fn after_swaps(target: &[u32], mut swaps: usize) -> (Vec<u32>, usize) {
    let mut order: Vec<u32> = (0..target.len() as u32).collect();
    for (at, step) in target.iter().enumerate() {
        let found = order.iter().position(|own| own == step);
        let mut from = found.expect("an order has each step once");
        // The step moves to the left until it is in its place, so no pair is swapped twice.
        while from > at {
            if swaps == 0 {
                return (order, from - 1);
            }
            order.swap(from - 1, from);
            (from, swaps) = (from - 1, swaps - 1);
        }
    }
    let end = order.len();
    (order, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::rng::Rng;

    #[test]
    fn swaps_of_neighbours_lead_from_one_order_to_the_other() {
        let mut rng = Rng::new(1);
        for length in 0..12 {
            let mut target: Vec<u32> = (0..length).collect();
            for at in (1..target.len()).rev() {
                target.swap(at, rng.below(at as u64 + 1) as usize);
            }
            let all = swaps_to(&target);
            let (mut order, mut at) = after_swaps(&target, 0);
            assert!(order.is_sorted());
            for swaps in 1..=all {
                let place = |step: u32| target.iter().position(|own| *own == step);
                assert!(place(order[at]) > place(order[at + 1]), "each step is swapped once");
                order.swap(at, at + 1);
                let next = after_swaps(&target, swaps);
                assert_eq!(order, next.0);
                (order, at) = next;
            }
            assert_eq!(order, target);
        }
    }

    #[test]
    fn bisection_finds_a_change() {
        for most in 0..40 {
            for first in 1..=most {
                assert_eq!(first_that_differs(most, |at| at < first), Some(first));
            }
            assert_eq!(first_that_differs(most, |_| true), None);
        }
    }
}
