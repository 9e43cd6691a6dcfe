//! Checks a complete search against sampled runs.
//!
//! A complete search makes two claims: it had a run of every class, and all runs of a class are alike. The audit checks
//! both claims for runs drawn from seeds. Did the search have a run of the same class? Do the same steps give the same
//! result in another order, and without the steps that node deaths roll back? The second check is done at least once
//! per class. A run that contradicts a claim revokes the proof. Then either the search has an error, or tasks share
//! something outside this library, such as a std lock. The audit names the two steps that show it ([`clash`],
//! [`missed`]).
//!
//! With the memory `c11`, a choice of a store has another number in another order of steps, and the search has one
//! order of some steps with weaker memory orders. So the classes of such runs are not comparable. Their *outcomes* take
//! the place of classes: the operations of each task, with their values ([`outcome`]). A repetition in another order
//! may have another outcome, which must be an outcome of the search, too ([`weak`]).
//!
//! The audit is a safety net, not a proof: the probability of missing an error of the search falls with the number of
//! runs. Each error that the search once had is found by 100 runs with a probability of at least 99 %. A search with
//! very many classes keeps only the classes below a bound, so only runs of these classes can be looked up. The audit
//! then samples more runs, until 100 of them can be looked up.

use unpause_ordered::Set;
mod again;
mod clash;
mod copied;
mod missed;
mod outcomes;
mod weak;

use self::again::Again;
pub(in crate::engine::simulate) use self::again::operation;
use self::clash::Expected;
pub(in crate::engine::simulate) use self::outcomes::outcome;
use super::ends_by_a_step;
use crate::engine::seeds::Found;
use crate::engine::simulate::helper::GoesOn;
use crate::engine::simulate::job::WorkerJob;
use crate::engine::simulate::session::Session;
use crate::report::{Audit, Clash, Origin};
use crate::rt::Worker;
use crate::run::ids::Seed;
use crate::run::memory_model::MemoryModel;
use crate::run::trace::format;
use crate::run::{DrawRecord, Failure, Run};
use crate::strategy::Chosen;
use crate::strategy::divided::SearchTree;
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::search::Apart;
use crate::strategy::witness::Witness;

/// The number of sampled runs.
pub(in crate::engine::simulate) const RUNS: u64 = 100;

/// The maximum number of sampled runs, if most of them cannot be looked up.
const RUNS_MAX: u64 = 20_000;

/// The number of runs per strategy that are always repeated in another order. Later runs are repeated only if their
/// class is new.
const MADE_AGAIN: u64 = 5;

/// The number of runs per strategy for each way in which a run of plain threads can take its choices. A program with
/// few ways has fewer than [`RUNS`] sampled runs, because each run costs several microseconds. A random walk takes each
/// way with the same probability if all runs have the same choices. Then random walks alone miss a given way with a
/// probability of 2 %.
const RUNS_OF_WAY: u64 = 4;

/// The strategy name of a repeated run.
const SAMPLED: &str = "sampled";

/// The strategies that share the sampled runs. An order of locks that is rare under one strategy is frequent under the
/// other.
const STRATEGIES: [&str; 2] = ["random", "pos"];

/// The result of an audit.
#[derive(Default)]
pub(in crate::engine::simulate) struct Sampled {
    pub(in crate::engine::simulate) audit: Audit,
    /// The classes of the runs, except runs that reached the step limit.
    pub(in crate::engine::simulate) classes: Set<u64>,
    /// A failing run and its seed, although the search passed.
    failing: Option<(Run, Seed)>,
    /// True if tasks woke each other through something outside this library, unknown to the search. The classes of such
    /// tasks have no meaning.
    pub(in crate::engine::simulate) blind: bool,
}

/// Samples `runs` runs whose classes the search keeps, up to the first that contradicts the search. Without a search,
/// the runs are only repeated in another order. `shown` is true if the search continued after failures; a failing run
/// of a known class is then not a new failure.
pub(in crate::engine::simulate) fn audit(
    session: &Session<'_>,
    search: Option<&SearchTree>,
    runs: u64,
    shown: bool,
) -> Sampled {
    let audit = |goes_on: GoesOn<'_>| audit_here(session, search, (runs, shown), goes_on);
    copied::agreeing(session, audit).unwrap_or_else(|| audit(&|| true))
}

