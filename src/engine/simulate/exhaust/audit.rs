//! Checks a search that is through against sampled runs.
//!
//! A search that says "all" claims that it had a run of every class, and that all runs of a class are alike.
//! Both are looked up for runs drawn from seeds: that the search had their class, and, at least once for each class,
//! that the same steps in another order show the same, and so do those that are left without what deaths of nodes take
//! back. A run that says otherwise takes the proof away: either the search is wrong, or tasks share something that is not of
//! this library, such as a lock of `std`.
//!
//! It is a net, and no proof: a hole of the search is missed with a probability that falls with the number of
//! runs. Of the holes that the search once had, 100 runs show each with at least 99 %.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ends_by_a_step;
use crate::engine::seeds::Found;
use crate::engine::simulate::reorder::in_order;
use crate::engine::simulate::session::Session;
use crate::engine::simulate::watchdog::{WatchedWorker, WorkerJob};
use crate::report::{Audit, Origin};
use crate::rt::Worker;
use crate::run::event::{Event, ValueKind, Values};
use crate::run::ids::{Seed, TaskId, TaskPath};
use crate::run::schedule::Schedule;
use crate::run::trace::format;
use crate::run::{Failure, Run};
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::witness::Witness;
use crate::strategy::{Chosen, Search};

/// The number of sampled runs.
pub(in crate::engine::simulate) const RUNS: u64 = 100;

/// So many of each strategy are made again in another order; of the others, those of a new class.
const MADE_AGAIN: u64 = 5;

/// The name of the strategy of a run that is made again.
const SAMPLED: &str = "sampled";

/// They are shared out among these: orders of locks that one seldom has, the other has often.
const STRATEGIES: [&str; 2] = ["random", "pos"];

/// The result of an audit.
#[derive(Default)]
pub(in crate::engine::simulate) struct Sampled {
    pub(in crate::engine::simulate) audit: Audit,
    /// A run that fails, though the search passed, and its seed.
    failing: Option<(Run, Seed)>,
    /// True if tasks woke each other through something outside this library that the search does not know of: their
    /// classes mean nothing then.
    pub(in crate::engine::simulate) blind: bool,
}

/// Samples so many runs, up to the first that says something against the search. Without a search, runs are
/// only looked at in another order. `shown` tells whether the search went on after failures, so that one of a
/// known class is no news.
pub(in crate::engine::simulate) fn audit(
    session: &Session<'_>,
    search: Option<&Arc<dyn Search>>,
    runs: u64,
    shown: bool,
) -> Sampled {
    let mut sampled = Sampled::default();
    let mut classes = BTreeSet::new();
    for name in STRATEGIES {
        let strategy = Chosen::parse(name).expect("a strategy of the registry");
        let witness = Witness::default();
        if let Some(search) = search {
            witness.tell_apart(search.apart());
        }
        let mut worker = Worker::new(witness.watch(strategy.create()));
        let watched = session.watch.follow(worker.progress(), WorkerJob::Seeds(strategy), Seed(0));
        session.rehearse(&mut worker, &watched.watched);
        for number in 0..runs / STRATEGIES.len() as u64 {
            let seed = Seed(number);
            watched.watched.begin(number);
            let failure = session.once(&mut worker, seed, &session.limits());
            sampled.audit.runs += 1;
            let (class, others) = witness.look(ends_by_a_step(failure.as_ref()), |order| {
                let class = order.class();
                let wanted = classes.insert(class) || number < MADE_AGAIN;
                let is_made_again = wanted && failure.is_none();
                let others = if is_made_again { Other::all(order) } else { Vec::new() };
                (class, others)
            });
            let known = search.and_then(|search| search.has_class(class));
            if let Some(failure) = failure {
                // A run that was too long is of no class.
                let long = matches!(failure, Failure::StepLimit { .. });
                if !shown || !long && known != Some(true) {
                    sampled.fails(worker.extract(seed, name), seed);
                }
            } else if witness.is_blind() {
                sampled.blind = true;
            } else if known == Some(false) {
                let run = worker.extract(seed, name);
                sampled.audit.missed = Some(format::inline(&session.trace(&run)));
            } else if !others.is_empty() {
                let run = worker.outline(seed, SAMPLED);
                let schedule = worker.schedule();
                for other in &others {
                    let made = (&run, &schedule);
                    sampled.make_again(session, (&mut worker, &watched.watched), made, other);
                }
                watched.watched.begin_job(WorkerJob::Seeds(strategy));
            }
            worker.forget_histories();
            if sampled.blind || !sampled.audit.agrees() {
                return sampled;
            }
        }
    }
    sampled
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

    /// The failing run, as that of this position.
    pub(in crate::engine::simulate) fn found(self, position: u64) -> Option<Box<Found>> {
        let (run, seed) = self.failing?;
        Some(Box::new(Found { position, run, origin: Origin::Sampled(seed) }))
    }

    /// Makes a run of a worker, which passed, again in another way that makes no difference.
    fn make_again(
        &mut self,
        session: &Session<'_>,
        (worker, watched): (&mut Worker, &WatchedWorker),
        (run, schedule): (&Run, &Schedule),
        other: &Other,
    ) {
        let seed = run.seed;
        if !self.audit.agrees()
            || run.steps.iter().map(|step| step.task).eq(other.tasks.iter().copied())
        {
            return;
        }
        let job = WorkerJob::Follow(Arc::new(in_order(schedule.clone(), &other.tasks)));
        worker.forget_histories();
        let strategy = worker.set_strategy(job.strategy());
        watched.begin_job(job);
        let failure = session.once(worker, seed, &session.limits());
        if failure.is_some() {
            self.audit.unseen = true;
            self.fails(worker.extract(seed, SAMPLED), seed);
        } else {
            let again = worker.outline(seed, SAMPLED);
            self.audit.unseen |= sight(&again, &[]) != sight(run, &other.lost);
        }
        worker.set_strategy(strategy);
    }
}

