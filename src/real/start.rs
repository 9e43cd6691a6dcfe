//! The starting line for the tasks of a stress run.
//!
//! A spawned task waits until its spawner waits, ends, joins a task or reaches its next point (if points are
//! [disturbed](super::jitter)). Then the tasks spawned so far start together, as soon as the last of them has a thread.
//! This matters because most tasks take less time than the start of a thread. A spawner that reached a point starts
//! with its tasks.
//!
//! All waits are short. If a spawner neither waits nor has points, its tasks start after [`START`]. A task that no
//! thread polls delays the others for at most [`ARRIVAL`].

use std::time::Duration;

use super::stress::current;

/// The maximum time that a task waits for its start if its spawner neither waits nor ends.
pub(crate) const START: Duration = Duration::from_millis(5);
/// The maximum time that a spawner waits at a point until the tasks that it has spawned have threads.
const ARRIVAL: Duration = Duration::from_millis(2);

/// The tasks of a run that may start. Tasks are counted in the order of their spawns.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    /// True if a thread has polled the task, by number.
    arrived: Vec<bool>,
    /// Tasks below this number may start.
    released: usize,
    /// Tasks below this number start when all these tasks have arrived. The number is at least `released`.
    wanted: usize,
    /// The number of tasks in `released..wanted` that no thread has polled.
    missing: usize,
}

impl Starts {
    /// Adds a task.
    pub(crate) fn add(&mut self) {
        self.arrived.push(false);
    }

    /// Marks the task as polled by a thread. Returns `true` if this lets more tasks start.
    #[must_use]
    pub(crate) fn arrive(&mut self, task: usize) -> bool {
        let first = !std::mem::replace(&mut self.arrived[task], true);
        if first && (self.released..self.wanted).contains(&task) {
            self.missing -= 1;
        }
        self.release_if_complete()
    }

    /// Requests that all tasks start together. Returns `true` if they may start now.
    #[must_use]
    pub(crate) fn want_all(&mut self) -> bool {
        let new = &self.arrived[self.wanted.min(self.arrived.len())..];
        self.missing += new.iter().filter(|arrived| !**arrived).count();
        self.wanted = self.wanted.max(self.arrived.len());
        self.release_if_complete()
    }

    /// Lets the tasks start that wait for each other, whether they have arrived or not.
    pub(crate) fn release(&mut self) {
        (self.released, self.missing) = (self.wanted, 0);
    }

    /// Lets all tasks start, including later ones.
    pub(crate) fn open(&mut self) {
        (self.released, self.wanted, self.missing) = (usize::MAX, usize::MAX, 0);
    }

    /// Returns `true` if the task may start.
    pub(crate) fn may_start(&self, task: usize) -> bool {
        task < self.released
    }

    /// Returns `true` if a thread has polled the task.
    pub(crate) fn has_arrived(&self, task: usize) -> bool {
        self.arrived[task]
    }

    fn release_if_complete(&mut self) -> bool {
        let complete = self.missing == 0 && self.released < self.wanted;
        if complete {
            self.release();
        }
        complete
    }
}

/// Lets the tasks that were spawned so far start as soon as all of them have threads.
pub(crate) fn release() {
    if let Some(member) = current() {
        if member.run.lock().starts.want_all() {
            member.run.changed.notify_all();
        }
    }
}

/// Lets the tasks that were spawned so far start as soon as all of them have threads; the current task continues
/// together with them. Blocks the thread for at most [`ARRIVAL`].
pub(super) fn together() {
    let Some(member) = current() else { return };
    let run = &member.run;
    let mut state = run.lock();
    if !state.starts.want_all() {
        let last = state.starts.wanted;
        let waited =
            run.changed.wait_timeout_while(state, ARRIVAL, |state| state.starts.released < last);
        state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        if state.starts.released >= last {
            return;
        }
        state.starts.release();
    }
    drop(state);
    run.changed.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_start_when_the_last_that_is_wanted_has_arrived() {
        let mut starts = Starts::default();
        (0..3).for_each(|_| starts.add());
        assert!(!starts.arrive(1), "nobody asked for it");
        assert!(!starts.want_all());
        // No task waits for the fourth task.
        starts.add();
        assert!(!starts.arrive(0) && !starts.arrive(0) && !starts.arrive(3));
        assert!(!starts.may_start(0));
        assert!(starts.arrive(2));
        assert!(starts.may_start(2) && !starts.may_start(3));
        assert!(starts.want_all(), "it is there already");
        assert!(starts.may_start(3) && !starts.want_all());
    }

    #[test]
    fn a_task_that_does_not_arrive_is_not_waited_for_twice() {
        let mut starts = Starts::default();
        starts.add();
        assert!(!starts.want_all());
        starts.release();
        assert!(starts.may_start(0) && !starts.has_arrived(0));
        starts.add();
        assert!(starts.arrive(1) || starts.want_all());
        assert!(!starts.arrive(0));
        starts.open();
        starts.add();
        assert!(starts.may_start(2) && !starts.want_all() && !starts.arrive(2));
    }
}
