//! Shrinking small concurrent programs, compared with the minimum.

mod alone;
mod figures;
mod interp;
mod optimum;
mod project;

use super::*;
use crate::run::ids::TaskPath;
use crate::run::schedule::{Cost, Schedule, Turn};
use interp::Op::*;
use interp::{Fail, Op, Program, Rng};
use optimum::{all_failing, least_cost};

/// Shrinks towards the same failure.
fn shrink_run(program: &Program, start: Schedule, fail: &Fail) -> Shrunk {
    shrink_within(program, start, fail, Budget::default())
}

fn shrink_within(program: &Program, start: Schedule, fail: &Fail, budget: Budget) -> Shrunk {
    let mut replayer = |schedule: &Schedule| {
        let (ran, failed) = program.replay(schedule);
        (failed.as_ref() == Some(fail)).then_some(ran)
    };
    let shrunk = shrink(start, &mut replayer, &budget);
    assert!(shrunk.reproduced);
    assert_eq!(program.replay(&shrunk.schedule).1.as_ref(), Some(fail));
    shrunk
}

/// Shrinks every failing run of a program and expects the minimum cost.
#[track_caller]
fn check_all(program: &Program, preemptions: u64) {
    let failing = all_failing(program);
    assert!(!failing.is_empty());
    for (start, fail) in failing {
        let least = least_cost(program, &fail).unwrap();
        assert_eq!(least.preemptions, preemptions, "{fail:?}");
        let shrunk = shrink_run(program, start, &fail);
        assert_eq!(shrunk.schedule.cost(), least, "{fail:?} {:?}", shrunk.schedule);
        assert!(shrunk.complete);
    }
}

/// Shrinks some failing runs of random walks and expects the least cost there is.
#[track_caller]
fn check_some(program: &Program, runs: usize, preemptions: u64) {
    let mut rng = Rng(7);
    for _ in 0..runs {
        let (start, fail) = random_failing(program, &mut rng, 1);
        let least = least_cost(program, &fail).unwrap();
        assert_eq!(least.preemptions, preemptions, "{fail:?}");
        let shrunk = shrink_run(program, start, &fail);
        assert_eq!(shrunk.schedule.cost(), least, "{fail:?} {:?}", shrunk.schedule);
    }
}

fn random_failing(program: &Program, rng: &mut Rng, stay: u64) -> (Schedule, Fail) {
    let mut runs = (0..10_000).map(|_| program.random(rng, stay));
    runs.find_map(|(ran, fail)| Some((ran, fail?))).expect("a walk that fails")
}

/// Returns a program in which some tasks increment a counter in two steps each. The body waits for them and for other
/// tasks.
fn increments(tasks: usize, others: Vec<Vec<Op>>) -> Program {
    let all = 1..=tasks + others.len();
    let mut main: Vec<Op> = all.clone().map(Spawn).collect();
    main.extend(all.map(Join));
    main.push(Load(0, 0));
    main.extend((1..tasks).map(|is| FailIf(0, is as i64)));
    let increment = vec![Load(0, 0), Store(0, 0, 1)];
    Program::new([vec![main], vec![increment; tasks], others].concat())
}

#[test]
fn every_lost_update_comes_down_to_one_preemption() {
    check_all(&increments(2, vec![]), 1);
}

#[test]
fn lost_updates_of_three_tasks_come_down_to_the_least() {
    let program = increments(3, vec![]);
    let failing = all_failing(&program);
    println!("{} failing runs", failing.len());
    let mut known: Vec<(Fail, Cost)> = Vec::new();
    let every = if crate::long() { 1 } else { 21 };
    for (start, fail) in failing.into_iter().step_by(every) {
        let of_failure = known.iter().find(|(known, _)| *known == fail).map(|(_, least)| *least);
        let least = of_failure.unwrap_or_else(|| {
            let least = least_cost(&program, &fail).unwrap();
            known.push((fail.clone(), least));
            least
        });
        let shrunk = shrink_run(&program, start, &fail);
        assert_eq!(shrunk.schedule.cost(), least, "{fail:?} {:?}", shrunk.schedule);
    }
}

