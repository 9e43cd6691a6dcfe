//! The waker that futures of other libraries use to put a task into the ready set, and the seat of a task: its waker
//! and its body.

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

/// The flags that wakers share with the executor across threads.
#[derive(Debug)]
pub(crate) struct Signals {
    /// The number of the world, because a thread may run a world within another.
    pub(crate) world: u64,
    /// True during a run.
    pub(crate) running: AtomicBool,
    /// The number of a task that another thread woke, plus one; 0 if there was no such wake.
    pub(crate) strayed: AtomicU32,
}

/// The waker of one task. The waker is created once for each index in the task table, and reused in later runs.
pub(crate) struct TaskWaker {
    task: TaskId,
    /// Set to false if a copy of the waker outlives its run, because it must not wake a task of the next run.
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
    /// `None` before the task is spawned and after it has ended. Always `None` for the body of the test and the tasks
    /// that are a part of it.
    pub(crate) body: Option<BoxBody>,
}

/// The seats of one worker, by index in the task table. The wakers of the seats are reused in later runs.
pub(crate) struct Seats {
    signals: Arc<Signals>,
    seats: Vec<Seat>,
}

impl Seats {
    /// Returns a list with one seat, for the body of the test.
    pub(crate) fn new(signals: Arc<Signals>) -> Seats {
        let mut seats = Seats { signals, seats: Vec::new() };
        seats.make(TaskId::MAIN);
        seats
    }

    /// Returns the seat of a task that has a seat.
    #[inline]
    pub(crate) fn at(&mut self, task: TaskId) -> &mut Seat {
        &mut self.seats[task.index()]
    }

    /// Returns the seat of a task, if it has a seat.
    #[inline]
    pub(crate) fn get(&mut self, task: TaskId) -> Option<&mut Seat> {
        self.seats.get_mut(task.index())
    }

    /// Takes the body of a task, if it has a body.
    #[inline]
    pub(crate) fn take_body(&mut self, task: TaskId) -> Option<BoxBody> {
        self.get(task)?.body.take()
    }

    /// Creates the seat of a task, if necessary, and stores its body there.
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
            // The two counted references are the `Arc` and the `Waker` of the seat.
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
    /// Returns the index of the waker of an announcement. If the announcement has no waker, returns the index at which
    /// to insert it.
    pub(super) fn find_foreign(&self, id: AnnouncementId) -> Result<usize, usize> {
        self.foreign.binary_search_by_key(&id, |(id, _)| *id)
    }

    /// Returns the announcements of a task that have their own wakers.
    pub(super) fn foreign_of(&self, task: TaskId) -> impl Iterator<Item = AnnouncementId> {
        let begin = self.foreign.partition_point(|(id, _)| id.task() < task);
        let ids = self.foreign[begin..].iter().map(|(id, _)| *id);
        ids.take_while(move |id| id.task() == task)
    }

    /// Takes the waker of an announcement, if a waker is stored.
    pub(super) fn take_foreign(&mut self, id: AnnouncementId) -> Option<Waker> {
        let at = self.find_foreign(id).ok()?;
        Some(self.foreign.remove(at).1)
    }

    /// Wakes `task` through a waker that the current task called, and records the wake.
    pub(super) fn wake_by(&mut self, task: TaskId) {
        let current = self.current();
        self.memory.order(self.board.events.len(), (current, task));
        let wakes = self.board.tasks.get(task.index()).is_some_and(|row| !row.woken);
        if wakes && task != current && !self.over && !self.is_done(task) {
            // A waker does not know the place from which it is called.
            let place = last_place(self, current);
            self.happened(&task::WAKE_BY_WAKER, None, place, Values::Task(task));
        }
        self.wake(task);
    }

    /// Wakes `task` for a future of another library.
    pub(crate) fn wake(&mut self, task: TaskId) {
        self.record.foreign |= task != self.board.current && !self.over;
        if task.index() < self.board.tasks.len() && !self.is_done(task) {
            self.board.tasks.at_mut(task.index()).woken = true;
            self.insert_ready(task);
        }
    }
}
