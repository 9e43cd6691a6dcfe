//! Why a run cannot go on, as far as its state tells.

use std::sync::atomic::Ordering;

use super::state::State;
use super::world::World;
use crate::choice::Watch;
use crate::ids::TaskId;
use crate::op::Op;
use crate::run::{Failure, Wait};

/// Who waits for what, held by whom.
#[cold]
fn waits(state: &State) -> Vec<Wait> {
    let mut waits = Vec::new();
    for (index, row) in state.board.tasks.iter().enumerate() {
        let task = TaskId(index as u32);
        if state.is_done(task) {
            continue;
        }
        if row.announced.is_empty() {
            let (op, object, target, holder) = (None, None, None, None);
            waits.push(Wait { task, op, object, target, place: row.place, holder });
        }
        for announced in row.announced.iter() {
            let is_watch = |watch: &&Watch| watch.task == task && watch.key == announced.key;
            if let Some(watch) = state.board.watches.iter().find(is_watch) {
                waits.extend(watch.objects.iter().map(|object| Wait {
                    task,
                    op: Some(&Op::SPIN_UNTIL),
                    object: Some(*object),
                    target: None,
                    place: watch.place,
                    holder: None,
                }));
                continue;
            }
            let holder = announced.object.and_then(|o| state.objects.rows[o.index()].holder);
            waits.push(Wait {
                task,
                op: Some(announced.op),
                object: announced.object,
                target: announced.target,
                place: announced.place,
                holder,
            });
        }
    }
    waits
}

/// What a task is about to do, for a report.
pub(super) fn doing(state: &State, task: TaskId) -> String {
    let row = &state.board.tasks[task.index()];
    match row.announced.iter().next() {
        Some(announced) => format!("{} at {}", announced.op.name, announced.place),
        None => format!("the start of the task spawned at {}", row.place),
    }
}

/// Why no task can step.
#[cold]
pub(super) fn stuck(world: &World, state: &State) -> Failure {
    match world.signals.strayed.load(Ordering::Acquire) {
        0 => Failure::Deadlock { waits: waits(state) },
        strayed => woken_from_outside(state, TaskId(strayed - 1)),
    }
}

#[cold]
pub(super) fn woken_from_outside(state: &State, task: TaskId) -> Failure {
    let place =
        state.board.tasks.get(task.index()).map_or(String::new(), |row| row.place.to_string());
    Failure::Misuse {
        message:
            "this task was woken from another OS thread, whose timing no seed controls: spawn \
                  with sim::spawn instead of std::thread, and keep I/O out of the test body"
                .to_owned(),
        place,
    }
}
