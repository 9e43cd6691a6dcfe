//! File locks with the semantics of `flock` on Linux: an open file owns the lock, exclusive or shared. A conversion to
//! the other mode removes the old lock before it acquires the new lock.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::run::op::fs::inode;
use crate::run::op::{Access, Op};
use crate::seam::{Guard, Here, Latch, Wrapped};

pub(super) const LOCK: [Op; 2] = Op::of_kind("lock", Access::Wait, inode::LOCK).guarded();
pub(super) const LOCK_SHARED: [Op; 2] =
    Op::of_kind("lock_shared", Access::Wait, inode::SHARE).guarded();
const TRY_LOCK: [&Op; 2] = [
    &Op::of_kind("try_lock", Access::Tell, inode::LOCK),
    &Op::of_kind("try_lock", Access::Peek, inode::FAIL),
];
const TRY_LOCK_SHARED: [&Op; 2] = [
    &Op::of_kind("try_lock_shared", Access::Tell, inode::SHARE),
    &Op::of_kind("try_lock_shared", Access::Peek, inode::FAIL),
];
const UNLOCK: Op = Op::of_kind("unlock", Access::Tell, inode::UNLOCK);
/// The first step of a conversion, which removes the old lock.
pub(super) const CONVERT: Op = Op::of_kind("unlock", Access::Wait, inode::UNLOCK);
const UNLOCK_NOTHING: Op = Op::of_kind("unlock", Access::Peek, inode::FAIL).quiet();

/// The identity of an open file as a lock owner.
pub(super) type Owner = u64;

/// The lock of one inode.
pub(super) struct FileLock {
    mark: Arc<Wrapped>,
    state: Mutex<LockState>,
}

#[derive(Default)]
struct LockState {
    alone: Option<Owner>,
    shared: Vec<Owner>,
    /// The calls of a run that wait or are about to continue, with their owners. The flag is `true` if the call
    /// requests an exclusive lock.
    latches: Vec<(Latch, Owner, bool)>,
    waiting: Vec<Waker>,
    /// The node has died: waiting calls resume and fail.
    is_dead: bool,
}

impl LockState {
    /// Returns `true` if no lock of another open file conflicts.
    fn is_free(&self, owner: Owner, alone: bool) -> bool {
        let by_others = |other: &Owner| *other != owner;
        !(self.alone.is_some_and(|other| by_others(&other))
            || (alone && self.shared.iter().any(by_others)))
    }

    /// Returns `true` if `owner` has a lock of the other mode.
    fn converts(&self, owner: Owner, alone: bool) -> bool {
        if alone { self.shared.contains(&owner) } else { self.alone == Some(owner) }
    }

    /// Returns `true` if a call can take a step. The call removes a lock of the other mode, acquires its lock, or fails
    /// because the node has died.
    fn admits(&self, owner: Owner, alone: bool) -> bool {
        self.is_dead || self.converts(owner, alone) || self.is_free(owner, alone)
    }

    /// Updates the latches of waiting calls to the current lock state. The caller must wake the returned wakers.
    #[must_use]
    fn settle(&mut self) -> Vec<Waker> {
        for (latch, owner, alone) in &self.latches {
            latch.set(self.admits(*owner, *alone));
        }
        std::mem::take(&mut self.waiting)
    }

    /// Removes the lock of `owner`. Returns `false` if `owner` had no lock.
    fn remove(&mut self, owner: Owner) -> bool {
        let had = self.shared.len() + usize::from(self.alone.is_some());
        self.shared.retain(|other| *other != owner);
        self.alone = self.alone.filter(|other| *other != owner);
        self.shared.len() + usize::from(self.alone.is_some()) < had
    }

    /// Adds a lock of `owner`, which has no lock of the other mode.
    fn add(&mut self, owner: Owner, alone: bool) {
        match alone {
            true => self.alone = Some(owner),
            false if self.shared.contains(&owner) => {}
            false => self.shared.push(owner),
        }
    }
}

