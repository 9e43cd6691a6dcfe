//! Executes the runs of an explanation: sampled continuations, and searches below a prefix, within a budget.
//!
//! All runs draw the same values as the explained run, so they are runs of the same program. The budget counts runs and
//! steps but not time, so the explanation is a function of the run.

mod sums_of_runs;

use std::sync::{Arc, PoisonError};

use unpause_ordered::Set;

pub(super) use self::sums_of_runs::{Bounds, Counts, Sampled, Searched};
use super::exact_locks::{StepsCalls, exact_schedule};
use super::memory::{StrongMemory, without_store_choices};
use super::nearest::Nearest;
use super::orders::Classes;
use crate::engine::config::Config;
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::engine::simulate::job::WorkerJob;
use crate::engine::simulate::session::Session;
use crate::native;
use crate::report::PassingRun;
use crate::rt::{RunLimits, Weaker, Worker};
use crate::run::choice::Strategy;
use crate::run::ids::TaskId;
use crate::run::isolation::Isolation;
use crate::run::memory_model::MemoryModel;
use crate::run::schedule::Schedule;
use crate::run::untried::Untried;
use crate::run::what_if::WhatIf;
use crate::run::{Failure, Run};
use crate::strategy::Search;
use crate::strategy::after::{After, Pending, PendingOperation, Then};
use crate::strategy::bounded::{Bounded, PREEMPTIONS};
use crate::strategy::exhaustive::Exhaustive;
use crate::strategy::held::Held;
use crate::strategy::search::Apart;
use crate::strategy::sum::{Sum, Summed};
use crate::testing::generate::memo::Memo;

/// The maximum total number of steps for an explanation.
const STEPS: u64 = 2_000_000;
/// The cost of starting and ending a run of plain threads, in steps.
const BEGIN_NATIVE: u64 = 50;
/// The cost of starting and ending a run in its own process, in steps.
const BEGIN_APART: u64 = 500;
/// The step limit of a run: a factor for the steps of the explained run, and an additional number of steps.
const LONGER: (u32, u32) = (4, 1000);

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Passed,
    Failed,
    /// The run reached the step limit, so it does not count.
    Long,
    /// The run did not follow its strategy, or a search gave it up.
    Cut,
    /// A task would have had to wait within a region, so the run does not count.
    Excused,
}

impl End {
    fn of(worker: &Worker, failure: Option<&Failure>) -> End {
        match failure {
            Some(Failure::Error { .. }) if worker.is_excused() => End::Excused,
            None => End::Passed,
            Some(Failure::StepLimit { .. }) => End::Long,
            Some(
                Failure::Diverged { .. } | Failure::NonDeterminism { .. } | Failure::Hang { .. },
            ) => End::Cut,
            Some(_) => End::Failed,
        }
    }
}

/// A search of all interleavings after a prefix. The search can be continued as long as its result is
/// [`Searched::Open`].
pub(super) struct Exploration {
    search: Exhaustive,
    /// The drawn values of its runs, if their detail of locks differs from the detail of the explained run.
    exact: Option<Arc<Schedule>>,
    /// The number of its runs, including runs that were given up, and the number of their steps.
    made: (u64, u64),
    counts: Counts,
    untried: Set<Untried>,
}

impl Exploration {
    /// Returns the average number of steps of its runs.
    pub(super) fn steps(&self) -> u64 {
        let (runs, steps) = self.made;
        steps / runs.max(1)
    }
}

/// A lab that executes the runs of an explanation.
pub(super) struct Lab<'a, 's> {
    pub(super) session: &'a Session<'s>,
    pub(super) run: &'a Run,
    pub(super) schedule: Arc<Schedule>,
    /// The same drawn values with the detail of searches: see [`exact_locks`](super::exact_locks).
    pub(super) exact: Option<Arc<Schedule>>,
    /// Restores the detail of searches, if the lab has changed it.
    pub(super) steps_calls: Option<StepsCalls>,
    /// True if the current runs have these values.
    pub(super) is_exact: bool,
    /// The tasks that take the steps of the explained run.
    pub(super) steps: Arc<[TaskId]>,
    limits: RunLimits,
    runs_max: u64,
    runs: u64,
    steps_taken: u64,
    /// The cost of starting and ending a run, in steps.
    begin: u64,
    /// True if a run has left out orders of lock operations. A search with such runs is no proof.
    pub(super) is_simplified: bool,
    /// True if a run has hung. No further run is executed.
    has_hung: bool,
    nearest: Nearest,
    _memory: StrongMemory,
    /// A memo of generated programs, so that each program is generated only once.
    _memo: Memo,
}

