//! The functions that have allocated the memory of a run. Recorded only if the owner requests it, for a run that a
//! report shows.

use super::heap;
use super::thread::{Thread, outside};

/// The number of return addresses that are recorded.
const DEPTH: usize = 32;

/// The allocations of a run, in their order. `None` if they are not recorded.
pub(crate) struct Origins(Option<Vec<Origin>>);

struct Origin {
    /// The address of the first byte.
    start: usize,
    /// The return addresses, innermost first; unused entries at the end are 0.
    callers: [usize; DEPTH],
}

impl Origins {
    pub(crate) const NONE: Origins = Origins(None);

    /// Records the allocations from now on.
    pub(crate) fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    /// Records an allocation of a thread, by a function with this frame pointer.
    #[inline]
    pub(crate) fn note(&mut self, thread: &Thread, start: usize, frame: usize) {
        if let Some(all) = &mut self.0 {
            let mut callers = [0; DEPTH];
            callers.iter_mut().zip(thread.frames_from(frame)).for_each(|(to, from)| *to = from);
            // The list is not on the heap of the run.
            outside(|| all.push(Origin { start, callers }));
        }
    }

    /// Returns the return addresses of the allocation that contains an address, innermost first. Empty if the
    /// allocation is unknown.
    pub(crate) fn of(&self, address: usize) -> Vec<usize> {
        let start = if heap::has(address) { heap::start(address) } else { None };
        // The last match counts, because memory can be reused.
        let is_it = |origin: &&Origin| Some(origin.start) == start;
        let found = self.0.iter().flatten().rev().find(is_it);
        found.map_or(Vec::new(), |origin| {
            origin.callers.iter().copied().take_while(|address| *address != 0).collect()
        })
    }
}
