//! File locks with the semantics of `flock`: an open file owns the lock, exclusive or shared.

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
    fn admits(&self, owner: Owner, alone: bool) -> bool {
        let by_others = |other: &Owner| *other != owner;
        self.is_dead
            || !(self.alone.is_some_and(|other| by_others(&other))
                || (alone && self.shared.iter().any(by_others)))
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

    fn add(&mut self, owner: Owner, alone: bool) {
        match alone {
            true => self.alone = Some(owner),
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

    /// Acquires the lock if `owner` may have it. An open file has one lock, so a new lock replaces the old lock.
    fn swap(&self, owner: Owner, alone: bool, here: Here) -> bool {
        let (had, waiting) = {
            let mut state = self.state();
            if !state.admits(owner, alone) {
                return false;
            }
            // If one open file acquires the shared lock twice, the two calls commute, because the second call changes
            // nothing.
            let shares_again = !alone && state.shared.contains(&owner);
            let had = state.remove(owner) && !shares_again;
            state.add(owner, alone);
            (had, state.settle())
        };
        if had {
            self.mark.last(&UNLOCK, here);
        }
        waiting.into_iter().for_each(Waker::wake);
        true
    }

    /// Acquires the lock in the step of a call. The lock must be free for `owner`.
    pub(super) fn take(&self, owner: Owner, alone: bool, here: Here) {
        let taken = self.swap(owner, alone, here);
        debug_assert!(taken, "the call was enabled");
    }

    /// Acquires the lock outside of runs.
    pub(super) fn poll_take(
        &self,
        owner: Owner,
        alone: bool,
        here: Here,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if self.swap(owner, alone, here) {
            return Poll::Ready(());
        }
        self.state().waiting.push(cx.waker().clone());
        // The lock may have been released in between.
        if self.swap(owner, alone, here) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Acquires the lock if it is free.
    pub(super) fn try_take(&self, owner: Owner, alone: bool, here: Here) -> io::Result<()> {
        let ops = if alone { TRY_LOCK } else { TRY_LOCK_SHARED };
        self.mark.attempt(ops, here, || match self.swap(owner, alone, here) {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        })
    }

    /// Releases the lock of an open file. Without a lock this still records an operation, because another task may lock
    /// the file.
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
