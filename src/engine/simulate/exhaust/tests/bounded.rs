//! Bounded search against brute force: the runs within the bound and no others, each once.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::pin;

use super::act::Act;
use super::brute::Brute;
use super::program::{Program, body};
use super::{LIMITS, Seen, place, seen};
use crate::rt::{RunLimits, TaskBody, Weaker, Worker};
use crate::run::ids::{Seed, TaskId};
use crate::run::op::Access;
use crate::run::rng::Rng;
use crate::run::{DrawRecord, Failure, Run};
use crate::strategy::Search;
use crate::strategy::bounded::{Bounded, DELAYS, Measure, PREEMPTIONS};
use crate::strategy::divided::{Division, ProbeRoot};
use crate::strategy::search::{Apart, SearchProgress};

/// A program whose bounded searches are compared with brute force.
pub(super) trait Bounds: Debug {
    /// The effect of memory orders weaker than `SeqCst`.
    const WEAKER: Weaker;

    fn body(&self) -> impl Future<Output = ()>;
}

impl Bounds for Program {
    const WEAKER: Weaker = Weaker::Nothing;

    fn body(&self) -> impl Future<Output = ()> {
        body(self)
    }
}

/// Executes a run of the program, and returns its failure.
fn run<P: Bounds>(worker: &mut Worker, program: &P) -> Option<Failure> {
    let limits = RunLimits { weaker: P::WEAKER, ..LIMITS };
    worker.run(Seed(0), &limits, place(), pin!(TaskBody::new(program.body())))
}

