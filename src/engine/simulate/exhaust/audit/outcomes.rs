//! The outcomes of runs with the memory `c11`: the operations of each task or thread, with their values.
//!
//! A search does not execute each number of rounds of a loop that waits, but a sampled run has any number. So an
//! outcome leaves out the rounds that repeat an earlier one. The same rule applies to runs of the search, so a run of
//! the search and a sampled run that differ in such rounds have the same outcome.

use unpause_ordered::{Map, Set};

use super::again::{Operation, operation};
use crate::engine::simulate::session::Session;
use crate::rt::{FalseRound, Worker};
use crate::run::Run;
use crate::run::event::{Event, Values};
use crate::run::ids::{Seed, TaskPath};
use crate::run::op::Op;
use crate::strategy::happens_before::name_of;

/// The least value that may be an address. Smaller values are the same in each order of steps.
const LEAST_ADDRESS: u64 = 1 << 32;

/// Returns a hash of the observable result of the last run of a worker.
pub(in crate::engine::simulate) fn outcome(session: &Session<'_>, worker: &Worker) -> u64 {
    let run = worker.outline(Seed(0), session.config.strategy.name());
    match session.config.is_native() {
        true => outcome_of_threads(&run),
        false => outcome_of_tasks(&run, &worker.false_rounds()),
    }
}

/// Returns a hash of the observable result of a run of tasks. `false_rounds` are the evaluations of conditions that
/// were false and only loaded atomics, in the order of their ends.
///
/// Such a condition stays false while its loads see the same stores. The search does not try this, but a sampled run
/// may evaluate the condition again. So equal evaluations count once, and pauses between them do not count.
fn outcome_of_tasks(run: &Run, false_rounds: &[FalseRound]) -> u64 {
    let mut tasks: Map<TaskPath, Vec<Operation>> = Map::new();
    // The values of the last false load of each task at each place.
    let mut seen = Map::new();
    // The end of the last false evaluation of each task that had several loads, among its operations.
    let mut ends: Map<usize, (usize, usize)> = Map::new();
    let mut false_rounds = false_rounds.iter().peekable();
    for (at, event) in run.events.iter().enumerate() {
        let loads = false_rounds.next_if(|(end, _)| *end == at).map(|(_, loads)| *loads as usize);
        let Some(operation) = operation(run, event).filter(|_| *event.op != Op::SPIN_UNTIL) else {
            continue;
        };
        let (name, line, column, values) = &operation;
        let place = (event.task.index(), *name, *line, *column);
        let last = match loads {
            Some(1) => seen.insert(place, values.clone()),
            _ => {
                seen.remove(&place);
                None
            }
        };
        let acts = tasks.entry(path(run, event)).or_default();
        if last.is_none_or(|last| last != *values) {
            acts.push(operation);
        }
        let Some(loads) = loads.filter(|loads| *loads > 1) else { continue };
        let (end, task) = (acts.len(), event.task.index());
        let is_behind = ends.get(&task) == Some(&(end.saturating_sub(loads), loads));
        if is_behind && acts[end - loads..] == acts[end - 2 * loads..end - loads] {
            acts.truncate(end - loads);
        } else {
            ends.insert(task, (end, loads));
        }
    }
    hash(tasks.into_iter())
}

/// Returns a hash of the observable result of a run of plain threads: the operations of the program on its atomics.
///
/// Other operations are left out, because the search does not try each order of operations that are no steps. So are
/// addresses, which depend on the order of allocations. If a thread does the same to an object several times at one
/// place, only the first time counts. So rounds of a loop that repeat an earlier round make no difference.
fn outcome_of_threads(run: &Run) -> u64 {
    let mut threads: Map<TaskPath, Vec<Operation>> = Map::new();
    let mut known = Set::new();
    for event in run.orders.iter().filter_map(|mark| run.events.get(mark.event)) {
        // A read without a value counts for conflicts only.
        let Some(object) = event.object.filter(|_| event.values != Values::None) else { continue };
        let event = Event { values: without_addresses(event.values), ..*event };
        if let Some(operation) = operation(run, &event)
            && known.insert((event.task.index(), object.index(), operation.clone()))
        {
            threads.entry(path(run, &event)).or_default().push(operation);
        }
    }
    hash(threads.into_iter())
}

/// Returns the path of the task of an event. Unlike its number, it does not depend on the order of the spawns.
fn path(run: &Run, event: &Event) -> TaskPath {
    run.tasks[event.task.index()].path.clone()
}

fn without_addresses(values: Values) -> Values {
    let shown = |value: u64| if value < LEAST_ADDRESS { value } else { LEAST_ADDRESS };
    match values {
        Values::Read(value) => Values::Read(shown(value)),
        Values::Wrote(value) => Values::Wrote(shown(value)),
        Values::Changed(old, new) => Values::Changed(shown(old), shown(new)),
        Values::Refused(seen, wanted) => Values::Refused(shown(seen), shown(wanted)),
        other => other,
    }
}

/// Returns a hash of the operations of tasks.
fn hash(tasks: impl Iterator<Item = (TaskPath, Vec<Operation>)>) -> u64 {
    let bytes = |hash, text: &str| text.bytes().map(u64::from).fold(hash, name_of);
    let tasks = tasks.map(|(task, operations)| {
        let begin = bytes(0, &task.to_string());
        operations.iter().fold(begin, |hash, (name, line, column, values)| {
            let hash = bytes(name_of(name_of(hash, u64::from(*line)), u64::from(*column)), name);
            bytes(name_of(hash, 0), values)
        })
    });
    tasks.fold(0, name_of)
}