impl FileLock {
    pub(super) fn new(mark: Arc<Wrapped>) -> FileLock {
        FileLock { mark, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, LockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a lock of the other mode, then acquires the lock if it is free. Returns `true` if the lock was free.
    fn attempt(&self, owner: Owner, alone: bool, here: Here) -> bool {
        let (converts, is_free, waiting) = {
            let mut state = self.state();
            let converts = state.converts(owner, alone) && state.remove(owner);
            let is_free = state.is_free(owner, alone);
            if is_free {
                state.add(owner, alone);
            }
            let waiting = if converts || is_free { state.settle() } else { Vec::new() };
            (converts, is_free, waiting)
        };
        if converts {
            self.mark.last(&UNLOCK, here);
        }
        waiting.into_iter().for_each(Waker::wake);
        is_free
    }

    /// Performs a step of a waiting call: acquires the lock, or removes a lock of the other mode. Returns `true` if the
    /// lock is acquired.
    pub(super) fn take(&self, owner: Owner, alone: bool) -> bool {
        let mut state = self.state();
        let converts = state.converts(owner, alone) && state.remove(owner);
        if !converts {
            debug_assert!(state.is_free(owner, alone), "the call was enabled");
            state.add(owner, alone);
        }
        let waiting = state.settle();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        !converts
    }

    /// Acquires the lock outside of runs.
    pub(super) fn poll_take(
        &self,
        owner: Owner,
        alone: bool,
        here: Here,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if self.attempt(owner, alone, here) {
            return Poll::Ready(());
        }
        self.state().waiting.push(cx.waker().clone());
        // The lock may have been released in between.
        if self.attempt(owner, alone, here) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Acquires the lock if it is free. A failed conversion loses the old lock.
    pub(super) fn try_take(&self, owner: Owner, alone: bool, here: Here) -> io::Result<()> {
        let ops = if alone { TRY_LOCK } else { TRY_LOCK_SHARED };
        self.mark.attempt(ops, here, || match self.attempt(owner, alone, here) {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        })
    }

    /// Releases the lock of an open file. Records an operation even if the file has no lock, because another task may
    /// lock the file.
    pub(super) fn unlock(&self, owner: Owner, here: Here) {
        if !self.let_go(owner, here) {
            self.mark.last(&UNLOCK_NOTHING, here);
        }
    }

    /// Releases the lock of an open file when the file is closed. Returns `false` if the file has no lock.
    pub(super) fn let_go(&self, owner: Owner, here: Here) -> bool {
        let waiting = {
            let mut state = self.state();
            if !state.remove(owner) {
                return false;
            }
            state.settle()
        };
        self.mark.last(&UNLOCK, here);
        waiting.into_iter().for_each(Waker::wake);
        true
    }

    /// Releases all locks, because the node and its kernel have died.
    pub(super) fn die(&self, here: Here) {
        let waiting = {
            let mut state = self.state();
            (state.alone, state.is_dead) = (None, true);
            state.shared.clear();
            state.settle()
        };
        self.mark.act(&UNLOCK, here, || ());
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// A call that waits for the lock.
pub(super) struct Wanted<'a> {
    pub(super) lock: &'a FileLock,
    pub(super) owner: Owner,
    pub(super) alone: bool,
}

impl Guard for Wanted<'_> {
    fn mark(&self) -> &Arc<Wrapped> {
        &self.lock.mark
    }

    fn add(&self, latch: Latch) -> bool {
        let mut state = self.lock.state();
        state.latches.push((latch, self.owner, self.alone));
        state.admits(self.owner, self.alone)
    }

    fn is_open(&self) -> bool {
        self.lock.state().admits(self.owner, self.alone)
    }

    fn remove(&self, latch: Latch) {
        self.lock.state().latches.retain(|(other, ..)| *other != latch);
    }
}
