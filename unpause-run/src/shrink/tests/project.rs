//! The schedule of a smaller program beside the schedule of its original program.

use super::super::project::{project, scatter};
use super::*;
use crate::run::program::{Change, Fate, Part};
use crate::run::schedule::Command;

/// A task of the table: the body, or the `n`-th task that it spawned.
const MAIN: usize = 0;

/// The body and `branches` branches.
fn tasks(branches: u32) -> Vec<TaskPath> {
    let children = (0..branches).map(|n| TaskPath::main().child(n));
    std::iter::once(TaskPath::main()).chain(children).collect()
}

fn turns(turns: &[(usize, u32)]) -> Vec<Turn> {
    turns.iter().map(|(task, steps)| Turn { task: *task, steps: *steps, preempts: false }).collect()
}

/// Returns the schedule of a program with one command in each of three branches, and one command after the branches. A
/// branch takes one step to begin, and two steps for its command. The changes are the first values that the body draws.
fn three_branches() -> Schedule {
    let command = |nth: usize, part, task, from, to| Command {
        part,
        fate: Fate::Runs,
        change: (MAIN, nth),
        simpler: (4, 4),
        candidates: 0,
        steps: Some((task, from, to)),
        // The command of a branch draws one value; the last command draws two.
        draws: if task == MAIN { (4, 6) } else { (0, 1) },
    };
    let branch = |branch| Part::Branch { stage: 0, branch };
    Schedule {
        tasks: tasks(3),
        turns: turns(&[(MAIN, 1), (1, 2), (2, 3), (1, 1), (3, 1), (MAIN, 1), (3, 2), (MAIN, 3)]),
        draws: vec![vec![0, 0, 0, 0, 44, 45], vec![11], vec![22], vec![33]],
        commands: vec![
            command(0, branch(0), 1, 1, 3),
            command(1, branch(1), 2, 1, 3),
            command(2, branch(2), 3, 1, 3),
            command(3, Part::Suffix, MAIN, 3, 5),
        ],
    }
}

/// The turns of a schedule, by the last number of the path of each task.
fn turns_by_path(schedule: &Schedule) -> Vec<(String, u32)> {
    let name = |turn: &Turn| schedule.tasks[turn.task].to_string();
    schedule.turns.iter().map(|turn| (name(turn), turn.steps)).collect()
}

#[track_caller]
fn check(changes: &[(usize, Change)], expected: &[(&str, u32)], draws: &[&[u64]]) {
    let projected = project(&three_branches(), changes);
    let found = turns_by_path(&projected);
    let found: Vec<(&str, u32)> = found.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(found, expected);
    assert_eq!(projected.draws, draws);
    assert_eq!(projected.commands, []);
}

#[test]
fn what_is_kept_is_as_it_was() {
    let all = three_branches();
    let kept = project(&all, &[(0, Change::Keep), (3, Change::Keep)]);
    assert_eq!((kept.tasks, kept.turns, kept.draws), (all.tasks, all.turns, all.draws));
}

#[test]
fn a_tombstone_keeps_its_points() {
    let all = three_branches();
    let buried = project(&all, &[(1, Change::Tombstone(2))]);
    assert_eq!((&buried.tasks, &buried.turns), (&all.tasks, &all.turns));
    assert_eq!(buried.draws[MAIN], [0, Change::Tombstone(2).to_decision(), 0, 0, 44, 45]);
    // A tombstone draws nothing.
    assert_eq!(buried.draws[1..], [vec![11], vec![], vec![33]]);
}

#[test]
fn a_command_that_is_dropped_takes_its_steps_along() {
    check(
        &[(3, Change::Drop)],
        &[("0", 1), ("0.0", 2), ("0.1", 3), ("0.0", 1), ("0.2", 1), ("0", 1), ("0.2", 2), ("0", 1)],
        &[&[0, 0, 0, 1], &[11], &[22], &[33]],
    );
}

#[test]
fn a_branch_with_nothing_left_is_no_task_and_the_next_ones_are_named_anew() {
    check(
        &[(0, Change::Drop)],
        &[("0", 1), ("0.0", 3), ("0.1", 1), ("0", 1), ("0.1", 2), ("0", 3)],
        &[&[1, 0, 0, 0, 44, 45], &[22], &[33]],
    );
    check(
        &[(1, Change::Drop)],
        &[("0", 1), ("0.0", 3), ("0.1", 1), ("0", 1), ("0.1", 2), ("0", 3)],
        &[&[0, 1, 0, 0, 44, 45], &[11], &[33]],
    );
}

#[test]
fn a_branch_that_is_alone_is_run_by_the_body() {
    check(&[(0, Change::Drop), (2, Change::Drop)], &[("0", 8)], &[&[1, 0, 1, 0, 22, 44, 45]]);
}