impl<'a, 's> Lab<'a, 's> {
    /// Creates a lab for a run, with a budget of `runs_max` runs.
    pub(super) fn new(session: &'a Session<'s>, run: &'a Run, runs_max: u64) -> Lab<'a, 's> {
        let steps = u32::try_from(run.steps.len()).unwrap_or(u32::MAX);
        let limits = session.limits();
        let longest = steps.saturating_mul(LONGER.0).saturating_add(LONGER.1);
        let steps_max = limits.steps_max.min(longest);
        let weaker = match session.config.memory {
            MemoryModel::Sc => limits.weaker,
            MemoryModel::C11 => Weaker::Nothing,
        };
        let schedule = match session.config.memory {
            MemoryModel::Sc => Schedule::of(run),
            MemoryModel::C11 => Schedule::of(&without_store_choices(run)),
        };
        // The flag may be set by earlier runs.
        native::take_simplified();
        Lab {
            session,
            run,
            schedule: Arc::new(schedule),
            exact: exact_schedule(run, session.config.memory),
            steps_calls: None,
            is_exact: false,
            steps: run.steps.iter().map(|step| step.task).collect(),
            limits: RunLimits { steps_max, beyond: 0, weaker, ..limits },
            runs_max,
            runs: 0,
            steps_taken: 0,
            begin: begin_of(session.config),
            is_simplified: false,
            has_hung: false,
            nearest: Nearest::default(),
            _memory: StrongMemory::begin(session.config),
            _memo: Memo::begin(),
        }
    }

    /// Returns the number of runs so far.
    pub(super) fn runs(&self) -> u64 {
        self.runs
    }

    /// Returns the number of remaining runs.
    pub(super) fn runs_left(&self) -> u64 {
        let is_spent = self.steps_taken >= STEPS || self.has_hung;
        if is_spent { 0 } else { self.runs_max.saturating_sub(self.runs) }
    }

    /// Returns `true` if a run has hung.
    pub(super) fn has_hung(&self) -> bool {
        self.has_hung
    }

    /// Returns the passing run that is nearest to the explained run, if any run so far has passed.
    pub(super) fn passing(&self) -> Option<PassingRun> {
        let run = self.nearest.run()?;
        // With the memory `c11`, a replay would choose stores that this run has not chosen.
        let has_own_memory = self.session.config.memory == MemoryModel::Sc;
        let replay = has_own_memory.then(|| self.session.short_replay_command(run)).flatten();
        Some(PassingRun { replay, ..PassingRun::of(run, self.run)? })
    }

    /// Returns `true` if the run fails again when its steps and its drawn values are repeated.
    pub(super) fn fails_again(&mut self) -> bool {
        self.sample(self.steps.len(), 1, Then::Sticky, 0).failed == 1
    }

    /// Changes the program of the following runs to `what_if`, or back to the program of the test.
    pub(super) fn suppose(&mut self, what_if: Option<WhatIf>) {
        self.limits.what_if = what_if.map(Arc::new);
    }

    /// Repeats the run, and returns the operations that were pending when it ended.
    pub(super) fn pending(&mut self) -> Vec<PendingOperation> {
        let pending = Pending::default();
        let (steps, kept) = (self.steps.clone(), self.steps.len());
        let after =
            |number| After::new(steps.clone(), kept, Then::Sticky, number).noting(pending.clone());
        self.sample_after(&after, 1, &mut |_, _| true);
        let pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.clone()
    }

    /// Executes runs of a strategy, until `see` returns `false` or the budget is used up. `is_whole` returns `false` if
    /// the strategy ended the last run early. Returns `false` if the budget is used up.
    fn each(
        &mut self,
        strategy: Box<dyn Strategy>,
        job: &dyn Fn(u64) -> Option<WorkerJob>,
        first: WorkerJob,
        is_whole: &dyn Fn() -> bool,
        see: &mut dyn FnMut(&Worker, Option<&Failure>) -> bool,
    ) -> bool {
        let session = self.session;
        let mut worker = Worker::new(strategy);
        let watched = session.watch.follow(worker.progress(), first, self.run.seed);
        for n in 0.. {
            if self.runs_left() == 0 {
                return false;
            }
            match job(n) {
                Some(job) => watched.watched.begin_job(job),
                None => watched.watched.begin(self.run.seed.0),
            }
            // All runs use the same seed, because a run may depend on the seed in other ways than through its strategy.
            let failure = session.once_more(&mut worker, self.run.seed, &self.limits);
            self.runs += 1;
            self.steps_taken += self.begin + worker.steps() + native::take_rounds().reads;
            self.is_simplified |= native::take_simplified();
            self.has_hung |= matches!(failure, Some(Failure::Hang { .. }));
            let is_comparable = !self.is_exact && self.limits.what_if.is_none();
            if failure.is_none() && is_comparable && is_whole() {
                self.nearest.see(&worker, &self.steps, self.run.seed);
            }
            let goes_on = see(&worker, failure.as_ref());
            worker.forget_histories();
            if !goes_on {
                break;
            }
        }
        !self.has_hung
    }

