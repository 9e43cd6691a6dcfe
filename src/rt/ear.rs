//! Objects of other libraries whose operations are points: a semaphore of tokio, for instance.
//!
//! Such an object has queues of its own. It is handed a waker, an [`Ear`], which enables the announcement of the
//! operation that waits. The run knows the object by the operations that were done to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Wake;

use super::now::in_run;
use super::object::{AnnouncementId, Object};
use super::pending::PendingOp;
use super::state::RunState;
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

/// The change of an object's holders by an operation, for reports of deadlocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// No change.
    Stays,
    /// The task holds it, or a part of it, from now on.
    Begins,
    /// So many parts of it are held no longer: of the current task, if it holds any.
    Ends(u32),
}

impl Ear {
    fn new(signals: Arc<Signals>) -> Arc<Ear> {
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

    /// An ear for an operation of the current run.
    pub(crate) fn ear(&self) -> Arc<Ear> {
        let spare = self.state().ears.pop();
        spare.unwrap_or_else(|| Ear::new(self.signals.clone()))
    }

    /// Takes an ear back, for later operations. One of which the object still has a copy is not used again.
    pub(crate) fn keep_ear(&self, mut ear: Arc<Ear>) {
        if Arc::get_mut(&mut ear).is_some() {
            self.state().ears.push(ear);
        }
    }

    /// Records an operation of the current task that took effect.
    pub(crate) fn did(
        &self,
        op: &'static Op,
        object: ObjectId,
        place: Place,
        (values, hold): (Values, Hold),
    ) {
        let mut state = self.state();
        state.hold(object, hold, place);
        state.happened(op, Some(object), place, values);
    }

    /// As [`did`](Self::did), in a destructor, which must not add objects: nothing happens if the object is not of
    /// this run.
    pub(crate) fn did_last(&self, op: &'static Op, object: &Object, place: Place, hold: Hold) {
        let mut state = self.state();
        if let Some(object) = state.objects.find(object) {
            state.hold(object, hold, place);
            state.happened(op, Some(object), place, Values::None);
        }
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
            state.polls.forgotten += 1;
        }
        is_last && is_free
    }
}

impl RunState {
    /// Changes the holders of an object.
    fn hold(&mut self, object: ObjectId, hold: Hold, place: Place) {
        let task = self.current();
        match hold {
            Hold::Stays => {}
            Hold::Begins => {
                let holder = Holder { task, step: self.board.step, place };
                self.row(object).sharers.push(holder);
            }
            Hold::Ends(parts) => (0..parts).for_each(|_| self.row(object).end_share(task)),
        }
    }
}
