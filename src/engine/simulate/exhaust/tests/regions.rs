//! Regions that execute as one step: random regions of random programs, and each way in which a region can wait or end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use super::act::Act;
use super::certified::{certificate, classes};
use super::program::{Program, body};
use super::{LIMITS, by_brute_force, limits, place};
use crate::rt::{RunLimits, TaskBody, Worker};
use crate::run::event::Event;
use crate::run::ids::Seed;
use crate::run::op::Access;
use crate::run::rng::Rng;
use crate::run::what_if::{Section, Site, WhatIf};
use crate::run::{Outcome, Run};
use crate::strategy::Search;
use crate::strategy::exhaustive::{Exhaustive, Rule, without};
use crate::strategy::search::Apart;
use crate::sync::Ordering::SeqCst;
use crate::{Atomic, Mutex, spawn};

fn site(event: &Event) -> Site {
    Site { op: event.op.name, place: event.place }
}

/// The sites of the operations of each task in one run of a program, in order.
fn sites(program: &Program) -> Vec<Vec<Site>> {
    let search = Exhaustive::default();
    let mut worker = Worker::new(search.strategy());
    worker.run(Seed(0), &limits(program), place(), pin!(TaskBody::new(body(program))));
    let run = worker.extract(Seed(0), "");
    worker.forget_histories();
    let own = |task: u32| {
        let own = run.events.iter().filter(move |event| event.task.0 == task);
        own.filter(|event| event.op.access != Access::Unlock).map(site).collect()
    };
    (0..run.tasks.len() as u32).map(own).collect()
}

/// Returns this program with the operations `first` to `last` of a task as one step.
fn as_one_step(
    mut program: Program,
    sites: &[Site],
    (first, last): (usize, usize),
    waits: bool,
) -> Program {
    let known = sites[first + 1..last].to_vec();
    let sections = vec![Section { from: sites[first], to: sites[last], known }];
    program.what_if = Some(Arc::new(WhatIf { sections, waits }));
    program
}

/// Returns this program with a random region of one of its tasks as one step, if any task has a region.
pub(super) fn with_region(program: Program, rng: &mut Rng) -> Program {
    let mut tasks = sites(&program);
    tasks.retain(|sites| sites.len() > 1);
    if tasks.is_empty() {
        return program;
    }
    let sites = &tasks[rng.below(tasks.len() as u64) as usize];
    let first = rng.below(sites.len() as u64 - 1) as usize;
    let last = first + 1 + rng.below((sites.len() - first - 1) as u64) as usize;
    as_one_step(program, sites, (first, last), rng.below(2) == 0)
}

/// Executes all runs of a body in which the operations of an interval are one step. The operations are named by their
/// numbers in the first run of the body without a region, among the operations of its first task.
fn runs<F: Future<Output = ()>>(
    body: impl Fn() -> F,
    (from, to): (usize, usize),
    waits: bool,
) -> Vec<(Run, bool)> {
    let run_once = |worker: &mut Worker, limits: &RunLimits| {
        let failure = worker.run(Seed(0), limits, place(), pin!(TaskBody::new(body())));
        (failure, worker.extract(Seed(0), ""))
    };
    let search = Exhaustive::default();
    let (_, first) = run_once(&mut Worker::new(search.strategy()), &LIMITS);
    let own = first.events.iter().filter(|event| event.task.0 == 1);
    let sites: Vec<Site> =
        own.filter(|event| event.op.access != Access::Unlock).map(site).collect();
    let known = sites[from + 1..to].to_vec();
    let sections = vec![Section { from: sites[from], to: sites[to], known }];
    let what_if = Some(Arc::new(WhatIf { sections, waits }));
    let limits = RunLimits { what_if, ..LIMITS };
    let search = Exhaustive::default();
    let mut worker = Worker::new(search.strategy());
    let mut all = Vec::new();
    loop {
        let (failure, run) = run_once(&mut worker, &limits);
        if !search.is_blocked() {
            all.push((run, worker.is_excused()));
        }
        if !search.advance(super::ends_by_a_step(failure.as_ref())) {
            return all;
        }
        assert!(all.len() < 1000);
    }
}

/// Returns `true` if two operations of the first task, named by their numbers, are in one step.
fn one_step(run: &Run, from: usize, to: usize) -> bool {
    let own = run.events.iter().filter(|event| {
        event.task.0 == 1
            && event.op.access != Access::Unlock
            && event.values != crate::run::event::Values::Failed
    });
    let steps: Vec<u32> = own.map(|event| event.step).collect();
    steps[from] == steps[to]
}

