//! Records of a run: threads that are never joined, actions at the end of the run, and the number of objects that must
//! not outlive the run.

use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
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
    is_running: bool,
    is_marked: bool,
    call: u64,
    counts: [isize; KINDS.len()],
    numbers: usize,
    first_has_local: bool,
    /// The message of the first joined thread that has panicked.
    panic: Option<String>,
    detached: Vec<Action>,
    at_end: Vec<Action>,
}

// The engine resets a static to its initial value when a run begins. On real threads, only one model runs at a time.
static KEPT: Mutex<Kept> = Mutex::new(Kept {
    is_running: false,
    is_marked: false,
    call: 0,
    counts: [0; KINDS.len()],
    numbers: 0,
    first_has_local: false,
    panic: None,
    detached: Vec::new(),
    at_end: Vec::new(),
});

/// True from the return of a run's body to the end of the run.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

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

/// Returns `true` while a run executes. The call is not a step of the run.
pub fn is_running() -> bool {
    kept().is_running
}

/// Returns `true` from the return of a run's body to the end of the run. The call is not a step of the run.
// A lock would be an operation of the run: in a run, the locks of std are replaced in all crates.
#[inline(never)]
pub fn is_ending() -> bool {
    IS_ENDING.load(Relaxed)
}

/// Returns the number of runs that this check has begun in this process before this run. A repetition of a run has
/// another number than the run. The call is not a step of the run.
pub fn call() -> u64 {
    kept().call
}

/// Marks the run, for [`is_marked`]. The call is not a step of the run.
pub fn mark() {
    kept().is_marked = true;
}

/// Returns `true` if a thread has [marked](mark) the run. The call is not a step of the run.
pub fn is_marked() -> bool {
    kept().is_marked
}

/// A variable whose accesses are no steps of the run.
#[derive(Default, Debug)]
pub struct Flag(AtomicBool);

impl Flag {
    /// Sets the variable to `true`.
    // In the code of the caller, the access would be an operation of the run.
    #[inline(never)]
    pub fn set(&self) {
        self.0.store(true, SeqCst);
    }

    /// Returns `true` if the variable is set.
    #[inline(never)]
    pub fn get(&self) -> bool {
        self.0.load(SeqCst)
    }
}

/// Records that the current thread creates a value of a thread-local. The thread-local values of a run's first thread
/// are dropped after the end of the run, and may own objects. So if the first thread has such values, a remaining
/// object is not a failure.
pub fn local() {
    if FIRST.get() {
        kept().first_has_local = true;
    }
}

/// Records that a joined thread of the run has panicked. The run then fails on real threads, even if its body ignores
/// the panic. If the engine steps the threads, [`fail`](crate::fail) has already failed the run.
pub fn joined_panic(payload: &(dyn Any + Send)) {
    if !crate::is_stepped() {
        kept().panic.get_or_insert_with(|| crate::message(payload));
    }
}

/// Takes the message of the first joined thread that has panicked.
pub(crate) fn take_panic() -> Option<String> {
    kept().panic.take()
}

/// Registers a thread that is never joined. The end of the run calls `join` to wait for the thread.
pub fn detach(join: impl FnOnce() + Send + 'static) {
    push(Box::new(join), |kept| &mut kept.detached);
}

/// Returns `true` if a thread is [registered](detach) that is never joined. The call is not a step of the run.
pub fn has_detached() -> bool {
    !kept().detached.is_empty()
}

/// Calls `act` at the end of the run, when all threads have ended, for example to drop values of statics.
pub fn at_end(act: impl FnOnce() + Send + 'static) {
    push(Box::new(act), |kept| &mut kept.at_end);
}

/// Adds an action to a list.
// The generic functions above are compiled with the code of their callers. There, the end of the lock would be an
// operation of the run.
#[inline(never)]
fn push(action: Action, list: fn(&mut Kept) -> &mut Vec<Action>) {
    list(&mut kept()).push(action);
}

/// Clears the records of an earlier run. The current thread becomes the first thread of the next run.
pub(crate) fn begin(call: u64) {
    FIRST.set(true);
    let mut kept = kept();
    kept.counts = [0; KINDS.len()];
    (kept.numbers, kept.first_has_local, kept.panic) = (0, false, None);
    (kept.is_running, kept.is_marked, kept.call) = (true, false, call);
    IS_ENDING.store(false, Relaxed);
    let actions = (std::mem::take(&mut kept.detached), std::mem::take(&mut kept.at_end));
    drop(kept);
    drop(actions);
}

/// Records that no run executes.
pub(crate) fn leave() {
    kept().is_running = false;
    IS_ENDING.store(false, Relaxed);
}

/// Ends a run whose body has returned.
///
/// # Errors
/// Returns a message if a thread has panicked on real threads, or if an object has outlived the run.
pub(crate) fn end() -> Result<(), String> {
    IS_ENDING.store(true, Relaxed);
    // Each action may register further actions.
    while let Some(act) = next() {
        act();
    }
    if let Some(message) = take_panic() {
        return Err(message);
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
