//! Operations of channels and of some other objects that take few steps, in place of one step for each access to their
//! memory.
//!
//! An operation of a channel or queue acts as if it took effect at one moment, with [exceptions](APART). If another
//! thread acts within an operation, it could as well act before or after the operation, with the same outcome. In a
//! search and in three quarters of the seeds, an access of an operation takes effect in the step of the previous
//! access, if it follows that access in the code. The same applies to free locks, futex waits and wakes within the
//! operation. A new step begins after a wait, and where the operation repeats code.
//!
//! In a search, this also applies to rendezvous channels, to [queues of parking_lot](super::lot_queues), to values that
//! are initialized once, and to scopes of threads. Some of their operations take effect at several moments, but between
//! these moments a thread waits.
//!
//! If an operation that waits by `park` finds at the last moment that it need not wait, it leaves a notification. Then
//! a later `park` of its thread returns at once. In a search, the operation always waits, and a decision of the later
//! `park` tries both. The initialization of a cell of once_cell takes effect at two moments, and as a single step it
//! would not make another thread wait. So the search begins again with all instructions if a thread has used such a
//! cell before a `park`.
//!
//! The last thread of a scope decrements a count, and then notifies the thread that waits for the scope. These are two
//! steps, because the waiting thread reads the count: it may return and park before the notification. A thread that
//! joins a scoped thread may do both in one step. It is the waiting thread itself, or it is in a scope within. In both
//! cases, the waiting thread does not wait for the outer scope meanwhile.
//!
//! The step has all its accesses as effects. So a search knows which steps conflict.
//!
//! No two operations are in one step: the first access of an operation precedes all its other accesses in the code of
//! the outermost function of the channel. So the first access does not follow the last access of another operation.
//! Functions of senders and receivers with the same name [are distinguished](distinction): otherwise a receive and a
//! send, both attempted by one `Select`, would be one step.

use std::hash::{DefaultHasher, Hash, Hasher};

use unpause_native::{Access, Frame, Operation, Request};

use super::detail::{self, OTHERWISE};
use super::lot_queues;
use super::orders;
use super::sites::Site;
use super::threads::with;
use crate::rt::WORLD;
use crate::run::functions::last_name;
use crate::run::points::Points;
use crate::seam::draw;

/// The kinds of operations that take few steps in a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Short {
    #[default]
    None,
    /// Channels with a buffer, and queues.
    Channels,
    /// All operations for which this is possible. Only searches have them.
    All,
}

impl Short {
    /// Returns the operations with this number.
    pub(super) fn of_number(number: u64) -> Short {
        match number {
            0 => Short::None,
            1 => Short::Channels,
            _ => Short::All,
        }
    }
}

/// A place in the code of an operation.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Position {
    /// A hash of the outermost function of the object on the stack.
    function: u64,
    /// The line and column in this function, and in each function that it has called, outermost first.
    lines: Vec<(u32, u32)>,
    /// The smallest set of operations that includes this one.
    kind: Short,
    /// True for the tries of a call before it waits.
    is_try: bool,
    /// True for accesses that the operation repeats while it holds its lock.
    repeats: bool,
    /// True for the accesses of a call that is a single operation of its own.
    is_of_lock: bool,
    /// True for a cell of once_cell.
    is_of_cell: bool,
    /// True for a function with which `Select` attempts or registers an operation.
    is_of_select: bool,
    /// True for an access that is a step of its own, because the operation takes effect at several moments.
    is_apart: bool,
}

/// The functions that take effect at several moments, and their files. Other threads can distinguish these moments: a
/// full queue drops its oldest value before it has the new value, and a channel without receivers refuses messages
/// before it has dropped its own.
const APART: &[(&str, &str)] =
    &[("/array_queue.rs", "force_push"), ("/flavors/list.rs", "discard_all_messages")];

