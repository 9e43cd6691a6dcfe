//! Happens-before between calls, in runs with the memory `c11`.

use super::{in_world, stepped};
use crate::rt::{Known, World};

/// The clocks of tasks at the moments at which [`look`] was called.
pub(crate) struct Knowledge(Vec<Known>);

impl Knowledge {
    /// Returns `true` if the last operation between the moments `begin` and `end` of a task happens before the moment
    /// `next` of another task.
    pub(crate) fn orders(&self, (begin, end): (usize, usize), next: usize) -> bool {
        let [begin, end, next] = [begin, end, next].map(|at| &self.0[at]);
        end.is_known_at(begin, next)
    }
}

/// Records the clock of the current task. Returns the number of this moment; `None` without the memory `c11`.
pub(crate) fn look() -> Option<usize> {
    let noted = |world: &World| {
        // The number of a plain thread is the number of its task.
        match stepped::clock_of(world.client() as usize) {
            Some(clock) => Some(world.note_clock_of_thread(clock)),
            None => world.note_clock(),
        }
    };
    in_world(noted, || None)
}

/// Returns the clocks at the recorded moments. `None` if real time orders calls: the memory is not `c11`, or no
/// operation so far has an order weaker than `SeqCst`.
pub(crate) fn knowledge() -> Option<Knowledge> {
    in_world(World::noted_clocks, || None).map(Knowledge)
}
