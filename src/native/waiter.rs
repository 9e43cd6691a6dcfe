//! Waits in the queues of words.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::run::ids::TaskId;
use crate::seam::client;

/// A wait of a thread in the queue of a word.
#[derive(Debug)]
pub(super) struct Waiter {
    /// Set by a wake, but not by a timer.
    pub(super) woken: AtomicBool,
    /// Set by the first change of the awaited file: the task that made the change wakes the waiter.
    pub(super) told: AtomicBool,
    pub(super) task: TaskId,
    /// The bits of the wait. A wake ends it only if it has one of these bits.
    pub(super) bits: u32,
    /// The key of the queue that the wait has joined first.
    pub(super) home: AtomicUsize,
    /// The key of the queue that contains the wait, or has contained it last.
    pub(super) queue: AtomicUsize,
}

impl Waiter {
    /// Returns a wait of the current task, which every wake ends.
    pub(super) fn new() -> Arc<Waiter> {
        Waiter::with_bits(u32::MAX)
    }

    /// Returns a wait of the current task for a wake with one of these bits.
    pub(super) fn with_bits(bits: u32) -> Arc<Waiter> {
        Arc::new(Waiter {
            woken: AtomicBool::new(false),
            told: AtomicBool::new(false),
            task: TaskId(client() as u32),
            bits,
            home: AtomicUsize::new(0),
            queue: AtomicUsize::new(0),
        })
    }

    pub(super) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    pub(super) fn home(&self) -> usize {
        self.home.load(Ordering::Relaxed)
    }

    pub(super) fn queue(&self) -> usize {
        self.queue.load(Ordering::Relaxed)
    }
}
