//! Repetitions of sampled runs with their steps in another order, and the comparable observations of runs.

use std::sync::Arc;
use unpause_ordered::Map;

use super::SAMPLED;
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::engine::simulate::job::WorkerJob;
use crate::engine::simulate::reorder::in_order;
use crate::engine::simulate::session::Session;
use crate::engine::simulate::watchdog::WatchedWorker;
use crate::rt::Worker;
use crate::run::event::{Event, ValueKind, Values};
use crate::run::ids::{Seed, TaskId, TaskPath};
use crate::run::memory_model::{MISSED, PRECEDED};
use crate::run::schedule::Schedule;
use crate::run::{Failure, Run};
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::search::Apart;
use crate::strategy::witness::Witness;

/// A sampled run, and the worker that repeats it.
pub(super) struct Again<'a, 's> {
    pub(super) session: &'a Session<'s>,
    pub(super) worker: &'a mut Worker,
    pub(super) watched: &'a WatchedWorker,
    pub(super) seed: Seed,
    pub(super) schedule: Schedule,
    /// The criteria that distinguish classes.
    pub(super) apart: Apart,
}

impl Again<'_, '_> {
    /// Repeats the run with its steps taken by these tasks, and calls `look` with its happens-before order. Also
    /// returns the failure of the repetition.
    pub(super) fn make<T>(
        &mut self,
        tasks: &[TaskId],
        look: impl FnOnce(&HappensBefore) -> T,
    ) -> (Option<Failure>, T) {
        let job = WorkerJob::Follow(Arc::new(in_order(self.schedule.clone(), tasks)));
        let witness = Witness::default();
        witness.tell_apart(self.apart);
        self.worker.forget_histories();
        let sampling = self.worker.set_strategy(witness.watch(job.strategy()));
        self.watched.begin_job(job);
        let limits = self.session.limits();
        let failure = self.session.once_more(self.worker, self.seed, &limits);
        // The worker samples further runs after the repetition, with the same strategy.
        self.worker.set_strategy(sampling);
        let looked = witness.look(ends_by_a_step(failure.as_ref()), look);
        (failure, looked)
    }

    /// Returns the last run.
    pub(super) fn extract(&self) -> Run {
        self.worker.extract(self.seed, SAMPLED)
    }

    /// Returns the last run, without its histories and programs.
    pub(super) fn outline(&self) -> Run {
        self.worker.outline(self.seed, SAMPLED)
    }
}

/// An operation: its name, line, column, and its values as text.
pub(in crate::engine::simulate) type Operation = (&'static str, u32, u32, String);

/// The operations of each task, which are the observable result of a run.
pub(super) type Sight = Map<TaskPath, Vec<Operation>>;

/// Returns the operations of each task of a run, except operations in `lost` steps. Reads without a value, which
/// reports omit, are not results. For example, the first of two tasks that use an object may have such reads, and
/// either task may be first.
pub(super) fn sight(run: &Run, lost: &[bool]) -> Sight {
    let mut sight = Sight::new();
    let is_lost = |event: &&Event| lost.get(event.step as usize).is_some_and(|is_lost| *is_lost);
    for event in run.events.iter().filter(|event| !is_lost(event)) {
        let Some(operation) = operation(run, event) else { continue };
        // The number of a task depends on the order of the spawns, but its path does not.
        let task = run.tasks[event.task.index()].path.clone();
        sight.entry(task).or_default().push(operation);
    }
    sight
}

/// Returns `true` for an event that only shows the newest value beside an older one.
fn is_beside(event: &Event) -> bool {
    [MISSED, PRECEDED].contains(event.op)
}

/// Returns the operation of an event. `None` for a read without a value, and for an event that only shows the newest
/// value beside an older one. Both are not results.
pub(in crate::engine::simulate) fn operation(run: &Run, event: &Event) -> Option<Operation> {
    let (op, place) = (event.op, event.place);
    let is_idle_look = op.quiet && event.is_look() && event.values == Values::None;
    (!is_idle_look && !is_beside(event))
        .then(|| (op.name, place.line(), place.column(), shown(run, event)))
}

/// Returns the values of an event, if they mean the same in every run.
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

/// Returns a description of the first difference between the observations of two runs. Empty if they are equal.
pub(super) fn difference(one: &Sight, other: &Sight) -> String {
    // A task may have operations in only one of the runs.
    let tasks = one.keys().chain(other.keys());
    for task in tasks {
        let of = |sight: &'_ Sight| sight.get(task).cloned().unwrap_or_default();
        let (own, others) = (of(one), of(other));
        let at = own.iter().zip(&others).take_while(|(a, b)| a == b).count();
        if at == own.len() && at == others.len() {
            continue;
        }
        let tell = |operation: Option<&Operation>| match operation {
            None => "nothing more".to_owned(),
            Some((name, line, _, values)) if values.is_empty() => format!("{name} in line {line}"),
            Some((name, line, _, values)) => format!("{name} ({values}) in line {line}"),
        };
        let [a, b] = [own.get(at), others.get(at)].map(tell);
        return format!("in one order {task} does {a}, in the other {b}");
    }
    String::new()
}
