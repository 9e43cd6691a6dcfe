//! The values behind [`lazy_static!`](crate::lazy_static!).

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

pub use crate::thread::{AccessError, panicking, yield_now};

/// True if the closure of the model has returned before the end of another thread. The accesses are steps of the run,
/// so a search tries both orders of the return and each use of a value.
static RETURNED: AtomicBool = AtomicBool::new(false);

/// Records that the closure of the model has returned. From now on, each use of a value panics. The record is a step
/// only if other threads are left, because only their uses depend on the schedule.
pub(crate) fn shut_down() {
    // On real threads, `RETURNED` would stay set after the run.
    if unpause_model::is_stepped() && unpause_model::has_detached() {
        RETURNED.store(true, SeqCst);
    }
}

/// The state of a value's creation. std's `Once` has more operations that are steps of the run, so a search would try
/// more orders.
struct State {
    /// True if the value exists. Two threads that only use the value do not conflict.
    exists: AtomicBool,
    /// Held by the thread that creates the value. True if the value exists.
    creation: Mutex<bool>,
}

impl State {
    const fn new() -> State {
        State { exists: AtomicBool::new(false), creation: Mutex::new(false) }
    }
}

/// A static with a value that is created at its first use in a run, and dropped at the end of the run.
pub struct Lazy<T> {
    /// The state in this run, reset at the end of each run.
    state: UnsafeCell<State>,
    make: fn() -> T,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, guarded by the state, and dropped when all threads of the run have ended. Like in
// loom, the value need not be `Sync`.
unsafe impl<T> Sync for Lazy<T> {}

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy { state: UnsafeCell::new(State::new()), make, value: UnsafeCell::new(None) }
    }

    /// Returns the value.
    ///
    /// # Panics
    /// If the closure of the model has returned.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let has_returned = RETURNED.load(SeqCst) || unpause_model::is_ending();
        assert!(!has_returned, "attempted to access lazy_static during shutdown");
        // SAFETY: `state` is written only when all threads of a run have ended.
        let state = unsafe { &*self.state.get() };
        if !state.exists.load(SeqCst) {
            self.create(state);
        }
        // SAFETY: the value was written above, and is not taken before the end of the run.
        match unsafe { &*self.value.get() } {
            Some(value) => value,
            None => panic!("attempted to access lazy_static during shutdown"),
        }
    }

    /// Creates the value, or waits until another thread has created it.
    fn create(&'static self, state: &State) {
        let mut exists = state.creation.lock().unwrap_or_else(PoisonError::into_inner);
        if *exists {
            return;
        }
        let value = (self.make)();
        // SAFETY: the lock admits one thread, before any other thread reads the value.
        unsafe { *self.value.get() = Some(value) };
        unpause_model::at_end(|| {
            // SAFETY: all threads of the run have ended, so no other reference to `state` or `value` exists.
            let value = unsafe {
                *self.state.get() = State::new();
                (*self.value.get()).take()
            };
            drop(value);
        });
        *exists = true;
        state.exists.store(true, SeqCst);
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lazy { .. }")
    }
}
