//! Checks a search that is through against sampled runs.
//!
//! A search that says "all" makes two claims: it had a run of every class, and all runs of a class
//! are alike. The audit checks both claims for runs drawn from seeds. Did the search have their
//! class? At least once per class: do the same steps show the same in another order, and without
//! the steps that deaths of nodes take back? A run that says otherwise takes the proof away: either
//! the search is wrong, or tasks share something that is not of this library, such as a lock of
//! `std`. The audit names the two steps that show it ([`clash`], [`missed`]).
//!
//! It is a net, and no proof: a hole of the search is missed with a probability that falls with the number of
//! runs. Of the holes that the search once had, 100 runs show each with at least 99 %.

use unpause_ordered::Set;
mod again;
mod clash;
mod missed;

use self::again::Again;
pub(in crate::engine::simulate) use self::again::operation;
use self::clash::Expected;
use super::ends_by_a_step;
use crate::engine::seeds::Found;
use crate::engine::simulate::job::WorkerJob;
use crate::engine::simulate::session::Session;
use crate::report::{Audit, Clash, Origin};
use crate::rt::Worker;
use crate::run::ids::Seed;
use crate::run::trace::format;
use crate::run::{Failure, Run};
use crate::strategy::Chosen;
use crate::strategy::divided::SearchTree;
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::search::Apart;
use crate::strategy::witness::Witness;

/// The number of sampled runs.
pub(in crate::engine::simulate) const RUNS: u64 = 100;

/// For each strategy, so many runs are repeated in another order; of the others, the runs of a new
/// class.
const MADE_AGAIN: u64 = 5;

/// The name of the strategy of a run that is made again.
const SAMPLED: &str = "sampled";

/// They are shared out among these: orders of locks that one seldom has, the other has often.
const STRATEGIES: [&str; 2] = ["random", "pos"];

/// The result of an audit.
#[derive(Default)]
pub(in crate::engine::simulate) struct Sampled {
    pub(in crate::engine::simulate) audit: Audit,
    /// The classes of the runs, but for those that were too long.
    pub(in crate::engine::simulate) classes: Set<u64>,
    /// A run that fails, though the search passed, and its seed.
    failing: Option<(Run, Seed)>,
    /// True if tasks woke each other through something outside this library that the search does not know of: their
    /// classes mean nothing then.
    pub(in crate::engine::simulate) blind: bool,
}

/// Samples so many runs, up to the first that says something against the search. Without a search, runs are
/// only looked at in another order. `shown` tells whether the search continued after failures: a
/// failing run of a known class is then no news.
pub(in crate::engine::simulate) fn audit(
    session: &Session<'_>,
    search: Option<&SearchTree>,
    runs: u64,
    shown: bool,
) -> Sampled {
    let sampled = Sampled::default();
    let mut auditor = Auditor { session, search, shown, sampled };
    for name in STRATEGIES {
        auditor.sample(name, runs / STRATEGIES.len() as u64);
        if auditor.is_done() {
            break;
        }
    }
    auditor.sampled
}

/// An audit, as its runs are made.
struct Auditor<'a, 's> {
    session: &'a Session<'s>,
    search: Option<&'a SearchTree>,
    /// True if the search continued after failures.
    shown: bool,
    sampled: Sampled,
}

/// A sampled run, as its witness saw it.
struct SampledClass {
    class: u64,
    /// True if the search had a run of the class; `None` without a search.
    known: Option<bool>,
    /// Other orders of the run that must make no difference.
    others: Vec<Other>,
}

impl Auditor<'_, '_> {
    /// Returns `true` if a run said something against the search, or if classes mean nothing.
    fn is_done(&self) -> bool {
        self.sampled.blind || !self.sampled.audit.agrees()
    }

    /// Samples so many runs of one strategy.
    fn sample(&mut self, name: &'static str, runs: u64) {
        let session = self.session;
        let strategy = Chosen::parse(name).expect("a strategy of the registry");
        let witness = Witness::default();
        if let Some(search) = self.search {
            witness.tell_apart(search.apart());
        }
        let mut worker = Worker::new(witness.watch(strategy.create()));
        let watched = session.watch.follow(worker.progress(), WorkerJob::Seeds(strategy), Seed(0));
        session.rehearse(&mut worker, &watched.watched);
        for number in 0..runs {
            let seed = Seed(number);
            watched.watched.begin(number);
            let failure = session.once(&mut worker, seed, &session.limits());
            self.sampled.audit.runs += 1;
            let seen = self.look(&witness, number, failure.as_ref());
            if let Some(failure) = failure {
                if self.is_news(&failure, &seen) {
                    self.sampled.fails(worker.extract(seed, name), seed);
                }
            } else if witness.is_blind() {
                self.sampled.blind = true;
            } else if !seen.others.is_empty() || seen.known == Some(false) {
                let run = worker.extract(seed, name);
                let apart = self.search.map_or(Apart::NOTHING, |search| search.apart());
                let (schedule, watched) = (worker.schedule(), &watched.watched);
                let worker = &mut worker;
                self.check(&run, &seen, Again { session, worker, watched, seed, schedule, apart });
                watched.begin_job(WorkerJob::Seeds(strategy));
            }
            worker.forget_histories();
            if self.is_done() {
                return;
            }
        }
    }

