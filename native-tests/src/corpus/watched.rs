//! A word with a wait operation.

use super::sync::{Condvar, Mutex};

/// A word whose writers wake the threads that wait for one of its values.
#[derive(Debug, Default)]
pub(super) struct Watched {
    value: Mutex<i64>,
    changed: Condvar,
}

impl Watched {
    pub(super) fn new(value: i64) -> Watched {
        Watched { value: Mutex::new(value), changed: Condvar::new() }
    }

    pub(super) fn load(&self) -> i64 {
        *self.value.lock().unwrap()
    }

    pub(super) fn store(&self, value: i64) {
        *self.value.lock().unwrap() = value;
        self.changed.notify_all();
    }

    pub(super) fn add(&self, more: i64) {
        *self.value.lock().unwrap() += more;
        self.changed.notify_all();
    }

    /// Waits for a value that satisfies `wanted`, and returns it.
    pub(super) fn wait(&self, wanted: impl Fn(i64) -> bool) -> i64 {
        let mut value = self.value.lock().unwrap();
        while !wanted(*value) {
            value = self.changed.wait(value).unwrap();
        }
        *value
    }
}
