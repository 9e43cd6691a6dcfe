//! Certificates of searches within a bound against the checker. A certificate has each run within the bound, so it is
//! refused if any run is missing. The programs have strong and weak memory orders.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use unpause_verify::{Bound, Decisions, Gap, Observed, Reader, Verified, verify};

use super::act::Act;
use super::bounded::Bounds;
use super::program::Program;
use super::{LIMITS, place, weak_bounds};
use crate::engine::results::Json;
use crate::engine::simulate::certify::{self, RunObserver};
use crate::rt::{RunLimits, TaskBody, Worker};
use crate::run::Failure;
use crate::run::ids::Seed;
use crate::run::rng::Rng;
use crate::strategy::Search;
use crate::strategy::bounded::{Bounded, DELAYS, PREEMPTIONS};
use crate::strategy::search::Apart;

fn run<P: Bounds>(worker: &mut Worker, program: &P) -> Option<Failure> {
    let limits = RunLimits { weaker: P::WEAKER, ..LIMITS };
    worker.run(Seed(0), &limits, place(), pin!(TaskBody::new(program.body())))
}

/// The decisions of each run of a search; `None` if there are too many.
fn certificate(program: &impl Bounds, bound: Bound, runs_max: usize) -> Option<Vec<Decisions>> {
    let measure = if bound.counts_delays { &DELAYS } else { &PREEMPTIONS };
    let search = Bounded::new(measure, Some(bound.most as u32));
    let mut worker = Worker::new(search.strategy());
    let mut runs = Vec::new();
    loop {
        run(&mut worker, program);
        worker.forget_histories();
        if !search.is_blocked() {
            runs.push(Decisions::read(&certify::write(&worker.schedule())).unwrap());
        }
        if runs.len() > runs_max {
            return None;
        }
        if !search.advance(true) {
            return Some(runs);
        }
    }
}

/// A program with runs that a checker requests.
struct Asked<'a, P> {
    program: &'a P,
    bound: Bound,
}

impl<P: Bounds> unpause_verify::Program for Asked<'_, P> {
    fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String> {
        let mut observer = RunObserver::new(Apart::STEPS, true);
        let mut worker = Worker::new(observer.strategy(Arc::default()));
        for decisions in runs {
            let line = Json::parse(decisions.line().as_bytes())?;
            worker.set_strategy(observer.strategy(Arc::new(certify::read(&line)?)));
            let failure = run(&mut worker, self.program);
            let run = worker.extract(Seed(0), "asked");
            worker.forget_histories();
            // Runs of these programs may fail.
            observer.write(&run, failure.as_ref(), None);
        }
        let mut reader = Reader::default();
        for line in observer.lines.lines() {
            if let Some(observed) = reader.read(line)? {
                show(observed);
            }
        }
        Ok(())
    }

    fn bound(&self) -> Option<Bound> {
        Some(self.bound)
    }
}

/// Changes a certificate somewhere, so that a run is missing.
fn mutate(runs: &mut Vec<Decisions>, chance: &mut Rng) {
    let nth = chance.below(runs.len() as u64) as usize;
    let other = runs[chance.below(runs.len() as u64) as usize].clone();
    let run = &mut runs[nth];
    let at = chance.below(run.steps.len() as u64) as usize;
    match chance.below(6) {
        0 => drop(runs.remove(nth)),
        1 => *run = other,
        2 => run.steps[at..].rotate_left(1),
        3 => drop(run.steps.pop()),
        4 => run.steps[at] = chance.below(run.tasks.len() as u64) as usize,
        // The first value may be given. The search does not vary it.
        _ => match run.draws.iter_mut().flatten().last() {
            Some(value) => *value ^= 1,
            None => run.steps.truncate(at),
        },
    }
}

/// Verifies certificates of generated programs, and the same certificates without a run or with a change. Returns the
/// numbers of certificates, of refused changes, and of changes that leave all runs.
fn verified<P: Bounds>(generate: impl Fn(&mut Rng) -> P) -> [u64; 3] {
    crate::engine::simulate::hook::install();
    let (programs, runs_max, removals) = if crate::long() { (100, 100, 10) } else { (30, 40, 4) };
    let (mut chance, mut counts) = (Rng::new(1), [0; 3]);
    for seed in 0..programs {
        let program = generate(&mut Rng::new(seed));
        for (counts_delays, most) in [(false, 0), (false, 1), (false, 2), (true, 1), (true, 2)] {
            let bound = Bound { counts_delays, most };
            let Some(runs) = certificate(&program, bound, runs_max) else { continue };
            let check = |runs: &[Decisions]| -> Result<Verified, Gap> {
                verify(runs, &mut Asked { program: &program, bound })
            };
            let whole = check(&runs).unwrap_or_else(|gap| panic!("{program:?}: {bound:?}: {gap}"));
            assert_eq!(whole.classes, runs.len() as u64, "{program:?}: {bound:?}");
            counts[0] += 1;
            for nth in 0..runs.len().min(removals) {
                let mut without = runs.clone();
                without.remove(nth);
                let gap = check(&without).expect_err("a run is missing");
                assert!(matches!(gap, Gap::Missing(..) | Gap::Empty), "{program:?}: {gap}");
                counts[1] += 1;
            }
            let all: BTreeSet<String> = runs.iter().map(Decisions::line).collect();
            for _ in 0..4 {
                let mut changed = runs.clone();
                mutate(&mut changed, &mut chance);
                let is_whole = changed.iter().map(Decisions::line).collect::<BTreeSet<_>>() == all;
                match check(&changed) {
                    Err(_) => counts[1] += 1,
                    Ok(_) => {
                        // The change has replaced a run by itself.
                        counts[2] += 1;
                        assert!(is_whole, "{program:?}: {bound:?} accepts {changed:?}");
                    }
                }
            }
        }
    }
    counts
}

#[test]
fn certificates_within_a_bound_are_refused_if_a_run_is_missing() {
    let acts = [Act::load, Act::store, Act::lock, Act::unlock, Act::pause, Act::spawn, Act::abort];
    let [certificates, refused, whole] = verified(|rng| Program::generate(rng, &acts, (3, 3)));
    println!("{certificates} certificates, {refused} refused, {whole} whole");
    assert!(certificates > 30 && refused > 300, "{certificates} {refused}");
}

#[test]
fn certificates_within_a_bound_have_the_choices_of_stores() {
    let [certificates, refused, whole] = verified(weak_bounds::generate);
    println!("{certificates} certificates, {refused} refused, {whole} whole");
    assert!(certificates > 30 && refused > 300, "{certificates} {refused}");
}
