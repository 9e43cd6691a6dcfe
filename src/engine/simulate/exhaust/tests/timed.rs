//! Acts that wait for a time, read it or move it.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use super::act::Act;
use super::brute::Brute;
use super::program::{Program, body};
use super::{effort, limits, place};
use crate::rt::{TaskBody, Worker};
use crate::run::clock_mode::ClockMode;
use crate::run::ids::Seed;
use crate::run::rng::Rng;
use crate::run::untried::Untried;
use crate::run::{Outcome, Run};
use crate::strategy::Search;
use crate::strategy::exhaustive::Exhaustive;
use crate::strategy::search::Apart;

type Kind = &'static [fn(&mut Rng) -> Act];

/// Acts of programs in which time may advance although tasks can step.
const KINDS: [Kind; 3] = [
    &[Act::load, Act::store, Act::sleep, Act::sleep, Act::now],
    &[Act::store, Act::sleep, Act::within, Act::within, Act::lock, Act::unlock],
    &[Act::load, Act::store, Act::sleep, Act::within, Act::now, Act::advance, Act::abort],
];

/// A program with timers.
pub(super) fn program(rng: &mut Rng) -> Program {
    let acts = KINDS[rng.below(KINDS.len() as u64) as usize];
    Program::generate(rng, acts, (2, 2))
}

impl Act {
    pub(super) fn sleep(rng: &mut Rng) -> Act {
        let seconds = rng.below(3);
        if rng.below(3) == 0 { Act::Until(seconds) } else { Act::Sleep(seconds) }
    }

    pub(super) fn now(_: &mut Rng) -> Act {
        Act::Now
    }

    pub(super) fn advance(rng: &mut Rng) -> Act {
        Act::Advance(1 + rng.below(2))
    }

    pub(super) fn within(rng: &mut Rng) -> Act {
        match rng.below(3) {
            0 => Act::LockWithin(rng.below(2) as usize, rng.below(3)),
            1 => Act::AwaitWithin(rng.below(2) as usize, 1 + rng.below(2), rng.below(3)),
            _ => Act::Race(rng.below(3), rng.below(3)),
        }
    }
}

/// The end of a run, and the values seen by each task except the clock, in one form with and without a clock.
type Saw = (String, BTreeMap<String, Vec<String>>);

fn saw(run: &Run) -> Saw {
    let mut tasks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in &run.events {
        let task = &run.tasks[event.task.index()];
        let name = task.name.clone().unwrap_or_else(|| "body".to_owned());
        // Timers are recorded for the clock. Values of events name tasks by their number.
        let is_for_clock = name == "clock" || ["set", "unset", "passed"].contains(&event.op.name);
        let values = match event.values {
            crate::run::event::Values::Task(task) => format!("{:?}", run.tasks[task.index()].name),
            values => format!("{values:?}"),
        };
        if !is_for_clock && !values.contains("clock") {
            tasks.entry(name).or_default().push(format!("{} {values}", event.op.name));
        }
    }
    let outcome = match &run.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(failure) => failure.kind(),
    };
    (outcome.to_owned(), tasks)
}

/// Executes all sequences of decisions of a program in which time may advance at any moment. Returns the results of its
/// runs, each with its number of early moves: advances although another task could step. Returns `None` if there are
/// too many runs.
fn by_definition(program: &Program, runs_max: u64) -> Option<BTreeSet<(usize, Saw)>> {
    let program = program.clone().with_clock(ClockMode::Any);
    let brute = Brute::default();
    let mut worker = Worker::new(Box::new(brute.clone()));
    let mut all = BTreeSet::new();
    for _ in 0..runs_max {
        worker.run(Seed(0), &limits(&program), place(), pin!(TaskBody::new(body(&program))));
        let run = worker.extract(Seed(0), "brute force");
        worker.forget_histories();
        let is_clock = |task: usize| run.tasks[task].name.as_deref() == Some("clock");
        let moves = run.events.iter().filter(|event| event.op.name == "move_time");
        let early = moves.filter(|event| run.steps[event.step as usize].candidates > 1);
        let early = early.inspect(|event| assert!(is_clock(event.task.index()))).count();
        all.insert((early, saw(&run)));
        if !brute.advance() {
            return Some(all);
        }
    }
    None
}

/// The results of the search, and true if a run left early moves out.
fn found(program: &Program) -> (BTreeSet<Saw>, bool) {
    let search = Exhaustive::default();
    search.tell_apart(Apart::ORDERS);
    let mut worker = Worker::new(search.strategy());
    let (mut all, mut unseen) = (BTreeSet::new(), unpause_ordered::Set::new());
    loop {
        let failure =
            worker.run(Seed(0), &limits(program), place(), pin!(TaskBody::new(body(program))));
        worker.add_untried(&mut unseen);
        if !search.is_blocked() {
            all.insert(saw(&worker.extract(Seed(0), "exhaustive")));
        }
        worker.forget_histories();
        if !search.advance(super::ends_by_a_step(failure.as_ref())) {
            return (all, unseen.contains(&Untried::Beyond(ClockMode::BEYOND)));
        }
    }
}

#[test]
fn a_bound_on_early_moves_is_exact() {
    crate::engine::simulate::hook::install();
    let (programs, runs_max) = effort();
    let (mut small, mut strict, mut beyond) = (0, 0, 0);
    for seed in 0..programs {
        let program = program(&mut Rng::new(seed));
        let Some(all) = by_definition(&program, 3 * runs_max) else { continue };
        small += 1;
        let every: BTreeSet<&Saw> = all.iter().map(|(_, saw)| saw).collect();
        for most in 0..3 {
            let within = all.iter().filter(|(early, _)| *early <= most).map(|(_, saw)| saw);
            let within: BTreeSet<&Saw> = within.collect();
            let clock = match most {
                0 => ClockMode::Last,
                most => ClockMode::Late(most as u32),
            };
            let (found, more) = found(&program.clone().with_clock(clock));
            assert_eq!(found.iter().collect::<BTreeSet<_>>(), within, "{most} in {program:?}");
            let is_strict = within.len() < every.len();
            // The search knows if it has left out any run.
            assert!(more || !is_strict || most == 0, "{most} in {program:?}");
            strict += u64::from(is_strict);
            beyond += u64::from(more);
        }
    }
    println!("{small} programs, {strict} times fewer results, {beyond} times beyond the bound");
    assert!(small * 4 > programs && strict * 4 > small && beyond > 0);
}