/// The folders of channels, and the files whose functions are parts of operations. The first access of each operation
/// that begins in one of these files is always the same, except where the code repeats.
const CODE: &[(&str, &[&str])] = &[
    (
        "/std/src/sync/mpmc/",
        &["/list.rs", "/array.rs", "/zero.rs", "/counter.rs", "/waker.rs", "/context.rs"],
    ),
    (
        "/crossbeam-channel-",
        &[
            "/flavors/list.rs",
            "/flavors/array.rs",
            "/flavors/zero.rs",
            "/counter.rs",
            "/waker.rs",
            "/context.rs",
        ],
    ),
    ("/crossbeam-queue-", &["/array_queue.rs", "/seg_queue.rs"]),
];

/// The functions with which crossbeam's `Select` attempts and registers an operation. A file has two functions of each
/// name: one for senders, and one for receivers. All of them have the same caller, so their lines distinguish them.
const OF_SELECT: &[&str] =
    &["try_select", "register", "unregister", "accept", "is_ready", "watch", "unwatch"];

/// The most lines between two accesses of such a function. It has at most nine lines. The functions of senders and
/// receivers with the same name begin 32 or more lines apart.
const LINES_OF_SELECT: u32 = 12;

/// The functions that add an end to a channel, or drop it. A file has two functions of each name, too.
const OF_ENDS: &[&str] = &["acquire", "release"];

/// Files of channels whose operations take effect at several moments.
const RENDEZVOUS: &[&str] = &["/std/src/sync/mpmc/zero.rs", "/flavors/zero.rs"];

/// Files whose operations take few steps in searches, with their folders: a value is initialized once, or a scope waits
/// for its threads.
const OF_SEARCHES: &[(&str, &[&str])] = &[
    ("/std/src/sync/", &["/once_lock.rs", "/lazy_lock.rs", "/once.rs"]),
    ("/rustc/unpause/replaced/", &["/once.rs"]),
    ("/std/src/thread/", &["/scoped.rs"]),
    ("/once_cell-", &["/lib.rs", "/imp_std.rs"]),
];

impl Position {
    /// Returns the place of these functions, innermost first, in an operation. Returns `None` if the innermost function
    /// outside of std belongs to no operation.
    pub(super) fn of(frames: &[Frame]) -> Option<Position> {
        Position::of_channel(frames)
            .or_else(|| Position::of_parking(frames))
            .or_else(|| Position::of_other(frames))
    }

    fn of_channel(frames: &[Frame]) -> Option<Position> {
        let operation = within(frames, "/crossbeam-", CODE)?;
        let is_other = |frame: &Frame| RENDEZVOUS.iter().any(|end| frame.file.ends_with(end));
        let kind = if operation.iter().any(is_other) { Short::All } else { Short::Channels };
        let is_apart = |frame: &Frame| {
            let is_in = |(file, name): &(&str, &str)| {
                frame.file.ends_with(file) && last_name(&frame.function) == *name
            };
            APART.iter().any(is_in)
        };
        let position = Position::new(operation, kind)?;
        let callers = &frames[operation.len()..];
        Some(Position {
            function: position.function ^ distinction(operation.last()?, callers.first()),
            is_try: is_try(operation, callers),
            is_apart: operation.iter().any(is_apart),
            ..position
        })
    }

    fn of_parking(frames: &[Frame]) -> Option<Position> {
        let operation = lot_queues::operation(frames)?;
        Some(Position {
            is_try: lot_queues::is_try(operation),
            repeats: lot_queues::repeats(operation),
            is_of_lock: lot_queues::is_of_lock(operation),
            ..Position::new(operation, Short::All)?
        })
    }

    fn of_other(frames: &[Frame]) -> Option<Position> {
        let operation = within(frames, "/once_cell-", OF_SEARCHES)?;
        let is_of_cell = operation.iter().any(|frame| frame.file.contains("/once_cell-"));
        Some(Position { is_of_cell, ..Position::new(operation, Short::All)? })
    }

