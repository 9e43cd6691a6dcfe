//! A greedy search for an order: almost always sufficient, and almost linear.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use unpause_ordered::{Map, Set};

use super::graph::NONE;
use super::order::{OrderProblem, OrderState, OrderStep, orderly, rank};
use crate::limits::Meter;

/// Takes every step that can be taken, by rank, and backtracks only to correct a specific mistake. Returns `None` if
/// the corrections fail or the meter is over; an order may still exist.
///
/// If no step can be taken, some step must wait for the readers of a version that it would replace, while these readers
/// wait for the step. So the step should have come before that version: the search adds this as a new link and
/// backtracks to before the version was written. If real time orders most of a history, this takes only a few steps,
/// and the whole search costs O((n + e) log n).
pub(super) fn straight(
    problem: &OrderProblem,
    steps: &[OrderStep],
    patience_max: u32,
    meter: &mut Meter<'_>,
) -> Option<Vec<u32>> {
    let mut state = OrderState::new(problem, steps);
    let mut maker = vec![NONE; problem.key.len()];
    for (number, step) in steps.iter().enumerate() {
        step.puts.iter().for_each(|version| maker[*version as usize] = number as u32);
    }
    let mut queue = ReadySteps::default();
    for number in (0..steps.len() as u32).filter(|number| state.waits[*number as usize] == 0) {
        queue.ready.push(Reverse((rank(problem, &steps[number as usize]), number, None)));
    }
    let mut taken: Vec<(u32, Vec<u32>)> = Vec::with_capacity(steps.len());
    let mut seen = SearchMarks { search: 0, by: vec![0; steps.len()], looked: 0 };
    // The added links, each with `true` for a guess; and the guesses that failed.
    let mut trail: Vec<(u32, u32, bool)> = Vec::new();
    let mut refuted: Set<(u32, u32)> = Set::new();
    let (mut best, mut patience) = (0, patience_max);
    loop {
        queue.drain(&mut state, &mut taken, meter)?;
        if taken.len() == steps.len() {
            let taken: Vec<u32> = taken.iter().map(|(number, _)| *number).collect();
            return Some(orderly(problem, steps, &taken));
        }
        if taken.len() > best {
            (best, patience) = (taken.len(), patience_max);
        }
        patience = patience.checked_sub(1)?;
        let mut again: Vec<u32> = queue.waiting.values().flatten().map(|(_, step)| *step).collect();
        let late = [false, true].into_iter().find_map(|guess| {
            let (late, made) = queue.too_late(&state, &maker, &mut seen, &refuted, guess, meter)?;
            Some((late, made, guess))
        });
        queue.waiting.clear();
        let mut back_to = |state: &mut OrderState<'_>, step: u32, again: &mut Vec<u32>| {
            while state.taken[step as usize] {
                let (number, replaced) = taken.pop().expect("a step that was taken");
                state.undo(number, &replaced);
                again.push(number);
            }
        };
        if let Some((late, made, guess)) = late {
            back_to(&mut state, made, &mut again);
            state.learned[late as usize].push(made);
            state.waits[made as usize] += 1;
            trail.push((late, made, guess));
        } else {
            // The last guess was wrong. The links that were derived from it are wrong, too.
            loop {
                let (late, made, guess) = trail.pop()?;
                back_to(&mut state, late, &mut again);
                state.learned[late as usize].retain(|other| *other != made);
                state.waits[made as usize] -= 1;
                again.push(made);
                if guess {
                    refuted.insert((late, made));
                    break;
                }
            }
        }
        again.sort_unstable();
        again.dedup();
        let open =
            |number: &u32| state.waits[*number as usize] == 0 && !state.taken[*number as usize];
        for number in again.into_iter().filter(open) {
            queue.ready.push(Reverse((rank(problem, &steps[number as usize]), number, None)));
        }
    }
}

/// The free steps, lowest rank first.
#[derive(Default)]
struct ReadySteps {
    /// The steps to try, each with the key for which it waited before.
    ready: BinaryHeap<Reverse<(u64, u32, Option<usize>)>>,
    /// Steps that must wait for a key. Invariant: no empty sets.
    waiting: Map<usize, Set<(u64, u32)>>,
}

