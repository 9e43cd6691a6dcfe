//! Operations that wait until their waker, an [`Ear`], is called. The ear then enables their announcement.
//!
//! Most such operations are on objects of other libraries, for example a tokio semaphore. Such an object has its own
//! queues, and receives the ear as a waker. The run knows the object by the operations on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Wake;

use crate::rt::now::in_run;
use crate::rt::object::AnnouncementId;
use crate::rt::part::Part;
use crate::rt::pending::PendingOp;
use crate::rt::task_waker::Signals;
use crate::rt::world::{WORLD, World};
use crate::run::ids::TaskId;

/// The waker of one waiting operation.
#[derive(Debug)]
pub(crate) struct Ear {
    signals: Arc<Signals>,
    /// The run and the announcement that the ear enables; the run is 0 if it enables nothing.
    run: AtomicU64,
    task: AtomicU64,
    key: AtomicU64,
    /// True if the ear was called since the operation was last tried.
    woken: AtomicBool,
}

/// Spare ears for later operations.
#[derive(Default)]
pub(in crate::rt) struct Ears(Vec<Arc<Ear>>);

impl Part for Ears {
    fn forget(&mut self) {}
}

impl Ear {
    fn new(signals: Arc<Signals>) -> Arc<Ear> {
        let zero = || AtomicU64::new(0);
        let (run, task, key) = (zero(), zero(), zero());
        Arc::new(Ear { signals, run, task, key, woken: AtomicBool::new(false) })
    }

    /// Resets the ear before the operation is tried.
    pub(crate) fn open(&self) {
        self.woken.store(false, Ordering::Relaxed);
        self.run.store(0, Ordering::Relaxed);
    }

    /// Returns `true` if the ear was called since it was [opened](Self::open).
    pub(crate) fn is_called(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    /// Returns the task whose operation waits.
    pub(crate) fn task(&self) -> TaskId {
        self.announcement().task()
    }

    /// Makes the ear enable the announcement of `pending`, which was just created. If the ear was already called,
    /// enables the announcement now.
    pub(crate) fn listen(&self, pending: &PendingOp) {
        let id = pending.announcement.id;
        self.task.store(u64::from(id.task().0), Ordering::Relaxed);
        self.key.store(u64::from(id.key()), Ordering::Relaxed);
        self.run.store(pending.announcement.run, Ordering::Relaxed);
        if self.is_called() {
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
    /// Enables an announcement at the end of the step.
    pub(crate) fn hear(&self, id: AnnouncementId) {
        let mut state = self.state();
        state.heard.push(id);
        state.needs_work();
    }

    /// Returns an ear for an operation of the current run. The ear may have been called for another operation: see
    /// [`Ear::open`].
    pub(crate) fn ear(&self) -> Arc<Ear> {
        let spare = self.state().parts.get_mut::<Ears>().0.pop();
        spare.unwrap_or_else(|| Ear::new(self.signals.clone()))
    }

    /// Stores an ear for later operations. If the object still has a copy of the ear, the ear is dropped instead.
    pub(crate) fn keep_ear(&self, mut ear: Arc<Ear>) {
        if Arc::get_mut(&mut ear).is_some() {
            self.state().parts.get_mut::<Ears>().0.push(ear);
        }
    }
}
