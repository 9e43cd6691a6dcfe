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

/// A pending operation: the task does it when it takes its next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Announced {
    /// The pending operation.
    pub op: &'static Op,
    /// The object of the operation, if any.
    pub object: Option<ObjectId>,
    /// The task that a join waits for, if `op` is a join.
    pub target: Option<TaskId>,
    /// The place in the user's source.
    pub place: Place,
    /// True if the operation is enabled; false, for example, while the lock that it acquires is held.
    pub enabled: bool,
    /// A key that identifies this announcement among the announcements of its task. Not 0.
    #[doc(hidden)]
    pub key: u32,
    /// True if the task took a step in which this operation was possible, but did not poll its future. The operation is
    /// then not `enabled`: the next poll of the future does it, and the task does not step because of it.
    #[doc(hidden)]
    pub passed_over: bool,
}

impl Announced {
    /// An empty announcement, with key 0.
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
    /// The task can step.
    Ready,
    /// The task waits.
    Blocked,
    /// The task has ended.
    Done,
}

/// The two ends of a message's path, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    pub from: &'static str,
    pub to: &'static str,
}

/// One life of a node, from its start to its end, as its number in the run. All tasks of a life end together. Number 0
/// is the outside of all nodes, and has no end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Life(pub u32);

impl Life {
    /// The life of tasks that are in no node.
    pub const OUTSIDE: Life = Life(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The row of a task, which strategies and reports read.
#[derive(Clone, Debug)]
pub struct TaskRow {
    /// The task that spawned this task; `None` for the body of the test.
    pub parent: Option<TaskId>,
    /// The position of this task among its parent's children, from 0.
    pub nth: u32,
    /// The name that the user gave to the task.
    pub name: Option<Arc<str>>,
    /// The place that spawned the task.
    pub place: Place,
    /// The status of the task.
    pub status: Status,
    /// The pending operations of the task.
    pub announced: Announcements,
    /// The number of tasks that this task has spawned.
    #[doc(hidden)]
    pub children: u32,
    /// The position of the task among the candidates, or `u32::MAX`.
    #[doc(hidden)]
    pub ready_at: u32,
    /// The number of enabled pending operations of the task.
    #[doc(hidden)]
    pub enabled: u32,
    /// True if code outside this library called the task's waker.
    #[doc(hidden)]
    pub woken: bool,
    /// True if the task must be dropped at its next step.
    #[doc(hidden)]
    pub aborted: bool,
    /// The task that a fault disturbs, if this task is a fault that a setting requested. The fault happens in the only
    /// step of its task.
    #[doc(hidden)]
    pub fault_of: Option<TaskId>,
    /// The reasons why the task takes no step, as bits; 0 if there are no reasons.
    #[doc(hidden)]
    pub held: u8,
    /// The path of the message that this task delivers in its steps, if any.
    #[doc(hidden)]
    pub route: Option<&'static Route>,
    /// The life of the node that the task is in.
    #[doc(hidden)]
    pub life: Life,
}

impl TaskRow {
    /// The task takes no further step.
    #[doc(hidden)]
    pub const STALLED: u8 = 1;
    /// The task takes no step until its group continues.
    #[doc(hidden)]
    pub const PAUSED: u8 = 2;
    /// The task takes no step until time has advanced, because its group is slow.
    #[doc(hidden)]
    pub const RESTS: u8 = 4;

    /// Creates the row of a task that waits for its first step. This step needs no announcement. The task is not yet a
    /// candidate.
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

    /// Resets this row to the row of another task, with the result of [`new`](Self::new), but keeps its allocations.
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

    /// Returns the position of the task among the [candidates](super::choice::View::candidates). The task must be a
    /// candidate.
    #[inline]
    #[doc(hidden)]
    pub fn candidate(&self) -> usize {
        debug_assert!(self.status == Status::Ready);
        self.ready_at as usize
    }
}

/// The pending operations of a task. There is usually exactly one. There is none before the first step, and while the
/// task waits for something outside this library. Inside `join!` there are several, and one step does all enabled
/// operations.
#[derive(Clone)]
pub struct Announcements {
    // The usual single announcement has its own field, so there is no list to traverse and nothing to allocate. The
    // field is not an `Option`, because an `Option` takes twice as long to copy.
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
    /// Iterates over all announcements.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Announced> {
        self.first.is_something().then_some(&self.first).into_iter().chain(&self.more)
    }

    /// Returns `true` if no pending operation is known.
    pub fn is_empty(&self) -> bool {
        !self.first.is_something() && self.more.is_empty()
    }

    /// Returns the only announcement, if there is exactly one.
    #[inline]
    #[doc(hidden)]
    pub fn only(&self) -> Option<&Announced> {
        (self.first.is_something() && self.more.is_empty()).then_some(&self.first)
    }

    /// Returns `true` if the predicate holds for any announcement. Like [`iter`](Self::iter), it tests the field of the
    /// single operation first.
    #[inline]
    #[doc(hidden)]
    pub fn any(&self, is_so: impl Fn(&Announced) -> bool) -> bool {
        let first = self.first.is_something() && is_so(&self.first);
        first || (!self.more.is_empty() && self.more.iter().any(is_so))
    }

    /// Returns `true` if the task has announcements and all these announcements have this access.
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

    /// Removes the first announcement.
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

    /// Returns the announcement with this key. No announcement has key 0.
    #[doc(hidden)]
    pub fn find(&self, key: u32) -> Option<&Announced> {
        if self.first.key == key {
            return Some(&self.first);
        }
        self.position(key).map(|at| &self.more[at])
    }

    /// Like [`find`](Self::find), but returns a mutable reference.
    #[doc(hidden)]
    pub fn find_mut(&mut self, key: u32) -> Option<&mut Announced> {
        if self.first.key == key {
            return Some(&mut self.first);
        }
        self.position(key).map(|at| &mut self.more[at])
    }

    /// Returns the position of a key in `more`. Keys are sorted there, except the keys that the thread assigned. The
    /// search must be fast, because `join_all` of thousands of tasks has as many operations.
    fn position(&self, key: u32) -> Option<usize> {
        let found = self.more.binary_search_by_key(&key, |announced| announced.key).ok();
        found.or_else(|| self.more.iter().position(|announced| announced.key == key))
    }

    /// Removes the announcement with this key and returns it. No announcement has key 0.
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

/// A change of a history in a step. The number identifies a call within its history.
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
    /// The program received the history so far, and can distinguish any two orders of its calls.
    Shown,
}

/// A change of a history.
#[derive(Clone, Copy, Debug)]
pub struct CallMark {
    pub task: TaskId,
    /// The number of the history in the run.
    pub history: usize,
    pub point: CallPoint,
    /// The number of events in the run so far.
    pub events: usize,
}

/// An effect of a task on another task that leaves no event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contact {
    /// The task checked if the target had ended, and acted on the result.
    Looked,
    /// The task read the list of tasks that the target had spawned, and acted on it.
    Counted,
    /// The task removed an announcement of the target, because it moved or dropped the target's future.
    Disarmed,
    /// Time advanced to the deadline of the target's wait, because no task could step.
    TimedOut,
    /// The task began to wait for a time, without an announcement. The target is the task itself.
    Sleeps,
    /// The task left a waker of the program's own in an object, and the library does not see the waker's memory. The
    /// target is the task itself.
    LeftWaker,
    /// The task had an effect that leaves no event and outlives the task's node. The target is the task itself.
    Told,
    /// The task read a number or an address of a node, and these depend on the order in which nodes are added. The
    /// target is the task itself. Recorded once in a run.
    SawOrderOfNodes,
}

