//! The locks of open files.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use super::file::File;
use super::lock::{CONVERT, LOCK, LOCK_SHARED, Wanted};
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
        poll_fn(move |cx| -> Poll<io::Result<()>> {
            let Locking { open, call, .. } = &mut waiting;
            // The lock is looked up in the disk of the current life, where this file may not exist.
            open.check(here)?;
            let lock = open.lock()?;
            let (owner, wanted) = (open.owner, Wanted { lock, owner: open.owner, alone });
            let op = &ops[0];
            loop {
                let take = || match open.check(here) {
                    Ok(()) if lock.take(owner, alone) => (Ok(true), op),
                    Ok(()) => (Ok(false), &CONVERT),
                    Err(error) => (Err(error), op),
                };
                let ask = |cx: &mut Context<'_>| {
                    lock.poll_take(owner, alone, here, cx).map(|()| Ok(true))
                };
                // After the removal of a lock of the other mode, the call waits for its own lock.
                if ready!(call.poll_as(&wanted, cx, ask, take))? {
                    return Poll::Ready(Ok(()));
                }
            }
        })
    }

    /// Acquires an exclusive lock on the file. Waits while another open file has a lock on it. This call is a point.
    /// The lock is released by [`unlock`](Self::unlock), when the last clone of this file is dropped, and when the
    /// process (the node) dies.
    ///
    /// The lock is advisory: it does not prevent access to the file. In the real build, and outside of runs, the lock
    /// is effective only within the process.
    ///
    /// An open file has one lock. If it already has the requested lock, the call has no effect. A lock of the other
    /// mode is converted like on Linux: it is removed first, so other waiting calls may acquire the lock before this
    /// call. On other systems, `lock` of std may deadlock instead.
    ///
    /// ```
    /// use sim::fs::{self, File};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// fs::write("/a", "").await.unwrap();
    /// let [one, two] = [File::open("/a").await.unwrap(), File::open("/a").await.unwrap()];
    /// one.lock().await.unwrap();
    /// let waits = sim::spawn(async move { two.lock().await.unwrap() });
    /// sim::task::yield_now().await;
    /// assert!(!waits.is_finished());
    /// drop(one);
    /// waits.await.unwrap();
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// If the node that opened the file has died since then.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.lock_as(true, here())
    }

    /// Like [`lock`](Self::lock), but acquires a shared lock.
    ///
    /// ```
    /// use sim::fs::{self, File};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// fs::write("/a", "").await.unwrap();
    /// let [one, two] = [File::open("/a").await.unwrap(), File::open("/a").await.unwrap()];
    /// one.lock_shared().await.unwrap();
    /// two.lock_shared().await.unwrap();
    /// let third = File::open("/a").await.unwrap();
    /// assert!(third.try_lock().is_err());
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// In the same cases as [`lock`](Self::lock).
    #[track_caller]
    pub fn lock_shared(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.lock_as(false, here())
    }

    /// Locks the file if no other open file has a lock on it. This call is not a point. Like on Linux, a shared lock of
    /// this file is removed first. If the call then fails, the file has no lock.
    ///
    /// ```
    /// use sim::fs::{self, File};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// fs::write("/a", "").await.unwrap();
    /// let [one, two] = [File::open("/a").await.unwrap(), File::open("/a").await.unwrap()];
    /// one.try_lock().unwrap();
    /// assert_eq!(two.try_lock().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    /// one.unlock().unwrap();
    /// assert!(two.try_lock().is_ok());
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if another open file has a lock, and the errors of
    /// [`lock`](Self::lock).
    #[track_caller]
    pub fn try_lock(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.try_take(self.open.owner, true, here)
    }

    /// Like [`try_lock`](Self::try_lock), but acquires a shared lock.
    ///
    /// # Errors
    /// In the same cases as [`try_lock`](Self::try_lock).
    #[track_caller]
    pub fn try_lock_shared(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.try_take(self.open.owner, false, here)
    }

    /// Releases the lock. This call is not a point.
    ///
    /// # Errors
    /// If the node that opened the file has died since then.
    #[track_caller]
    pub fn unlock(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.unlock(self.open.owner, here);
        Ok(())
    }
}

/// A call that acquires a lock. When the call is dropped, its announcement ends.
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
