//! The locks of open files.

use std::future::poll_fn;
use std::io;

use super::file::File;
use super::lock::{LOCK, LOCK_SHARED, Wanted};
use super::opened::Open;
use crate::seam::{GuardedCall, Here, here};

impl File {
    fn lock_as<'a>(
        &'a self,
        alone: bool,
        here: Here,
    ) -> impl Future<Output = io::Result<()>> + Send + use<'a> {
        let ops = if alone { &LOCK } else { &LOCK_SHARED };
        let mut waiting = Locking { open: &self.open, call: GuardedCall::new(ops, here), here };
        poll_fn(move |cx| {
            let Locking { open, call, .. } = &mut waiting;
            let lock = open.lock()?;
            let (owner, wanted) = (open.owner, Wanted { lock, owner: open.owner, alone });
            let take = || {
                let checked = open.check(here);
                if checked.is_ok() {
                    lock.take(owner, alone, here);
                }
                checked
            };
            call.poll(&wanted, cx, |cx| lock.poll_take(owner, alone, here, cx).map(Ok), take)
        })
    }

    /// Locks the file, and waits while another open file has a lock on it. A point. The lock ends with
    /// [`unlock`](Self::unlock), with the last clone of this file, and with the process: when its node dies.
    ///
    /// It is advice: files can be used without it. An open file has one lock, and a second replaces the first. In the
    /// real build, and outside of runs, it holds within the process.
    ///
    /// # Errors
    /// If the node that opened the file has died since.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.lock_as(true, here())
    }

    /// Like [`lock`](Self::lock), together with others that share it.
    ///
    /// # Errors
    /// The same as for [`lock`](Self::lock).
    #[track_caller]
    pub fn lock_shared(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.lock_as(false, here())
    }

    /// Locks the file if no other open file has a lock on it. Not a point.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if one has; as [`lock`](Self::lock).
    #[track_caller]
    pub fn try_lock(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.try_take(self.open.owner, true, here)
    }

    /// Like [`try_lock`](Self::try_lock), together with others that share it.
    ///
    /// # Errors
    /// The same as for [`try_lock`](Self::try_lock).
    #[track_caller]
    pub fn try_lock_shared(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.try_take(self.open.owner, false, here)
    }

    /// Gives the lock up. Not a point.
    ///
    /// # Errors
    /// If the node that opened the file has died since.
    #[track_caller]
    pub fn unlock(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.unlock(self.open.owner, here);
        Ok(())
    }
}

/// A call that locks. Its announcement ends with it.
struct Locking<'a> {
    open: &'a Open,
    call: GuardedCall,
    here: Here,
}

impl Drop for Locking<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.open.known_lock() {
            let wanted = Wanted { lock, owner: self.open.owner, alone: true };
            self.call.leave(&wanted, self.here);
        }
    }
}
