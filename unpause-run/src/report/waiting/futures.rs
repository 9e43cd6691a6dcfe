//! Futures of tokio in a run of plain threads: the lines at which they await when the run ends.
//!
//! A thread of a runtime that waits for an event says nothing about the tasks. Each task has a word with its state, and the
//! operations on this word show which thread polls the task, and when. The last line of the package under test in the last
//! poll is the line at which the task awaits. The line of the spawn is not known: the spawn does no operation on the word.

use crate::run::event::Values;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::{CallRecord, Run};
use unpause_ordered::Map;

/// The bits of the state of a task.
const RUNNING: u64 = 1;
const COMPLETE: u64 = 2;

/// The function that polls the future of a thread. Its line is where the runtime is entered, and no line of a future.
const BLOCK_ON: &str = "block_on";

/// The lines at which futures await.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::report) struct Awaits {
    /// The futures of threads in `block_on`, by thread.
    pub(in crate::report) of_threads: Map<TaskId, String>,
    /// The tasks that have not ended, in the order of their first polls.
    pub(in crate::report) of_tasks: Vec<String>,
}

/// A task of tokio that was polled.
#[derive(Debug)]
struct Polled {
    word: ObjectId,
    has_ended: bool,
    line: Option<String>,
}

/// Returns the lines at which the futures of a run await.
pub(in crate::report) fn awaits(run: &Run) -> Awaits {
    let mut calls: Map<usize, &CallRecord> = Map::new();
    for call in &run.calls {
        for event in &call.events {
            calls.insert(*event, call);
        }
    }
    let mut tasks: Vec<Polled> = Vec::new();
    // The task that a thread polls.
    let mut polls: Map<TaskId, ObjectId> = Map::new();
    let mut of_threads = Map::new();
    for (index, event) in run.events.iter().enumerate() {
        if let (Some(word), true) = (event.object, is_of_state(event.place.file())) {
            let (old, new) = match event.values {
                Values::Changed(old, new) => (old, new),
                _ => continue,
            };
            if old & RUNNING == 0 && new & RUNNING != 0 {
                polls.insert(event.task, word);
                if tasks.iter().all(|task| task.word != word) {
                    tasks.push(Polled { word, has_ended: false, line: None });
                }
            }
            if old & RUNNING != 0 && new & RUNNING == 0 {
                polls.remove(&event.task);
                if let Some(task) = tasks.iter_mut().find(|task| task.word == word) {
                    task.has_ended = new & COMPLETE != 0;
                }
            }
        }
        let Some(call) = calls.get(&index).filter(|call| call.function != BLOCK_ON) else {
            continue;
        };
        match polls.get(&event.task) {
            Some(word) => {
                let polled = tasks.iter_mut().find(|task| task.word == *word);
                polled.into_iter().for_each(|task| task.line = Some(call.place.clone()));
            }
            None => _ = of_threads.insert(event.task, call.place.clone()),
        }
    }
    let is_blocked = |thread: TaskId| {
        let waits_in = |call: &&CallRecord| call.is_last && call.task == thread;
        run.calls.iter().find(waits_in).is_some_and(|call| call.function == BLOCK_ON)
    };
    of_threads.retain(|thread, _| is_blocked(*thread));
    let pending = tasks.into_iter().filter(|task| !task.has_ended);
    Awaits { of_threads, of_tasks: pending.filter_map(|task| task.line).collect() }
}

/// Returns `true` for the file of tokio with the operations on the states of tasks.
fn is_of_state(file: &str) -> bool {
    file.starts_with("tokio-") && file.ends_with("/src/runtime/task/state.rs")
}
