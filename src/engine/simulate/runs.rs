//! The loop over runs of one worker.

use crate::rt::Worker;

/// The decision after a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Next {
    /// Executes the next run, if any.
    Again,
    /// Ends the loop.
    Stop,
}

/// A value that contains the worker of a loop of runs.
pub(super) trait OwnsWorker {
    fn worker(&mut self) -> &mut Worker;
}

impl OwnsWorker for Worker {
    fn worker(&mut self) -> &mut Worker {
        self
    }
}

/// Calls `execute` with each number, until it returns [`Next::Stop`]. `execute` executes a run on the worker, and
/// judges the run. Then the histories of the run are dropped.
// Invariant: no run begins while the worker has histories or programs. Histories and programs contain values of the
// user. The destructors of these values must not run within another run.
pub(super) fn for_each_run<O: OwnsWorker>(
    owner: &mut O,
    numbers: impl IntoIterator<Item = u64>,
    mut execute: impl FnMut(&mut O, u64) -> Next,
) {
    for number in numbers {
        let next = execute(owner, number);
        owner.worker().forget_histories();
        if next == Next::Stop {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::STRATEGIES;

    #[test]
    fn the_loop_ends_at_the_first_stop_or_after_the_last_number() {
        let executed = |last: u64| {
            let mut numbers = Vec::new();
            let mut worker = Worker::new((STRATEGIES[0].create)());
            for_each_run(&mut worker, 0..5, |_, number| {
                numbers.push(number);
                if number == last { Next::Stop } else { Next::Again }
            });
            numbers
        };
        assert_eq!(executed(2), [0, 1, 2]);
        assert_eq!(executed(9), [0, 1, 2, 3, 4]);
    }
}