/// Audits as [`audit`], in this process. Stops when `goes_on` returns `false`, which is called after each run.
fn audit_here(
    session: &Session<'_>,
    search: Option<&SearchTree>,
    (runs, shown): (u64, bool),
    goes_on: GoesOn<'_>,
) -> Sampled {
    let mut sampled = Sampled::default();
    sampled.audit.captured = session.has_captured();
    let by_outcome = search.is_some_and(|search| has_outcomes(session, search.apart()));
    let mut auditor = Auditor { session, search, shown, by_outcome, goes_on, sampled };
    for name in STRATEGIES {
        auditor.sample(name, runs / STRATEGIES.len() as u64);
        if auditor.is_done() {
            break;
        }
    }
    auditor.sampled
}

/// Returns `true` if the classes of a search with these criteria are the outcomes of its runs.
pub(in crate::engine::simulate) fn has_outcomes(session: &Session<'_>, apart: Apart) -> bool {
    session.config.memory == MemoryModel::C11 && apart.stores
}

/// An audit in progress.
struct Auditor<'a, 's> {
    session: &'a Session<'s>,
    search: Option<&'a SearchTree>,
    /// True if the search continued after failures.
    shown: bool,
    /// True if the classes of the search are the outcomes of its runs.
    by_outcome: bool,
    goes_on: GoesOn<'a>,
    sampled: Sampled,
}

/// The class of a sampled run, as its witness observed it.
struct SampledClass {
    class: u64,
    /// True if the search had a run of the class; `None` without a search.
    known: Option<bool>,
    /// True if the search keeps the class, so that the run counts.
    is_kept: bool,
    /// Other orders of the run that must make no difference.
    others: Vec<Other>,
}

impl Auditor<'_, '_> {
    /// Returns `true` if a run contradicted the search, or if classes have no meaning.
    fn is_done(&self) -> bool {
        self.sampled.blind || !self.sampled.audit.agrees()
    }

