//! The functions that have allocated the memory of a run. Kept only if the owner asks for it: in a run that is shown.

use super::heap;
use super::thread::{Thread, outside};

/// The number of return addresses that are kept.
const DEPTH: usize = 32;

/// The allocations of a run, in their order. `None` if they are not kept.
pub(crate) struct Origins(Option<Vec<Origin>>);

struct Origin {
    /// The address of the first byte.
    start: usize,
    /// Return addresses, innermost first; 0 behind the last.
    callers: [usize; DEPTH],
}

impl Origins {
    pub(crate) const NONE: Origins = Origins(None);

    /// Keeps the allocations from now on.
    pub(crate) fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    /// Notes an allocation of a thread, by a function with this frame pointer.
    #[inline]
    pub(crate) fn note(&mut self, thread: &Thread, start: usize, frame: usize) {
        if let Some(all) = &mut self.0 {
            let mut callers = [0; DEPTH];
            callers.iter_mut().zip(thread.frames_from(frame)).for_each(|(to, from)| *to = from);
            // The list is no memory of the run.
            outside(|| all.push(Origin { start, callers }));
        }
    }

    /// The return addresses of the allocation that an address is in, innermost first. Empty if it is not known.
    pub(crate) fn of(&self, address: usize) -> Vec<usize> {
        let start = if heap::has(address) { heap::start(address) } else { None };
        // The last one, because memory can be used again.
        let is_it = |origin: &&Origin| Some(origin.start) == start;
        let found = self.0.iter().flatten().rev().find(is_it);
        found.map_or(Vec::new(), |origin| {
            origin.callers.iter().copied().take_while(|address| *address != 0).collect()
        })
    }
}
