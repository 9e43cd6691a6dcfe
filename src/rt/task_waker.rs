//! The waker by which futures of other libraries put a task into the ready set, and the seat of a
//! task: its waker and its body.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Wake, Waker};

use super::body::BoxBody;
use super::diagnose::last_place;
use super::now::in_run;
use super::object::AnnouncementId;
use super::state::RunState;
use super::world::WORLD;
use crate::run::event::Values;
use crate::run::ids::TaskId;
use crate::run::op::task;

/// The flags that wakers share with the executor, across threads.
#[derive(Debug)]
pub(crate) struct Signals {
    /// The number of the world: a thread may run one within another.
    pub(crate) world: u64,
    /// True during a run.
    pub(crate) running: AtomicBool,
    /// One more than the task that was woken from another thread; 0 if none was.
    pub(crate) strayed: AtomicU32,
}

/// Wakes one task. Made once for each position in the task table and used by run after run.
pub(crate) struct TaskWaker {
    task: TaskId,
    /// Cleared if a copy of the waker outlives its run: it must not wake the next run's task.
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
        let here = in_run()
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

/// The body and the waker of a task.
pub(crate) struct Seat {
    shared: Arc<TaskWaker>,
    pub(crate) waker: Waker,
    /// None before the task was spawned and after it has ended; always none for the body of the test and the tasks
    /// that are a part of it.
    pub(crate) body: Option<BoxBody>,
}

/// The seats of one worker, by position in the task table. Wakers serve run after run.
pub(crate) struct Seats {
    signals: Arc<Signals>,
    seats: Vec<Seat>,
}

impl Seats {
    /// One seat, for the body of the test.
    pub(crate) fn new(signals: Arc<Signals>) -> Seats {
        let mut seats = Seats { signals, seats: Vec::new() };
        seats.make(TaskId::MAIN);
        seats
    }

    /// The seat of a task that has one.
    #[inline]
    pub(crate) fn at(&mut self, task: TaskId) -> &mut Seat {
        &mut self.seats[task.index()]
    }

    /// The seat of a task, if it has one.
    #[inline]
    pub(crate) fn get(&mut self, task: TaskId) -> Option<&mut Seat> {
        self.seats.get_mut(task.index())
    }

    /// Takes the body of a task, if it has one.
    #[inline]
    pub(crate) fn take_body(&mut self, task: TaskId) -> Option<BoxBody> {
        self.get(task)?.body.take()
    }

    /// Seats a task.
    pub(crate) fn set_body(&mut self, task: TaskId, body: Option<BoxBody>) {
        if self.seats.len() <= task.index() {
            self.make(task);
        }
        self.seats[task.index()].body = body;
    }

    #[cold]
    fn make(&mut self, task: TaskId) {
        while self.seats.len() <= task.index() {
            let (shared, waker) = self.waker(TaskId(self.seats.len() as u32));
            self.seats.push(Seat { shared, waker, body: None });
        }
    }

    fn waker(&self, task: TaskId) -> (Arc<TaskWaker>, Waker) {
        let shared = Arc::new(TaskWaker {
            task,
            alive: AtomicBool::new(true),
            signals: self.signals.clone(),
        });
        (shared.clone(), shared.into())
    }

    /// After a run of `tasks` tasks, replaces the wakers that still have copies.
    pub(crate) fn retire_kept(&mut self, tasks: usize) {
        for index in 0..tasks.min(self.seats.len()) {
            // Ours are the `Arc` and the `Waker`.
            if Arc::strong_count(&self.seats[index].shared) > 2 {
                self.seats[index].shared.alive.store(false, Ordering::Relaxed);
                let (shared, waker) = self.waker(TaskId(index as u32));
                self.seats[index].shared = shared;
                self.seats[index].waker = waker;
            }
        }
    }
}

impl RunState {
    /// The position of the waker of an announcement. If there is none, the position at which to
    /// insert it.
    pub(super) fn find_foreign(&self, id: AnnouncementId) -> Result<usize, usize> {
        self.foreign.binary_search_by_key(&id, |(id, _)| *id)
    }

    /// The announcements of a task that have wakers of their own.
    pub(super) fn foreign_of(&self, task: TaskId) -> impl Iterator<Item = AnnouncementId> {
        let begin = self.foreign.partition_point(|(id, _)| id.task() < task);
        let ids = self.foreign[begin..].iter().map(|(id, _)| *id);
        ids.take_while(move |id| id.task() == task)
    }

    /// Takes the waker of an announcement, if one is kept.
    pub(super) fn take_foreign(&mut self, id: AnnouncementId) -> Option<Waker> {
        let at = self.find_foreign(id).ok()?;
        Some(self.foreign.remove(at).1)
    }

    /// Wakes `task` by a waker that the current task called, and records it.
    pub(super) fn wake_by(&mut self, task: TaskId) {
        let current = self.current();
        self.memory.order(self.board.events.len(), (current, task));
        let wakes = self.board.tasks.get(task.index()).is_some_and(|row| !row.woken);
        if wakes && task != current && !self.over && !self.is_done(task) {
            // A waker does not know where it is called.
            let place = last_place(self, current);
            self.happened(&task::WAKE_BY_WAKER, None, place, Values::Task(task));
        }
        self.wake(task);
    }

    /// Wakes `task` on behalf of a future that is not of this library.
    pub(crate) fn wake(&mut self, task: TaskId) {
        self.record.foreign |= task != self.board.current && !self.over;
        if task.index() < self.board.tasks.len() && !self.is_done(task) {
            self.board.tasks.at_mut(task.index()).woken = true;
            self.insert_ready(task);
        }
    }
}
