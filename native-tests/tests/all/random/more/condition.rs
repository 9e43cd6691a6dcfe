//! The part of a model that conditions of std and parking_lot share: the owner of the mutex, and the waiting threads in
//! the order of their arrival.

use std::collections::VecDeque;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Condition {
    is_of_std: bool,
    pub(super) owner: Option<usize>,
    /// The waiting threads.
    pub(super) queue: VecDeque<usize>,
    /// The threads that wait for the mutex of parking_lot after a notification.
    pub(super) requeued: VecDeque<usize>,
    /// True for a thread that no longer waits in a queue.
    pub(super) is_woken: Vec<bool>,
}

impl Condition {
    pub(super) fn new(is_of_std: bool, threads: usize) -> Condition {
        let (queue, requeued) = (VecDeque::new(), VecDeque::new());
        Condition { is_of_std, owner: None, queue, requeued, is_woken: vec![false; threads] }
    }

    pub(super) fn acquire(&mut self, me: usize) -> Option<()> {
        self.owner.is_none().then_some(())?;
        self.owner = Some(me);
        Some(())
    }

    pub(super) fn release(&mut self) {
        self.owner = None;
        if let Some(first) = self.requeued.pop_front() {
            self.is_woken[first] = true;
        }
    }

    /// Adds a thread to the waiting threads.
    pub(super) fn join(&mut self, me: usize) {
        self.queue.push_back(me);
        self.is_woken[me] = false;
    }

    /// Adds a notified thread to the threads that wait for the mutex of parking_lot.
    pub(super) fn requeue(&mut self, me: usize) {
        self.is_woken[me] = false;
        self.requeued.push_back(me);
    }

    /// Notifies one waiting thread or all. Returns the number of waiting threads.
    pub(super) fn notify(&mut self, all: bool) -> i64 {
        let count = if all { self.queue.len() } else { self.queue.len().min(1) };
        let notified: Vec<usize> = self.queue.drain(..count).collect();
        for (nth, thread) in notified.into_iter().enumerate() {
            // parking_lot wakes at most one thread, because the others would wait for the mutex.
            if self.is_of_std || nth == 0 && self.owner.is_none() {
                self.is_woken[thread] = true;
            } else {
                self.requeued.push_back(thread);
            }
        }
        count as i64
    }
}
