//! Groups: tasks that end together, and objects that are theirs. The tasks of a node of a cluster, in one life of it.
//!
//! A task is in the group of its spawner, or in the group that was [entered](World::in_group) at
//! its spawn. A group ends in one step, the step of its killer. None of its tasks steps after it.
//! Their futures are dropped at the end of the step, while the state is not borrowed: children
//! before their parents, and the newest child first.

use std::sync::Arc;
use unpause_ordered::sort_by_key;

use super::clocks::NodeClock;
use super::interned::interned;
use super::now;
use super::object::{Object, ObjectRow, Owner, key_by_node};
use super::state::RunState;
use super::timers::CLOCK;
use super::world::World;
use crate::run::Failure;
use crate::run::board::{Contact, Life, TaskRow};
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op, task};

const KILL: Op = Op::of_kind("kill", Access::Tell, task::KILL).quiet();
const PAUSE: Op = Op::of_kind("pause", Access::Tell, task::STALL).quiet();
const RESUME: Op = Op::of_kind("resume", Access::Tell, task::RESUME).quiet();

/// A group of a run. The default is the group of the body, which never ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Group(u32);

impl Group {
    /// The group of the body and of all tasks that are in no other.
    pub(crate) const OUTSIDE: Group = Group(0);

    pub(super) fn row(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }

    /// The group with this number: 0 is the outside.
    pub(super) fn numbered(number: u32) -> Group {
        Group(number)
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// A group that was begun.
#[derive(Debug)]
pub(super) struct GroupRow {
    name: Arc<str>,
    /// The number of its node's clock.
    clock: u32,
    pub(super) members: Vec<TaskId>,
    pub(super) is_over: bool,
    is_paused: bool,
    /// The time that each step of a task takes, in nanoseconds.
    pub(super) rest: u64,
}

/// The groups of a run.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) rows: Vec<GroupRow>,
    pub(super) clocks: Vec<NodeClock>,
    /// The object of the time, if a node is slow.
    pub(super) slow: Option<ObjectId>,
    /// The group of the running code, if it differs from the current task's group.
    entered: Option<Group>,
    /// Tasks of ended groups, with futures to drop. They are dropped from the end of the list.
    dying: Vec<TaskId>,
    /// True if objects may be used by several groups.
    pub(super) share: bool,
    /// True after the end of the run: no group lives.
    pub(super) all_over: bool,
    /// The group of each object, for the check at the end of the run.
    owners: Vec<Option<Group>>,
}

impl Groups {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.clocks.clear();
        self.dying.clear();
        (self.entered, self.share, self.all_over) = (None, false, false);
        self.slow = None;
    }

    /// Returns `true` if there are futures to drop.
    pub(super) fn has_dying(&self) -> bool {
        !self.dying.is_empty()
    }

    pub(super) fn take_dying(&mut self) -> Option<TaskId> {
        self.dying.pop()
    }

    /// Adds a task that the current code spawns. Returns its group, and `true` if the group is paused.
    pub(super) fn join(&mut self, task: TaskId, of_parent: Group) -> (Group, bool) {
        let group = self.entered.unwrap_or(of_parent);
        let Some(row) = group.row().map(|row| &mut self.rows[row]) else { return (group, false) };
        row.members.push(task);
        (group, row.is_paused)
    }

    /// Makes the code that follows belong to the group. Returns the argument of
    /// [`leave`](Self::leave).
    pub(super) fn enter(&mut self, group: Group) -> Option<Group> {
        self.entered.replace(group)
    }

    pub(super) fn leave(&mut self, before: Option<Group>) {
        self.entered = before;
    }

    /// The number of the clock of a group; none of those outside of nodes.
    pub(super) fn clock_of(&self, group: Group) -> Option<u32> {
        Some(self.rows.get(group.row()?)?.clock)
    }

    /// The name of the node of a group, and the life of the node, from 1.
    pub(super) fn life_of(&self, group: Group) -> Option<(&str, usize)> {
        let row = group.row().filter(|row| *row < self.rows.len())?;
        let GroupRow { name, clock, .. } = &self.rows[row];
        Some((name, self.rows[..=row].iter().filter(|row| row.clock == *clock).count()))
    }

    fn is_over(&self, group: Group) -> bool {
        group.row().is_some_and(|row| self.rows[row].is_over)
    }
}

