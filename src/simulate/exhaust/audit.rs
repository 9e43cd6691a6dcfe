//! Checks a search that is through against sampled runs.
//!
//! A search that says "all" claims that it had a run of every class, and that all runs of a class are alike.
//! Both are looked up for runs drawn from seeds: that the search had their class, and that the same steps
//! in another order which the class allows show the same. A run that says otherwise takes the proof away: either
//! the search is wrong, or tasks share something that is not of this library, such as a lock of `std`.
//!
//! It is a net, and no proof: a hole of the search is missed with a probability that falls with the number of
//! runs. Of the holes that the search once had, 100 runs show each with at least 99 %.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{Event, ValueKind, Values};
use crate::ids::{Seed, TaskId, TaskPath};
use crate::report::{Audit, Origin};
use crate::rt::Worker;
use crate::run::{Outcome, Run};
use crate::simulate::reorder::in_order;
use crate::simulate::session::Session;
use crate::simulate::watchdog::Job;
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::witness::Witness;
use crate::strategy::{Chosen, Search};
use crate::trace::format;

/// How many runs are sampled.
pub(super) const RUNS: u64 = 100;

/// They are shared out among these: orders of locks that one seldom has, the other has often.
const STRATEGIES: [&str; 2] = ["random", "pos"];

/// Samples runs, up to the first that the search should have had and had not. Also a run that fails, though
/// the search passed, with where it came from.
pub(super) fn audit(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
) -> (Audit, Option<(Run, Origin)>) {
    let mut audit = Audit::default();
    for name in STRATEGIES {
        let strategy = Chosen::parse(name).expect("a strategy of the registry");
        let witness = Witness::default();
        if search.tells_orders_apart() {
            witness.tell_orders_apart();
        }
        let mut worker = Worker::new(witness.watch(strategy.create()));
        let watched = session.watch.follow(worker.progress(), Job::Seeds(strategy), Seed(0));
        session.rehearse(&mut worker, &watched.watched);
        for number in 0..RUNS / STRATEGIES.len() as u64 {
            let seed = Seed(number);
            watched.watched.begin(number);
            let failure = session.once(&mut worker, seed, &session.limits());
            let run = worker.extract(seed, name);
            worker.forget_histories();
            audit.runs += 1;
            let (class, tasks) = witness.look(|order| (order.class(), last_task_first(order)));
            // What a failure cut short has no class of its own.
            match (&failure, search.has_class(class)) {
                (None, Some(false)) => audit.missed = Some(format::inline(&session.trace(&run))),
                (None, _) => {}
                (Some(_), _) => audit.failed = true,
            }
            if failure.is_some() {
                return (audit, Some((run, Origin::Sampled(seed))));
            }
            if audit.missed.is_some() {
                return (audit, None);
            }
            let job = Job::Follow(Arc::new(in_order(&worker, &tasks)));
            let again = session.run_with(job.strategy(), name, seed, job);
            if again.outcome != Outcome::Passed {
                (audit.unseen, audit.failed) = (true, true);
                return (audit, Some((again, Origin::Sampled(seed))));
            }
            if sight(&again) != sight(&run) {
                audit.unseen = true;
                return (audit, None);
            }
        }
    }
    (audit, None)
}

/// The tasks of a run in another order of its steps that makes no difference: of those that can come next, the
/// step of the task that was spawned last.
fn last_task_first(order: &HappensBefore) -> Vec<TaskId> {
    let mut left: Vec<u32> = (0..order.len()).collect();
    let mut tasks = Vec::new();
    while !left.is_empty() {
        let is_first =
            |at: &usize| left[..*at].iter().all(|before| !order.is_before(*before, left[*at]));
        let firsts = (0..left.len()).filter(is_first);
        let next = firsts.max_by_key(|at| order.task_of(left[*at]));
        let next = next.expect("the first of those that are left has nothing before it");
        tasks.push(order.task_of(left.remove(next)));
    }
    tasks
}

/// By task, what it did and saw.
fn sight(run: &Run) -> BTreeMap<&TaskPath, Vec<(&'static str, u32, u32, String)>> {
    let mut sight: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in &run.events {
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
        Values::None => String::new(),
        Values::Failed => "failed".to_owned(),
        Values::Read(bits) | Values::Wrote(bits) => show(bits),
        Values::Changed(old, new) => format!("{} {}", show(old), show(new)),
        Values::Refused(seen, wanted) => format!("{} not {}", show(seen), show(wanted)),
        Values::Task(task) => run.tasks[task.index()].path.to_string(),
    }
}
