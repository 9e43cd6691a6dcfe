//! Nodes of a cluster: their lives end, pause and resume, and share no memory.
//!
//! A life ends in one step, the step of the task that kills it. Afterwards, its tasks take no step. The futures of the
//! tasks are dropped, children before parents, and newer children before older ones.

use unpause_ordered::sort_by_key;

use super::node_clocks::NodeClock;
use super::timers::CLOCK;
use crate::rt::lives;
use crate::rt::object::{ObjectRow, Owner};
use crate::rt::part::Part;
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::Failure;
use crate::run::board::{Contact, Life, TaskRow};
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op, task};
use crate::run::place::in_text;

const KILL: Op = Op::of_kind("kill", Access::Tell, task::KILL).quiet();
const PAUSE: Op = Op::of_kind("pause", Access::Tell, task::STALL).quiet();
const RESUME: Op = Op::of_kind("resume", Access::Tell, task::RESUME).quiet();

/// The nodes of a run.
#[derive(Debug, Default)]
pub(in crate::rt) struct Nodes {
    pub(super) clocks: Vec<NodeClock>,
    /// The life of each object, for the check at the end of the run.
    owners: Vec<Option<Life>>,
}

impl Part for Nodes {
    fn forget(&mut self) {
        self.clocks.clear();
    }

    fn judge(state: &mut RunState) {
        state.check_nodes();
    }
}

impl World {
    /// Lets several lives use the same objects: from now on, all lives share one value of each static.
    pub(crate) fn share_between_lives(&self, place: Place) {
        self.changes_setting(place);
        self.state().lives.share = true;
    }

    /// Ends a life. If a task of the life calls this, it ends at its next point. Returns the number of tasks that were
    /// ended.
    pub(crate) fn end_life(&self, life: Life, place: Place) -> u32 {
        let Some(at) = lives::row(life) else { return 0 };
        let mut state = self.state();
        let row = &mut state.lives.rows[at];
        if std::mem::replace(&mut row.is_over, true) {
            return 0;
        }
        let (mut ended, mut wakers) = (0, Vec::new());
        for task in state.living(life) {
            state.happened(&KILL, None, place, Values::Task(task));
            if task != state.current() {
                state.close_task(task, true, &mut wakers);
            }
            state.lives.dying.push(task);
            ended += 1;
        }
        state.needs_work();
        drop(state);
        drop(wakers);
        ended
    }

    /// Pauses the tasks of a life, or resumes them. Returns the number of these tasks.
    pub(crate) fn set_paused(&self, life: Life, is_paused: bool, place: Place) -> u32 {
        let Some(at) = lives::row(life) else { return 0 };
        let mut state = self.state();
        let row = &mut state.lives.rows[at];
        if row.is_over || std::mem::replace(&mut row.is_paused, is_paused) == is_paused {
            return 0;
        }
        let mut tasks = 0;
        let op = if is_paused { &PAUSE } else { &RESUME };
        for task in state.living(life) {
            state.happened(op, None, place, Values::Task(task));
            tasks += 1;
            let held = &mut state.board.tasks.at_mut(task.index()).held;
            *held = *held & !TaskRow::PAUSED | if is_paused { TaskRow::PAUSED } else { 0 };
            match is_paused {
                true => state.remove_ready(task),
                false if state.can_step(task) => state.insert_ready(task),
                false => {}
            }
        }
        state.needs_work();
        tasks
    }
}

impl RunState {
    /// Returns the tasks of a life that have not ended, in the order of [`living_of`](Self::living_of).
    pub(super) fn living(&mut self, life: Life) -> Vec<TaskId> {
        let all = (0..self.board.tasks.len() as u32).map(TaskId);
        self.living_of(all.filter(|task| self.life_of(*task) == life).collect())
    }

    /// Returns the tasks that have not ended, and records that the current step has checked this. The tasks are sorted
    /// by path. Paths do not depend on the order of spawns by different tasks, so two spawns commute.
    pub(super) fn living_of(&mut self, mut tasks: Vec<TaskId>) -> Vec<TaskId> {
        tasks.retain(|task| {
            let has_ended = self.is_done(*task);
            if has_ended {
                self.touch(*task, Contact::Looked);
            }
            !has_ended
        });
        sort_by_key(&mut tasks, |task| self.path(*task));
        tasks
    }

    /// Returns the path of a task.
    fn path(&self, task: TaskId) -> Vec<u32> {
        let rows = &self.board.tasks;
        let ancestors = std::iter::successors(Some(task), |task| rows[task.index()].parent);
        let mut path: Vec<u32> = ancestors.map(|task| rows[task.index()].nth).collect();
        path.reverse();
        path
    }

    /// Fails the run if a life used an object of another life, because nodes share no memory.
    fn check_nodes(&mut self) {
        if self.lives.rows.is_empty() || self.lives.share || self.failure.is_some() {
            return;
        }
        let owner = |row: &ObjectRow| match (row.owner, row.record.creator) {
            // All nodes operate on this object.
            _ if row.record.place == CLOCK.place() => Some(Life::OUTSIDE),
            (Owner::Nobody | Owner::Each, _) => Some(Life::OUTSIDE),
            (Owner::Creator, Some(_)) => Some(row.life),
            // The owner is the life of the first user.
            (Owner::Creator, None) => None,
        };
        let mut owners = std::mem::take(&mut self.parts.get_mut::<Nodes>().owners);
        owners.clear();
        owners.extend(self.objects.rows.iter().map(owner));
        let is_free = |owner: &Option<Life>| *owner == Some(Life::OUTSIDE);
        let events = if owners.iter().all(is_free) { &[][..] } else { &self.board.events[..] };
        let shared = events.iter().enumerate().find_map(|(at, event)| {
            let object = event.object?;
            let owner = &mut owners[object.index()];
            // Almost all objects of communicating nodes belong to the net. An invariant reads the memory of all nodes.
            if *owner == Some(Life::OUTSIDE) || self.board.is_of_invariant(at) {
                return None;
            }
            let user = self.life_of(event.task);
            let owner = *owner.get_or_insert(user);
            let is_shared = owner != user && owner != Life::OUTSIDE && user != Life::OUTSIDE;
            is_shared.then_some((object, owner, user, event.op.name, event.place))
        });
        self.parts.get_mut::<Nodes>().owners = owners;
        if let Some((object, owner, user, done, place)) = shared {
            let message = self.shared_between(object, owner, (user, done));
            self.fail(Failure::Misuse { message, place: place.to_string() });
        }
    }

    fn shared_between(&self, object: ObjectId, owner: Life, (user, done): (Life, &str)) -> String {
        let ObjectRow { record, .. } = &self.objects.rows[object.index()];
        let name = |life: Life| lives::row(life).map_or("", |row| &self.lives.rows[row].name);
        let (owner, user) = (name(owner), name(user));
        let users = match owner == user {
            true => format!("{owner} used it in one life and again ({done}) in the next"),
            false => format!("it is {owner}'s, and {user} used it ({done})"),
        };
        // The run does not know the creator, so the object may be a static.
        let in_static = match record.creator {
            None => " In a static, make it with const_new: each node then has its own.",
            Some(_) => "",
        };
        format!(
            "the {} of {} is shared across nodes: {users}. Nodes share no memory: send messages or write files.\
             {in_static} If it belongs to the test, create it in sim::node::outside(..), or call \
             sim::node::share_memory()",
            record.kind,
            in_text(record.place)
        )
    }
}
