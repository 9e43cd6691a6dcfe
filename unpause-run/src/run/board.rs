//! The state of a run that strategies read through a [`View`](super::choice::View): tasks with their pending
//! operations, events so far, and effects that leave no event. The runtime writes it.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use super::event::Event;
use super::ids::{ObjectId, Place, TaskId};
use super::op::{Access, Op};
use super::pool::Pool;
use super::watches::Watches;

/// An operation a task will do when it steps next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Announced {
    /// The pending operation.
    pub op: &'static Op,
    /// To which object, if any.
    pub object: Option<ObjectId>,
    /// The task whose end it waits for, if `op` is a join.
    pub target: Option<TaskId>,
    /// The place in the user's source.
    pub place: Place,
    /// True if it is enabled; false while, for instance, the lock that it acquires is held.
    pub enabled: bool,
    /// Tells apart the announcements of one task. Not 0.
    #[doc(hidden)]
    pub key: u32,
    /// Its task took a step in which it could be done and its future was not polled. It is not `enabled` then: it
    /// is done when its future is polled again, and the task does not step for its sake.
    #[doc(hidden)]
    pub passed_over: bool,
}

impl Announced {
    /// The announcement of nothing: its key is 0.
    #[doc(hidden)]
    pub const NOTHING: Announced = Announced {
        op: &Op::new("nothing", Access::Yield),
        object: None,
        target: None,
        place: Location::caller(),
        enabled: true,
        key: 0,
        passed_over: false,
    };

    #[inline]
    #[doc(hidden)]
    pub fn is_something(&self) -> bool {
        self.key != 0
    }
}

/// The status of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It can step.
    Ready,
    /// It waits.
    Blocked,
    /// It has ended.
    Done,
}

/// The ends of the way of a message, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    pub from: &'static str,
    pub to: &'static str,
}

/// The life of a node, by its number in the run: its tasks end together. 0 is the outside, which has no end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Life(pub u32);

