//! The order of the steps of a run, and what two runs have in common that differ in nothing else.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::observed::{Run, Step};
use crate::relation::{Effect, conflict};

/// A number for a value, different for different values.
pub(crate) fn number(value: impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, &value).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// Returns `true` if two steps must keep their order: the first one came before.
fn depend(first: &Step, second: &Step) -> bool {
    let is_before = |one: &Effect| {
        *one == Effect::Spawned(second.task)
            || second.effects.iter().any(|other| conflict(one, other))
    };
    first.task == second.task || first.effects.iter().any(is_before)
}

/// The order of the steps of a run that no swap of neighbours without a conflict changes.
#[derive(Debug)]
pub(crate) struct Order {
    /// By step: the steps that came before it in every such run. Steps that were left out have none.
    before: Vec<Vec<bool>>,
    /// By step: a number for it and all that came before it.
    pub(crate) numbers: Vec<u128>,
}

impl Order {
    /// The order of all steps of a run.
    pub(crate) fn of(run: &Run) -> Order {
        Order::without(run, &vec![false; run.steps.len()])
    }

    /// The order of the steps that are not `lost`.
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

    /// Returns `true` if step `at` is `first`, or came after it in every such run.
    pub(crate) fn is_from(&self, first: usize, at: usize) -> bool {
        first == at || self.before[at].get(first).is_some_and(|before| *before)
    }

    /// A number for the class of the run. Two runs of one class differ only in the order of steps without a conflict,
    /// or in steps that the death of a node takes back.
    pub(crate) fn class(&self, run: &Run) -> u128 {
        let sum =
            |order: &Order| order.numbers.iter().fold(0u128, |sum, own| sum.wrapping_add(*own));
        match self.lost(run) {
            Some(lost) => sum(&Order::without(run, &lost)),
            None => sum(self),
        }
    }

    /// By step, `true` if a death took it back: its task died, and it came before no step whose effects outlived the
    /// node. `None` if no node died.
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
