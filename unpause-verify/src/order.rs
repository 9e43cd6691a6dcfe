//! The order of the steps of a run, and a number that identifies the class of a run.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::observed::{Run, Step};
use crate::relation::{Effect, conflict};

/// Returns a 128-bit hash of a value. Different values have different hashes.
pub(crate) fn number(value: impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, &value).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// Returns `true` if two steps must keep their order, where `first` precedes `second`.
fn depend(first: &Step, second: &Step) -> bool {
    let is_before = |one: &Effect| {
        *one == Effect::Spawned(second.task)
            || second.effects.iter().any(|other| conflict(one, other))
    };
    first.task == second.task || first.effects.iter().any(is_before)
}

/// The partial order of a run's steps that stays the same under swaps of adjacent steps without a conflict.
#[derive(Debug)]
pub(crate) struct Order {
    /// For each step, the steps that precede it in every run of the class. Omitted steps have an empty list.
    before: Vec<Vec<bool>>,
    /// For each step, a hash of the step and of all steps that precede it.
    pub(crate) numbers: Vec<u128>,
}

impl Order {
    /// Returns the order of all steps of a run.
    pub(crate) fn of(run: &Run) -> Order {
        Order::without(run, &vec![false; run.steps.len()])
    }

    /// Returns the order of the steps that are not `lost`.
    fn without(run: &Run, lost: &[bool]) -> Order {
        let count = run.steps.len();
        let mut before: Vec<Vec<bool>> = Vec::with_capacity(count);
        let (mut numbers, mut names, mut nths) = (vec![0; count], vec![0; count], HashMap::new());
        let mut after_all = 0;
        for (at, step) in run.steps.iter().enumerate() {
            let mut own = vec![false; at];
            if step.after_all {
                after_all = at;
            }
            if !lost[at] {
                for earlier in (0..at).rev().filter(|earlier| !lost[*earlier]) {
                    let must = earlier < after_all || depend(&run.steps[earlier], step);
                    if must && !own[earlier] {
                        own[earlier] = true;
                        own.iter_mut().zip(&before[earlier]).for_each(|(own, other)| *own |= other);
                    }
                }
                let nth = nths.entry(step.task).or_insert(0u64);
                names[at] = number((&run.tasks[step.task], *nth));
                *nth += 1;
                let earlier = (0..at).filter(|earlier| own[*earlier]);
                let sum = earlier.fold(0u128, |sum, earlier| sum.wrapping_add(names[earlier]));
                numbers[at] = number((names[at], step.did, sum));
            }
            before.push(own);
        }
        Order { before, numbers }
    }

    /// Returns `true` if step `at` is `first`, or follows it in every run of the class.
    pub(crate) fn is_from(&self, first: usize, at: usize) -> bool {
        first == at || self.before[at].get(first).is_some_and(|before| *before)
    }

    /// Returns a hash of the run's class. Two runs of the same class differ only in the order of steps without a
    /// conflict, or in steps that a node death undoes.
    pub(crate) fn class(&self, run: &Run) -> u128 {
        let sum =
            |order: &Order| order.numbers.iter().fold(0u128, |sum, own| sum.wrapping_add(*own));
        match self.lost(run) {
            Some(lost) => sum(&Order::without(run, &lost)),
            None => sum(self),
        }
    }

    /// Returns, for each step, `true` if a node death undid it: its task died, and it precedes no step with effects
    /// that outlive the node. Returns `None` if no node died.
    fn lost(&self, run: &Run) -> Option<Vec<bool>> {
        let mut lost = None;
        for death in &run.steps {
            for effect in &death.effects {
                let Effect::Life { life, ends: true } = *effect else { continue };
                let outlives = Effect::Life { life, ends: false };
                let has = |at: &usize| run.steps[*at].effects.contains(&outlives);
                let needed: Vec<usize> = (0..run.steps.len()).filter(has).collect();
                let lost = lost.get_or_insert_with(|| vec![false; run.steps.len()]);
                for (at, step) in run.steps.iter().enumerate() {
                    let has_died = run.lives[step.task] == life
                        && death.effects.contains(&Effect::Killed(step.task));
                    lost[at] |= has_died && !needed.iter().any(|needed| self.is_from(at, *needed));
                }
            }
        }
        lost
    }
}
