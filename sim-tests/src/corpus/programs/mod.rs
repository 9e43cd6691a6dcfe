//! Programs with a bug that shows as a failing assertion or a deadlock, one family per file.
//!
//! They name no library. Shared objects and spawning come from `crate::tools`, so a peer can run the same
//! text.

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

// The building blocks of the programs.
mod condvar;
mod watched;

use crate::tools::{Atomic, Body, SeqCst, spawn};

pub use self::condvar::Condvar;
pub use self::watched::Watched;

/// A program with a known bug, and its fixed twin.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name of the program.
    pub name: &'static str,
    /// The number of seeds, from 0 on, within which the default strategy must find the bug, whether the tasks are
    /// spawned one by one or together.
    pub seeds: u64,
    /// The version with the bug.
    pub buggy: fn(Spawning) -> Body,
    /// The version without the bug.
    pub fixed: fn(Spawning) -> Body,
}

/// The presence of points between spawns, at which other tasks may step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spawning {
    /// All tasks exist when the first task steps.
    Together,
    /// A point follows each spawn, like in libraries where a spawn is a scheduling point. Early tasks may end before
    /// late tasks exist. Published figures were measured in this way.
    OneByOne,
}

/// The families, one line per file.
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
    // A plain point instead of a yield, because a yield would tell the scheduler to prefer the new task.
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
