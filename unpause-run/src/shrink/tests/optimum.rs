//! The oracle computes all failing runs of a program, and the cheapest of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::run::schedule::{Cost, Schedule};

use super::interp::{Fail, Program, State};

/// The least cost of a run that ends in `fail`; `None` if no run does.
pub(super) fn least_cost(program: &Program, fail: &Fail) -> Option<Cost> {
    least_cost_within(program, fail, u64::MAX)
}

/// Returns the least cost of a run of at most `steps_max` steps that ends in `fail`.
///
/// Dijkstra's algorithm over the state, the last task, and the number of steps if it is bounded. The cost of a run is a
/// sum over its steps, and addition is monotone in the order of costs. So the first time that `fail` is reached, it is
/// reached at the least cost.
pub(super) fn least_cost_within(program: &Program, fail: &Fail, steps_max: u64) -> Option<Cost> {
    let bounded = steps_max < u64::MAX;
    let mut nodes: Vec<(State, Option<usize>, u64)> = vec![(program.begin(), None, 0)];
    let mut known: HashMap<(State, Option<usize>, u64), usize> = HashMap::new();
    known.insert(nodes[0].clone(), 0);
    let mut done = vec![false];
    let mut queue = BinaryHeap::from([Reverse((Cost::default(), usize::MAX))]);
    while let Some(Reverse((cost, id))) = queue.pop() {
        // The number of a failed run is `FAILED`; the first entry is the beginning.
        if id == FAILED {
            return Some(cost);
        }
        let id = if id == usize::MAX { 0 } else { id };
        if std::mem::replace(&mut done[id], true) {
            continue;
        }
        let (state, last, _) = nodes[id].clone();
        if cost.steps == steps_max {
            continue;
        }
        let go_on = last.filter(|last| program.is_candidate(&state, *last));
        for task in 0..program.tasks.len() {
            if !program.is_candidate(&state, task) {
                continue;
            }
            for drawn in draws(program, &state, task) {
                let mut after = state.clone();
                let mut values = drawn.iter();
                let failed = program.step(&mut after, task, &mut |_| *values.next().unwrap());
                let cost = Cost {
                    program: 0,
                    simpler: 0,
                    preemptions: cost.preemptions
                        + u64::from(go_on.is_some_and(|last| last != task)),
                    turns: cost.turns + u64::from(last != Some(task)),
                    steps: cost.steps + 1,
                    draws_sum: cost.draws_sum + drawn.iter().map(|v| u128::from(*v)).sum::<u128>(),
                    draws_set: cost.draws_set + drawn.iter().filter(|v| **v != 0).count() as u64,
                };
                match failed {
                    Some(failed) if failed == *fail => queue.push(Reverse((cost, FAILED))),
                    Some(_) => {}
                    None => {
                        let node = (after, Some(task), if bounded { cost.steps } else { 0 });
                        let id = *known.entry(node.clone()).or_insert_with(|| {
                            nodes.push(node);
                            done.push(false);
                            nodes.len() - 1
                        });
                        if !done[id] {
                            queue.push(Reverse((cost, id)));
                        }
                    }
                }
            }
        }
    }
    None
}

/// All failing runs of a program, by depth-first search; only for tiny programs.
pub(super) fn all_failing(program: &Program) -> Vec<(Schedule, Fail)> {
    let tasks = (0..program.tasks.len()).map(Program::path).collect();
    let mut open = vec![(program.begin(), Schedule { tasks, ..Schedule::default() }, None)];
    let mut failing = Vec::new();
    while let Some((state, ran, last)) = open.pop() {
        let can = |task: usize| program.is_candidate(&state, task);
        for task in (0..program.tasks.len()).filter(|task| can(*task)) {
            for drawn in draws(program, &state, task) {
                let (mut after, mut ran) = (state.clone(), ran.clone());
                let mut values = drawn.iter();
                let failed = program.step(&mut after, task, &mut |_| *values.next().unwrap());
                ran.step(task, last.is_some_and(can));
                drawn.iter().for_each(|value| ran.draw(task, *value));
                match failed {
                    Some(fail) => failing.push((ran, fail)),
                    None => open.push((after, ran, Some(task))),
                }
            }
        }
    }
    failing
}

const FAILED: usize = usize::MAX - 1;

/// All sequences of values that this step can draw.
fn draws(program: &Program, state: &State, task: usize) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(prefix) = open.pop() {
        let mut bounds = Vec::new();
        let mut values = prefix.iter().copied();
        program.step(&mut state.clone(), task, &mut |bound| {
            bounds.push(bound);
            values.next().unwrap_or(0)
        });
        match bounds.get(prefix.len()) {
            Some(bound) => {
                open.extend((0..*bound).map(|value| [&prefix[..], &[value]].concat()));
            }
            None => all.push(prefix),
        }
    }
    all
}
