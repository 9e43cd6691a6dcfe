//! Computes the schedule of a smaller program from the schedule of a larger program.

use crate::run::ids::TaskPath;
use crate::run::program::{Change, Fate, Part};
use crate::run::rng::Rng;
use crate::run::schedule::{Command, Schedule, Turn, join};
use unpause_ordered::sort_by_key;

/// Applies changes of commands to `schedule`. Removes the steps of removed commands, and moves the steps of moved
/// commands to the task that now runs them. Removes tasks without remaining work, and renames their siblings
/// accordingly.
pub(super) fn project(schedule: &Schedule, changes: &[(usize, Change)]) -> Schedule {
    let mut projected = schedule.clone();
    let mut after = schedule.commands.clone();
    for (at, change) in changes {
        let (task, nth) = schedule.commands[*at].change;
        projected.draws[task][nth] = change.to_decision();
        match change {
            Change::Keep => {}
            Change::Tombstone(points) => after[*at].fate = Fate::Tombstone(*points),
            Change::Drop => after[*at].fate = Fate::Absent,
            Change::ToPrefix => after[*at].part = Part::Prefix,
            Change::ToSuffix => after[*at].part = Part::Suffix,
        }
    }
    for (before, after) in schedule.commands.iter().zip(&after) {
        if let Some((task, from, to)) = before.steps {
            if after.fate == Fate::Absent || after.part != before.part {
                remove_steps(schedule, &mut projected.turns, task, from..to);
            }
        }
    }
    for (before, after) in schedule.commands.iter().zip(&after) {
        if let (Some((_, from, to)), true) = (before.steps, after.part != before.part) {
            let main = after.change.0;
            let mut turns = projected.turns.iter_mut().filter(|turn| turn.task == main);
            let turn = if after.part == Part::Prefix { turns.next() } else { turns.next_back() };
            if let Some(turn) = turn {
                turn.steps = turn.steps.saturating_add(to - from);
            }
        }
    }
    let gone = removed_tasks(schedule, &after);
    move_draws(schedule, &after, &gone, &mut projected.draws);
    rename(&mut projected, &gone);
    projected.turns = join(projected.turns);
    projected.commands.clear();
    projected
}

/// Removes from the turns the steps of a task that have these numbers. `turns` are the turns of `schedule`, some of
/// them possibly shortened.
fn remove_steps(schedule: &Schedule, turns: &mut [Turn], task: usize, steps: std::ops::Range<u32>) {
    let mut at = 0;
    for (turn, original) in turns.iter_mut().zip(&schedule.turns) {
        if original.task == task {
            let end = at + original.steps;
            let common = end.min(steps.end).saturating_sub(at.max(steps.start));
            turn.steps = turn.steps.saturating_sub(common);
            at = end;
        }
    }
}

/// Returns the tasks that a change removes. A task without remaining work is paired with `None`. A task that is left
/// alone in its stage is paired with the task that takes over its steps.
fn removed_tasks(schedule: &Schedule, after: &[Command]) -> Vec<(usize, Option<usize>)> {
    let stage = |command: &Command| command.part.stage();
    let mut gone = Vec::new();
    // The tasks that run branches of a stage, for the commands before or after the change.
    let tasks = |commands: &[Command], wanted: u32| {
        let mut tasks: Vec<(usize, usize)> = Vec::new();
        for (before, command) in schedule.commands.iter().zip(commands) {
            let (Some((task, ..)), true) = (before.steps, command.fate != Fate::Absent) else {
                continue;
            };
            if stage(command) == Some(wanted) && task != command.change.0 {
                tasks.push((task, command.change.0));
            }
        }
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    };
    let mut stages: Vec<u32> = schedule.commands.iter().filter_map(stage).collect();
    stages.dedup();
    for wanted in stages {
        let left = tasks(after, wanted);
        for (task, main) in tasks(&schedule.commands, wanted) {
            if !left.contains(&(task, main)) {
                gone.push((task, None));
            } else if left.len() == 1 {
                gone.push((task, Some(main)));
            }
        }
    }
    gone
}

/// Drawn values that move to another task.
struct Carried {
    main: usize,
    /// The position among the values that `main` drew.
    at: usize,
    /// The sort key for values at the same position.
    part: Part,
    values: Vec<u64>,
}

/// A part that sorts between the prefix and the suffix.
const ANY_BRANCH: Part = Part::Branch { stage: 0, branch: 0 };