    /// The class of the last run, and other orders of it if they are to be made.
    fn look(&mut self, witness: &Witness, number: u64, failure: Option<&Failure>) -> SampledClass {
        let is_long = matches!(failure, Some(Failure::StepLimit { .. }));
        let (class, others) = witness.look(ends_by_a_step(failure), |order| {
            let class = order.class();
            let is_new = !is_long && self.sampled.classes.insert(class);
            let wanted = is_new || number < MADE_AGAIN;
            let is_made_again = wanted && failure.is_none();
            let others = if is_made_again { Other::all(order) } else { Vec::new() };
            (class, others)
        });
        let known = self.search.and_then(|search| search.has_class(class));
        SampledClass { class, known, others }
    }

    /// Returns `true` for a failure that the search has not shown.
    fn is_news(&self, failure: &Failure, seen: &SampledClass) -> bool {
        // A run that was too long is of no class.
        let is_long = matches!(failure, Failure::StepLimit { .. });
        !self.shown || !is_long && seen.known != Some(true)
    }

    /// Makes a run, which passed, again in its other orders. Notes it if the search had no run of its class.
    fn check(&mut self, run: &Run, seen: &SampledClass, mut again: Again<'_, '_>) {
        // Without a search, what a run learns is not known before it.
        let expected = Expected { run, class: self.search.map(|_| seen.class) };
        for other in &seen.others {
            self.sampled.compare(&mut again, &expected, other);
        }
        let audit = &mut self.sampled.audit;
        if let (Some(search), Some(false), true) = (self.search, seen.known, audit.agrees()) {
            audit.missed = Some(format::inline(&self.session.trace(run)));
            let tasks = run.steps.iter().map(|step| step.task).collect();
            audit.clash = missed::reversal(&mut again, search, tasks);
        }
    }
}

impl Sampled {
    /// Returns `true` if tasks share something that the search does not see, and no sampled run failed.
    pub(in crate::engine::simulate) fn shares_unseen(&self) -> bool {
        (self.blind || self.audit.unseen) && self.failing.is_none()
    }

    /// A run of this seed fails.
    fn fails(&mut self, run: Run, seed: Seed) {
        self.audit.failed = true;
        self.failing = Some((run, seed));
    }

    /// Returns the failing run, with this position.
    pub(in crate::engine::simulate) fn found(self, position: u64) -> Option<Box<Found>> {
        let (run, seed) = self.failing?;
        Some(Box::new(Found { position, run, origin: Origin::Sampled(seed) }))
    }

    /// Makes a run, which passed, again in another way that must make no difference.
    fn compare(&mut self, again: &mut Again<'_, '_>, expected: &Expected<'_>, other: &Other) {
        let Other { order, lost } = other;
        if !self.audit.agrees() || expected.is_made_by(order) {
            return;
        }
        let (failure, class) = again.make(&expected.tasks(order), |order| order.class());
        if failure.is_some() {
            self.audit.unseen = true;
            self.fails(again.extract(), again.seed);
        } else if !expected.is_met(again, class, lost) {
            self.audit.unseen = true;
            self.audit.clash = match lost.is_empty() {
                true => expected.clash(again, order),
                false => expected.clash_with_death(again, lost),
            };
        }
    }

    /// The two steps whose order made a difference, if they were found.
    pub(in crate::engine::simulate) fn take_clash(&mut self) -> Option<Clash> {
        self.audit.clash.take()
    }
}

/// Another way of making a run that makes no difference.
struct Other {
    /// Its steps in this order.
    order: Vec<u32>,
    /// By step of the run, `true` if it is left out, because the death of a node takes it back.
    lost: Vec<bool>,
}

impl Other {
    /// Returns the steps in another order, and without the steps that deaths take back, if any.
    fn all(order: &HappensBefore) -> Vec<Other> {
        let mut others = vec![Other { order: last_task_first(order), lost: Vec::new() }];
        if let Some(lost) = order.lost() {
            let kept = (0..order.steps()).filter(|step| !lost[*step as usize]);
            others.push(Other { order: kept.collect(), lost });
        }
        others
    }
}

/// Returns the steps of a run in another order that makes no difference: of the possible next
/// steps, the step of the task that was spawned last.
fn last_task_first(order: &HappensBefore) -> Vec<u32> {
    let mut left: Vec<u32> = (0..order.steps()).collect();
    let mut steps = Vec::new();
    while !left.is_empty() {
        let is_first =
            |at: &usize| left[..*at].iter().all(|before| !order.comes_before(*before, left[*at]));
        let firsts = (0..left.len()).filter(is_first);
        let next = firsts.max_by_key(|at| order.task_of(left[*at]));
        let next = next.expect("the first of those that are left has nothing before it");
        steps.push(left.remove(next));
    }
    steps
}
