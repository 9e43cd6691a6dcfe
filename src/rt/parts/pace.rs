//! The pace of nodes: each step of a task on a slow node takes time. The task rests during this time.

use super::nodes::Nodes;
use super::timers::{CLOCK, Timers};
use crate::rt::lives;
use crate::rt::part::Part;
use crate::rt::pending::object_id;
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::board::Life;
use crate::run::board::{Contact, TaskRow};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op, clock, task};

/// The maximum number of steps of a task that take time. The limit makes runs end.
const RESTS_MAX: u16 = 1_000;

const PACE: Op = Op::of_kind("pace", Access::Tell, task::PACE).quiet();
const SETTING: Op = Op::of_kind("setting", Access::Tell, task::PACE).quiet();
const REST: Op = Op::of_kind("rest", Access::Peek, clock::SET).quiet();
const GO_ON: Op = Op::of_kind("go_on", Access::Tell, task::RESUME).quiet();

/// The pace of the nodes of a run.
#[derive(Debug, Default)]
pub(in crate::rt) struct Pace {
    /// The time that each step of a task takes, in nanoseconds, by life. The list may be shorter than the list of
    /// lives: missing entries are 0.
    rests: Vec<u64>,
    /// The object that represents the time, if a node is slow.
    slow: Option<ObjectId>,
    /// The number of steps that took time, by task. The list may be shorter than the task list: missing entries are 0.
    rested: Vec<u16>,
}

impl Part for Pace {
    fn forget(&mut self) {
        self.rests.clear();
        self.slow = None;
        self.rested.clear();
    }

    fn leave(state: &mut RunState) {
        if state.is_slow() {
            state.rest();
        }
    }

    fn settle(state: &mut RunState) {
        if state.is_slow() {
            state.needs_work();
        }
    }
}

impl World {
    /// Makes each step of a task in the life take `rest` nanoseconds, from the next step on.
    pub(crate) fn set_pace(&self, life: Life, rest: u64, place: Place) {
        let time = object_id(&CLOCK, ValueKind::Time, place, || 0);
        let mut state = self.state();
        let Some(at) = lives::row(life) else { return };
        let Pace { rests, slow, .. } = state.parts.get_mut();
        rests.resize(rests.len().max(at + 1), 0);
        rests[at] = rest;
        let is_slow = rests.iter().any(|rest| *rest > 0);
        *slow = is_slow.then_some(time);
        self.touch_members(&mut state, life, place);
    }

    /// Returns `true` if each step of a task in the life takes time. The caller has recorded that it looks at the node.
    pub(crate) fn is_slow(&self, life: Life) -> bool {
        let state = self.state();
        let Pace { rests, .. } = state.parts.get();
        lives::row(life).and_then(|at| rests.get(at)).is_some_and(|rest| *rest > 0)
    }

    /// Lets `late` timers of each task of a node fire late. The tasks of the node are in the life `life`.
    pub(crate) fn set_late_timers(&self, clock: u32, late: u8, life: Option<Life>, place: Place) {
        let mut state = self.state();
        state.parts.get_mut::<Nodes>().clocks[clock as usize].late = late;
        if let Some(life) = life {
            self.touch_members(&mut state, life, place);
        }
    }

    /// Records that another module changed a property of the node. All steps of its tasks depend on this property.
    pub(crate) fn touch_life(&self, life: Life, place: Place) {
        self.touch_members(&mut self.state(), life, place);
    }

    /// Records that the current task changed a setting of the run. All steps of all other tasks depend on this setting.
    //
    // Tests change settings at the start of the body, when there is no other task. So the use of a setting needs no
    // operation.
    pub(crate) fn changes_setting(&self, place: Place) {
        let mut state = self.state();
        let current = state.current();
        let all = (0..state.board.tasks.len() as u32).map(TaskId).collect();
        for task in state.living_of(all) {
            if task != current {
                state.happened(&SETTING, None, place, Values::Task(task));
            }
        }
    }

    /// Records that a property of the node was changed. All steps of the tasks in the life depend on this property.
    fn touch_members(&self, state: &mut RunState, life: Life, place: Place) {
        if life == Life::OUTSIDE {
            return;
        }
        for task in state.living(life) {
            state.happened(&PACE, None, place, Values::Task(task));
        }
        state.needs_work();
    }
}

impl RunState {
    fn is_slow(&self) -> bool {
        self.parts.get::<Pace>().slow.is_some()
    }

    /// At the end of a step, makes its task rest if its node is slow.
    fn rest(&mut self) {
        let (task, now) = (self.current(), self.timers().now);
        let life = self.life_of(task);
        let Some(at) = lives::row(life) else { return };
        let rest = self.parts.get::<Pace>().rests.get(at).copied().unwrap_or(0);
        if rest == 0 || self.lives.rows[at].is_over || self.over || self.is_done(task) {
            return;
        }
        let until = now.saturating_add(rest);
        let Pace { rested, slow: time, .. } = self.parts.get_mut();
        let time = *time;
        rested.resize(rested.len().max(task.index() + 1), 0);
        if rested[task.index()] >= RESTS_MAX {
            return;
        }
        rested[task.index()] += 1;
        if let Some(clock) = self.clock_of(life) {
            clock.met.steps += 1;
        }
        self.happened(&REST, time, CLOCK.place(), Values::Wrote(until));
        self.board.tasks.at_mut(task.index()).held |= TaskRow::RESTS;
        self.remove_ready(task);
        self.parts.get_mut::<Timers>().resting.push((until, task));
    }

    /// Lets tasks continue when their rest is over. `place` is the place of the operation that advanced the time, if
    /// any.
    pub(super) fn end_rests(&mut self, place: Option<Place>) {
        if self.timers().resting.is_empty() {
            return;
        }
        let now = self.timers().now;
        let mut rested: Vec<TaskId> = Vec::new();
        self.parts.get_mut::<Timers>().resting.retain(|(until, task)| {
            rested.extend((*until <= now).then_some(*task));
            *until > now
        });
        for task in rested {
            if self.is_done(task) {
                // The task was killed while it rested.
                if place.is_some() {
                    self.touch(task, Contact::Looked);
                }
                continue;
            }
            self.board.tasks.at_mut(task.index()).held &= !TaskRow::RESTS;
            if let Some(place) = place {
                self.happened(&GO_ON, None, place, Values::Task(task));
            }
            if self.can_step(task) {
                self.insert_ready(task);
            }
        }
    }
}