#[test]
fn an_aba_bug_comes_down_to_its_two_preemptions() {
    // A stack has `a` (0) above `b` (1), and nothing (2) below `b`. While one task pops `a`, a second task pops `a`, a
    // third task pops and frees `b`, and the second task pushes `a` again. So the first task makes `b` the top (3),
    // although `b` is free.
    let (top, next, freed) = (0, 1, 2);
    let pop = vec![
        Load(next, 1),
        SkipIf(1, 2, 4),
        Swap(top, 0, 3, 0),
        SkipIf(0, 0, 2),
        Load(freed, 0),
        FailIf(0, 1),
    ];
    let pop_and_push = vec![Swap(top, 0, 1, 0), Store(next, 2, 2), Swap(top, 2, 0, 0)];
    let free = vec![Swap(top, 1, 2, 0), SkipIf(0, 0, 1), Store(freed, 2, 1)];
    check_all(&Program::new(vec![pop, pop_and_push, free]), 2);
}

#[test]
fn a_task_that_has_done_the_harm_does_not_go_on() {
    // Without another preemption, the second task would take ten more steps.
    let noise = vec![Add(1, 1); 10];
    let looks = vec![Load(0, 0), Load(0, 1), FailIf(1, 1)];
    let harm = [vec![Add(0, 1)], noise].concat();
    let program = Program::new(vec![looks, harm]);
    let mut rng = Rng(4);
    for _ in 0..50 {
        let (start, fail) = random_failing(&program, &mut rng, 1);
        let cost = shrink_run(&program, start, &fail).schedule.cost();
        assert_eq!((cost.steps, cost.preemptions), (3, 1), "the harm, then both looks");
    }
    let between = vec![Load(0, 0), FailIf(0, 1), Load(0, 1), FailIf(1, 1)];
    let program = Program::new(vec![between, program.tasks[1].clone()]);
    let fail = Fail::Assert { task: 0, op: 3 };
    for _ in 0..50 {
        let mut runs = (0..10_000).map(|_| program.random(&mut rng, 1));
        let start = runs.find_map(|(ran, failed)| (failed.as_ref() == Some(&fail)).then_some(ran));
        let cost = shrink_run(&program, start.expect("a walk that fails"), &fail).schedule.cost();
        assert_eq!((cost.steps, cost.preemptions), (3, 2));
    }
}

#[test]
fn a_run_is_not_made_longer_for_a_preemption_less() {
    // Alternating turns need three steps and two preemptions. Without preemptions, one task needs thirty steps.
    let between = vec![Load(0, 0), FailIf(0, 1), Load(0, 1), FailIf(1, 1)];
    for noise in [1, 2, 3, 4, 30] {
        let program =
            Program::new(vec![between.clone(), [vec![Add(0, 1)], vec![Add(1, 1); noise]].concat()]);
        let turn = |task| Turn { task, steps: 1, preempts: false };
        let start = Schedule {
            tasks: vec![TaskPath::main(), TaskPath::main().child(0)],
            turns: vec![turn(0), turn(1), turn(0)],
            ..Schedule::default()
        };
        let fail = Fail::Assert { task: 0, op: 3 };
        let cost = shrink_run(&program, start, &fail).schedule.cost();
        assert_eq!((cost.steps, cost.preemptions), (3, 2), "with {noise} steps after the harm");
    }
}

fn philosophers(n: usize) -> Program {
    let philosopher = |i: usize| {
        let (left, right) = (i, (i + 1) % n);
        vec![Lock(left), Lock(right), Nop, Unlock(right), Unlock(left)]
    };
    Program::new((0..n).map(philosopher).collect())
}

#[test]
fn every_deadlock_of_two_locks_comes_down_to_one_preemption() {
    check_all(&philosophers(2), 1);
}

#[test]
fn dining_philosophers_come_down_to_one_preemption() {
    // One preemption is enough, although each philosopher seems to need one. When the last philosopher has his left
    // fork, each other philosopher, from the last to the first, takes his left fork and waits for his right fork.
    check_some(&philosophers(3), 50, 1);
}

#[test]
fn five_dining_philosophers_come_down_to_one_preemption_too() {
    let program = philosophers(5);
    let mut rng = Rng(3);
    for _ in 0..20 {
        let (start, fail) = random_failing(&program, &mut rng, 1);
        let cost = shrink_run(&program, start, &fail).schedule.cost();
        assert_eq!((cost.preemptions, cost.turns, cost.steps), (1, 5, 5));
    }
}

