//! Effects of std's own operations that its functions show to the program: the end of a thread, and the mark of a panic
//! on a lock.

use unpause_native::Frame;

use super::primitive;
use crate::run::functions::last_name;

/// An operation of std that is not a point, but whose effect a function of std shows to other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// The last change of an ending thread: `is_finished` reads a reference count of an `Arc`.
    End,
    /// The mark that a panic leaves on a lock: `is_poisoned` reads it, and `clear_poison` removes it.
    Poison,
}

/// Returns the operation whose effect these std functions show to the program.
pub(super) fn shown(inner: &[Frame]) -> Option<Shown> {
    let calls = |primitives: &[&str], names: &[&str]| {
        inner.iter().any(|frame| {
            primitive(frame).is_some_and(|primitive| primitives.contains(&primitive))
                && names.contains(&last_name(&frame.function))
        })
    };
    let of_locks = ["is_poisoned", "clear_poison", "fmt"];
    match () {
        () if inner.iter().any(is_mark) && calls(&["Mutex", "RwLock"], &of_locks) => {
            Some(Shown::Poison)
        }
        () if calls(&["thread"], &["is_finished"]) => Some(Shown::End),
        () => None,
    }
}

/// Returns `true` for a function that reads or removes the mark of a panic on a lock. Lock calls also read the mark,
/// while they hold the lock.
pub(super) fn is_mark(frame: &Frame) -> bool {
    is_of_poison(frame) && ["get", "clear"].contains(&last_name(&frame.function))
}

/// Returns `true` for a function of std on the mark of a panic on a lock.
pub(super) fn is_of_poison(frame: &Frame) -> bool {
    frame.file.ends_with("/std/src/sync/poison.rs")
}
