//! A copy of the process that makes runs of its own, one after the other, for the process that it was copied from.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::process::{self, Forked};
use crate::linux::local::Workers;
use crate::linux::real::real;
use crate::linux::{signals, temporary};

/// A copy of this process. It is ended when this is dropped.
pub struct Helper(process::Child);

impl Helper {
    /// Copies this process, with the calling thread only. The copy calls `work` and ends. To be called between two
    /// runs: a copy of a run could not go on.
    ///
    /// # Errors
    /// If the system refuses a process.
    pub fn begin(work: impl FnOnce()) -> Result<Helper, String> {
        // Unlocked while no run is on, so the copy has it unlocked.
        let workers = Workers::lock();
        match process::fork_thread()? {
            Forked::Child => {
                signals::begin_copy();
                temporary::begin_copy();
                Workers::forget_all(workers);
                // The stack below is a copy of the parent's: no panic may unwind it.
                let ended = catch_unwind(AssertUnwindSafe(work));
                // SAFETY: libc's own.
                unsafe {
                    real!(c"_exit", unsafe extern "C" fn(libc::c_int) -> !)(ended.is_err().into())
                }
            }
            Forked::Parent(child) => Ok(Helper(child)),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.0.end();
    }
}