#[test]
fn a_failure_that_needs_no_switch_has_none_left() {
    let noise = vec![Add(0, 1); 3];
    let fails = vec![Nop, Draw(0, 10), Nop, FailFrom(0, 0)];
    check_all(&Program::new(vec![noise.clone(), fails]), 0);
}

#[test]
fn a_drawn_value_comes_down_to_the_least_that_fails() {
    let draws = |from| vec![Draw(0, 1 << 40), Nop, Draw(1, 1 << 40), FailFrom(1, from)];
    for from in [0, 1, 2, 137, 65_536, 1 << 39] {
        let program = Program::new(vec![draws(from), draws(1 << 40)]);
        let mut rng = Rng(from as u64);
        let (start, fail) = random_failing(&program, &mut rng, 1);
        let shrunk = shrink_run(&program, start, &fail);
        assert_eq!(shrunk.schedule.draws[0], [0, from as u64]);
        assert_eq!(shrunk.schedule.turns.len(), 1);
    }
}

#[test]
fn irrelevant_tasks_do_not_run_before_the_failure() {
    // The bug: `0.2` looks between the two steps of `0.5`.
    let noise = |i: usize| [Nop, Add(3, 1), Nop].repeat(17)[..49 + i % 3].to_vec();
    let mut tasks: Vec<Vec<Op>> = (0..8).map(noise).collect();
    tasks[2] = vec![Nop, Load(0, 0), FailIf(0, 1)];
    tasks[5] = vec![Nop, Add(0, 1), Add(0, 1), Nop];
    let program = Program::new(tasks);
    let mut rng = Rng(5);
    for _ in 0..if crate::long() { 20 } else { 2 } {
        let (start, fail) = random_failing(&program, &mut rng, 1);
        let schedule = shrink_run(&program, start, &fail).schedule;
        let turns: Vec<_> = schedule.turns.iter().map(|turn| (turn.task, turn.steps)).collect();
        assert_eq!(turns, [(5, 2), (2, 2)]);
    }
}

#[test]
fn irrelevant_tasks_that_are_joined_take_one_turn_each() {
    let noise = [Lock(0), Add(3, 1), Unlock(0)].repeat(17);
    let program = increments(2, vec![noise; 6]);
    let mut rng = Rng(5);
    for _ in 0..if crate::long() { 3 } else { 1 } {
        let (start, fail) = random_failing(&program, &mut rng, 1);
        assert!(start.cost().turns > 60);
        let cost = shrink_run(&program, start, &fail).schedule.cost();
        // The body begins and ends, six tasks take one turn, and the two racing tasks take three.
        assert_eq!((cost.preemptions, cost.turns), (1, 2 + 6 + 3));
    }
}

/// Two tasks with a race late in their lives and six others, all of `len` operations on locks.
fn long_program(len: usize) -> Program {
    let filler = |n: usize| -> Vec<Op> {
        let (outer, inner) = (n % 3, 3 + n % 2);
        let locks = [Lock(outer), Lock(inner), Nop];
        [&locks[..], &[Unlock(inner), Unlock(outer), Nop]].concat()
    };
    let fill = |ops: usize| -> Vec<Op> { (0..ops / 6).flat_map(filler).collect() };
    let mut looks = fill(len);
    let mut blinks = fill(len);
    for _ in 0..30 {
        looks.extend([Load(0, 0), SkipIf(0, 0, 1)]);
        looks.push(Store(1, 2, 1));
        looks.extend(fill(12));
        blinks.extend([Nop, Add(0, 1), Add(0, -1)]);
        blinks.extend(fill(12));
    }
    looks.extend([Load(1, 0), FailIf(0, 1)]);
    Program::new([vec![looks, blinks], vec![fill(len + 450); 6]].concat())
}

#[test]
fn tens_of_thousands_of_steps_come_down_to_two_turns_in_sixty_replays() {
    // A long test has a hundred thousand steps, and the default test a fifth of them.
    let (len, steps, turns) =
        if crate::long() { (12_500, 90_000, 30_000) } else { (2_500, 18_000, 6_000) };
    let program = long_program(len);
    let mut rng = Rng(1);
    let (start, fail) = random_failing(&program, &mut rng, 2);
    assert!(start.cost().steps > steps && start.cost().turns > turns, "{:?}", start.cost());
    let cost = shrink_within(&program, start, &fail, Budget { replays: 60, ..Budget::default() })
        .schedule
        .cost();
    assert_eq!((cost.preemptions, cost.turns), (1, 2));
}

