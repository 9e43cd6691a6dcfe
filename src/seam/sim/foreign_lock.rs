//! Locks in memory outside of this library: the run knows the holders, and the caller changes the memory.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Here;
use super::foreign::ForeignWord;
use super::point::{Backend, Point, RunObject};
use crate::rt::{PendingOp, Vacancy, WORLD, may_be_at_once};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op};

/// A lock in memory that tasks share.
#[derive(Debug)]
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) struct ForeignLock {
    word: Arc<ForeignWord>,
}

#[cfg_attr(not(unpause_native), allow(dead_code))]
impl ForeignLock {
    /// Returns a lock that was first used at `here`. The key of the lock is the same in all runs.
    pub(crate) fn new(kind: &'static str, here: Here, key: u64) -> ForeignLock {
        ForeignLock { word: Arc::new(ForeignWord::without_values(kind, here, key)) }
    }

    /// Returns the same object for operations on its memory outside of the lock's calls.
    pub(crate) fn word(&self) -> &Arc<ForeignWord> {
        &self.word
    }

    /// Announces `op`, which waits, and acquires the lock in its turn.
    pub(crate) fn enter(&self, op: &'static Op, here: Here) -> EnterForeign<'_> {
        EnterForeign { lock: self, pending: PendingOp::new(op, here) }
    }

    /// Acquires the lock in the current step by `op`, if it is free. Returns `true` if the lock was acquired.
    pub(crate) fn enter_in_step(&self, op: &'static Op, here: Here) -> bool {
        let object = self.id(here);
        WORLD.with(|world| world.acquire_in_step(op, object, here))
    }

    /// Announces `op`, with [`Access::TryLock`]. In its turn calls `before`, and
    /// acquires the lock if it is free. Returns `true` if the lock was acquired.
    pub(crate) fn try_enter<'a>(
        &'a self,
        op: &'static Op,
        here: Here,
        mut before: impl FnMut() + Send + 'a,
    ) -> impl Future<Output = bool> + Send + 'a {
        Point::new(self, op, here, move |backend: &Backend<'_>| {
            before();
            match backend {
                Backend::Run(pending) => WORLD.with(|world| world.try_acquire(pending)),
                Backend::Real => true,
            }
        })
    }

    /// Announces `op`, which releases the lock, and performs it in its turn. If `effect` returns `false`, the lock is
    /// not released, and `otherwise` is recorded.
    pub(crate) fn leave_at_point<'a>(
        &'a self,
        [op, otherwise]: [&'static Op; 2],
        here: Here,
        mut effect: impl FnMut() -> bool + Send + 'a,
    ) -> impl Future<Output = ()> + Send + 'a {
        Point::new(self, op, here, move |backend: &Backend<'_>| {
            let leaves = effect();
            let Backend::Run(pending) = backend else { return };
            WORLD.with(|world| match leaves {
                true => world.give_up_in_turn(pending),
                false => world.do_in_turn(pending, otherwise),
            });
        })
    }

    /// Announces `op`, by which the task queues for the lock, and performs it in its turn.
    pub(crate) fn queue(
        &self,
        op: &'static Op,
        here: Here,
    ) -> impl Future<Output = ()> + Send + '_ {
        Point::new(self, op, here, move |backend: &Backend<'_>| {
            if let Backend::Run(pending) = backend {
                WORLD.with(|world| world.queue_in_turn(pending));
            }
        })
    }

    /// Releases the lock, without a point. Has no effect if the lock is not held in this way.
    pub(crate) fn leave(&self, op: &'static Op, here: Here) {
        let object = self.id(here);
        WORLD.with(|world| world.give_up(op, object, here));
    }

    /// Records that the lock is held, because an operation outside of the lock's calls has changed its memory.
    pub(crate) fn hold(&self, here: Here) {
        let object = self.id(here);
        WORLD.with(|world| world.hold_lock(object, here));
    }

    /// Sets the state of the lock from the state of its memory: the lock then enables at least the operations of
    /// `vacancy`.
    pub(crate) fn vacate(&self, vacancy: Vacancy, here: Here) {
        let object = self.id(here);
        WORLD.with(|world| world.vacate(object, vacancy));
    }

    fn id(&self, here: Here) -> ObjectId {
        self.word.id(here)
    }
}

/// Waits until the lock is available and acquires it.
#[must_use = "futures do nothing unless you `.await` or poll them"]
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) struct EnterForeign<'a> {
    lock: &'a ForeignLock,
    pending: PendingOp,
}

impl Future for EnterForeign<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let EnterForeign { lock, pending } = &mut *self;
        if pending.try_in_turn(|pending| WORLD.with(|world| world.acquire_in_turn(pending))) {
            return Poll::Ready(());
        }
        if may_be_at_once(cx.waker()) && pending.try_fused(lock) {
            return Poll::Ready(());
        }
        pending.poll_waiting(cx, *lock).map(|()| {
            pending.perform_out_of_turn(|pending| WORLD.with(|world| world.acquire(pending)));
        })
    }
}

/// The operations that acquire a lock as a part of the current step, or fail.
#[cfg_attr(not(unpause_native), allow(dead_code))]
const LOCK_AT_ONCE: Op = Op::new("lock", Access::TryLock);
#[cfg_attr(not(unpause_native), allow(dead_code))]
const WRITE_AT_ONCE: Op = Op::new("write", Access::TryLock);

impl PendingOp {
    /// Acquires the lock in the current step, if points are fused and the lock is free. Returns `false` if the
    /// operation must wait for its turn. Shared modes always wait for their turn.
    #[cold]
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    fn try_fused(&mut self, lock: &ForeignLock) -> bool {
        let is_exclusive = self.op.access == Access::Lock;
        if self.announcement.is_open() || !is_exclusive || !self.is_fused() {
            return false;
        }
        // Events have the name of the announced operation, because regions name operations.
        let op = if self.op.name == WRITE_AT_ONCE.name { &WRITE_AT_ONCE } else { &LOCK_AT_ONCE };
        let object = lock.id(self.place);
        let taken = WORLD.with(|world| world.acquire_by_hand(op, object, self.place));
        if taken {
            self.object = Some(object);
            self.begin_by_hand();
            self.announcement.close();
        }
        taken
    }
}

impl RunObject for ForeignLock {
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(self.id(place))
    }
}
