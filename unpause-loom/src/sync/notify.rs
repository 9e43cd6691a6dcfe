//! loom's `Notify`.

use std::sync::{Condvar, Mutex, PoisonError};

/// A flag that one thread waits for, and that the wait takes back.
#[derive(Debug, Default)]
pub struct Notify {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Notify {
    /// A flag that is not set.
    pub fn new() -> Notify {
        Notify::default()
    }

    /// Sets the flag.
    pub fn notify(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Waits for the flag, and takes it back.
    pub fn wait(&self) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(is_set, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner) = false;
    }
}