/// Another way of making a run that makes no difference.
struct Other {
    /// The tasks that take its steps.
    tasks: Vec<TaskId>,
    /// By step of the run, `true` if it is left out, because the death of a node takes it back.
    lost: Vec<bool>,
}

impl Other {
    /// The steps in another order, and without those that deaths take back, if there are some.
    fn all(order: &HappensBefore) -> Vec<Other> {
        let mut others = vec![Other { tasks: last_task_first(order), lost: Vec::new() }];
        if let Some(lost) = order.lost() {
            let kept = (0..order.len()).filter(|step| !lost[*step as usize]);
            others.push(Other { tasks: kept.map(|step| order.task_of(step)).collect(), lost });
        }
        others
    }
}

/// The tasks of a run in another order of its steps that makes no difference: of those that can come next, the
/// step of the task that was spawned last.
fn last_task_first(order: &HappensBefore) -> Vec<TaskId> {
    let mut left: Vec<u32> = (0..order.len()).collect();
    let mut tasks = Vec::new();
    while !left.is_empty() {
        let is_first =
            |at: &usize| left[..*at].iter().all(|before| !order.comes_before(*before, left[*at]));
        let firsts = (0..left.len()).filter(is_first);
        let next = firsts.max_by_key(|at| order.task_of(left[*at]));
        let next = next.expect("the first of those that are left has nothing before it");
        tasks.push(order.task_of(left.remove(next)));
    }
    tasks
}

/// The operations of each task, with their values, but for those in steps that are `lost`.
fn sight<'a>(
    run: &'a Run,
    lost: &[bool],
) -> BTreeMap<&'a TaskPath, Vec<(&'static str, u32, u32, String)>> {
    let mut sight: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let is_kept = |event: &&Event| !lost.get(event.step as usize).is_some_and(|is_lost| *is_lost);
    for event in run.events.iter().filter(is_kept) {
        let task = &run.tasks[event.task.index()].path;
        let (name, place) = (event.op.name, event.place);
        sight.entry(task).or_default().push((
            name,
            place.line(),
            place.column(),
            shown(run, event),
        ));
    }
    sight
}

/// The values of an event, as far as they mean the same in every run.
fn shown(run: &Run, event: &Event) -> String {
    let record = event.object.map(|object| &run.objects[object.index()]);
    let kind = record.map_or(ValueKind::Opaque, |record| record.values);
    let show = |bits: u64| kind.show(bits);
    match event.values {
        Values::None | Values::Messages { saw: None, .. } => String::new(),
        Values::Messages { saw: Some(saw), .. } => saw.to_string(),
        Values::Failed => "failed".to_owned(),
        Values::Read(bits) | Values::Wrote(bits) => show(bits),
        Values::Changed(old, new) => format!("{} {}", show(old), show(new)),
        Values::Refused(seen, wanted) => format!("{} not {}", show(seen), show(wanted)),
        Values::Task(task) => run.tasks[task.index()].path.to_string(),
    }
}
