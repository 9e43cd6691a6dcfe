//! loom's `Notify`.

use std::sync::{Condvar, Mutex, PoisonError};

/// A flag for which one thread waits. The wait resets the flag.
#[derive(Debug, Default)]
pub struct Notify {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Notify {
    /// Creates a flag that is not set.
    pub fn new() -> Notify {
        Notify::default()
    }

    /// Sets the flag.
    pub fn notify(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Waits for the flag, and resets it.
    pub fn wait(&self) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(is_set, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner) = false;
    }
}
