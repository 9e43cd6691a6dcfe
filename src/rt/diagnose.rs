//! Diagnoses of a stuck run, from its state.

use std::sync::atomic::Ordering;

use super::object::ObjectRow;
use super::state::RunState;
use super::world::World;
use crate::run::board::{Status, TaskRow};
use crate::run::event::Event;
use crate::run::ids::{Place, TaskId};
use crate::run::op::{Access, Op};
use crate::run::place::in_text;
use crate::run::{Failure, Wait, circle_of};

/// Returns the waits of all tasks that have not ended, with the holders of the locks.
#[cold]
fn waits(state: &RunState) -> Vec<Wait> {
    let mut waits = Vec::new();
    for (index, row) in state.board.tasks.iter().enumerate() {
        let task = TaskId(index as u32);
        if state.is_done(task)
            || state.slots.at(task.index()).is_of_run
            || row.held & TaskRow::STALLED != 0
        {
            continue;
        }
        if row.announced.is_empty() {
            let (op, object, target, holder) = (None, None, None, None);
            let place = last_place(state, task);
            let unpolled = false;
            waits.push(Wait { task, op, object, target, place, holder, unpolled });
        }
        for announced in row.announced.iter() {
            let mut watches = state.board.watches.of(task);
            if let Some(watch) = watches.find(|watch| watch.key == announced.key) {
                waits.extend(watch.objects.iter().map(|object| Wait {
                    task,
                    op: Some(&Op::SPIN_UNTIL),
                    object: Some(*object),
                    target: None,
                    place: watch.place,
                    holder: None,
                    unpolled: false,
                }));
                continue;
            }
            let row = announced.object.map(|object| &state.objects.rows[object.index()]);
            // If several tasks share the lock, name the task with the lowest number, so that their order of arrival
            // does not matter.
            let shared = |row: &ObjectRow| row.sharers.iter().min_by_key(|one| one.task).copied();
            let holder = row.and_then(|row| row.holder.or_else(|| shared(row)));
            waits.push(Wait {
                task,
                op: Some(announced.op),
                object: announced.object,
                target: announced.target,
                place: announced.place,
                holder,
                unpolled: announced.passed_over,
            });
        }
    }
    waits
}

/// Returns the last event of a task, except joins. The place of a join is the place where the joined task was spawned.
fn last(state: &RunState, task: TaskId) -> Option<&Event> {
    let events = state.board.events.iter().rev();
    events.filter(|event| event.op.access != Access::Join).find(|event| event.task == task)
}

/// Returns the last known place of a task without announcements: the place of its last event, or the place where it was
/// spawned.
pub(super) fn last_place(state: &RunState, task: TaskId) -> Place {
    last(state, task).map_or(state.board.tasks[task.index()].place, |event| event.place)
}

/// Describes what a blocked task waits for, for a report.
pub(super) fn waiting(state: &RunState, task: TaskId) -> String {
    let row = &state.board.tasks[task.index()];
    match row.announced.is_empty() {
        true => format!("something foreign, last access at {}", in_text(last_place(state, task))),
        false => doing(state, task),
    }
}

/// Describes the pending operation of a task, for a report.
pub(super) fn doing(state: &RunState, task: TaskId) -> String {
    let row = &state.board.tasks[task.index()];
    match row.announced.iter().next() {
        Some(announced) => format!("{} at {}", announced.op.name, in_text(announced.place)),
        None => match last(state, task) {
            Some(event) => format!("what follows {} at {}", event.op.name, in_text(event.place)),
            None => format!("the start of the task spawned at {}", in_text(row.place)),
        },
    }
}

#[cfg_attr(not(unpause_native), allow(dead_code))]
impl World {
    /// Describes the last or the pending operation of the current task, for a report.
    pub(crate) fn doing(&self) -> String {
        let state = self.state();
        let task = state.current();
        doing(&state, task)
    }
}

/// Returns tasks that wait for each other in a cycle, which nothing can end, although other tasks can step. Each of
/// these tasks waits for a single task.
#[cold]
pub(super) fn circle(state: &RunState) -> Vec<Wait> {
    let is_blocked = |task: TaskId| state.board.tasks[task.index()].status == Status::Blocked;
    let mut waits = waits(state);
    let alone: Vec<bool> = waits
        .iter()
        .map(|wait| waits.iter().filter(|other| other.task == wait.task).count() == 1)
        .collect();
    let mut alone = alone.into_iter();
    waits.retain(|wait| alone.next() == Some(true) && is_blocked(wait.task));
    // A wait for a lock with several sharers may end by another sharer, so it is not part of a cycle.
    waits.retain(|wait| {
        let shared = wait.object.is_some_and(|on| state.objects.rows[on.index()].sharers.len() > 1);
        !shared
    });
    let circle = circle_of(&waits);
    waits.retain(|wait| circle.contains(&wait.task));
    waits
}

/// Returns the failure of a run in which no task can step.
#[cold]
pub(super) fn stuck(world: &World, state: &RunState) -> Failure {
    match world.signals.strayed.load(Ordering::Acquire) {
        0 => Failure::Deadlock { waits: waits(state) },
        strayed => woken_from_outside(state, TaskId(strayed - 1)),
    }
}

#[cold]
pub(super) fn woken_from_outside(state: &RunState, task: TaskId) -> Failure {
    let known = state.board.tasks.get(task.index()).is_some();
    let place = if known { last_place(state, task).to_string() } else { String::new() };
    Failure::Misuse {
        message:
            "this task was woken from another OS thread, whose timing no seed controls: spawn \
                  with sim::spawn instead of std::thread, wait with sim::time, and keep I/O out of the test body"
                .to_owned(),
        place,
    }
}