#[test]
fn a_schedule_that_does_not_fail_is_given_back() {
    let program = increments(2, vec![]);
    let start = Schedule::default();
    let mut replayer = |_: &Schedule| None;
    let shrunk = shrink(start.clone(), &mut replayer, &Budget::default());
    assert_eq!((shrunk.schedule, shrunk.replays), (start.clone(), 1));
    assert!(!shrunk.reproduced && !shrunk.complete);
    assert_eq!(program.replay(&start).1, None);
}

#[test]
fn no_budget_is_overdrawn_and_what_there_is_helps() {
    let program = philosophers(3);
    let (start, fail) = random_failing(&program, &mut Rng(2), 1);
    let mut cost = start.cost();
    for replays in 0..60 {
        let shrunk =
            shrink_within(&program, start.clone(), &fail, Budget { replays, ..Budget::default() });
        assert!(shrunk.replays <= replays.max(1));
        assert!(shrunk.schedule.cost() <= cost);
        assert_eq!(shrunk.passes.iter().map(|pass| pass.replays).sum::<u64>() + 1, shrunk.replays);
        cost = shrunk.schedule.cost();
    }
}

#[test]
fn the_same_schedule_shrinks_to_the_same_schedule() {
    let program = philosophers(3);
    let (start, fail) = random_failing(&program, &mut Rng(2), 1);
    let first = shrink_run(&program, start.clone(), &fail);
    assert_eq!(first, shrink_run(&program, start, &fail));
}

#[test]
fn a_schedule_that_ran_replays_to_itself() {
    let mut rng = Rng(9);
    for _ in 0..300 {
        let program = figures::random_program(&mut rng);
        let (ran, fail) = program.random(&mut rng, 2);
        assert_eq!(program.replay(&ran), (ran, fail));
    }
}

#[test]
fn the_order_of_the_task_table_does_not_matter() {
    let program = philosophers(3);
    let (start, fail) = random_failing(&program, &mut Rng(2), 1);
    let mut turned = start.clone();
    turned.tasks.reverse();
    turned.draws.resize(3, Vec::new());
    turned.draws.reverse();
    turned.turns.iter_mut().for_each(|turn| turn.task = 2 - turn.task);
    assert_eq!(program.replay(&turned), program.replay(&start));
    let shrunk = |start| shrink_run(&program, start, &fail).schedule;
    assert_eq!(shrunk(turned), shrunk(start));
}

#[test]
fn a_turn_cut_short_by_a_wait_is_made_up_for() {
    let program =
        Program::new(vec![vec![Lock(0), Nop, Unlock(0), Nop], vec![Nop, Lock(0), Nop, Nop, Nop]]);
    let turn = |task, steps| Turn { task, steps, preempts: false };
    let schedule = Schedule {
        tasks: vec![TaskPath::main(), TaskPath::main().child(0)],
        // The second task gets 1 step of 3, so 1 + 2 when the lock is free.
        turns: vec![turn(0, 2), turn(1, 3), turn(0, 1), turn(1, 1), turn(0, 1), turn(1, 1)],
        draws: vec![],
        ..Schedule::default()
    };
    let (ran, _) = program.replay(&schedule);
    let turns: Vec<_> = ran.turns.iter().map(|t| (t.task, t.steps, t.preempts)).collect();
    let expected =
        [(0, 2, false), (1, 1, true), (0, 1, false), (1, 3, true), (0, 1, true), (1, 1, false)];
    assert_eq!(turns, expected);
}

#[test]
fn a_pass_of_ones_own_can_be_added() {
    fn nothing(search: &mut Search<'_>) {
        search.attempt_turns([]);
    }
    let program = Program::new(vec![vec![Nop], vec![FailFrom(0, 0)]]);
    let pass =
        Pass { name: "nothing", summary: "drops all", phase: PassPhase::Always, run: nothing };
    let (start, fail) = random_failing(&program, &mut Rng(1), 1);
    let mut replayer = |schedule: &Schedule| {
        let (ran, failed) = program.replay(schedule);
        (failed.as_ref() == Some(&fail)).then_some(ran)
    };
    let shrunk = shrink_with(&[pass], start, &mut replayer, &Budget::default());
    assert_eq!(shrunk.passes.len(), 1);
    assert_eq!(shrunk.passes[0].name, "nothing");
    assert!(shrunk.complete);
}