#[test]
fn an_increment_as_one_step_loses_no_update() {
    let body = || async {
        let word = Arc::new(Atomic::new(0));
        let tasks = [0, 1].map(|_| {
            let word = word.clone();
            spawn(async move {
                let old = word.load(SeqCst).await;
                word.store(old + 1, SeqCst).await;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(word.load(SeqCst).await, 2);
    };
    let all = runs(body, (0, 1), true);
    assert_eq!(all.len(), 2);
    for (run, excused) in &all {
        assert!(one_step(run, 0, 1) && !excused && run.outcome == Outcome::Passed, "{run:?}");
    }
}

/// The first task takes a lock within its region, and the second one holds it for two steps.
async fn locks_within() {
    let (word, lock) = (Arc::new(Atomic::new(0)), Arc::new(Mutex::new(0)));
    let (other_word, other_lock) = (word.clone(), lock.clone());
    let first = spawn(async move {
        word.store(1, SeqCst).await;
        *lock.lock().await += 1;
        word.store(2, SeqCst).await;
    });
    let second = spawn(async move {
        let mut held = other_lock.lock().await;
        other_word.load(SeqCst).await;
        *held += 1;
    });
    first.await.unwrap();
    second.await.unwrap();
}

#[test]
fn a_lock_that_is_held_ends_the_step_and_the_region_continues_with_it() {
    let all = runs(locks_within, (0, 2), true);
    let (whole, parted): (Vec<_>, Vec<_>) = all.iter().partition(|(run, _)| one_step(run, 0, 2));
    assert!(!whole.is_empty() && !parted.is_empty());
    for (run, excused) in parted {
        // The lock and what follows are one step, and the run counts.
        assert!(one_step(run, 1, 2) && !excused, "{run:?}");
    }
}

#[test]
fn a_run_with_a_wait_within_a_region_can_be_left_out() {
    let all = runs(locks_within, (0, 2), false);
    let (out, kept): (Vec<_>, Vec<_>) = all.iter().partition(|(_, excused)| *excused);
    assert!(!out.is_empty() && !kept.is_empty());
    for (run, _) in kept {
        assert!(one_step(run, 0, 2) && run.outcome == Outcome::Passed, "{run:?}");
    }
}

#[test]
fn a_yield_splits_a_region_and_another_operation_leaves_it() {
    let yields = || async {
        let word = Arc::new(Atomic::new(0));
        let other = word.clone();
        let first = spawn(async move {
            word.store(1, SeqCst).await;
            crate::task::yield_now().await;
            word.store(2, SeqCst).await;
        });
        let second = spawn(async move { _ = other.load(SeqCst).await });
        first.await.unwrap();
        second.await.unwrap();
    };
    let all = runs(yields, (0, 2), true);
    assert!(all.iter().any(|(run, _)| !one_step(run, 0, 2)));

    // The loser of the exchange does another operation than the winner.
    let loses = || async {
        let word = Arc::new(Atomic::new(0));
        let tasks = [0, 1].map(|_| {
            let word = word.clone();
            spawn(async move {
                match word.compare_exchange(0, 1, SeqCst, SeqCst).await {
                    Ok(_) => word.store(2, SeqCst).await,
                    Err(_) => word.store(3, SeqCst).await,
                }
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
    };
    for (run, _) in runs(loses, (0, 1), true) {
        let own = run.events.iter().filter(|event| event.task.0 == 2);
        let steps: Vec<u32> = own.map(|event| event.step).collect();
        let first = run.events.iter().position(|event| event.op.name == "compare_exchange");
        match run.events[first.unwrap()].task.0 {
            1 => assert!(one_step(&run, 0, 1) && steps[0] != steps[1], "{run:?}"),
            _ => assert!(!one_step(&run, 0, 1) && steps[0] == steps[1], "{run:?}"),
        }
    }
}

#[test]
fn rounds_of_a_region_are_one_step_and_an_endless_one_is_cut() {
    let rounds = |times: u64| {
        move || async move {
            let word = Arc::new(Atomic::new(0));
            let first = spawn(async move {
                for value in 0..times {
                    word.store(value, SeqCst).await;
                }
            });
            first.await.unwrap();
        }
    };
    let all = runs(rounds(3), (0, 1), true);
    assert!(all.iter().all(|(run, _)| one_step(run, 0, 2)), "{all:?}");
    // One step executes at most a bounded number of operations.
    let all = runs(rounds(100), (0, 1), true);
    assert!(all.iter().all(|(run, _)| !one_step(run, 0, 99) && one_step(run, 0, 60)), "{all:?}");
}

/// Checks that a search needs a part of its rule to find all classes of a program with a region in its last task. The
/// search by the whole rule finds all classes of brute force.
fn needs(rule: Rule, tasks: Vec<Vec<Act>>, waits: bool) {
    let (last, points) = (tasks.len() - 1, tasks[tasks.len() - 1].len());
    let program = Program::new(tasks, last, last);
    let sites = &sites(&program)[last];
    let program = as_one_step(program, sites, (0, points - 1), waits);
    let brute = by_brute_force(&program, Apart::ORDERS, 10_000).expect("the program is small");
    let found = || certificate(&program, Apart::ORDERS).0;
    let classes = |runs: Vec<_>| classes(&program, &runs, Apart::ORDERS);
    let (whole, less) = (classes(found()), classes(without(rule, found)));
    assert!(whole.iter().eq(brute.classes.keys()), "{rule:?}");
    assert!(less.len() < whole.len(), "{rule:?}: {} of {}", less.len(), whole.len());
}

#[test]
fn a_search_needs_all_events_of_a_region() {
    crate::engine::simulate::hook::install();
    for waits in [false, true] {
        let stores = vec![Act::Store(0, 1), Act::Store(1, 1)];
        needs(Rule::LaterEvents, vec![vec![], vec![Act::Load(1)], stores], waits);
    }
    // The lock is not free, so the region is interrupted at this point. Only the failed attempt conflicts with its
    // later release.
    let holds = vec![Act::Lock(1), Act::Load(0), Act::Load(0)];
    let locks = vec![Act::Lock(0), Act::Lock(1)];
    needs(Rule::FailedAttempts, vec![vec![], holds, locks], true);
}
