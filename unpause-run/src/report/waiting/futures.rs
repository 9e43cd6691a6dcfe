//! Futures in a run of plain threads: the lines at which they await when the run ends, and the lines that spawned them.
//!
//! A waiting thread of a runtime reveals nothing about the tasks. But each task of tokio has a state word, and the
//! operations on this word show which thread polls the task, and when. The task awaits at the last line of the package
//! under test in its last poll. The [facts](crate::run::threads) of the run contain the line of the spawn.

use super::call_of;
use crate::run::event::Values;
use crate::run::functions::is_task_state;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::{CallRecord, Run, Wait};
use unpause_ordered::{Map, Set};

/// The bits of the state word of a task.
const RUNNING: u64 = 1;
const COMPLETE: u64 = 2;

/// The functions that poll the future of a thread until it is ready, for example in tokio, futures, smol and pollster.
/// The line of such a call enters the executor and does not belong to a future.
const EXECUTORS: [&str; 2] = ["block_on", "run_until"];

/// Returns `true` for a call of an executor.
fn is_executor(call: &CallRecord) -> bool {
    EXECUTORS.contains(&&*call.function)
}

/// The waiting futures of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::report) struct Awaits {
    /// For each thread in an executor, the line at which its future awaits.
    pub(in crate::report) of_threads: Map<TaskId, String>,
    /// For each thread that polls a task, the line that spawned this task.
    pub(in crate::report) polled: Map<TaskId, String>,
    /// The other tasks that have not ended, in the order of the first operations on their state words.
    pub(in crate::report) of_tasks: Vec<Pending>,
}

/// A waiting task of tokio.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::report) struct Pending {
    /// The line at which the task awaits, if its last poll reached a line of the package under test.
    pub(in crate::report) at: Option<String>,
    /// The line that spawned the task, if known.
    pub(in crate::report) spawned: Option<String>,
    /// False if no thread has polled the task.
    pub(in crate::report) was_polled: bool,
}

/// A task of tokio.
#[derive(Debug)]
struct Known {
    word: ObjectId,
    was_polled: bool,
    has_ended: bool,
    line: Option<String>,
}

/// Returns the executor call in which a thread waits, if any.
pub(in crate::report) fn executor<'a>(run: &'a Run, wait: &Wait) -> Option<&'a CallRecord> {
    call_of(run, wait).filter(|call| is_executor(call))
}

/// Returns the lines at which the futures of a run await.
pub(in crate::report) fn awaits(run: &Run) -> Awaits {
    let mut calls: Map<usize, &CallRecord> = Map::new();
    for call in &run.calls {
        for event in &call.events {
            calls.insert(*event, call);
        }
    }
    let own: Set<usize> = run.threads.own.iter().copied().collect();
    let mut tasks: Vec<Known> = Vec::new();
    // For each thread, the task that it currently polls.
    let mut polls: Map<TaskId, ObjectId> = Map::new();
    let mut of_threads = Map::new();
    for (index, event) in run.events.iter().enumerate() {
        if let (Some(word), true) = (event.object, is_task_state(event.place.file())) {
            // An unpolled task has an operation if its handle was polled or dropped.
            if tasks.iter().all(|task| task.word != word) {
                tasks.push(Known { word, was_polled: false, has_ended: false, line: None });
            }
            let (old, new) = match event.values {
                Values::Changed(old, new) => (old, new),
                _ => continue,
            };
            if old & RUNNING == 0 && new & RUNNING != 0 {
                polls.insert(event.task, word);
                let begun = tasks.iter_mut().find(|task| task.word == word);
                begun.into_iter().for_each(|task| task.was_polled = true);
            }
            if old & RUNNING != 0 && new & RUNNING == 0 {
                polls.remove(&event.task);
                if let Some(task) = tasks.iter_mut().find(|task| task.word == word) {
                    task.has_ended = new & COMPLETE != 0;
                }
            }
        }
        let call = calls.get(&index).filter(|call| !is_executor(call));
        let line = match call {
            Some(call) => call.place.clone(),
            None if own.contains(&index) => event.place.to_string(),
            None => continue,
        };
        match polls.get(&event.task) {
            Some(word) => {
                let polled = tasks.iter_mut().find(|task| task.word == *word);
                polled.into_iter().for_each(|task| task.line = Some(line.clone()));
            }
            None => _ = of_threads.insert(event.task, line),
        }
    }
    let is_blocked = |thread: TaskId| {
        let waits_in = |call: &&CallRecord| call.is_last && call.task == thread;
        run.calls.iter().find(waits_in).is_some_and(is_executor)
    };
    of_threads.retain(|thread, _| is_blocked(*thread));
    let spawned = |word: ObjectId| {
        let known = run.threads.spawns.iter().find(|spawn| spawn.state == word);
        known.map(|spawn| spawn.place.clone())
    };
    let polled: Map<TaskId, String> =
        polls.iter().filter_map(|(thread, word)| Some((*thread, spawned(*word)?))).collect();
    let is_polled = |word: ObjectId| {
        polls.iter().any(|(thread, of)| *of == word && polled.contains_key(thread))
    };
    let pending = tasks.into_iter().filter(|task| !task.has_ended && !is_polled(task.word));
    let of_tasks = pending
        .map(|Known { word, was_polled, line, .. }| Pending {
            at: line,
            spawned: spawned(word),
            was_polled,
        })
        .filter(|task| task.at.is_some() || task.spawned.is_some());
    let of_tasks = of_tasks.collect();
    Awaits { of_threads, polled, of_tasks }
}
