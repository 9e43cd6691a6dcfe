//! Tests of each single pass, on runs that follow their schedules exactly.

use crate::run::ids::TaskPath;
use crate::run::schedule::{Schedule, Turn};
use crate::shrink::{Budget, PASSES, shrink_with};

/// The result of the pass of this name on `turns`; `fails` returns `true` for failing turns. All
/// switches are preemptions.
fn alone(
    pass: &str,
    turns: &[(usize, u32)],
    fails: impl Fn(&[(usize, u32)]) -> bool,
) -> Vec<(usize, u32)> {
    let pairs = |schedule: &Schedule| -> Vec<(usize, u32)> {
        schedule.turns.iter().map(|turn| (turn.task, turn.steps)).collect()
    };
    let tasks = turns.iter().map(|turn| turn.0).max().unwrap() + 1;
    let start = Schedule {
        tasks: (0..tasks).map(|task| TaskPath::main().child(task as u32)).collect(),
        turns: turns.iter().map(|&(task, steps)| Turn { task, steps, preempts: true }).collect(),
        draws: vec![],
        ..Schedule::default()
    };
    let mut replayer = |schedule: &Schedule| {
        let mut ran = schedule.clone();
        ran.turns.iter_mut().for_each(|turn| turn.preempts = true);
        // The length of an open turn depends on the program, and there is none here.
        let open = ran.turns.iter().any(|turn| turn.steps == Turn::OPEN);
        (!open && fails(&pairs(&ran))).then_some(ran)
    };
    let passes: Vec<_> = PASSES.iter().copied().filter(|row| row.name == pass).collect();
    assert_eq!(passes.len(), 1);
    let shrunk = shrink_with(&passes, start, &mut replayer, &Budget::default());
    assert!(shrunk.reproduced && shrunk.complete);
    pairs(&shrunk.schedule)
}

#[test]
fn tail_drops_what_comes_after_the_cause() {
    let turns: Vec<_> = (0..1000).map(|i| (i % 3, 1)).collect();
    let left = alone("tail", &turns, |left| left.starts_with(&turns[..123]));
    assert_eq!(left, turns[..123]);
}

#[test]
fn tasks_drops_those_that_are_not_needed_and_gives_the_others_one_turn() {
    let turns: Vec<_> = (0..1000).map(|i| (i * i % 7 + i % 3, 1)).collect();
    let steps = |turns: &[(usize, u32)], task| -> u32 {
        turns.iter().filter(|turn| turn.0 == task).map(|turn| turn.1).sum()
    };
    let all = [steps(&turns, 2), steps(&turns, 4)];
    let mut left = alone("tasks", &turns, |left| [steps(left, 2), steps(left, 4)] == all);
    left.sort();
    assert_eq!(left, [(2, all[0]), (4, all[1])]);
}

#[test]
fn regroup_keeps_where_the_tasks_are_to_each_other() {
    // When task 1 takes its 100th step, task 0 must have taken as many steps as in the beginning.
    let met = |turns: &[(usize, u32)]| -> Option<u32> {
        let mut steps = [0; 4];
        for &(task, n) in turns {
            steps[task] += n;
            if steps[1] >= 100 {
                return Some(steps[0]);
            }
        }
        None
    };
    let turns: Vec<_> = (0..1000).map(|i| (i * i % 7 % 4, 1)).collect();
    let left = alone("regroup", &turns, |left| met(left) == met(&turns));
    assert!(left.len() <= 8, "{left:?}");
    assert_eq!(met(&left), met(&turns));
}

#[test]
fn turns_drops_all_but_those_that_are_needed() {
    let turns: Vec<_> = (0..300).map(|i| (i % 7, 1 + i as u32)).collect();
    let needed = [turns[16], turns[150], turns[151], turns[299]];
    let fails = |left: &[(usize, u32)]| needed.iter().all(|turn| left.contains(turn));
    assert_eq!(alone("turns", &turns, fails), needed);
}

#[test]
fn turns_joins_those_of_one_task() {
    // All steps are needed to fail, but the turns of task 0 can move before the turns of task 1.
    let turns = [(0, 3), (1, 1), (0, 4), (1, 2), (0, 5)];
    let fails = |left: &[(usize, u32)]| left.iter().map(|turn| turn.1).sum::<u32>() == 15;
    assert_eq!(alone("turns", &turns, fails).len(), 2);
}

#[test]
fn steps_cuts_a_turn_where_the_cause_ends() {
    let fails = |left: &[(usize, u32)]| left[0].0 == 0 && left[0].1 >= 37 && left[1] == (1, 5);
    assert_eq!(alone("steps", &[(0, 1000), (1, 5)], fails), [(0, 37), (1, 5)]);
}
