//! Places that a later OS thread takes over. A test harness creates a new OS thread for each test, and finding a place
//! takes much longer than a run.

use std::sync::Mutex;

use super::Sites;

/// The places of OS threads that have ended.
static LEFT: LeftSites = LeftSites(Mutex::new(Vec::new()));

pub(super) struct LeftSites(pub(super) Mutex<Vec<Sites>>);

impl LeftSites {
    /// Takes the places of an OS thread that has ended. Does not wait for the lock: in a copy of the process, it may be
    /// held by a thread that the copy does not have.
    pub(super) fn take(&self) -> Sites {
        self.0.try_lock().ok().and_then(|mut left| left.pop()).unwrap_or_default()
    }

    pub(super) fn leave(&self, sites: Sites) {
        if let Ok(mut left) = self.0.try_lock() {
            left.push(sites);
        }
    }
}

/// The places of an OS thread, which another OS thread takes over after the end of the thread.
#[derive(Debug)]
pub(in crate::native) struct KeptSites(Sites);

impl KeptSites {
    pub(in crate::native) fn get(&mut self) -> &mut Sites {
        &mut self.0
    }
}

impl Default for KeptSites {
    fn default() -> KeptSites {
        KeptSites(LEFT.take())
    }
}

impl Drop for KeptSites {
    fn drop(&mut self) {
        LEFT.leave(std::mem::take(&mut self.0));
    }
}
