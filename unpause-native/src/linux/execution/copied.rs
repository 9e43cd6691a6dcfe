//! A question that is answered by a copy of this process. The copy changes nothing in the run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::super::apart::process::{self, Forked};
use super::super::apart::{recorded, tape};
use super::super::{heap, signals};
use super::{Execution, Side};

/// The number of this question.
const QUESTION: u8 = 37;
/// The number that stands for no answer.
const UNKNOWN: u8 = u8::MAX;
/// The longest time until the answer.
const LONGEST: Duration = Duration::from_secs(10);

impl Execution {
    /// Returns a hash of the state of `thread` at its last request: of all memory on which its next instructions can
    /// depend, except memory that a closure has captured. Addresses of allocations may differ in equal states.
    pub fn hash_of_state(&self, thread: usize) -> u64 {
        answer!(40, &self.0, 0, |local| local.hash_of_state(thread))
    }

    /// Forks this process. The copy, which contains only the calling thread, calls `answer` and ends. `answer` may
    /// continue threads and perform their operations: the run of this process does not change. Output of the copy is
    /// lost.
    ///
    /// Returns the answer. Returns `None` if the system refuses to create a process, or if the copy has given no answer
    /// after ten seconds. Costs as much as a fork: about a millisecond.
    pub fn ask_copy(&mut self, answer: impl FnOnce(&mut Execution) -> u8) -> Option<u8> {
        let answer = match &self.0 {
            Some(Side::Parent(recorded)) => recorded.answer(QUESTION).unwrap_or(UNKNOWN),
            _ => self.fork_for(answer).unwrap_or(UNKNOWN),
        };
        if let Some(Side::Child(_)) = &self.0 {
            recorded::write(QUESTION, &answer);
        }
        (answer != UNKNOWN).then_some(answer)
    }

    fn fork_for(&mut self, answer: impl FnOnce(&mut Execution) -> u8) -> Option<u8> {
        match process::fork_run().ok()? {
            Forked::Child => {
                tape::write_nothing();
                signals::continue_in_copy();
                heap::clear_stacks();
                self.0 = match self.0.take() {
                    Some(Side::Child(local)) => Some(Side::Here(local)),
                    side => side,
                };
                // The stack below is a copy of the parent's stack, so no panic may unwind it.
                let answer = catch_unwind(AssertUnwindSafe(|| answer(self)));
                process::leave_with(answer.unwrap_or(UNKNOWN))
            }
            Forked::Parent(copy) => copy.answer_within(LONGEST),
        }
    }
}
