//! Operations that wait until something calls their waker, an [`Ear`], which enables their announcement.
//!
//! Most are operations on objects of other libraries, a semaphore of tokio for instance. Such an object has queues of
//! its own, and is handed the ear. The run knows the object by the operations that were done to it.

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

/// Ears for later operations.
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

    /// Forgets that it was called, before the operation is tried.
    pub(crate) fn open(&self) {
        self.woken.store(false, Ordering::Relaxed);
        self.run.store(0, Ordering::Relaxed);
    }

    /// Returns `true` if it was called since it was [opened](Self::open).
    pub(crate) fn is_called(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    /// The task whose operation waits.
    pub(crate) fn task(&self) -> TaskId {
        self.announcement().task()
    }

    /// Enables the announcement of `pending`, which was just made, when it is called or if it was.
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

    /// An ear for an operation of the current run. It may have been called for another one: see [`Ear::open`].
    pub(crate) fn ear(&self) -> Arc<Ear> {
        let spare = self.state().parts.get_mut::<Ears>().0.pop();
        spare.unwrap_or_else(|| Ear::new(self.signals.clone()))
    }

    /// Takes an ear back, for later operations. If the object still has a copy, the ear is not used
    /// again.
    pub(crate) fn keep_ear(&self, mut ear: Arc<Ear>) {
        if Arc::get_mut(&mut ear).is_some() {
            self.state().parts.get_mut::<Ears>().0.push(ear);
        }
    }
}