/// Moves drawn values with the commands that drew them. Removes the values of removed commands. Moves the values of a
/// moved command, or of a branch left alone, to the task that now runs it.
fn move_draws(
    schedule: &Schedule,
    after: &[Command],
    gone: &[(usize, Option<usize>)],
    draws: &mut [Vec<u64>],
) {
    let mut stays: Vec<Vec<bool>> = draws.iter().map(|of| vec![true; of.len()]).collect();
    let mut carried: Vec<Carried> = Vec::new();
    for (before, after) in schedule.commands.iter().zip(after) {
        let is_out = after.fate != Fate::Runs;
        if let (Some((task, ..)), true) = (before.steps, is_out || after.part != before.part) {
            let to = before.draws.1.min(draws[task].len());
            let own = before.draws.0.min(to)..to;
            stays[task][own.clone()].fill(false);
            if !is_out {
                let (part, main) = (after.part, after.change.0);
                let (at, values) = (boundary(schedule, main, part), draws[task][own].to_vec());
                carried.push(Carried { main, at, part, values });
            }
        }
    }
    for (task, main) in gone {
        if let Some(main) = *main {
            let own = draws[*task].iter().zip(&stays[*task]);
            let values = own.filter(|(_, stays)| **stays).map(|(value, _)| *value).collect();
            let at = boundary(schedule, main, Part::Suffix);
            carried.push(Carried { main, at, part: ANY_BRANCH, values });
        }
    }
    // A stable sort, because values of the same part at the same position must keep the order of their commands.
    sort_by_key(&mut carried, |carried| (carried.main, carried.at, carried.part));
    for (task, (draws, stays)) in draws.iter_mut().zip(&stays).enumerate() {
        let mut come = carried.iter().filter(|carried| carried.main == task).peekable();
        let before = std::mem::take(draws);
        for (at, (value, stays)) in before.iter().zip(stays).enumerate() {
            while let Some(carried) = come.next_if(|carried| carried.at == at) {
                draws.extend(&carried.values);
            }
            if *stays {
                draws.push(*value);
            }
        }
        come.for_each(|carried| draws.extend(&carried.values));
    }
}

/// Returns the position of an additional command's values among the values that `main` draws. The additional command
/// becomes the last command of the prefix, or the first command of the suffix.
fn boundary(schedule: &Schedule, main: usize, part: Part) -> usize {
    let commands = schedule.commands.iter().filter(|command| command.change.0 == main);
    let own = commands.clone().filter(|command| {
        command.part == part && command.steps.is_some_and(|(task, ..)| task == main)
    });
    match part {
        Part::Suffix => own.map(|command| command.draws.0).min().unwrap_or(usize::MAX),
        _ => {
            // The values that generate the program end with the values that make commands simpler.
            let generated = commands.map(|command| command.simpler.1);
            own.map(|command| command.draws.1).chain(generated).max().unwrap_or(0)
        }
    }
    .min(schedule.draws[main].len())
}

/// Removes tasks and their descendants from the table, and renames the other tasks accordingly.
fn rename(schedule: &mut Schedule, gone: &[(usize, Option<usize>)]) {
    if gone.is_empty() {
        return;
    }
    for turn in &mut schedule.turns {
        if let Some((_, Some(main))) = gone.iter().find(|(task, _)| *task == turn.task) {
            turn.task = *main;
        }
    }
    let gone: Vec<TaskPath> = gone.iter().map(|(task, _)| schedule.tasks[*task].clone()).collect();
    let mut kept = Vec::new();
    let mut place = vec![None; schedule.tasks.len()];
    for (task, path) in schedule.tasks.iter().enumerate() {
        if gone.iter().any(|gone| path.segments().starts_with(gone.segments())) {
            continue;
        }
        place[task] = Some(kept.len());
        kept.push(without(path, &gone));
    }
    schedule.turns.retain_mut(|turn| match place[turn.task] {
        Some(task) => {
            turn.task = task;
            true
        }
        None => false,
    });
    let draws = std::mem::take(&mut schedule.draws);
    for (task, draws) in draws.into_iter().enumerate() {
        if let Some(task) = place.get(task).copied().flatten() {
            if schedule.draws.len() <= task {
                schedule.draws.resize(task + 1, Vec::new());
            }
            schedule.draws[task] = draws;
        }
    }
    schedule.draws.resize(kept.len(), Vec::new());
    schedule.tasks = kept;
}

/// Returns the path of a task if the tasks `gone` are not spawned.
fn without(path: &TaskPath, gone: &[TaskPath]) -> TaskPath {
    let segments = path.segments();
    let mut renamed = TaskPath::main();
    for depth in 1..segments.len() {
        let older = |gone: &&TaskPath| {
            let other = gone.segments();
            other.len() == depth + 1
                && other[..depth] == segments[..depth]
                && other[depth] < segments[depth]
        };
        let before = gone.iter().filter(older).count() as u32;
        renamed = renamed.child(segments[depth] - before);
    }
    renamed
}

/// Returns the schedule with random turns of the same tasks, as a function of `nth`.
pub(super) fn scatter(schedule: &Schedule, nth: u64) -> Schedule {
    let mut rng = Rng::new(nth);
    let tasks = schedule.tasks.len() as u64;
    let steps = schedule.steps().min(100_000);
    let mut turns = Vec::new();
    let mut taken = 0;
    while taken < 2 * steps && tasks > 0 {
        let (task, steps) = (rng.below(tasks) as usize, 1 + rng.below(3) as u32);
        turns.push(Turn { task, steps, preempts: false });
        taken += u64::from(steps);
    }
    Schedule { turns: join(turns), ..schedule.clone() }
}