    /// Samples `runs` continuations of the first `kept` steps, beginning with the continuation number `first`.
    pub(super) fn sample(&mut self, kept: usize, runs: u64, then: Then, first: u64) -> Sampled {
        let steps = self.steps.clone();
        let after = |number: u64| After::new(steps.clone(), kept, then, first + number);
        self.sample_after(&after, runs, &mut |_, _| true)
    }

    /// Executes runs of the whole program, and passes each to `see`, until `see` returns `false`.
    pub(super) fn walk(&mut self, runs: u64, see: &mut dyn FnMut(&Worker, End) -> bool) -> Sampled {
        let steps = self.steps.clone();
        self.sample_after(&|number| After::new(steps.clone(), 0, Then::Any, number), runs, see)
    }

    /// Samples `runs` runs that begin with steps of these tasks, until a run has the end `stop`. A step is omitted if
    /// its task cannot step. After these steps, half of the runs switch tasks rarely.
    pub(super) fn near(&mut self, steps: &Arc<[TaskId]>, runs: u64, stop: Option<End>) -> Sampled {
        let (mut sampled, mut is_stopped) = (Sampled::default(), false);
        for (then, runs) in [(Then::Sticky, runs - runs / 2), (Then::Any, runs / 2)] {
            if runs == 0 || is_stopped {
                break;
            }
            let after = |number| After::new(steps.clone(), steps.len(), then, number).leniently();
            let Sampled { failed, ended } = self.sample_after(&after, runs, &mut |_, end| {
                is_stopped = stop == Some(end);
                !is_stopped
            });
            sampled.failed += failed;
            sampled.ended += ended;
        }
        sampled
    }

    /// Executes the runs of the strategies that `after` returns for their numbers.
    fn sample_after(
        &mut self,
        after: &dyn Fn(u64) -> After,
        runs: u64,
        see: &mut dyn FnMut(&Worker, End) -> bool,
    ) -> Sampled {
        let schedule = self.schedule.clone();
        let continued = |number| WorkerJob::Continue(schedule.clone(), after(number));
        let job = continued(0);
        let (mut sampled, mut made) = (Sampled::default(), 0);
        let (strategy, next) = (job.strategy(), |n: u64| Some(continued(n)));
        self.each(strategy, &next, job, &|| true, &mut |worker, failure| {
            let end = End::of(worker, failure);
            sampled.failed += u64::from(end == End::Failed);
            sampled.ended += u64::from(matches!(end, End::Failed | End::Passed));
            made += 1;
            see(worker, end) && made < runs
        });
        sampled
    }

    /// Explores all interleavings after the first `kept` steps in at most `runs` runs, until a run has the end `stop`.
    pub(super) fn search(&mut self, kept: usize, runs: u64, stop: Option<End>) -> Searched {
        let mut exploration = self.exploration(kept);
        self.explore(&mut exploration, runs, stop, None)
    }

    /// Returns a search of all interleavings after the first `kept` steps, before its first run.
    pub(super) fn exploration(&self, kept: usize) -> Exploration {
        let search = Exhaustive::after(&self.steps[..kept]);
        // Calls in another order may have another verdict, and dead nodes leave effects that other nodes see. So both
        // differences distinguish runs.
        search.tell_apart(Apart::ORDERS.and(Apart::DEATHS));
        // A prefix consists of steps in the detail of the explained run.
        let exact = self.exact.clone().filter(|_| self.is_simplified && kept == 0);
        let counts = Counts { is_exact: exact.is_some(), ..Counts::default() };
        Exploration { search, exact, made: (0, 0), counts, untried: Set::new() }
    }

    /// Continues a search by at most `runs` runs, until a run has the end `stop`. The program must be the same as in
    /// the earlier runs of the search. The classes of the runs are added to `classes`, if wanted.
    pub(super) fn explore(
        &mut self,
        exploration: &mut Exploration,
        runs: u64,
        stop: Option<End>,
        classes: Option<&mut Classes>,
    ) -> Searched {
        match exploration.exact.clone() {
            Some(exact) => {
                self.exactly(exact, |lab| lab.explored(exploration, runs, stop, classes))
            }
            None if self.is_simplified => Searched::Blind,
            None => self.explored(exploration, runs, stop, classes),
        }
    }

