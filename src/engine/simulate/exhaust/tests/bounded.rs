//! Bounded search against brute force: the runs within the bound and no others, each once.

use std::collections::BTreeSet;
use std::pin::pin;

use super::act::Act;
use super::brute::Brute;
use super::program::{Program, body};
use super::{LIMITS, Seen, place, seen};
use crate::rt::{TaskBody, Worker};
use crate::run::ids::{Seed, TaskId};
use crate::run::op::Access;
use crate::run::rng::Rng;
use crate::run::{DrawRecord, Failure, Run};
use crate::strategy::Search;
use crate::strategy::bounded::{Bounded, DELAYS, Measure, PREEMPTIONS};

/// Returns the numbers of preemptions and delays of a run; `enabled` has the tasks enabled at each step. As the
/// definitions have it, and not as the search counts them.
fn costs(run: &Run, enabled: &[Vec<TaskId>]) -> [u32; 2] {
    let preemptions = run.steps.iter().filter(|step| step.preempts).count() as u32;
    let mut delays = 0;
    for (at, step) in run.steps.iter().enumerate().skip(1) {
        let last = run.steps[at - 1].task;
        let can = |task: TaskId| enabled[at].contains(&task);
        let first_operation = run.events.iter().find(|event| event.step as usize == at);
        let goes_on = match step.task == last {
            true => first_operation.is_none_or(|event| event.op.access != Access::Yield),
            false => step.preempts,
        };
        // The scheduler's hand moves on until it points at whoever steps.
        let mut hand = last.index();
        let mut next = || {
            loop {
                hand = (hand + 1) % run.tasks.len();
                if can(TaskId(hand as u32)) {
                    return TaskId(hand as u32);
                }
            }
        };
        let mut scheduled = if goes_on { last } else { next() };
        while scheduled != step.task {
            delays += 1;
            scheduled = next();
        }
    }
    [preemptions, delays]
}

/// Returns the costs and the result of each run of the program; `None` if there are too many.
fn all_runs(program: &Program, runs_max: usize) -> Option<Vec<([u32; 2], Seen)>> {
    let brute = Brute::default();
    let mut worker = Worker::new(Box::new(brute.clone()));
    let mut all = Vec::new();
    loop {
        worker.run(Seed(0), &LIMITS, place(), pin!(TaskBody::new(body(program))));
        let run = worker.extract(Seed(0), "brute force");
        worker.forget_histories();
        all.push((costs(&run, &brute.enabled()), seen(&run)));
        if all.len() > runs_max {
            return None;
        }
        if !brute.advance() {
            return Some(all);
        }
    }
}

/// Returns the results of the runs of a search, and its own report.
fn searched(program: &Program, measure: &'static Measure, most: u32) -> (Vec<Seen>, Bounded) {
    let search = Bounded::new(measure, Some(most));
    let mut worker = Worker::new(search.strategy());
    let (mut results, mut decisions) = (Vec::new(), BTreeSet::new());
    loop {
        let failure = worker.run(Seed(0), &LIMITS, place(), pin!(TaskBody::new(body(program))));
        let run = worker.extract(Seed(0), measure.what);
        worker.forget_histories();
        assert!(!matches!(failure, Some(Failure::Diverged { .. })), "{failure:?} in {program:?}");
        let (steps, draws) = search.decisions();
        let took = |steps: &[crate::run::StepRecord]| -> Vec<(TaskId, u32, bool)> {
            steps.iter().map(|step| (step.task, step.candidates, step.preempts)).collect()
        };
        // A search knows no names of decisions.
        let nameless: Vec<_> =
            run.draws.iter().map(|draw| DrawRecord { why: "", ..*draw }).collect();
        assert_eq!((took(&steps), &draws), (took(&run.steps), &nameless), "{program:?}");
        if !search.is_blocked() {
            let drawn: Vec<u64> = draws.iter().map(|draw| draw.value).collect();
            assert!(decisions.insert((took(&steps), drawn)), "twice the same run of {program:?}");
            results.push(seen(&run));
        }
        if !search.advance(true) {
            return (results, search);
        }
    }
}

/// Compares the searches within some bounds with brute force, for programs made of these acts.
fn compared(acts: &[fn(&mut Rng) -> Act], shape: (u64, u64)) {
    crate::engine::simulate::hook::install();
    let (programs, runs_max) = if crate::long() { (1_000, 3_000) } else { (30, 400) };
    let (mut small, mut strict) = (0, 0);
    for seed in 0..programs {
        let program = Program::generate(&mut Rng::new(seed), acts, shape);
        let Some(all) = all_runs(&program, runs_max) else { continue };
        small += 1;
        for (which, measure) in [&PREEMPTIONS, &DELAYS].into_iter().enumerate() {
            for most in 0..=3 {
                let within = |cost: u32| all.iter().filter(move |(costs, _)| costs[which] <= cost);
                let (results, search) = searched(&program, measure, most);
                let progress = search.progress();
                let expected: Vec<&Seen> = within(most).map(|(_, seen)| seen).collect();
                let what = measure.what;
                assert_eq!(results.len(), expected.len(), "{most} {what}s in {program:?}");
                assert_eq!(progress.runs, results.len() as u64);
                let found: BTreeSet<&Seen> = results.iter().collect();
                assert_eq!(found, expected.into_iter().collect(), "{most} {what}s in {program:?}");
                let dearest = all.iter().map(|(costs, _)| costs[which]).max().unwrap_or(0);
                let rounds = 0..most.min(dearest);
                let again: usize = rounds.map(|round| within(round).count()).sum();
                assert_eq!(progress.repeated, again as u64, "{most} {what}s in {program:?}");
                // It knows whether it has left out any.
                let through = progress.within.map(|within| within.through);
                assert_eq!(through, (dearest > most).then_some(Some(most)), "{program:?}");
                strict += u64::from(dearest > most);
            }
        }
    }
    assert!(small * 4 > programs && strict > small, "{small} programs, {strict} within a bound");
}

#[test]
fn bounded_searches_of_memory_are_as_by_brute_force() {
    compared(&[Act::load, Act::store, Act::exchange, Act::pause], (3, 3));
}

#[test]
fn bounded_searches_of_locks_are_as_by_brute_force() {
    compared(&[Act::store, Act::lock, Act::lock, Act::attempt, Act::unlock], (3, 3));
}

#[test]
fn bounded_searches_of_draws_are_as_by_brute_force() {
    compared(&[Act::load, Act::store_drawn, Act::lock, Act::unlock], (2, 2));
}

#[test]
fn bounded_searches_of_waits_are_as_by_brute_force() {
    compared(&[Act::store, Act::add, Act::wait, Act::pause], (3, 3));
}

#[test]
fn bounded_searches_of_tasks_are_as_by_brute_force() {
    let acts = [
        Act::load,
        Act::spawn,
        Act::join,
        Act::finished,
        Act::abort,
        Act::leave,
        Act::both,
        Act::check,
        Act::pause,
    ];
    compared(&acts, (3, 3));
}
