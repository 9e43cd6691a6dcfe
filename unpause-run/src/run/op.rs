//! Operations on shared objects, which a task announces at a point.
//!
//! A primitive declares its operations as constants of [`Op`]. Everything that reasons about interleavings
//! (strategies, reports) looks at [`Access`] alone, so a new primitive needs no change anywhere else. The machine of
//! an operation declares its conflicts: `kind`.

#[doc(hidden)]
pub mod cancellation;
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod condvar;
#[doc(hidden)]
pub mod count;
#[doc(hidden)]
pub mod fs;
#[doc(hidden)]
pub mod kind;
#[doc(hidden)]
pub mod lock;
#[doc(hidden)]
pub mod net;
#[doc(hidden)]
pub mod node;
#[doc(hidden)]
pub mod of_tokio;
#[doc(hidden)]
pub mod once;
#[doc(hidden)]
pub mod parking;
#[doc(hidden)]
pub mod task;
#[doc(hidden)]
pub mod word;

use self::kind::Kind;

/// An operation on a shared object: its name for people and its access for machines.
///
/// ```
/// use sim::run::op::{Access, Op};
/// const LOAD: Op = Op::new("load", Access::Read);
/// assert!(!LOAD.access.conflicts(Access::Read));
/// assert!(LOAD.access.conflicts(Access::Write));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op {
    /// The name a user knows it by, such as `fetch_add`.
    pub name: &'static str,
    /// The access to its object.
    pub access: Access,
    /// Its kind, if its access does not tell it.
    #[doc(hidden)]
    pub kind: Option<Kind>,
    /// True if screens leave it out, because another operation of the step tells it.
    #[doc(hidden)]
    pub quiet: bool,
}

impl Op {
    /// An operation called `name` that does `access` to its object.
    pub const fn new(name: &'static str, access: Access) -> Op {
        Op { name, access, kind: None, quiet: false }
    }

    /// An operation of a kind of its own, on an object that is neither memory nor a plain lock.
    #[doc(hidden)]
    pub const fn of_kind(name: &'static str, access: Access, kind: Kind) -> Op {
        Op { name, access, kind: Some(kind), quiet: false }
    }

    /// The same, left out by screens unless it fails.
    #[doc(hidden)]
    pub const fn quiet(self) -> Op {
        Op { quiet: true, ..self }
    }

    /// The same operation, polled by hand: it is done without a point.
    #[doc(hidden)]
    pub const fn by_hand(self) -> Op {
        let looks = match self.kind {
            Some(kind) => kind.is_look(),
            None => matches!(self.access, Access::Peek),
        };
        let access = if looks { Access::Peek } else { Access::Tell };
        Op { access, kind: Some(Kind::by_hand(looks)), ..self }
    }

    /// The operation of a call that has a guard, and the same by hand.
    #[doc(hidden)]
    pub const fn guarded(self) -> [Op; 2] {
        [self, self.by_hand()]
    }

    /// Returns `true` for a fault: it disturbs tasks at a moment that they do not decide.
    #[doc(hidden)]
    pub fn is_fault(&self) -> bool {
        self.access == Access::Abort || self.kind.is_some_and(Kind::is_fault)
    }

    /// Reads a word without a point.
    #[doc(hidden)]
    pub const PEEK: Op = Op::of_kind("peek", Access::Peek, word::READ);

    /// The same of an invariant that holds.
    #[doc(hidden)]
    pub const PEEK_OF_INVARIANT: Op = Op::PEEK.quiet();

    /// Polled by hand in vain, and without a change of the object.
    #[doc(hidden)]
    pub const LOOK_BY_HAND: Op = Op::new("poll", Access::Peek).by_hand();

    /// A fence.
    #[doc(hidden)]
    pub const FENCE: Op = Op::new("fence", Access::Yield);

    /// Waits until a condition on shared memory holds: when the condition is evaluated again, its accesses are
    /// separate operations.
    #[doc(hidden)]
    pub const SPIN_UNTIL: Op = Op::new("spin_until", Access::Yield);
}