    /// Samples runs of one strategy, until the search keeps the classes of `runs` of them.
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
        let (mut kept, runs_max) = (0, runs.max(RUNS_MAX / STRATEGIES.len() as u64));
        // A closure may change its captured values in each run, so its runs may differ without a choice.
        let may_end_early =
            self.search.is_some() && session.config.is_native() && !session.has_captured();
        let mut enough = if may_end_early { MADE_AGAIN } else { u64::MAX };
        for number in 0..runs_max {
            if kept == runs || number >= enough {
                break;
            }
            let seed = Seed(number);
            watched.watched.begin(number);
            let failure = session.once_more(&mut worker, seed, &session.limits());
            self.sampled.audit.runs += 1;
            let seen = match self.by_outcome {
                true => {
                    let seen = (outcome(session, &worker), number);
                    self.look_at_outcome(&witness, seen, failure.as_ref())
                }
                false => self.look(&witness, (number, runs), failure.as_ref()),
            };
            kept += u64::from(seen.is_kept);
            enough = enough.max(witness.ways().saturating_mul(RUNS_OF_WAY));
            if let Some(failure) = failure {
                if self.is_news(&failure, &seen) {
                    self.sampled.fails(worker.extract(seed, name), seed);
                }
            } else if witness.is_blind() {
                self.sampled.blind = true;
            } else if !seen.others.is_empty() || seen.known == Some(false) {
                let (run, rounds) = (worker.extract(seed, name), worker.false_rounds());
                let apart = self.search.map_or(Apart::NOTHING, |search| search.apart());
                let (schedule, watched) = (worker.schedule(), &watched.watched);
                let worker = &mut worker;
                let again = Again { session, worker, watched, seed, schedule, apart };
                match self.by_outcome {
                    true => self.check_outcome((&run, &rounds), &seen, again),
                    false => self.check(&run, &seen, again),
                }
                // The repetitions began jobs of their own, so the watchdog must see the sampling job again.
                watched.begin_job(WorkerJob::Seeds(strategy));
            }
            worker.forget_histories();
            if self.is_done() || !(self.goes_on)() {
                return;
            }
        }
    }

    /// Returns the class of the last run, and the other orders in which it must be repeated.
    fn look(
        &mut self,
        witness: &Witness,
        (number, runs): (u64, u64),
        failure: Option<&Failure>,
    ) -> SampledClass {
        let is_long = matches!(failure, Some(Failure::StepLimit { .. }));
        let keeps = |class| self.search.is_none_or(|search| search.keeps_class(class));
        let (class, others) = witness.look(ends_by_a_step(failure), |order| {
            let class = order.class();
            let is_new = !is_long && self.sampled.classes.insert(class);
            // Runs beyond the number `runs` are repeated only if the search can look up their classes.
            let wanted = is_new && (number < runs || keeps(class)) || number < MADE_AGAIN;
            // Only a passing run is repeated, so a failure of the repetition is a difference.
            let is_made_again = wanted && failure.is_none();
            let others = if is_made_again { Other::all(order) } else { Vec::new() };
            (class, others)
        });
        let known = self.search.and_then(|search| search.has_class(class));
        SampledClass { class, known, is_kept: keeps(class), others }
    }

    /// Returns `true` for a failure that the search has not shown.
    fn is_news(&self, failure: &Failure, seen: &SampledClass) -> bool {
        if self.session.ends_at_limit(failure) {
            return false;
        }
        // A run that reached the step limit has no class.
        let is_long = matches!(failure, Failure::StepLimit { .. });
        !self.shown || !is_long && seen.known != Some(true)
    }

    /// Repeats a passing run in its other orders. Records the run as missed if the search had no run of its class.
    fn check(&mut self, run: &Run, seen: &SampledClass, mut again: Again<'_, '_>) {
        // Without a search, the criteria for distinguishing runs are not known in advance, so classes are not compared.
        let expected = Expected { run, class: self.search.map(|_| seen.class) };
        for other in &seen.others {
            self.sampled.compare(&mut again, &expected, other);
        }
        let audit = &mut self.sampled.audit;
        if let (Some(search), Some(false), true) = (self.search, seen.known, audit.agrees()) {
            if !search.apart().steps && turns_branches(run) {
                audit.unseen = true;
                return;
            }
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

    /// Records that the run of this seed fails.
    fn fails(&mut self, run: Run, seed: Seed) {
        self.audit.failed = true;
        self.failing = Some((run, seed));
    }

    /// Returns the failing run, with this position.
    pub(in crate::engine::simulate) fn found(self, position: u64) -> Option<Box<Found>> {
        let (run, seed) = self.failing?;
        Some(Box::new(Found { position, run, origin: Origin::Sampled(seed) }))
    }

    /// Repeats a passing run in another way that must make no difference.
    fn compare(&mut self, again: &mut Again<'_, '_>, expected: &Expected<'_>, other: &Other) {
        let Other { order, lost } = other;
        // The order of the run itself would show nothing new.
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

    /// Returns the two steps whose order made a difference, if they were found.
    pub(in crate::engine::simulate) fn take_clash(&mut self) -> Option<Clash> {
        self.audit.clash.take()
    }
}

/// Returns `true` if a `select!` polled its branches in another order than in the runs of a search, without an
/// operation by the branches. The order then makes a difference only to memory that no run sees.
fn turns_branches(run: &Run) -> bool {
    run.draws.iter().any(DrawRecord::is_turn_of_branches)
}

/// A variation of a run that must make no difference.
struct Other {
    /// The steps of the run, in the new order.
    order: Vec<u32>,
    /// For each step of the run, `true` if it is omitted because the death of a node rolls it back.
    lost: Vec<bool>,
}

impl Other {
    /// Returns two variations: the steps in another order, and the steps without the steps that deaths roll back, if
    /// any.
    fn all(order: &HappensBefore) -> Vec<Other> {
        let mut others = vec![Other { order: last_task_first(order), lost: Vec::new() }];
        if let Some(lost) = order.lost() {
            let kept = (0..order.steps()).filter(|step| !lost[*step as usize]);
            others.push(Other { order: kept.collect(), lost });
        }
        others
    }
}

/// Returns the steps of a run in another order that makes no difference: among the possible next steps, it always
/// chooses a step of the task that was spawned last.
fn last_task_first(order: &HappensBefore) -> Vec<u32> {
    let mut left: Vec<u32> = (0..order.steps()).collect();
    let mut steps = Vec::new();
    while !left.is_empty() {
        // `left` keeps the order of the run, so only earlier entries can come before a step.
        let is_first =
            |at: &usize| left[..*at].iter().all(|before| !order.comes_before(*before, left[*at]));
        let firsts = (0..left.len()).filter(is_first);
        let next = firsts.max_by_key(|at| order.task_of(left[*at]));
        let next = next.expect("the first of those that are left has nothing before it");
        steps.push(left.remove(next));
    }
    steps
}
