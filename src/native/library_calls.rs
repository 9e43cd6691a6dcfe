//! Calls of libraries whose loops count their rounds: the rounds of such a loop are within one call.
//!
//! A loop of a library spins for a bounded number of rounds, or with growing pauses, and reads nothing but memory. So
//! a thread that repeats its reads there needs no points for the repetitions. The same does not hold for a loop of the
//! user that calls the library in each round: `for _ in 0..4 { receiver.try_recv() }` reads the same in each round,
//! too, but its rounds have results. Each of its rounds contains the first access of a call. A library's own loop
//! contains this access only if the loop begins with it. Such a loop is then treated like a loop of the user.

use std::hash::{DefaultHasher, Hash, Hasher};

use unpause_native::Frame;

use super::sites::Site;

/// The place of an access in a call of a library with such loops.
#[derive(Debug)]
pub(super) struct LibraryCall {
    /// A hash of the code that has called the library.
    caller: u64,
    /// The line and column in each function of the library, outermost first.
    lines: Vec<(u32, u32)>,
}

impl LibraryCall {
    /// Returns the place of these functions, innermost first. Returns `None` if no function within the innermost
    /// function of other code belongs to such a library.
    pub(super) fn of(frames: &[Frame]) -> Option<LibraryCall> {
        let is_between = |frame: &&Frame| frame.is_of_std() || backs_off(frame);
        let inner = &frames[..frames.iter().take_while(is_between).count()];
        let outermost = inner.iter().rposition(backs_off)?;
        let (called, callers) = frames.split_at(outermost + 1);
        let mut hasher = DefaultHasher::new();
        for frame in callers {
            (&frame.file, frame.line, frame.column).hash(&mut hasher);
        }
        let lines = called.iter().rev().map(|frame| (frame.line, frame.column)).collect();
        Some(LibraryCall { caller: hasher.finish(), lines })
    }
}

/// Parts of file names of the libraries whose loops have a bound, or growing pauses. These loops only read memory.
/// `native-tests/tests/all/repeated_calls.rs` has a call of each library, with one exception.
const LIBRARIES: &[&str] =
    &["/std/src/sync/mpmc/", "/crossbeam-", "/parking_lot", "/concurrent-queue-", "/flume-"];

/// Returns `true` for a function of one of the [`LIBRARIES`].
pub(super) fn backs_off(frame: &Frame) -> bool {
    LIBRARIES.iter().any(|file| frame.file.contains(file))
}

/// The first accesses of the calls that a thread has made.
#[derive(Debug, Default)]
pub(super) struct FirstAccesses {
    /// The code that has called the library of the last access, or 0.
    last: u64,
    /// The places of first accesses.
    known: Vec<Site>,
}

impl FirstAccesses {
    /// Records an access of the thread. Returns `true` if it may be the first access of a call of a library.
    pub(super) fn begins_call(&mut self, site: &Site) -> bool {
        let Some(call) = &site.0.library else {
            self.last = 0;
            return false;
        };
        let begins = std::mem::replace(&mut self.last, call.caller) != call.caller;
        let calls = self.known.iter().filter_map(|site| site.0.library.as_ref());
        let (mut is_known, mut is_before_all) = (false, true);
        for first in calls.filter(|first| first.caller == call.caller) {
            is_known |= first.lines == call.lines;
            is_before_all &= call.lines < first.lines;
        }
        if !is_known && (begins || is_before_all) {
            self.known.push(*site);
        }
        is_known || begins || is_before_all
    }

    /// Forgets all accesses, for a thread of a later run.
    pub(super) fn clear(&mut self) {
        self.last = 0;
        self.known.clear();
    }
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;
    use crate::native::sites;

    fn site(callers: &[(&str, u32)]) -> Site {
        let atomic = ("/rustc/00/library/core/src/sync/atomic.rs", 9);
        let frame = |(file, line): (&str, u32)| Frame {
            function: "act".into(),
            file: file.into(),
            line,
            column: 5,
        };
        let frames: Vec<_> =
            std::iter::once(atomic).chain(callers.iter().copied()).map(frame).collect();
        Site(Box::leak(Box::new(sites::site(&frames))))
    }

    pub(in super::super) fn the_first_access_of_a_library_call_is_known() {
        let queue = "/registry/src/x/crossbeam-queue-0.3.14/src/array_queue.rs";
        let (pop, push, own) = (("src/lib.rs", 3), ("src/lib.rs", 4), ("src/lib.rs", 5));
        let [head, slot, again] = [10, 12, 20].map(|line| site(&[(queue, line), pop]));
        let [other, plain] = [site(&[(queue, 30), push]), site(&[own])];
        let mut first = FirstAccesses::default();
        for (site, expected) in [
            (&head, true),
            (&slot, false),
            // A loop of the library.
            (&again, false),
            (&slot, false),
            (&again, false),
            // The next call.
            (&head, true),
            (&slot, false),
            (&other, true),
            (&plain, false),
            // A call that begins behind the first access of earlier calls.
            (&again, true),
            (&head, true),
            (&again, true),
        ] {
            assert_eq!(first.begins_call(site), expected, "{site:?}");
        }
        first.clear();
        assert!(first.begins_call(&slot));
        // A closure of the user that a library calls is no code of the library.
        assert!(site(&[own, (queue, 10), pop]).0.library.is_none());
    }
}