#[test]
fn a_command_that_is_moved_is_run_by_the_body_before_or_after() {
    let changed = |change: Change| change.to_decision();
    check(
        &[(1, Change::ToPrefix)],
        &[("0", 3), ("0.0", 3), ("0.1", 1), ("0", 1), ("0.1", 2), ("0", 3)],
        &[&[0, changed(Change::ToPrefix), 0, 0, 22, 44, 45], &[11], &[33]],
    );
    check(
        &[(1, Change::ToSuffix)],
        &[("0", 1), ("0.0", 3), ("0.1", 1), ("0", 1), ("0.1", 2), ("0", 5)],
        &[&[0, changed(Change::ToSuffix), 0, 0, 22, 44, 45], &[11], &[33]],
    );
}

#[test]
fn values_are_drawn_by_whoever_runs_the_command_and_in_its_order() {
    let (prefix, suffix) = (Change::ToPrefix.to_decision(), Change::ToSuffix.to_decision());
    let moved = [(0, Change::ToSuffix), (1, Change::ToPrefix)];
    let projected = project(&three_branches(), &moved);
    assert_eq!(projected.draws, [[suffix, prefix, 0, 0, 22, 33, 11, 44, 45]]);
    // The same must hold if the prefix has a command, and a branch has two commands, one of them dropped.
    let mut all = three_branches();
    all.commands[0].part = Part::Prefix;
    all.commands[0].steps = Some((MAIN, 0, 1));
    all.commands[0].draws = (4, 5);
    all.commands[3].draws = (5, 6);
    all.commands[2].draws = (1, 2);
    all.draws = vec![vec![0, 0, 0, 0, 44, 45], vec![], vec![22], vec![33, 34, 35]];
    let projected = project(&all, &[(1, Change::ToPrefix), (2, Change::Drop)]);
    assert_eq!(projected.draws[MAIN], [0, prefix, 1, 0, 44, 22, 45]);
    let projected = project(&all, &[(1, Change::Drop)]);
    assert_eq!(projected.draws[MAIN], [0, 1, 0, 0, 44, 33, 34, 35, 45]);
}

#[test]
fn what_a_gone_branch_spawned_is_gone_with_it() {
    let mut all = three_branches();
    all.tasks.push(TaskPath::main().child(0).child(0));
    all.turns.push(Turn { task: 4, steps: 7, preempts: false });
    let projected = project(&all, &[(0, Change::Drop)]);
    assert_eq!(projected.tasks, tasks(2));
    assert!(projected.steps() < all.steps() - 7);
    // The paths of the children of a renamed task change, too.
    all.tasks[4] = TaskPath::main().child(1).child(0);
    let projected = project(&all, &[(0, Change::Drop)]);
    assert_eq!(projected.tasks[3], TaskPath::main().child(0).child(0));
}

#[test]
fn steps_are_neither_lost_nor_made() {
    let mut rng = Rng(5);
    for _ in 0..2000 {
        // This is the same program with its turns split and merged at random. The steps of each task stay in order.
        let mut all = three_branches();
        let mut left: Vec<u32> = vec![5, 3, 3, 3];
        all.turns.clear();
        while left.iter().any(|steps| *steps > 0) {
            let task = rng.below(4) as usize;
            let steps = left[task].min(1 + rng.below(3) as u32);
            left[task] -= steps;
            all.turns.extend((steps > 0).then_some(Turn { task, steps, preempts: false }));
        }
        all.turns = crate::run::schedule::join(all.turns);
        let dropped = rng.below(4) as usize;
        let projected = project(&all, &[(dropped, Change::Drop)]);
        // A branch also disappears with its first step.
        let taken = if dropped == 3 { 2 } else { 3 };
        assert_eq!(projected.steps(), all.steps() - taken, "{all:?} without {dropped}");
        let joined = projected.turns.windows(2).all(|pair| pair[0].task != pair[1].task);
        assert!(joined && projected.turns.iter().all(|turn| turn.steps > 0), "{projected:?}");
    }
}

#[test]
fn scattered_turns_are_of_the_same_tasks_and_the_same_for_the_same_number() {
    let all = three_branches();
    let mut different = 0;
    for nth in 0..20 {
        let other = scatter(&all, nth);
        assert_eq!(other, scatter(&all, nth));
        assert_eq!((&other.tasks, &other.draws), (&all.tasks, &all.draws));
        assert!(other.turns.iter().all(|turn| turn.task < all.tasks.len()));
        assert!(other.steps() >= 2 * all.steps());
        different += usize::from(other.turns != all.turns);
    }
    assert!(different > 15);
}
