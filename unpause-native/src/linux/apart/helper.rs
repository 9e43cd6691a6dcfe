//! A forked copy of the process. The copy executes its own runs, one after the other, for the original process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::process::{self, Forked};
use crate::linux::local::Workers;
use crate::linux::real::real;
use crate::linux::{signals, temporary};

/// A copy of this process. It is ended when this value is dropped.
pub struct Helper(process::Child);

impl Helper {
    /// Forks this process with the calling thread only. The copy calls `work` and ends. Must be called between two
    /// runs, because a copy of a run could not continue.
    ///
    /// # Errors
    /// Returns an error if the system refuses to create a process.
    pub fn begin(work: impl FnOnce()) -> Result<Helper, String> {
        // The workers are locked while no run executes, so the lock has no other owner in the copy.
        let workers = Workers::lock();
        match process::fork_thread()? {
            Forked::Child => {
                signals::begin_copy();
                temporary::begin_copy();
                drop(workers);
                // The stack below is a copy of the parent's stack, so no panic may unwind it.
                let ended = catch_unwind(AssertUnwindSafe(work));
                // SAFETY: the function is libc's, with its own signature.
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