impl ReadySteps {
    /// Takes all steps that can be taken. Returns `None` if a step reads a wrong version, or the meter is over.
    fn drain(
        &mut self,
        state: &mut OrderState<'_>,
        taken: &mut Vec<(u32, Vec<u32>)>,
        meter: &mut Meter<'_>,
    ) -> Option<()> {
        while let Some(Reverse((priority, number, from))) = self.ready.pop() {
            if !meter.work(1) {
                return None;
            }
            let mut open: Vec<usize> = Vec::new();
            let blocked = state.blocked(number);
            // Steps that wait behind this step for the same key may be free now.
            open.extend(from.filter(|from| blocked != Some(*from)));
            if let Some(key) = blocked {
                self.waiting.entry(key).or_default().insert((priority, number));
            } else {
                if !state.reads_right(number) {
                    return None;
                }
                taken.push((number, state.take(number)));
                let step = &state.steps[number as usize];
                for other in step.after.iter().chain(&state.learned[number as usize]) {
                    if state.waits[*other as usize] == 0 {
                        let priority = rank(state.problem, &state.steps[*other as usize]);
                        self.ready.push(Reverse((priority, *other, None)));
                    }
                }
                let freed = if step.frees { state.written(number) } else { &[] };
                let touched = step.needs.iter().chain(&step.puts).chain(freed);
                open.extend(touched.map(|version| state.key(*version)));
            }
            for key in open {
                let Some(waiting) = self.waiting.get_mut(&key) else { continue };
                if let Some((priority, number)) = waiting.pop_first() {
                    self.ready.push(Reverse((priority, number, Some(key))));
                }
                if waiting.is_empty() {
                    self.waiting.remove(&key);
                }
            }
        }
        Some(())
    }

    /// Returns two steps: the first waits for readers of a version, while they wait for it, and the second wrote that
    /// version. If the required order alone proves both facts, the first step certainly comes before the second. With
    /// `by_waiting`, the search also follows the current waits for keys, and the result is a guess.
    fn too_late(
        &self,
        state: &OrderState<'_>,
        maker: &[u32],
        seen: &mut SearchMarks,
        refuted: &Set<(u32, u32)>,
        by_waiting: bool,
        meter: &mut Meter<'_>,
    ) -> Option<(u32, u32)> {
        for (key, waiting) in &self.waiting {
            let version = state.current[*key];
            let made = maker[version as usize];
            for (_, late) in waiting {
                let known = made == NONE || made == *late || refuted.contains(&(*late, made));
                if known || state.learned[*late as usize].contains(&made) {
                    continue;
                }
                let needs = |step: u32| state.steps[step as usize].needs.contains(&version);
                // If the version is known to come first, this step is not too late, but another step is.
                let before = seen.looked;
                let found = self.reaches(state, *late, &needs, seen, by_waiting)
                    && !self.reaches(state, made, &|step| step == *late, seen, false);
                if !meter.work(seen.looked.wrapping_sub(before) / 4 + 1) {
                    return None;
                }
                if found {
                    return Some((*late, made));
                }
            }
        }
        None
    }

    /// Returns `true` if a local search shows that a step must come before a `target`.
    fn reaches(
        &self,
        state: &OrderState<'_>,
        from: u32,
        target: &dyn Fn(u32) -> bool,
        seen: &mut SearchMarks,
        by_waiting: bool,
    ) -> bool {
        const NEARBY: usize = 4096;
        seen.search += 1;
        seen.by[from as usize] = seen.search;
        let mut found = VecDeque::from([from]);
        let mut looked = 0;
        while let Some(number) = found.pop_front() {
            let step = &state.steps[number as usize];
            if number != from && target(number) {
                return true;
            }
            looked += 1;
            seen.looked = seen.looked.wrapping_add(1);
            if looked > NEARBY {
                return false;
            }
            let mut next = |other: u32| {
                if std::mem::replace(&mut seen.by[other as usize], seen.search) != seen.search {
                    found.push_back(other);
                }
            };
            step.after.iter().chain(&state.learned[number as usize]).for_each(|step| next(*step));
            for need in step.needs.iter().filter(|_| by_waiting) {
                let key = state.key(*need);
                if state.current[key] == *need {
                    let waiting = self.waiting.get(&key).into_iter().flatten();
                    waiting.for_each(|(_, step)| next(*step));
                }
            }
        }
        false
    }
}

/// The number of the last search that visited each step.
struct SearchMarks {
    search: u32,
    by: Vec<u32>,
    /// The number of steps visited.
    looked: u32,
}