    fn explored(
        &mut self,
        exploration: &mut Exploration,
        runs: u64,
        stop: Option<End>,
        mut classes: Option<&mut Classes>,
    ) -> Searched {
        let Exploration { search, made, counts, untried, .. } = exploration;
        let (search, seed, last) = (&*search, self.run.seed, made.0 + runs);
        let strategy = Held::new(search.strategy(), &self.schedule, false);
        let job = WorkerJob::Search(Arc::new(search.clone()));
        let mut result = Searched::Open;
        let is_whole = || !search.is_blocked();
        self.each(Box::new(strategy), &|_| None, job, &is_whole, &mut |worker, failure| {
            let (end, is_new) = (End::of(worker, failure), !search.is_blocked());
            made.0 += 1;
            made.1 += worker.steps();
            worker.add_untried(untried);
            if is_new {
                counts.failed += u64::from(end == End::Failed);
                counts.excused += u64::from(end == End::Excused);
                if stop == Some(end) {
                    result = Searched::Stopped;
                    return false;
                }
                if matches!(end, End::Long | End::Cut) {
                    result = Searched::Blind;
                    return false;
                }
            }
            let more = search.advance_and(ends_by_a_step(failure), |order| {
                if let (true, Some(classes)) = (is_new, &mut classes) {
                    classes.add(&worker.outline(seed, ""), end, order);
                }
            });
            let progress = search.progress();
            if progress.runs == 0 {
                // The search restarted, so the earlier runs do not count.
                *counts = Counts { is_exact: counts.is_exact, ..Counts::default() };
                if let Some(classes) = &mut classes {
                    classes.clear();
                }
            }
            if !more {
                (counts.all, counts.by_step) = (progress.runs, progress.by_step);
                result = Searched::Through(*counts);
            }
            more && made.0 < last
        });
        // Memory orderings are irrelevant here, because the runs treat all of them as `SeqCst`.
        let leaves_out = || untried.iter().any(|part| !part.is_assumption());
        match result {
            Searched::Open | Searched::Through(_)
                if search.progress().blind || self.is_simplified || leaves_out() =>
            {
                Searched::Blind
            }
            result => result,
        }
    }

    /// Executes all runs with few preemptions, then runs with more, at most `runs` runs. `None` if a run fails or has
    /// no end.
    pub(super) fn bounded(&mut self, runs: u64) -> Option<Bounds> {
        let search = Bounded::new(&PREEMPTIONS, None);
        let strategy = Held::new(search.strategy(), &self.schedule, false);
        let job = WorkerJob::Search(Arc::new(search.clone()));
        let (mut made, mut passed, mut excused) = (0, 0, 0);
        let (mut fails, mut is_all) = (false, false);
        let mut untried = Set::new();
        let is_whole = || !search.is_blocked();
        self.each(Box::new(strategy), &|_| None, job, &is_whole, &mut |worker, failure| {
            let end = End::of(worker, failure);
            made += 1;
            worker.add_untried(&mut untried);
            fails |= matches!(end, End::Failed | End::Long | End::Cut);
            // A run that repeats an earlier run does not count.
            let is_new = !search.is_blocked();
            passed += u64::from(end == End::Passed && is_new);
            excused += u64::from(end == End::Excused && is_new);
            is_all = !fails && !search.advance(ends_by_a_step(failure));
            !fails && !is_all && made < runs
        });
        fails |= untried.iter().any(|part| !part.is_assumption());
        let through = search.progress().within.and_then(|within| within.through);
        let is_exact = !self.is_simplified;
        let (through, is_all) = (through.filter(|_| is_exact), is_all && is_exact);
        (!fails).then_some(Bounds { through, runs: passed, excused, is_all })
    }

    /// Returns the exact chances of failure before each step, if at most `runs` runs are needed; otherwise `None`.
    pub(super) fn sum(&mut self, runs: u64) -> Option<Vec<f64>> {
        if self.is_simplified {
            return None;
        }
        let sum = Sum::new(self.steps.to_vec());
        let strategy = Held::new(sum.strategy(), &self.schedule, false);
        // If a run hangs, the watchdog repeats the explained run instead, which did not hang.
        let job = WorkerJob::Follow(self.schedule.clone());
        let (mut made, mut exact) = (0, None);
        let is_whole = || !sum.is_cut();
        self.each(Box::new(strategy), &|_| None, job, &is_whole, &mut |worker, failure| {
            let end = End::of(worker, failure);
            made += 1;
            if end == End::Long || end == End::Cut && !sum.is_cut() {
                return false;
            }
            match sum.add(end == End::Failed) {
                Summed::Open => made < runs,
                Summed::Blind => false,
                Summed::Exact(chances) => {
                    exact = Some(chances);
                    false
                }
            }
        });
        exact.filter(|_| !self.is_simplified)
    }
}

/// Returns the cost of starting and ending a run, in steps.
fn begin_of(config: &Config) -> u64 {
    match config.isolate {
        _ if !config.is_native() => 0,
        // The runs of a body that has captured memory have processes, too.
        Isolation::Run if !native::has_captured() => BEGIN_NATIVE,
        Isolation::Run | Isolation::Process => BEGIN_APART,
    }
}

#[cfg(test)]
mod tests;