impl World {
    /// Begins a group of this name, with the clock of this number.
    pub(crate) fn begin_group(&self, name: Arc<str>, clock: u32) -> Group {
        let rows = &mut self.state().groups.rows;
        let (is_over, is_paused, members) = (false, false, Vec::new());
        rows.push(GroupRow { name, clock, members, is_over, is_paused, rest: 0 });
        let group = Group(rows.len() as u32);
        now::has_nodes();
        group
    }

    /// The group of the code that runs.
    pub(crate) fn group(&self) -> Group {
        self.state().running_group()
    }

    /// Returns `true` if the group is not over.
    pub(crate) fn lives(&self, group: Group) -> bool {
        let groups = &self.state().groups;
        !groups.all_over && !groups.is_over(group)
    }

    /// Calls `act` as code of the group.
    pub(crate) fn in_group<R>(&self, group: Group, act: impl FnOnce() -> R) -> R {
        struct Leave<'a>(&'a World, Option<Group>);

        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.state().groups.leave(self.1);
            }
        }

        let before = self.state().groups.enter(group);
        let _leave = Leave(self, before);
        act()
    }

    /// Has objects used by several groups on purpose: from now on each static is one for all of them.
    pub(crate) fn share_between_groups(&self, place: Place) {
        self.changes_setting(place);
        self.state().groups.share = true;
    }

    /// Ends a group. A task of it that does so itself ends at its next point. Returns the number of tasks that it ended.
    pub(crate) fn end_group(&self, group: Group, place: Place) -> u32 {
        let Some(at) = group.row() else { return 0 };
        let mut state = self.state();
        let row = &mut state.groups.rows[at];
        if std::mem::replace(&mut row.is_over, true) {
            return 0;
        }
        let (mut ended, mut wakers) = (0, Vec::new());
        for task in state.living(at) {
            state.happened(&KILL, None, place, Values::Task(task));
            if task != state.current() {
                state.close_task(task, true, &mut wakers);
            }
            state.groups.dying.push(task);
            ended += 1;
        }
        state.needs_work();
        drop(state);
        drop(wakers);
        ended
    }

    /// Pauses the tasks of a group, or resumes them. Returns the number of these tasks.
    pub(crate) fn set_paused(&self, group: Group, is_paused: bool, place: Place) -> u32 {
        let Some(at) = group.row() else { return 0 };
        let mut state = self.state();
        let row = &mut state.groups.rows[at];
        if row.is_over || std::mem::replace(&mut row.is_paused, is_paused) == is_paused {
            return 0;
        }
        let mut tasks = 0;
        let op = if is_paused { &PAUSE } else { &RESUME };
        for task in state.living(at) {
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
    /// The group of the code that runs.
    pub(super) fn running_group(&self) -> Group {
        self.groups.entered.unwrap_or_else(|| self.group_of(self.current()))
    }

    /// The group of the code that runs, for an object that each group has for itself.
    #[inline]
    pub(super) fn node_for(&self, object: &Object) -> Group {
        match object.is_by_node() {
            true if !self.groups.rows.is_empty() && !self.groups.share => self.running_group(),
            _ => Group::OUTSIDE,
        }
    }

    /// The row of an object, if the run knows it.
    pub(super) fn find_object(&self, object: &Object) -> Option<ObjectId> {
        self.objects.find(object, self.node_for(object))
    }

    /// Gives a new object, which each group has for itself, the name and a key of this group.
    #[cold]
    pub(super) fn name_after(&mut self, object: ObjectId, group: Group) {
        let Some((name, life)) = self.groups.life_of(group) else { return };
        let name =
            if life == 1 { interned(name) } else { interned(&format!("{name} in life {life}")) };
        let row = self.row(object);
        row.record.node = Some(name);
        row.key = key_by_node(row.key, name);
        self.give(object, group);
    }

    /// The members of the group in this row that have not ended, as [`living_of`](Self::living_of) returns them.
    pub(super) fn living(&mut self, row: usize) -> Vec<TaskId> {
        self.living_of(self.groups.rows[row].members.clone())
    }

    /// Those of the tasks that have not ended, which the current step finds out.
    /// They are sorted by path. This does not depend on the order of spawns by different tasks, so two spawns commute.
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

    /// The path of a task.
    fn path(&self, task: TaskId) -> Vec<u32> {
        let rows = &self.board.tasks;
        let ancestors = std::iter::successors(Some(task), |task| rows[task.index()].parent);
        let mut path: Vec<u32> = ancestors.map(|task| rows[task.index()].nth).collect();
        path.reverse();
        path
    }

    /// Puts a task that was just spawned into its group.
    pub(super) fn join_group(&mut self, task: TaskId, parent: TaskId) {
        let (group, is_paused) = self.groups.join(task, self.group_of(parent));
        self.slots.at_mut(task.index()).group = group;
        self.board.tasks.at_mut(task.index()).life = Life(group.number());
        if is_paused {
            self.board.tasks.at_mut(task.index()).held |= TaskRow::PAUSED;
            self.remove_ready(task);
        }
        if self.groups.is_over(group) {
            // A destructor of the dead spawned it.
            self.close_task(task, true, &mut Vec::new());
            self.groups.dying.push(task);
            self.needs_work();
        }
    }

    /// Makes an object that was just created one of the group of the code that runs.
    pub(super) fn own(&mut self, object: ObjectId) {
        let of_task = self.group_of(self.current());
        let group = self.groups.entered.unwrap_or(of_task);
        self.row(object).group = group;
        self.give(object, group);
    }

    /// Has strategies see an object as memory of the group.
    fn give(&mut self, object: ObjectId, group: Group) {
        if group != Group::OUTSIDE {
            let lives = &mut self.board.object_lives;
            lives.resize(lives.len().max(object.index() + 1), Life::OUTSIDE);
            lives[object.index()] = Life(group.number());
        }
    }

    /// The name of the group of a task; none outside of groups.
    pub(super) fn node_of(&self, task: TaskId) -> Option<String> {
        let row = self.group_of(task).row()?;
        Some(self.groups.rows[row].name.to_string())
    }

    /// The group of a task.
    pub(super) fn group_of(&self, task: TaskId) -> Group {
        self.slots[task.index()].group
    }

    /// Fails the run if a group used an object that is another one's: the memory of a node is its own.
    #[cold]
    pub(super) fn check_groups(&mut self) {
        if self.groups.rows.is_empty() || self.groups.share || self.failure.is_some() {
            return;
        }
        let owner = |row: &ObjectRow| match (row.owner, row.record.creator) {
            // All nodes operate on it.
            _ if row.record.place == CLOCK.place() => Some(Group::OUTSIDE),
            (Owner::Nobody | Owner::Each, _) => Some(Group::OUTSIDE),
            (Owner::Creator, Some(_)) => Some(row.group),
            // The group of its first user.
            (Owner::Creator, None) => None,
        };
        let mut owners = std::mem::take(&mut self.groups.owners);
        owners.clear();
        owners.extend(self.objects.rows.iter().map(owner));
        let is_free = |owner: &Option<Group>| *owner == Some(Group::OUTSIDE);
        let events = if owners.iter().all(is_free) { &[][..] } else { &self.board.events[..] };
        let shared = events.iter().find_map(|event| {
            let object = event.object?;
            let owner = &mut owners[object.index()];
            // Nearly all objects of nodes that talk are the net's.
            // An invariant looks at the memory of all nodes.
            if *owner == Some(Group::OUTSIDE) || *event.op == Op::PEEK_OF_INVARIANT {
                return None;
            }
            let user = self.group_of(event.task);
            let owner = *owner.get_or_insert(user);
            let is_shared = owner != user && owner != Group::OUTSIDE && user != Group::OUTSIDE;
            is_shared.then_some((object, owner, user, event.op.name, event.place))
        });
        self.groups.owners = owners;
        if let Some((object, owner, user, done, place)) = shared {
            let message = self.shared_between(object, owner, (user, done));
            self.fail(Failure::Misuse { message, place: place.to_string() });
        }
    }

    fn shared_between(
        &self,
        object: ObjectId,
        owner: Group,
        (user, done): (Group, &str),
    ) -> String {
        let ObjectRow { record, .. } = &self.objects.rows[object.index()];
        let name = |group: Group| group.row().map_or("", |row| &self.groups.rows[row].name);
        let (owner, user) = (name(owner), name(user));
        let users = match owner == user {
            true => format!("{owner} used it in one life and again ({done}) in the next"),
            false => format!("it is {owner}'s, and {user} used it ({done})"),
        };
        // The run does not know who made it: it may be a static.
        let in_static = match record.creator {
            None => " In a static, make it with const_new: each node then has its own.",
            Some(_) => "",
        };
        format!(
            "the {} of {} is shared across nodes: {users}. Nodes share no memory: send messages or write files.\
             {in_static} If it belongs to the test, create it in sim::node::outside(..), or call \
             sim::node::share_memory()",
            record.kind, record.place
        )
    }
}