    /// Returns the place of these functions, the last of which is the outermost function of the object. Returns `None`
    /// if its line is unknown.
    fn new(operation: &[Frame], kind: Short) -> Option<Position> {
        let outermost = operation.last()?;
        let mut hasher = DefaultHasher::new();
        (&outermost.file, last_name(&outermost.function)).hash(&mut hasher);
        let lines = operation.iter().rev().map(|frame| (frame.line, frame.column));
        let lines: Vec<_> = lines.collect();
        if kind == Short::All && outermost.line == 0 {
            return None;
        }
        let function = hasher.finish();
        let (is_try, repeats, is_of_lock) = (false, false, false);
        let (is_of_cell, is_apart) = (false, false);
        let is_of_select = OF_SELECT.contains(&last_name(&outermost.function));
        Some(Position {
            function,
            lines,
            kind,
            is_try,
            repeats,
            is_of_lock,
            is_of_cell,
            is_of_select,
            is_apart,
        })
    }

    /// Returns `true` for a channel with a buffer, or a queue.
    pub(super) fn is_of_channel(&self) -> bool {
        self.kind == Short::Channels
    }

    /// Returns `true` if this place follows another place in the code of one function.
    fn follows(&self, other: &Position, short: Short) -> bool {
        let tries_again = || short == Short::All && self.is_try && other.is_try;
        let follows = || self.is_behind(other) || self.repeats || tries_again();
        self.function == other.function && !self.is_apart && follows()
    }

    /// Returns `true` if the lines of this place follow the lines of another place. Code that the compiler has merged
    /// with other code has no line.
    fn is_behind(&self, other: &Position) -> bool {
        let mut pairs = self.lines.iter().zip(&other.lines);
        let differs = pairs.find(|(own, other)| own != other);
        let is_unknown = differs.is_some_and(|(own, other)| own.0 == 0 || other.0 == 0);
        let is_far = |(own, other): (&(u32, u32), &(u32, u32))| own.0 > other.0 + LINES_OF_SELECT;
        if self.is_of_select && self.lines.first().zip(other.lines.first()).is_some_and(is_far) {
            return false;
        }
        (self.kind == Short::Channels || !is_unknown) && self.lines > other.lines
    }
}

/// Returns those functions, innermost first, that belong to an operation in one of these files. The packages whose
/// folders contain `package` may call std within the operation.
fn within<'a>(
    frames: &'a [Frame],
    package: &str,
    files: &[(&str, &[&str])],
) -> Option<&'a [Frame]> {
    let is_between = |frame: &&Frame| frame.is_of_std() || frame.file.contains(package);
    let inner = &frames[..frames.iter().take_while(is_between).count()];
    let is_in = |frame: &Frame| {
        files.iter().any(|(folder, files)| {
            frame.file.contains(folder) && files.iter().any(|file| frame.file.ends_with(file))
        })
    };
    let outermost = inner.iter().rposition(is_in)?;
    Some(&inner[..=outermost])
}

/// Returns a number for a function that adds an end to a channel or drops it. The numbers of senders and receivers
/// differ, because their callers do. The number is 0 for all other functions.
fn distinction(function: &Frame, caller: Option<&Frame>) -> u64 {
    match caller {
        Some(caller) if OF_ENDS.contains(&last_name(&function.function)) => {
            let mut hasher = DefaultHasher::new();
            (&caller.file, caller.line, caller.column).hash(&mut hasher);
            hasher.finish()
        }
        _ => 0,
    }
}