impl Life {
    /// The life of tasks in no node.
    pub const OUTSIDE: Life = Life(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A task as strategies and reports see it.
#[derive(Clone, Debug)]
pub struct TaskRow {
    /// The task that spawned it; none for the body of the test.
    pub parent: Option<TaskId>,
    /// Its number among its parent's children, from 0.
    pub nth: u32,
    /// The name the user gave it.
    pub name: Option<Arc<str>>,
    /// The place that spawned it.
    pub place: Place,
    /// Its status.
    pub status: Status,
    /// Its pending operations.
    pub announced: Announcements,
    /// The number of tasks it has spawned.
    #[doc(hidden)]
    pub children: u32,
    /// Position among the candidates, or `u32::MAX`.
    #[doc(hidden)]
    pub ready_at: u32,
    /// The number of its pending operations that are enabled.
    #[doc(hidden)]
    pub enabled: u32,
    /// Something that is not of this library called its waker.
    #[doc(hidden)]
    pub woken: bool,
    /// To be dropped at its next step.
    #[doc(hidden)]
    pub aborted: bool,
    /// The task that it disturbs, if it is a fault that a setting asked for: the fault comes in its one step.
    #[doc(hidden)]
    pub fault_of: Option<TaskId>,
    /// The reasons for which it takes no step, as bits: 0 if there are none.
    #[doc(hidden)]
    pub held: u8,
    /// The way of the message that arrives in its steps, if it is one.
    #[doc(hidden)]
    pub route: Option<&'static Route>,
    /// The life of a node that it is in.
    #[doc(hidden)]
    pub life: Life,
}

impl TaskRow {
    /// It takes no step any more.
    #[doc(hidden)]
    pub const STALLED: u8 = 1;
    /// It takes no step until its group continues.
    #[doc(hidden)]
    pub const PAUSED: u8 = 2;
    /// It takes no step until the time has moved, because its group is slow.
    #[doc(hidden)]
    pub const RESTS: u8 = 4;

    /// The row of a task that waits for its first step, which needs no announcement. It is no candidate yet.
    #[doc(hidden)]
    pub fn new(parent: Option<TaskId>, nth: u32, place: Place) -> TaskRow {
        TaskRow {
            parent,
            nth,
            name: None,
            place,
            status: Status::Blocked,
            announced: Announcements::default(),
            children: 0,
            ready_at: u32::MAX,
            enabled: 0,
            woken: true,
            aborted: false,
            fault_of: None,
            held: 0,
            route: None,
            life: Life::OUTSIDE,
        }
    }

    /// Becomes the row of another task, as [`new`](Self::new) makes it, with its allocations.
    #[inline]
    #[doc(hidden)]
    pub fn renew(&mut self, parent: Option<TaskId>, nth: u32, place: Place) {
        (self.parent, self.nth, self.name, self.place) = (parent, nth, None, place);
        (self.status, self.ready_at) = (Status::Blocked, u32::MAX);
        // The row may belong to an unended task of an earlier run.
        if !self.announced.is_empty() {
            self.announced.clear();
        }
        (self.children, self.enabled, self.held) = (0, 0, 0);
        (self.woken, self.aborted, self.fault_of) = (true, false, None);
        (self.route, self.life) = (None, Life::OUTSIDE);
    }

    /// Its position among the [candidates](super::choice::View::candidates). It must be a
    /// candidate.
    #[inline]
    #[doc(hidden)]
    pub fn candidate(&self) -> usize {
        debug_assert!(self.status == Status::Ready);
        self.ready_at as usize
    }
}

/// The pending operations of a task: none before its first step and while it waits for something outside this
/// library; usually one; several inside `join!`, where one step does all that are enabled.
#[derive(Clone)]
pub struct Announcements {
    // The usual single one has its own field: no list to traverse, nothing to allocate. Not in an `Option`, because
    // copying one of those takes twice as long.
    #[doc(hidden)]
    pub first: Announced,
    #[doc(hidden)]
    pub more: Vec<Announced>,
}

impl Default for Announcements {
    fn default() -> Announcements {
        Announcements { first: Announced::NOTHING, more: Vec::new() }
    }
}

impl std::fmt::Debug for Announcements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Announcements {
    /// All of them.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Announced> {
        self.first.is_something().then_some(&self.first).into_iter().chain(&self.more)
    }

    /// Returns `true` if no pending operation is known.
    pub fn is_empty(&self) -> bool {
        !self.first.is_something() && self.more.is_empty()
    }

    /// The only announcement, if there is exactly one.
    #[inline]
    #[doc(hidden)]
    pub fn only(&self) -> Option<&Announced> {
        (self.first.is_something() && self.more.is_empty()).then_some(&self.first)
    }

    /// Returns `true` if the predicate holds for one of them. Takes the fast path of a single operation first, as
    /// [`iter`](Self::iter) does.
    #[inline]
    #[doc(hidden)]
    pub fn any(&self, is_so: impl Fn(&Announced) -> bool) -> bool {
        let first = self.first.is_something() && is_so(&self.first);
        first || (!self.more.is_empty() && self.more.iter().any(is_so))
    }

    /// Returns `true` if the task has announcements and all of them have this access.
    #[inline]
    #[doc(hidden)]
    pub fn is_only(&self, access: Access) -> bool {
        self.first.is_something() && !self.any(|announced| announced.op.access != access)
    }

    #[doc(hidden)]
    pub fn clear(&mut self) {
        self.first = Announced::NOTHING;
        self.more.clear();
    }

    /// Takes the first one back.
    #[inline]
    #[doc(hidden)]
    pub fn take_first(&mut self) {
        self.first = Announced::NOTHING;
    }

    #[inline]
    #[doc(hidden)]
    pub fn push(&mut self, announced: Announced) {
        match self.first.is_something() {
            false => self.first = announced,
            true => self.more.push(announced),
        }
    }

    /// The announcement with this key. No key is the key of none.
    #[doc(hidden)]
    pub fn find(&self, key: u32) -> Option<&Announced> {
        if self.first.key == key {
            return Some(&self.first);
        }
        self.position(key).map(|at| &self.more[at])
    }

    /// The same as for [`find`](Self::find).
    #[doc(hidden)]
    pub fn find_mut(&mut self, key: u32) -> Option<&mut Announced> {
        if self.first.key == key {
            return Some(&mut self.first);
        }
        self.position(key).map(|at| &mut self.more[at])
    }

    /// The position in `more`. Keys are in order there, except the keys given by the thread:
    /// `join_all` of thousands of tasks has as many operations.
    fn position(&self, key: u32) -> Option<usize> {
        let found = self.more.binary_search_by_key(&key, |announced| announced.key).ok();
        found.or_else(|| self.more.iter().position(|announced| announced.key == key))
    }

    /// Takes one back. No key is the key of none.
    #[inline]
    #[doc(hidden)]
    pub fn remove(&mut self, key: u32) -> Option<Announced> {
        if self.first.key == key {
            let first = std::mem::replace(&mut self.first, Announced::NOTHING);
            return first.is_something().then_some(first);
        }
        let at = self.position(key)?;
        Some(self.more.remove(at))
    }
}

/// A change of a history in a step. Calls are identified by their numbers in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallPoint {
    /// The invocation of this call is stamped here.
    Invoked(usize),
    /// The invocation of this call will be stamped at the next operation of the task.
    Announced(usize),
    /// This call returned.
    Returned(usize),
    /// The history so far was checked for linearizability.
    Checked,
    /// Somebody was given the history so far, and can tell any two orders of its calls apart.
    Shown,
}

