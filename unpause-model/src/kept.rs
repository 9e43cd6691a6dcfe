//! Records of a run: threads that are never joined, actions at the end of the run, and the number of objects that must
//! not outlive the run.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Action = Box<dyn FnOnce() + Send>;

/// A kind of objects that must not outlive a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// References to shared values: `Arc`.
    References,
    /// Allocations.
    Allocations,
}

/// The kinds, each with the message for a run that leaves such an object behind.
const KINDS: [(Kind, &str); 2] = [
    (Kind::References, "Arc leaked: a reference still exists at the end of the run"),
    (Kind::Allocations, "Allocation leaked: it still exists at the end of the run"),
];

struct Kept {
    counts: [isize; KINDS.len()],
    numbers: usize,
    first_has_local: bool,
    detached: Vec<Action>,
    at_end: Vec<Action>,
}

// The engine resets a static to its initial value when a run begins. On real threads, only one model runs at a time.
static KEPT: Mutex<Kept> = Mutex::new(Kept {
    counts: [0; KINDS.len()],
    numbers: 0,
    first_has_local: false,
    detached: Vec::new(),
    at_end: Vec::new(),
});

thread_local! {
    /// `true` for the first thread of a run.
    static FIRST: Cell<bool> = const { Cell::new(false) };
}

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds `change` to the number of objects of a kind: 1 for a new object, -1 for a dropped object.
pub fn count(kind: Kind, change: isize) {
    kept().counts[kind as usize] += change;
}

/// Returns a new number of the run, starting at 1. The call is not a step of the run.
pub fn number() -> usize {
    let mut kept = kept();
    kept.numbers += 1;
    kept.numbers
}

/// Records that the current thread creates a value of a thread-local. The thread-local values of a run's first thread
/// are dropped after the end of the run, and may own objects. So if the first thread has such values, a remaining
/// object is not a failure.
pub fn local() {
    if FIRST.get() {
        kept().first_has_local = true;
    }
}

/// Registers a thread that is never joined. The end of the run calls `join` to wait for the thread.
pub fn detach(join: impl FnOnce() + Send + 'static) {
    kept().detached.push(Box::new(join));
}

/// Calls `act` at the end of the run, when all threads have ended, for example to drop values of statics.
pub fn at_end(act: impl FnOnce() + Send + 'static) {
    kept().at_end.push(Box::new(act));
}

/// Clears the records of an earlier run. The current thread becomes the first thread of the next run.
pub(crate) fn begin() {
    FIRST.set(true);
    let mut kept = kept();
    kept.counts = [0; KINDS.len()];
    (kept.numbers, kept.first_has_local) = (0, false);
    let actions = (std::mem::take(&mut kept.detached), std::mem::take(&mut kept.at_end));
    drop(kept);
    drop(actions);
}

/// Ends a run whose body has returned.
///
/// # Errors
/// Returns a message if an object has outlived the run.
pub(crate) fn end() -> Result<(), String> {
    // Each action may register further actions.
    while let Some(act) = next() {
        act();
    }
    let kept = kept();
    if kept.first_has_local {
        return Ok(());
    }
    let counts = kept.counts;
    let left = KINDS.iter().find(|(kind, _)| counts[*kind as usize] > 0);
    left.map_or(Ok(()), |(_, message)| Err((*message).to_owned()))
}

/// Returns the next action of the end of the run. Threads come first.
fn next() -> Option<Action> {
    let mut kept = kept();
    kept.detached.pop().or_else(|| kept.at_end.pop())
}
