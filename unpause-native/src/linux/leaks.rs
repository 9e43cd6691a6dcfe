//! Leaks: allocations of a run without references at its end.
//!
//! The roots are the writable memory of the program, the thread-locals of all threads, and the stacks, arguments and
//! values for keys of threads that have not ended. (std drops some thread-locals by the destructor of its key, which
//! does not run.) A word with an address in an allocation counts as a reference, whatever the word means. So a leak may
//! be overlooked, but no allocation in use is reported as a leak.

use super::fault::{Fault, Problem, Step};
use super::heap::{self, Memory, UNIT};
use super::image;
use super::thread::Thread;

/// Returns the first allocation without references, and the number and the bytes of all such allocations.
pub(crate) fn find(threads: &[&Thread]) -> Option<(Fault, usize, usize)> {
    // SAFETY: only the carrier calls this; see `heap::Shared`.
    let heap = unsafe { &*heap::heap() };
    if heap.memory == Memory::Plain {
        return None;
    }
    let blocks = heap.blocks.all();
    let mut by_start: Vec<usize> = (0..blocks.len()).filter(|at| !blocks[*at].is_free).collect();
    by_start.sort_unstable_by_key(|at| blocks[*at].start);
    let mut reached = vec![false; blocks.len()];
    let mut left: Vec<usize> = Vec::new();
    let scan = |begin: usize, size: usize, reached: &mut [bool], left: &mut Vec<usize>| {
        let begin_aligned = begin.next_multiple_of(8);
        let count = (begin + size).saturating_sub(begin_aligned) / 8;
        for word in 0..count {
            // SAFETY: the memory belongs to the program, to a suspended thread, or to an allocation.
            let value = unsafe { ((begin_aligned + 8 * word) as *const usize).read_volatile() };
            if !heap::has(value) {
                continue;
            }
            let offset = value - heap.base;
            let after = by_start.partition_point(|at| blocks[*at].start <= offset);
            let Some(at) = after.checked_sub(1).map(|index| by_start[index]) else { continue };
            if offset - blocks[at].start <= blocks[at].size.max(UNIT) && !reached[at] {
                reached[at] = true;
                left.push(at);
            }
        }
    };
    for (begin, size) in image::writable() {
        scan(begin, size, &mut reached, &mut left);
    }
    for thread in threads {
        let block = (!thread.is_past()).then(|| thread.thread_locals());
        for (begin, size) in block.into_iter().chain(thread.in_use()) {
            scan(begin, size, &mut reached, &mut left);
        }
    }
    while let Some(at) = left.pop() {
        scan(heap.base + blocks[at].start, blocks[at].size, &mut reached, &mut left);
    }
    let lost: Vec<usize> =
        (0..blocks.len()).filter(|at| !blocks[*at].is_free && !reached[*at]).collect();
    // An allocation is lost if only lost allocations refer to it, so such allocations are not named first.
    let mut referred = Vec::new();
    for block in lost.iter().map(|at| &blocks[*at]) {
        scan(heap.base + block.start, block.size, &mut reached, &mut referred);
    }
    let first = lost.iter().find(|at| !referred.contains(at)).or(lost.first())?;
    let block = &blocks[*first];
    let step = Step::new("allocated", block.allocator as usize, block.allocated);
    let bytes = lost.iter().map(|at| blocks[*at].size).sum();
    let fault = Fault { size: Some(block.size), ..Fault::new(Problem::Leak, step) };
    Some((fault, lost.len(), bytes))
}