/// Returns `true` for a load or a yield with which a call of crossbeam-channel tries to send or to receive, before it
/// waits without a limit. A call tries some times. If it fails, it has only loaded values, and no call returns after
/// these loads, unless the other ends of the channel are gone for ever. So all tries can be at one moment.
fn is_try(operation: &[Frame], callers: &[Frame]) -> bool {
    let [.., inner, outermost] = operation else { return false };
    let is_in = |frame: &Frame, file: &str, names: [&str; 2]| {
        frame.file.ends_with(file) && names.contains(&last_name(&frame.function))
    };
    let calls = ["send", "recv"];
    let waits = ["/flavors/array.rs", "/flavors/list.rs"];
    let loads = operation.first().is_some_and(|frame| last_name(&frame.function) == "atomic_load");
    waits.iter().any(|file| {
        let tries = loads && is_in(inner, file, ["start_send", "start_recv"]);
        let pauses = is_in(inner, "/backoff.rs", ["snooze", "spin"]);
        is_in(outermost, file, calls) && (tries || pauses)
    }) && callers.first().is_some_and(|caller| is_in(caller, "/src/channel.rs", calls))
}

/// Returns `true` for a function of a crate with channels or queues.
pub(super) fn has(frame: &Frame) -> bool {
    CODE.iter().any(|(folder, _)| frame.file.contains(folder))
}

/// The operations of one thread that take few steps.
#[derive(Debug)]
pub(super) struct Operations {
    short: Short,
    thread: usize,
    /// The place of the last request that may be a point.
    last: Option<Site>,
    /// The number of notifications that waits of operations may have left behind.
    left: u32,
    /// True if the thread has used a cell of once_cell while there were other threads.
    has_used_cell: bool,
}

/// The word of a thread that parks, without and with a notification.
const EMPTY: u64 = 0;
const NOTIFIED: u64 = 1;

impl Operations {
    pub(super) fn begin(thread: usize) -> Operations {
        // With the memory c11, an operation may choose another store than the newest.
        let short = if orders::may_be_old() { Short::None } else { with(|threads| threads.short) };
        Operations { short, thread, last: None, left: 0, has_used_cell: false }
    }

    /// Returns `true` if a request belongs to the step of the previous request of the thread. A yield is then left out.
    #[inline]
    pub(super) fn continue_with(&mut self, request: &Request, site: Site, points: Points) -> bool {
        self.short != Short::None && self.follow(request, site, points)
    }

    fn follow(&mut self, request: &Request, site: Site, points: Points) -> bool {
        let continues = self.is_continued(request, site, points);
        if continues && site.parks && matches!(request, Request::Wait { .. }) {
            self.left += 1;
        }
        continues
    }

    fn is_continued(&mut self, request: &Request, site: Site, points: Points) -> bool {
        if let Request::Access(access) = request
            && (access.size == 0 || !site.is_point(points))
        {
            return false;
        }
        let is_of_cell = |site: Site| site.channel.as_ref().is_some_and(|place| place.is_of_cell);
        if self.short == Short::All && is_of_cell(site) {
            self.has_used_cell |= !with(|threads| threads.is_alone(self.thread));
        }
        let last = self.last.replace(site);
        if matches!(request, Request::Yield) && self.short != Short::All {
            return false;
        }
        match (last.and_then(|last| last.0.channel.as_ref()), &site.channel) {
            (Some(last), Some(next)) => {
                last.kind.max(next.kind) <= self.short
                    && !next.is_of_lock
                    && next.follows(last, self.short)
            }
            _ => false,
        }
    }

    /// Returns `true` if a `park` of the program may find a notification that an operation has left behind.
    pub(super) fn may_find_notification(&self, access: &Access, site: Site) -> bool {
        let is_park = site.parks && site.channel.is_none() && access.operation == Operation::Sub;
        if is_park && self.has_used_cell {
            detail::parks_after_cell(site.place);
            WORLD.with(|world| world.note_unseen(OTHERWISE));
        }
        is_park && self.left > 0
    }

    /// Decides if a `park` finds such a notification. If so, returns the value of its word before and after it.
    pub(super) fn find_notification(&mut self, thread: usize) -> Option<(u64, u64)> {
        let value = with(|threads| threads.execution().value(thread));
        let finds = value == EMPTY && draw(2, "a notification that a channel has left") == 1;
        finds.then(|| {
            self.left -= 1;
            (NOTIFIED, EMPTY)
        })
    }
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;

