//! Operations on shared objects. A task announces an operation at a point.
//!
//! A primitive declares its operations as constants of [`Op`]. Everything that reasons about interleavings (strategies,
//! reports) uses only [`Access`], so a new primitive needs no change anywhere else. The state machine of an operation
//! declares its conflicts: see `kind`.

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

/// An operation on a shared object: its name for readers and its access for strategies.
///
/// ```
/// use sim::run::op::{Access, Op};
/// const LOAD: Op = Op::new("load", Access::Read);
/// assert!(!LOAD.access.conflicts(Access::Read));
/// assert!(LOAD.access.conflicts(Access::Write));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op {
    /// The name that users know, such as `fetch_add`.
    pub name: &'static str,
    /// The access of the operation to its object.
    pub access: Access,
    /// The kind of the operation, if its access does not determine it.
    #[doc(hidden)]
    pub kind: Option<Kind>,
    /// True if screens omit the operation, because another operation of the step already shows it.
    #[doc(hidden)]
    pub quiet: bool,
}

impl Op {
    /// Creates an operation with this name and this access to its object.
    pub const fn new(name: &'static str, access: Access) -> Op {
        Op { name, access, kind: None, quiet: false }
    }

    /// Creates an operation with its own kind, on an object that is neither memory nor a plain lock.
    #[doc(hidden)]
    pub const fn of_kind(name: &'static str, access: Access, kind: Kind) -> Op {
        Op { name, access, kind: Some(kind), quiet: false }
    }

    /// Returns the same operation, marked so that screens omit it unless it fails.
    #[doc(hidden)]
    pub const fn quiet(self) -> Op {
        Op { quiet: true, ..self }
    }

    /// Returns the same operation for a future that is polled by hand. Such an operation takes effect without a point.
    #[doc(hidden)]
    pub const fn by_hand(self) -> Op {
        let looks = match self.kind {
            Some(kind) => kind.is_look(),
            None => matches!(self.access, Access::Peek),
        };
        let access = if looks { Access::Peek } else { Access::Tell };
        Op { access, kind: Some(Kind::by_hand(looks)), ..self }
    }

    /// Returns the operation of a call that has a guard, and its variant for polling by hand.
    #[doc(hidden)]
    pub const fn guarded(self) -> [Op; 2] {
        [self, self.by_hand()]
    }

    /// Returns `true` for a fault: an operation that disturbs tasks at a moment they do not choose.
    #[doc(hidden)]
    pub fn is_fault(&self) -> bool {
        self.access == Access::Abort || self.kind.is_some_and(Kind::is_fault)
    }

    /// Reads a word without a point.
    #[doc(hidden)]
    pub const PEEK: Op = Op::of_kind("peek", Access::Peek, word::READ);

    /// Reads a word without a point, while an invariant that holds is evaluated.
    #[doc(hidden)]
    pub const PEEK_OF_INVARIANT: Op = Op::PEEK.quiet();

    /// A poll by hand that was not ready and left the object unchanged.
    #[doc(hidden)]
    pub const LOOK_BY_HAND: Op = Op::new("poll", Access::Peek).by_hand();

    /// A memory fence.
    #[doc(hidden)]
    pub const FENCE: Op = Op::new("fence", Access::Yield);

    /// Waits until a condition on shared memory holds. Each new evaluation of the condition accesses memory in separate
    /// operations.
    #[doc(hidden)]
    pub const SPIN_UNTIL: Op = Op::new("spin_until", Access::Yield);
}

/// The access of an operation to its object, as visible to other tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// The first step of a task, up to its first point. This step touches nothing shared.
    Start,
    /// A step that touches nothing shared, such as `yield_now`.
    Yield,
    /// Reads the object.
    Read,
    /// Overwrites the object.
    Write,
    /// Reads and overwrites the object in one step, even if the value does not change.
    ReadModifyWrite,
    /// Acquires the object exclusively; waits while another task holds it.
    Lock,
    /// Acquires the object if it is free, and fails otherwise; never waits.
    TryLock,
    /// Releases the object. Done without a point.
    Unlock,
    /// Acquires the object in shared mode; waits while another task holds it exclusively.
    LockShared,
    /// Releases an object that [`LockShared`](Access::LockShared) acquired. Done without a point.
    UnlockShared,
    /// Waits for the end of a task.
    Join,
    /// Creates a task. Done without a point.
    Spawn,
    /// Requests that a task ends before its next step. Done without a point.
    Abort,
    /// Joins the wait queue of the object, unless the object's value differs from the expected value.
    Enqueue,
    /// Continues after an [`Enqueue`](Access::Enqueue); waits for a [`Wake`](Access::Wake).
    Resume,
    /// Removes waiters from the object's queue in FIFO order, and lets them continue.
    Wake,
    /// Operates on an object that is neither memory nor a plain lock, such as a channel.
    Act,
    /// Continues an `Act` that had to wait; waits until the object wakes the task.
    Wait,
    /// Changes an object that is neither memory nor a plain lock, without a point.
    Tell,
    /// Reads an object that is neither memory nor a plain lock, without a point.
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

    /// Returns the kind of an operation with this access that took effect. `looked` is true if the operation left the
    /// object unchanged. `None` if the operation has no object.
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
            // An operation with one of these accesses names its own kind.
            Access::Act | Access::Wait | Access::Tell | Access::Peek => None,
        }
    }

    /// Returns `true` if the operation waits until its object is free. The race of such an operation is then with the
    /// last acquisition of the object, not with the release that enabled it, because release and acquisition cannot be
    /// swapped.
    pub fn waits(self) -> bool {
        matches!(self, Access::Lock | Access::LockShared)
    }

    /// Returns `true` if the operation may have to wait after it is announced.
    #[doc(hidden)]
    pub fn is_guarded(self) -> bool {
        self.waits() || matches!(self, Access::Join | Access::Resume | Access::Wait)
    }

    /// Returns `true` if the operation is done without a point, within a step that began at another operation.
    #[doc(hidden)]
    pub fn has_no_point(self) -> bool {
        self.gives_up() || matches!(self, Access::Tell | Access::Peek)
    }

    /// Returns `true` if the operation releases an object that was acquired by an operation which
    /// [`waits`](Access::waits).
    #[doc(hidden)]
    pub fn gives_up(self) -> bool {
        matches!(self, Access::Unlock | Access::UnlockShared)
    }
}
