//! Objects of other libraries whose operations are points: a semaphore of tokio, for instance.
//!
//! Such an object decides by itself who waits and who goes on: it is handed a waker, an [`Ear`], which enables the
//! announcement of the operation that waits. The run knows the object by the operations that were done to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Wake;

use super::now::in_run;
use super::object::{AnnouncementId, Object};
use super::pending::PendingOp;
use super::task_waker::Signals;
use super::world::{WORLD, World};
use crate::run::Holder;
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Op;

/// The waker of one operation that waits.
#[derive(Debug)]
pub(crate) struct Ear {
    signals: Arc<Signals>,
    /// The run and the announcement that it enables; 0 if none.
    run: AtomicU64,
    task: AtomicU64,
    key: AtomicU64,
    /// True if it was called since the operation was last tried.
    woken: AtomicBool,
}

impl Ear {
    /// An ear for an operation of the current run.
    pub(crate) fn new() -> Arc<Ear> {
        let signals = WORLD.with(|world| world.signals.clone());
        let zero = || AtomicU64::new(0);
        let (run, task, key) = (zero(), zero(), zero());
        Arc::new(Ear { signals, run, task, key, woken: AtomicBool::new(false) })
    }

    /// Forgets that it was called, before the operation is tried.
    pub(crate) fn open(&self) {
        self.woken.store(false, Ordering::Relaxed);
        self.run.store(0, Ordering::Relaxed);
    }

    /// Enables the announcement of `pending`, which was just made, when it is called or if it was.
    pub(crate) fn listen(&self, pending: &PendingOp) {
        let id = pending.announcement.id;
        self.task.store(u64::from(id.task().0), Ordering::Relaxed);
        self.key.store(u64::from(id.key()), Ordering::Relaxed);
        self.run.store(pending.announcement.run, Ordering::Relaxed);
        if self.woken.load(Ordering::Relaxed) {
            WORLD.with(|world| world.hear(id));
        }
    }

    fn announcement(&self) -> AnnouncementId {
        let task = TaskId(self.task.load(Ordering::Relaxed) as u32);
        AnnouncementId::new(task, self.key.load(Ordering::Relaxed) as u32)
    }
}

impl Wake for Ear {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Relaxed);
        let here = in_run() && WORLD.with(|world| world.signals.world == self.signals.world);
        let id = self.announcement();
        match here {
            true => WORLD.with(|world| {
                if self.run.load(Ordering::Relaxed) == world.run() {
                    world.hear(id);
                }
            }),
            false if self.signals.running.load(Ordering::Relaxed) => {
                self.signals.strayed.store(id.task().0 + 1, Ordering::Release);
            }
            false => {}
        }
    }
}

impl World {
    /// Enables an announcement at the end of the step: an object woke it.
    fn hear(&self, id: AnnouncementId) {
        let mut state = self.state();
        state.heard.push(id);
        state.attention = true;
    }

    /// The object, if the run knows it. For destructors, which must not add objects.
    pub(crate) fn known(&self, object: &Object) -> Option<ObjectId> {
        self.state().objects.find(object)
    }

    /// Records an operation of the current task that took effect.
    pub(crate) fn did(&self, op: &'static Op, object: ObjectId, place: Place, values: Values) {
        self.state().happened(op, Some(object), place, values);
    }

    /// Forgets the last operation of the run, if it is this one of the current step and nothing refers to it.
    pub(crate) fn forget(&self, op: &'static Op, object: ObjectId) -> bool {
        let mut state = self.state();
        let board = &mut state.board;
        let is_last = board.events.last().is_some_and(|event| {
            event.op == op
                && event.object == Some(object)
                && (event.step, event.task) == (board.step, board.current)
        });
        let is_free = board.calls.last().is_none_or(|mark| mark.events < board.events.len());
        if is_last && is_free {
            board.events.pop();
        }
        is_last && is_free
    }

    /// The current task holds the object, or a part of it, from now on. For reports of deadlocks.
    pub(crate) fn begin_hold(&self, object: ObjectId, place: Place) {
        let mut state = self.state();
        let holder = Holder { task: state.current(), step: state.board.step, place };
        state.row(object).sharers.push(holder);
    }

    /// A task holds the object no longer: the current one, if it does.
    pub(crate) fn end_hold(&self, object: ObjectId) {
        let mut state = self.state();
        let task = state.current();
        let sharers = &mut state.row(object).sharers;
        let own = sharers.iter().position(|holder| holder.task == task);
        // A guard may be dropped by another task than the one that made it.
        if let Some(at) = own.or(sharers.len().checked_sub(1)) {
            sharers.remove(at);
        }
    }
}
