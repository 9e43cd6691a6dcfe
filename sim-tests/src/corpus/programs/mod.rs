//! Programs whose bug is a failing assertion or a deadlock, a family in each file.
//!
//! They name no library: shared objects and spawning come from `crate::tools`, so a peer runs the
//! same text.

mod account;
mod async_mutex;
mod bank;
mod barrier;
mod bluetooth;
mod broadcast;
mod channels;
mod circular_buffer;
mod commit;
mod crossbeam_init;
mod deadlocks;
mod dining;
mod disruptor;
mod hazard;
mod intern;
mod lazy_init;
mod notify;
mod reentrant;
mod reorder;
mod rwlock;
mod semaphore;
mod seqlock;
mod signals;
mod spin_locks;
mod spsc;
mod stampede;
mod stringbuffer;
mod timers;
mod treiber;
mod twostage;
mod upgrade;
mod wronglock;

// Their parts.
mod condvar;
mod watched;

use crate::tools::{Atomic, Body, SeqCst, spawn};

pub use self::condvar::Condvar;
pub use self::watched::Watched;

/// A program with a known bug, and the same without it.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// The number of seeds, from 0 on, within which the default strategy must find the bug, with
    /// tasks spawned one by one or together.
    pub seeds: u64,
    /// Has the bug.
    pub buggy: fn(Spawning) -> Body,
    /// Does not have it.
    pub fixed: fn(Spawning) -> Body,
}

/// The presence of points between spawns: other tasks may step there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spawning {
    /// All tasks are there when the first one steps.
    Together,
    /// A point after each, as where spawning a thread is a scheduling point: tasks spawned early may
    /// end before late ones exist. Published numbers were measured so.
    OneByOne,
}

/// The families, a line for each file.
pub const FAMILIES: &[&[Program]] = &[
    account::PROGRAMS,
    async_mutex::PROGRAMS,
    bank::PROGRAMS,
    barrier::PROGRAMS,
    bluetooth::PROGRAMS,
    broadcast::PROGRAMS,
    channels::PROGRAMS,
    circular_buffer::PROGRAMS,
    commit::PROGRAMS,
    crossbeam_init::PROGRAMS,
    deadlocks::PROGRAMS,
    dining::PROGRAMS,
    disruptor::PROGRAMS,
    hazard::PROGRAMS,
    intern::PROGRAMS,
    lazy_init::PROGRAMS,
    notify::PROGRAMS,
    reentrant::PROGRAMS,
    reorder::PROGRAMS,
    rwlock::PROGRAMS,
    seqlock::PROGRAMS,
    semaphore::PROGRAMS,
    signals::PROGRAMS,
    spin_locks::PROGRAMS,
    spsc::PROGRAMS,
    stampede::PROGRAMS,
    stringbuffer::PROGRAMS,
    timers::PROGRAMS,
    treiber::PROGRAMS,
    twostage::PROGRAMS,
    upgrade::PROGRAMS,
    wronglock::PROGRAMS,
];

/// Spawns tasks and waits for them.
pub async fn together(spawning: Spawning, tasks: Vec<Body>) {
    // A point, and no yield: that would be a wish to let the task go first.
    let own = Atomic::new(0i64);
    let mut handles = Vec::with_capacity(tasks.len());
    for task in tasks {
        handles.push(spawn(task));
        if spawning == Spawning::OneByOne {
            own.load(SeqCst).await;
        }
    }
    for handle in handles {
        handle.await.expect("no task is aborted");
    }
}
