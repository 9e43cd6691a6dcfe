//! The wakers of tasks, by which futures that are not of this library reach the ready set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Wake, Waker};

use super::world::WORLD;
use crate::ids::TaskId;

/// What a waker called on another thread leaves for the executor.
#[derive(Debug)]
pub(crate) struct Signals {
    /// The number of the world: a thread may run one within another.
    pub(crate) world: u64,
    /// Whether a run is on.
    pub(crate) running: AtomicBool,
    /// One more than the task that was woken from another thread; 0 if none was.
    pub(crate) strayed: AtomicU32,
}

/// Wakes one task. Made once for each position in the task table and used by run after run.
pub(crate) struct TaskWaker {
    task: TaskId,
    /// Cleared when a run ended and somebody kept the waker: it must not wake the next run's task.
    alive: AtomicBool,
    signals: Arc<Signals>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.alive.load(Ordering::Relaxed) {
            return;
        }
        let here = WORLD.is_set()
            && WORLD.with(|world| {
                let ours = world.signals.world == self.signals.world;
                if ours {
                    world.wake(self.task);
                }
                ours
            });
        if !here && self.signals.running.load(Ordering::Relaxed) {
            self.signals.strayed.store(self.task.0 + 1, Ordering::Release);
        }
    }
}

/// The wakers of one worker, by position in the task table.
pub(crate) struct Wakers {
    signals: Arc<Signals>,
    wakers: Vec<(Arc<TaskWaker>, Waker)>,
}

impl Wakers {
    pub(crate) fn new(signals: Arc<Signals>) -> Wakers {
        Wakers { signals, wakers: Vec::new() }
    }

    /// The waker of `task`, which has been made.
    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> &Waker {
        &self.wakers[task.index()].1
    }

    /// The waker of `task`, made if there is none.
    #[inline]
    pub(crate) fn get_or_make(&mut self, task: TaskId) -> &Waker {
        if self.wakers.len() <= task.index() {
            self.make(task);
        }
        self.get(task)
    }

    #[cold]
    fn make(&mut self, task: TaskId) {
        while self.wakers.len() <= task.index() {
            let entry = self.entry(TaskId(self.wakers.len() as u32));
            self.wakers.push(entry);
        }
    }

    fn entry(&self, task: TaskId) -> (Arc<TaskWaker>, Waker) {
        let arc = Arc::new(TaskWaker {
            task,
            alive: AtomicBool::new(true),
            signals: self.signals.clone(),
        });
        (arc.clone(), arc.into())
    }

    /// A run of `tasks` tasks is over: puts wakers that somebody kept out of use.
    pub(crate) fn retire_kept(&mut self, tasks: usize) {
        for index in 0..tasks.min(self.wakers.len()) {
            // Ours are the `Arc` and the `Waker`.
            if Arc::strong_count(&self.wakers[index].0) > 2 {
                self.wakers[index].0.alive.store(false, Ordering::Relaxed);
                self.wakers[index] = self.entry(TaskId(index as u32));
            }
        }
    }
}