/// A [`Contact`] by the task that took the step.
#[derive(Clone, Copy, Debug)]
pub struct ContactMark {
    pub target: TaskId,
    pub contact: Contact,
}

/// An advance of the run's time to the next deadline, because no task could step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeMove {
    /// The step after the advance, counted from 0.
    pub step: u32,
    /// The time since the run began.
    pub to: Duration,
}

/// The part of the run state that strategies read.
//
// The order of the fields matters. Each event reads `step` and `current`, and these fields are written separately. If
// they were adjacent, the compiler would read them as one word, and the processor would wait until both writes are in
// the cache.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Board {
    /// The number of the step that is being chosen or taken.
    pub step: u32,
    /// The tasks that can step, in no meaningful order.
    pub ready: Vec<TaskId>,
    /// The task that takes the current step. Between two steps: the task that took the last step.
    pub current: TaskId,
    /// The tasks that have become able to step since the last step was chosen.
    pub arrived: Vec<TaskId>,
    pub tasks: Pool<TaskRow>,
    pub events: Vec<Event>,
    /// For each object, a number that is the same in every run: see [`key_of`](super::choice::View::key_of).
    pub object_keys: Vec<u64>,
    /// For each object that is the memory of a node, the life of this node. The table ends after the last such object.
    pub object_lives: Vec<Life>,
    /// Effects of tasks on each other that leave no event.
    pub contacts: Vec<ContactMark>,
    /// True if the run ended because all remaining tasks have stalled, or wait for a stalled task.
    pub ends_stalled: bool,
    /// The time advances of the run.
    pub time_moves: Vec<TimeMove>,
    /// The changes of recorded calls.
    pub calls: Vec<CallMark>,
    /// The conditions of tasks in `spin_until`.
    pub watches: Watches,
    /// The indices of the events that invariants caused, in ascending order.
    pub invariant_events: Vec<usize>,
}

impl Board {
    /// Records that an invariant caused all events from index `first` on.
    pub fn add_invariant_events(&mut self, first: usize) {
        let known = self.invariant_events.partition_point(|event| *event < first);
        self.invariant_events.truncate(known);
        self.invariant_events.extend(first..self.events.len());
    }

    /// Returns `true` if an invariant caused the event at this index. If it is `true`, the event is no access of its
    /// task.
    pub fn is_of_invariant(&self, event: usize) -> bool {
        self.invariant_events.binary_search(&event).is_ok()
    }
}
