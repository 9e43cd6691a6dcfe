//! Runs seeds under the scheduler.

mod helped_runner;

use self::helped_runner::HelpedRunner;
use super::job::WorkerJob;
use super::passed::note;
use super::reorder::ClosureCollector;
use super::runs::OwnsWorker;
use super::session::Session;
use super::watchdog::Unwatch;
use super::{confirm, helper};
use crate::engine::seeds::{self, Explored, Found, SeedTurn, remarks, unchecked};
use crate::report::Origin;
use crate::rt::{RunLimits, Worker};
use crate::run::ids::Seed;
use crate::run::{Failure, Outcome, Run};

/// The number of seeds that a thread takes at a time. A run may be shorter than a read of the clock, so the clock is
/// read once per batch.
const BATCH: u64 = 16;

/// Runs the seeds of the shard on as many threads as are useful, or in several processes.
pub(super) fn explore(session: &Session<'_>) -> Explored {
    let config = session.config;
    // A helper returns only counts of a fixed size.
    let is_counted = config.coverage || config.statistics || config.closure;
    let processes = if is_counted { 1 } else { helper::processes(session) };
    if processes > 1 {
        return session.quietly(|| {
            let mut helped = HelpedRunner { runner: SeedRunner::new(session), jobs: processes };
            let how = (processes, BATCH, helper::ALONE);
            seeds::explore_with_helpers(session.assignment, how, &mut helped)
        });
    }
    // Plain threads share the statics of the process, so they need separate processes instead of threads.
    let jobs = if config.is_native() { 1 } else { config.jobs };
    seeds::explore(session.assignment, jobs, BATCH, &|seeds| {
        session.quietly(|| {
            let mut runner = SeedRunner::new(session);
            seeds.run_each(|turn, own| runner.run(turn, own));
        });
    })
}

/// Returns the run of one seed. If it passes but fails with its calls in another order, returns the run in that order.
pub(super) fn run_seed(session: &Session<'_>, seed: Seed) -> Run {
    let mut runner = SeedRunner::new(session);
    let failing = runner.failing_run(0, seed);
    let run = failing.map_or_else(|| runner.extract(seed), |found| found.run);
    runner.worker.forget_histories();
    run
}

/// A worker that runs seeds on one thread.
pub(super) struct SeedRunner<'a, 'b> {
    session: &'a Session<'b>,
    pub(super) worker: Worker,
    watched: Unwatch<'a>,
    closing: ClosureCollector,
    limits: RunLimits,
}

impl OwnsWorker for SeedRunner<'_, '_> {
    fn worker(&mut self) -> &mut Worker {
        &mut self.worker
    }
}

impl<'a, 'b> SeedRunner<'a, 'b> {
    pub(super) fn new(session: &'a Session<'b>) -> SeedRunner<'a, 'b> {
        let strategy = session.config.strategy;
        let (closing, answers) = ClosureCollector::of(session, strategy);
        let worker = Worker::new(answers);
        let watched = session.watch.follow(worker.progress(), WorkerJob::Seeds(strategy), Seed(0));
        SeedRunner { session, worker, watched, closing, limits: session.limits() }
    }

    /// Executes the run of a seed, and leaves it in the worker. Returns its failure, unless it is a step limit at which
    /// the run [may end](Session::ends_at_limit).
    #[inline]
    pub(super) fn make(&mut self, seed: Seed) -> Option<Failure> {
        self.watched.watched.begin(seed.0);
        self.session.prepare(&mut self.worker, &self.watched.watched, seed);
        let failure = self.session.once(&mut self.worker, seed, &self.limits);
        failure.filter(|failure| !self.session.ends_at_limit(failure))
    }

    /// Returns the last run as data.
    pub(super) fn extract(&self, seed: Seed) -> Run {
        self.worker.extract(seed, self.session.config.strategy.name())
    }

    /// Runs a seed. Counts the run if it passes; otherwise returns the run.
    // A call in each run would cost two per cent of a small run.
    #[inline(always)]
    fn run(&mut self, turn: SeedTurn, own: &mut Explored) -> Option<Box<Found>> {
        let SeedTurn { position, seed, first } = turn;
        let mut found = self.failing_run(position, seed);
        if first && found.as_ref().is_none_or(|found| found.origin != Origin::Seed(seed)) {
            found = self.confirm_first(position, seed, own).or(found);
        } else if found.is_none() && self.session.config.repeats_each() {
            found = self.confirm(position, seed);
        }
        if found.is_none() {
            note(own, position, seed, self.session.config.strategy.name(), &self.worker);
            self.closing.move_to(own);
        }
        self.worker.forget_histories();
        found
    }

    /// Runs a seed as [`run`](SeedRunner::run) does, for callers with runs of plain threads, which are longer.
    #[inline(never)]
    fn run_long(&mut self, turn: SeedTurn, own: &mut Explored) -> Option<Box<Found>> {
        self.run(turn, own)
    }

    /// Executes the run of a seed. Returns the run if it fails, or if it fails with its calls in another order.
    #[inline]
    fn failing_run(&mut self, position: u64, seed: Seed) -> Option<Box<Found>> {
        if self.make(seed).is_some() {
            let run = self.extract(seed);
            return Some(Box::new(Found { position, run, origin: Origin::Seed(seed) }));
        }
        let run = self.closing.check(self.session, &self.worker, seed)?;
        let origin = Origin::Reordered(run.seed);
        Some(Box::new(Found { position, run, origin }))
    }

    /// Repeats the passing run of the first seed, to check that a run is a function of its decisions. Returns the run
    /// if it is not a function of its decisions.
    #[cold]
    fn confirm_first(&self, position: u64, seed: Seed, own: &mut Explored) -> Option<Box<Found>> {
        let run = self.extract(seed);
        own.warnings.extend(remarks(&run));
        own.notes.extend(unchecked(&self.session.site.test, self.worker.unchecked()));
        self.confirm(position, seed)
    }

    /// Repeats the passing run of a seed. Returns the run if it is not a function of its decisions.
    #[cold]
    fn confirm(&self, position: u64, seed: Seed) -> Option<Box<Found>> {
        let run = self.extract(seed);
        let failure = confirm::same_again(self.session, &run).err()?;
        let run = Run { outcome: Outcome::Failed(failure), ..run };
        Some(Box::new(Found { position, run, origin: Origin::Seed(seed) }))
    }
}