/// The access of an operation to its object, as visible to other tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// The first step of a task, up to its first point: touches nothing shared.
    Start,
    /// A step that touches nothing shared, such as `yield_now`.
    Yield,
    /// Reads the object.
    Read,
    /// Overwrites the object.
    Write,
    /// Reads and overwrites the object in one step; even if it turns out to change nothing.
    ReadModifyWrite,
    /// Acquires the object exclusively; waits while somebody holds it.
    Lock,
    /// Acquires the object if it is free and fails otherwise; never waits.
    TryLock,
    /// Gives the object up. Done without a point.
    Unlock,
    /// Acquires the object together with others that do so; waits while somebody holds it exclusively.
    LockShared,
    /// Gives up an object that was acquired by [`LockShared`](Access::LockShared). Done without a point.
    UnlockShared,
    /// Waits for the end of a task.
    Join,
    /// Creates a task. Done without a point.
    Spawn,
    /// Asks a task to end before its next step. Done without a point.
    Abort,
    /// Joins the queue of the object's waiters, unless the object has another value than expected.
    Enqueue,
    /// Continues after an [`Enqueue`](Access::Enqueue); waits until a [`Wake`](Access::Wake).
    Resume,
    /// Takes waiters out of the object's queue, first come first served, and lets them continue.
    Wake,
    /// Acts on an object that is neither memory nor a plain lock, such as a channel.
    Act,
    /// Continues with such an act, which had to wait; waits until the object has woken it.
    Wait,
    /// Acts on such an object without a point.
    Tell,
    /// Looks at such an object without a point.
    Peek,
}

impl Access {
    /// Returns `true` if two accesses *to the same object* by different tasks conflict: their order can make a
    /// visible difference.
    ///
    /// ```
    /// use sim::run::op::Access;
    ///
    /// assert!(Access::Read.conflicts(Access::Write));
    /// assert!(!Access::Read.conflicts(Access::Read));
    /// ```
    pub fn conflicts(self, other: Access) -> bool {
        let touches = |a| !matches!(a, Access::Start | Access::Yield | Access::Spawn);
        let shares = |a| matches!(a, Access::LockShared | Access::UnlockShared);
        let reads = |a| matches!(a, Access::Read | Access::Peek);
        let both_read = reads(self) && reads(other);
        let both_share = shares(self) && shares(other);
        touches(self) && touches(other) && !both_read && !both_share
    }

    /// The kind of such an operation on an object that took effect; `looked` tells whether it left the object as
    /// it was. `None` if it was not done to an object.
    #[doc(hidden)]
    pub fn kind(self, looked: bool) -> Option<Kind> {
        match self {
            Access::Read => Some(word::READ),
            Access::Write => Some(word::WRITE),
            Access::ReadModifyWrite if looked => Some(word::READ),
            Access::ReadModifyWrite => Some(word::WRITE),
            Access::Lock => Some(lock::ACQUIRE),
            Access::TryLock if looked => Some(lock::FAIL),
            Access::TryLock => Some(lock::ACQUIRE),
            Access::Enqueue if looked => Some(word::READ),
            Access::Enqueue => Some(word::ENQUEUE),
            Access::Resume => Some(word::RESUME),
            Access::Wake if looked => Some(word::WAKE_NONE),
            Access::Wake => Some(word::WAKE),
            Access::Unlock => Some(lock::RELEASE),
            Access::LockShared => Some(lock::SHARE),
            Access::UnlockShared => Some(lock::LEAVE),
            Access::Start | Access::Yield | Access::Join | Access::Spawn | Access::Abort => None,
            // Their operations name their kinds.
            Access::Act | Access::Wait | Access::Tell | Access::Peek => None,
        }
    }

    /// Returns `true` if it waits until its object is free. Its race is then with the last acquisition of the object,
    /// and not with the release that enabled it, because the two cannot be swapped.
    pub fn waits(self) -> bool {
        matches!(self, Access::Lock | Access::LockShared)
    }

    /// Returns `true` if it may have to wait once it is announced.
    #[doc(hidden)]
    pub fn is_guarded(self) -> bool {
        self.waits() || matches!(self, Access::Join | Access::Resume | Access::Wait)
    }

    /// Returns `true` if it is done without a point, within a step that began at another operation.
    #[doc(hidden)]
    pub fn has_no_point(self) -> bool {
        self.gives_up() || matches!(self, Access::Tell | Access::Peek)
    }

    /// Returns `true` if it gives up what an operation that [`waits`](Access::waits) has acquired.
    #[doc(hidden)]
    pub fn gives_up(self) -> bool {
        matches!(self, Access::Unlock | Access::UnlockShared)
    }
}
