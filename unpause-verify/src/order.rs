//! The order of the steps of a run, and a number that identifies the class of a run.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use crate::observed::{Run, Step};
use crate::relation::{Effect, conflict};

/// Returns a 128-bit hash of a value. Different values have different hashes.
pub(crate) fn number(value: impl Hash) -> u128 {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let half = |salt: u64| u128::from(hasher.hash_one((salt, &value)));
    half(0) << 64 | half(1)
}

/// Returns the sum of the hashes of steps, which does not depend on their order.
pub(crate) fn sum<'a>(numbers: impl IntoIterator<Item = &'a u128>) -> u128 {
    numbers.into_iter().fold(0, |sum, number| sum.wrapping_add(*number))
}

/// Returns `true` if two steps must keep their order, where `first` precedes `second`.
fn depend(first: &Step, second: &Step) -> bool {
    let conflicts = |one: &Effect| second.effects.iter().any(|other| conflict(one, other));
    let is_before = |one: &Effect| *one == Effect::Spawned(second.task) || conflicts(one);
    first.task == second.task || first.effects.iter().any(is_before)
}

/// A run with the partial order of its steps, which stays the same under swaps of adjacent steps without a conflict.
#[derive(Debug)]
pub(crate) struct Ordered {
    pub(crate) run: Run,
    /// For each step, the steps that precede it in every run of the class.
    before: Vec<Vec<bool>>,
    /// For each step, a hash of the step and of all steps that precede it.
    pub(crate) numbers: Vec<u128>,
}

impl Ordered {
    pub(crate) fn of(run: Run) -> Ordered {
        let (before, numbers) = order(&run, &vec![false; run.steps.len()]);
        Ordered { run, before, numbers }
    }

    /// Returns `true` if step `at` is `first`, or follows it in every run of the class.
    pub(crate) fn is_from(&self, first: usize, at: usize) -> bool {
        first == at || self.before[at].get(first).is_some_and(|before| *before)
    }

    /// Returns a hash of the run's class. Two runs of the same class differ only in the order of steps without a
    /// conflict, or in steps that a node death undoes.
    pub(crate) fn class(&self) -> u128 {
        let lost = self.lost();
        if lost.contains(&true) { sum(&order(&self.run, &lost).1) } else { sum(&self.numbers) }
    }

    /// Returns, for each step, `true` if a node death undid it: its task died, and it precedes no step with effects
    /// that outlive the node. Never `true` with a bound, because the steps have a cost.
    fn lost(&self) -> Vec<bool> {
        let Run { lives, steps, .. } = &self.run;
        let mut lost = vec![false; steps.len()];
        for death in steps.iter().filter(|step| step.ready.is_empty()) {
            for effect in &death.effects {
                let Effect::Life { life, ends: true } = *effect else { continue };
                let outlives = Effect::Life { life, ends: false };
                let needed = (0..steps.len()).filter(|at| steps[*at].effects.contains(&outlives));
                for (at, step) in steps.iter().enumerate() {
                    let has_died = lives[step.task] == life
                        && death.effects.contains(&Effect::Killed(step.task));
                    lost[at] |= has_died && !needed.clone().any(|needed| self.is_from(at, needed));
                }
            }
        }
        lost
    }
}

/// Returns, for each step, the steps that precede it in every run of the class, and a hash of all of these steps. Steps
/// that are `lost` precede no step, and have the hash 0. With a bound, each step precedes the next one.
fn order(run: &Run, lost: &[bool]) -> (Vec<Vec<bool>>, Vec<u128>) {
    let count = run.steps.len();
    let mut before: Vec<Vec<bool>> = Vec::with_capacity(count);
    let (mut numbers, mut names, mut after_all) = (vec![0; count], vec![0; count], 0);
    for (at, step) in run.steps.iter().enumerate() {
        let mut own = vec![false; at];
        after_all = if step.after_all || !step.ready.is_empty() { at } else { after_all };
        if !lost[at] {
            let mut nth = 0u64;
            for earlier in (0..at).rev().filter(|earlier| !lost[*earlier]) {
                nth += u64::from(run.steps[earlier].task == step.task);
                let must = || earlier < after_all || depend(&run.steps[earlier], step);
                if !own[earlier] && must() {
                    own[earlier] = true;
                    own.iter_mut().zip(&before[earlier]).for_each(|(own, other)| *own |= other);
                }
            }
            names[at] = number((&run.tasks[step.task], nth));
            let earlier = (0..at).filter(|earlier| own[*earlier]).map(|earlier| &names[earlier]);
            numbers[at] = number((names[at], step.did, sum(earlier)));
        }
        before.push(own);
    }
    (before, numbers)
}