/// Returns the numbers of preemptions and delays of a run; `enabled` has the tasks enabled at each step. The
/// definitions are implemented here again, without the code of the search.
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
        // The scheduler's hand moves on until it points at the task that steps.
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
fn all_runs(program: &impl Bounds, runs_max: usize) -> Option<Vec<([u32; 2], Seen)>> {
    let brute = Brute::default();
    let mut worker = Worker::new(Box::new(brute.clone()));
    let mut all = Vec::new();
    loop {
        run(&mut worker, program);
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
fn searched(program: &impl Bounds, measure: &'static Measure, most: u32) -> (Vec<Seen>, Bounded) {
    let search = Bounded::new(measure, Some(most));
    let mut worker = Worker::new(search.strategy());
    let (mut results, mut decisions) = (Vec::new(), BTreeSet::new());
    loop {
        let failure = run(&mut worker, program);
        let run = worker.extract(Seed(0), measure.what);
        worker.forget_histories();
        assert!(!matches!(failure, Some(Failure::Diverged { .. })), "{failure:?} in {program:?}");
        let (steps, draws) = search.decisions();
        let took = |steps: &[crate::run::StepRecord]| -> Vec<(TaskId, u32, bool)> {
            steps.iter().map(|step| (step.task, step.candidates, step.preempts)).collect()
        };
        // A search does not record the names of decisions.
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

/// The estimated number of runs within a bound, by probes of this width with these choices.
fn estimated(
    program: &impl Bounds,
    (measure, most): (&'static Measure, u32),
    (width, seed): (usize, u64),
) -> f64 {
    let search = Bounded::new(measure, Some(most));
    let mut worker = Worker::new(search.strategy());
    let root = ProbeRoot::whole(Apart::NOTHING).within(most);
    let mut probes = root.seeded((width, 16), seed);
    while let Some(part) = probes.part() {
        search.adopt(part);
        search.begin_look();
        run(&mut worker, program);
        worker.forget_histories();
        probes.add(search.end_look(false));
    }
    probes.estimate().expect("all probes were made").runs
}

/// The results of one share of a search, and its progress.
fn by_share(
    program: &impl Bounds,
    (measure, most): (&'static Measure, Option<u32>),
    division: Division,
) -> (Vec<Seen>, SearchProgress) {
    let search = Bounded::new(measure, most);
    let (mut worker, mut tree) = (Worker::new(search.strategy()), search.tree());
    let mut run = || {
        run(&mut worker, program);
        let run = worker.extract(Seed(0), measure.what);
        worker.forget_histories();
        seen(&run)
    };
    while let Some(at) = tree.to_look_at(division) {
        search.adopt(tree.part_of_top(at));
        search.begin_look();
        run();
        tree.look_below(at, search.end_look(false));
    }
    tree.keep_share(division);
    let root = tree.probe_root();
    let mut results = Vec::new();
    while !tree.is_through() {
        let mut slices = Vec::new();
        for (at, budget) in tree.budgets(u64::MAX).into_iter().enumerate() {
            search.adopt(tree.part(at));
            for _ in 0..budget {
                let seen = run();
                results.extend((!search.is_blocked()).then_some(seen));
                if !search.advance(true) {
                    break;
                }
            }
            slices.push(search.leave());
        }
        tree.merge(slices);
    }
    if let (Some(most), 1..30) = (most, results.len()) {
        // Probes that visit every node of the share.
        let mut probes = root.within(most).probes(usize::MAX, 16);
        while let Some(part) = probes.part() {
            search.adopt(part);
            search.begin_look();
            run();
            probes.add(search.end_look(false));
        }
        let estimate = probes.estimate().expect("all probes were made");
        assert_eq!(estimate.runs, results.len() as f64, "{most} {}s in {program:?}", measure.what);
    }
    (results, tree.progress())
}

/// Compares the shares of a search, which do not see each other, with the whole search.
fn compare_shares(
    program: &impl Bounds,
    bound: (&'static Measure, Option<u32>),
    whole: &[Seen],
    leaves_out: bool,
) {
    let (mut results, mut bounds) = (Vec::new(), Vec::new());
    for number in 1..=3 {
        let division = Division { number, of: 3, jobs: 2 };
        let (own, progress) = by_share(program, bound, division);
        assert_eq!(progress.runs, own.len() as u64, "{program:?}");
        results.extend(own);
        bounds.extend(progress.within);
    }
    results.sort_unstable();
    let mut whole = whole.to_vec();
    whole.sort_unstable();
    assert_eq!(results, whole, "{} {:?} in {program:?}", bound.0.what, bound.1);
    // Otherwise the shares together would be a proof.
    assert_eq!(!bounds.is_empty(), leaves_out, "{} {:?} in {program:?}", bound.0.what, bound.1);
    let through = bounds.iter().map(|within| within.through).min();
    assert!(through.is_none_or(|through| through == bound.1), "{through:?} in {program:?}");
}

/// Generates programs from `acts`, and compares bounded searches of them with brute force.
fn compared(acts: &[fn(&mut Rng) -> Act], shape: (u64, u64)) {
    compare(|rng| Program::generate(rng, acts, shape));
}

/// Compares bounded searches of generated programs with brute force.
pub(super) fn compare<P: Bounds>(generate: impl Fn(&mut Rng) -> P) {
    crate::engine::simulate::hook::install();
    let (programs, runs_max) = if crate::long() { (1_000, 3_000) } else { (12, 300) };
    let (mut small, mut strict, mut errors) = (0, 0, Vec::new());
    for seed in 0..programs {
        let program = generate(&mut Rng::new(seed));
        let Some(all) = all_runs(&program, runs_max) else { continue };
        small += 1;
        let whole: Vec<Seen> = all.iter().map(|(_, seen)| seen.clone()).collect();
        for (which, measure) in [&PREEMPTIONS, &DELAYS].into_iter().enumerate() {
            compare_shares(&program, (measure, None), &whole, false);
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
                // The search reports a bound only if it has left out a run.
                let through = progress.within.map(|within| within.through);
                assert_eq!(through, (dearest > most).then_some(Some(most)), "{program:?}");
                if most == 0 || most == 2 {
                    let leaves_out = dearest > most;
                    compare_shares(&program, (measure, Some(most)), &results, leaves_out);
                }
                strict += u64::from(dearest > most);
                if most == 2 && (10..100).contains(&results.len()) {
                    let (runs, bound) = (results.len() as f64, (measure, most));
                    assert_eq!(estimated(&program, bound, (usize::MAX, 0)), runs, "{program:?}");
                    let estimate = |seed| estimated(&program, bound, (4, seed));
                    errors.extend((0..4).map(|seed| estimate(seed) / runs - 1.0));
                }
            }
        }
    }
    assert!(small * 4 > programs && strict > small, "{small} programs, {strict} within a bound");
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    println!("{} estimates, mean error {mean:.3}", errors.len());
    assert!(errors.len() >= 20 && mean.abs() < 0.1, "{mean}: {errors:?}");
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
