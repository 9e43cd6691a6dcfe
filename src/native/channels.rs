//! Channels and queues: an operation of a channel of std or crossbeam, or of a queue of crossbeam, takes few steps, in
//! place of one step for each access to its memory.
//!
//! Each operation of a channel acts as if it took effect at one moment. If another thread acts within an operation, it
//! could as well act before or after the operation, with the same outcome. In a search and in three quarters of the
//! seeds, an access of an operation takes effect in the step of the previous access, if it follows that access in the
//! code. The same applies to free locks, futex waits and wakes within the operation. A new step begins after a wait,
//! and where the operation repeats code.
//!
//! The step has all its accesses as effects. So a search knows which steps conflict.
//!
//! No two operations are in one step: the first access of an operation precedes all its other accesses in the code of
//! the outermost function of the channel. So the first access does not follow the last access of another operation.

use std::hash::{DefaultHasher, Hash, Hasher};

use unpause_native::{Frame, Request};

use super::orders;
use super::sites::Site;
use super::threads::with;
use crate::run::functions::last_name;
use crate::run::points::Points;

/// A place in the code of a channel or queue.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Position {
    /// A hash of the outermost function of the channel on the stack.
    function: u64,
    /// The line and column in this function, and in each function that it has called, outermost first.
    lines: Vec<(u32, u32)>,
}

/// The folders of channels, and the files whose functions are parts of operations. The first access of each operation
/// that begins in one of these files is always the same, except where the code repeats.
const CODE: &[(&str, &[&str])] = &[
    ("/std/src/sync/mpmc/", &["/list.rs", "/array.rs", "/counter.rs", "/waker.rs", "/context.rs"]),
    (
        "/crossbeam-channel-",
        &["/flavors/list.rs", "/flavors/array.rs", "/counter.rs", "/waker.rs", "/context.rs"],
    ),
    ("/crossbeam-queue-", &["/array_queue.rs", "/seg_queue.rs"]),
];

/// Files of channels whose operations take effect at several moments.
const OTHERS: &[&str] = &["/std/src/sync/mpmc/zero.rs", "/flavors/zero.rs"];

impl Position {
    /// Returns the place of these functions, innermost first, in an operation of a channel. Returns `None` if the
    /// innermost function outside of std belongs to no channel.
    pub(super) fn of(frames: &[Frame]) -> Option<Position> {
        let is_between = |frame: &&Frame| frame.is_of_std() || frame.file.contains("/crossbeam-");
        let inner = &frames[..frames.iter().take_while(is_between).count()];
        let is_other = |frame: &Frame| OTHERS.iter().any(|file| frame.file.ends_with(file));
        let outermost = inner.iter().rposition(is_of_channel)?;
        if inner.iter().any(is_other) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (&inner[outermost].file, last_name(&inner[outermost].function)).hash(&mut hasher);
        let lines = inner[..=outermost].iter().rev().map(|frame| (frame.line, frame.column));
        Some(Position { function: hasher.finish(), lines: lines.collect() })
    }

    /// Returns `true` if this place follows another place in the code of one function.
    fn follows(&self, other: &Position) -> bool {
        self.function == other.function && self.lines > other.lines
    }
}

/// Returns `true` for a function of a crate with channels or queues.
pub(super) fn has(frame: &Frame) -> bool {
    CODE.iter().any(|(folder, _)| frame.file.contains(folder))
}

fn is_of_channel(frame: &Frame) -> bool {
    CODE.iter().any(|(folder, files)| {
        frame.file.contains(folder) && files.iter().any(|file| frame.file.ends_with(file))
    })
}

/// The operations of channels of one thread.
#[derive(Debug)]
pub(super) struct Operations {
    are_short: bool,
    /// The place of the last request that may be a point.
    last: Option<Site>,
}

impl Operations {
    pub(super) fn begin() -> Operations {
        // With the memory c11, an operation may choose another store than the newest.
        let are_short = with(|threads| threads.channels) && !orders::may_be_old();
        Operations { are_short, last: None }
    }

    /// Returns `true` if a request belongs to the step of the previous request of the thread.
    #[inline]
    pub(super) fn continue_with(&mut self, request: &Request, site: Site, points: Points) -> bool {
        self.are_short && self.follow(request, site, points)
    }

    fn follow(&mut self, request: &Request, site: Site, points: Points) -> bool {
        if let Request::Access(access) = request
            && (access.size == 0 || !site.is_point(points))
        {
            return false;
        }
        let last = self.last.replace(site);
        match (last.and_then(|last| last.0.channel.as_ref()), &site.channel) {
            (Some(last), Some(next)) => next.follows(last),
            _ => false,
        }
    }
}
