//! Records about a run: threads that nobody joins, actions at the end of the run, and the number of objects that must
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

/// The kinds, and the message of a run that leaves one behind.
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

// The engine gives a static its first value when a run begins. On real threads one model runs at a time.
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

/// Adds a number to the objects of a kind: 1 for a new one, -1 for one that is gone.
pub fn count(kind: Kind, change: isize) {
    kept().counts[kind as usize] += change;
}

/// A number that the run has not given yet: 1 at first. It is no step of the run.
pub fn number() -> usize {
    let mut kept = kept();
    kept.numbers += 1;
    kept.numbers
}

/// Says that the current thread makes a value of a thread-local. The values of the first thread of a run are dropped
/// after the run's end, and may own objects, so an object that is left is not a failure then.
pub fn local() {
    if FIRST.get() {
        kept().first_has_local = true;
    }
}

/// Leaves a thread that nobody joins to the end of the run, which waits for it: `join` does.
pub fn detach(join: impl FnOnce() + Send + 'static) {
    kept().detached.push(Box::new(join));
}

/// Has `act` called at the end of the run, when all threads have ended: to drop values of statics, for example.
pub fn at_end(act: impl FnOnce() + Send + 'static) {
    kept().at_end.push(Box::new(act));
}

/// Forgets an earlier run. The current thread is the first of the next one.
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
/// If an object has outlived it: the message.
pub(crate) fn end() -> Result<(), String> {
    // Each may leave others.
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

/// The next action of the end: threads first.
fn next() -> Option<Action> {
    let mut kept = kept();
    kept.detached.pop().or_else(|| kept.at_end.pop())
}