/// Something became of a history.
#[derive(Clone, Copy, Debug)]
pub struct CallMark {
    pub task: TaskId,
    /// The number of the history in the run.
    pub history: usize,
    pub point: CallPoint,
    /// The number of operations done in the run so far.
    pub events: usize,
}

/// An effect of a task on another task that leaves no event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contact {
    /// Acted on whether the other one had ended.
    Looked,
    /// Acted on which tasks the other one had spawned.
    Counted,
    /// Took an announcement of the other one back, because its future was moved or dropped.
    Disarmed,
    /// Time moved on, to the end of a wait of the other one, because no task could step.
    TimedOut,
    /// Began to wait for a time, without an announcement. Of the task itself.
    Sleeps,
    /// Left a waker of the program's own in an object, whose memory is not seen. Of the task itself.
    LeftWaker,
    /// Had an effect without an event that outlives the task's node. Of the task itself.
    Told,
    /// Saw a number or an address of a node, which the order of the additions decides. Of the task itself, once in a
    /// run.
    SawOrderOfNodes,
}

/// A [`Contact`] of the task that took the step.
#[derive(Clone, Copy, Debug)]
pub struct ContactMark {
    pub target: TaskId,
    pub contact: Contact,
}

/// A move of the time of a run to the next deadline, because no task could step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeMove {
    /// The step that comes next, counted from 0.
    pub step: u32,
    /// The time since the run began.
    pub to: Duration,
}

/// The part of a run's state that strategies see.
//
// In this order: an event takes `step` and `current`, which are stored one by one. Side by side they
// would be read as one word, and the processor would wait until both are in the cache.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Board {
    /// The number of the step to be chosen or being taken.
    pub step: u32,
    /// The tasks that can step, in no meaningful order.
    pub ready: Vec<TaskId>,
    /// The task that takes the step or, between two steps, took the last one.
    pub current: TaskId,
    /// The tasks that became able to step since the last step was chosen.
    pub arrived: Vec<TaskId>,
    pub tasks: Pool<TaskRow>,
    pub events: Vec<Event>,
    /// For each object, a number that it has in every run: see [`key_of`](super::choice::View::key_of).
    pub object_keys: Vec<u64>,
    /// The lives of nodes whose memory objects are, as far as there are such objects.
    pub object_lives: Vec<Life>,
    /// Effects of tasks on each other that leave no event.
    pub contacts: Vec<ContactMark>,
    /// True if the run ended because all remaining tasks have stalled, or wait for a stalled task.
    pub ends_stalled: bool,
    /// The moves of the time.
    pub time_moves: Vec<TimeMove>,
    /// The changes of recorded calls.
    pub calls: Vec<CallMark>,
    /// The conditions of tasks in `spin_until`.
    pub watches: Watches,
}
