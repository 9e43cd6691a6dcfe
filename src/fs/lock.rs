//! Locks of files, as `flock` has them: of an open file, alone or together with others.

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

/// An open file, as its locks know it.
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
    /// The calls of a run that wait or are about to continue, with their owners; `true` if they
    /// request an exclusive lock.
    latches: Vec<(Latch, Owner, bool)>,
    waiting: Vec<Waker>,
    /// The node has died: calls continue, and fail.
    is_dead: bool,
}

impl LockState {
    /// Returns `true` if no other open file is in the way.
    fn admits(&self, owner: Owner, alone: bool) -> bool {
        let by_others = |other: &Owner| *other != owner;
        self.is_dead
            || !(self.alone.is_some_and(|other| by_others(&other))
                || (alone && self.shared.iter().any(by_others)))
    }

    /// Sets the latches of waiting calls as the lock is now. The caller wakes what is returned.
    #[must_use]
    fn settle(&mut self) -> Vec<Waker> {
        for (latch, owner, alone) in &self.latches {
            latch.set(self.admits(*owner, *alone));
        }
        std::mem::take(&mut self.waiting)
    }

    /// Removes the lock of `owner`. Returns `false` if it had none.
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

    /// Takes the lock if it is free for `owner`. An open file has one lock: a new one replaces it.
    fn swap(&self, owner: Owner, alone: bool, here: Here) -> bool {
        let (had, waiting) = {
            let mut state = self.state();
            if !state.admits(owner, alone) {
                return false;
            }
            // Two calls of one open file that share the lock can be swapped: the second one changes nothing.
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

    /// Takes the lock, which is free for `owner`, in the step of a call.
    pub(super) fn take(&self, owner: Owner, alone: bool, here: Here) {
        let taken = self.swap(owner, alone, here);
        debug_assert!(taken, "the call was enabled");
    }

    /// Takes the lock outside of runs.
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
        // It may have been given up in between.
        if self.swap(owner, alone, here) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Takes the lock if it is free.
    pub(super) fn try_take(&self, owner: Owner, alone: bool, here: Here) -> io::Result<()> {
        let ops = if alone { TRY_LOCK } else { TRY_LOCK_SHARED };
        self.mark.attempt(ops, here, || match self.swap(owner, alone, here) {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        })
    }

    /// Gives the lock of an open file up. If it has none, that is an operation, too, because another task may lock the
    /// file.
    pub(super) fn unlock(&self, owner: Owner, here: Here) {
        if !self.let_go(owner, here) {
            self.mark.last(&UNLOCK_NOTHING, here);
        }
    }

    /// Gives the lock of an open file up if it has one, at the end of the file. Returns `false` if it has none.
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

    /// The node has died, and its kernel gives all locks up.
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