    /// Returns the place of an access that was called by these functions: the last part of a name, a file and a line.
    fn position(callers: &[(&str, &str, u32)]) -> Option<Position> {
        let frame = |(function, file, line): (&str, &str, u32)| Frame {
            function: function.into(),
            file: file.into(),
            line,
            column: 5,
        };
        let atomic = ("atomic_load", "/rustc/00/library/core/src/sync/atomic.rs", 9);
        let frames: Vec<_> =
            std::iter::once(atomic).chain(callers.iter().copied()).map(frame).collect();
        Position::of(&frames)
    }

    pub(in super::super) fn accesses_that_belong_to_one_step_are_known() {
        let own = ("act", "src/lib.rs", 3);
        let (condvar, mutex, core, array) = (
            "/registry/src/x/parking_lot-0.12.5/src/condvar.rs",
            "/registry/src/x/parking_lot-0.12.5/src/raw_mutex.rs",
            "/registry/src/x/parking_lot_core-0.9.12/src/parking_lot.rs",
            "/registry/src/x/crossbeam-channel-0.5.17/src/flavors/array.rs",
        );
        let channel = "/registry/src/x/crossbeam-channel-0.5.17/src/channel.rs";
        let follows = |next: &[_], last: &[_]| match (position(next), position(last)) {
            (Some(next), Some(last)) => next.follows(&last, Short::All),
            _ => false,
        };
        let first = [("notify_one", condvar, 10), own];
        let slow = |line| {
            [
                ("unpark_requeue", core, line),
                ("notify_one_slow", condvar, 20),
                ("notify_one", condvar, 12),
                own,
            ]
        };
        assert!(follows(&slow(50), &first));
        assert!(follows(&slow(40), &slow(50)), "the queue is locked");
        assert!(!follows(&first, &slow(50)), "another call");
        let bucket = |line| {
            [
                ("lock_bucket", core, line),
                ("notify_one_slow", condvar, 20),
                ("notify_one", condvar, 12),
                own,
            ]
        };
        assert!(!follows(&bucket(40), &bucket(50)), "the queue is not locked yet");
        let locks = [("lock", mutex, 30), ("wait", condvar, 80), own];
        assert!(position(&locks).is_some_and(|position| position.is_of_lock));
        let tries = |line| [("lock_slow", mutex, line), ("try_lock_for", mutex, 35), own];
        assert!(follows(&tries(60), &tries(70)), "the call goes on");
        assert!(!follows(&[("try_lock_for", mutex, 34), own], &tries(70)), "another call");
        let receive =
            |line, by| [("start_recv", array, line), (by, array, 90), (by, channel, 5), own];
        assert!(follows(&receive(40, "recv"), &receive(50, "recv")), "the call tries again");
        assert!(!follows(&receive(40, "try_recv"), &receive(50, "try_recv")), "another call");
        let select = ("run_select", "/registry/src/x/crossbeam-channel-0.5.17/src/select.rs", 8);
        for name in OF_SELECT {
            let attempt = |line| [("start", array, 20), (*name, array, line), select, own];
            assert!(!follows(&attempt(96), &attempt(60)), "a sender after a receiver: {name}");
            assert!(follows(&attempt(69), &attempt(60)), "one call of {name}");
        }
        let counter = "/registry/src/x/crossbeam-channel-0.5.17/src/counter.rs";
        for name in OF_ENDS {
            let of = |line, caller| [(*name, counter, line), ("drop", channel, caller), own];
            assert!(!follows(&of(90, 70), &of(40, 50)), "a receiver after a sender: {name}");
            assert!(follows(&of(50, 50), &of(40, 50)), "one call of {name}");
        }
        assert_eq!(position(&[own, ("notify_one", condvar, 10)]), None, "called by it, not of it");
    }
}
