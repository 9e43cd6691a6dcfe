//! The functions on the stack of a thread, found by its frames: return addresses, and positions on the stack.

use std::ops::Range;

use super::blocks::{DEPTH, Trace};
use super::heap;
use super::thread::Thread;

/// The number of return addresses that distinguish callers.
const HASHED: usize = 8;

/// Combines a hash of return addresses with one more address.
#[inline]
pub(crate) fn add(hash: u64, address: usize) -> u64 {
    (hash ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
}

/// Returns a hash of the memory around an address: 128 bytes before and after it, or less at the ends of its page and
/// of its allocation. A lock is often beside the value that it protects. Addresses of the heap count like in
/// [`Thread::hash_of_counters`].
///
/// # Safety
/// The address must be in memory of the program.
pub(crate) unsafe fn hash_around(address: usize) -> u64 {
    const SIZE: usize = 128;
    const PAGE: usize = 4096;
    let page = address / PAGE * PAGE;
    let near = address.saturating_sub(SIZE).max(page)..(address + SIZE).min(page + PAGE);
    let near = if heap::has(address) { heap::clamp(address, near) } else { near };
    // SAFETY: the caller guarantees the page.
    unsafe { hash_of_words(near.start.next_multiple_of(8)..near.end & !7) }
}

/// Returns a hash of words in memory, in which an address of the heap counts as its offset in its allocation.
///
/// # Safety
/// The range must be aligned, and in memory of the program.
unsafe fn hash_of_words(range: Range<usize>) -> u64 {
    range.step_by(8).fold(0, |hash, address| {
        // SAFETY: the caller guarantees the memory. No thread of the run executes.
        let word = unsafe { (address as *const usize).read_volatile() };
        let offset = if heap::has(word) { heap::offset(word) } else { None };
        add(hash, offset.unwrap_or(word))
    })
}

impl Thread {
    /// Returns a hash of the part of its stack that functions of the program use, at the access that it has requested.
    pub(crate) fn hash_of_stack(&self) -> u64 {
        let words = (self.called_from & !7..self.base & !7).step_by(8);
        let is_inside = self.has_on_stack(self.called_from);
        words.take_while(|_| is_inside).fold(0, |hash, address| {
            // SAFETY: this is the used part of the stack of a suspended thread.
            add(hash, unsafe { (address as *const usize).read_volatile() })
        })
    }

    /// Returns a hash of the innermost 12 KiB of its used stack. An address of the heap counts as its offset in its
    /// allocation, because a loop that allocates in each round does not count its rounds.
    pub(crate) fn hash_of_counters(&self) -> u64 {
        const WORDS: usize = 1536;
        let begin = self.called_from & !7;
        let end = (begin + WORDS * 8).min(self.base & !7);
        match self.has_on_stack(begin) {
            // SAFETY: this is the used part of the stack of a suspended thread.
            true => unsafe { hash_of_words(begin..end) },
            false => 0,
        }
    }

    /// Returns the return addresses at the last request of the thread, innermost first.
    pub(crate) fn return_addresses(&self) -> impl Iterator<Item = usize> {
        let (first, frame) = self.caller;
        (first != 0).then_some(first).into_iter().chain(self.frames_from(frame))
    }

    /// Returns the return addresses at the last request of the thread, innermost first. Each has the frame pointer of
    /// the function that contains it.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (usize, usize)> {
        let (first, frame) = self.caller;
        let read = move |frame: usize| {
            let inside = self.has_on_stack(frame) && frame.is_multiple_of(8);
            // SAFETY: this is a word on the stack of a suspended thread.
            if inside { unsafe { *(frame as *const usize) } } else { 0 }
        };
        let frames = std::iter::successors(Some(frame), move |frame| Some(read(*frame)));
        // Without a first address, the innermost address is in the caller of the function with this frame pointer.
        frames.skip(usize::from(first == 0)).zip(self.return_addresses())
    }

    /// Returns the return addresses of the frames from `frame` on.
    pub(crate) fn frames_from(&self, mut frame: usize) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let (next, address) = self.frame_at(frame)?;
            frame = next;
            Some(address)
        })
    }

    /// Returns a hash of the innermost return addresses, starting with a return address or 0, and a frame pointer. The
    /// hash is the same for all requests of one source line that was called from the same lines.
    #[inline]
    pub(crate) fn hash_of_calls(&self, (first, mut frame): (usize, usize)) -> u64 {
        let (mut hash, mut left) = (0, HASHED);
        if first != 0 {
            (hash, left) = (add(hash, first), left - 1);
        }
        while left > 0
            && let Some((next, address)) = self.frame_at(frame)
        {
            (hash, frame, left) = (add(hash, address), next, left - 1);
        }
        hash
    }

    /// Returns the return addresses from a frame pointer of the running thread.
    #[inline]
    pub(crate) fn trace(&self, mut frame: usize) -> Trace {
        let mut trace = [0; DEPTH];
        for to in &mut trace {
            let Some((next, address)) = self.frame_at(frame) else { break };
            (*to, frame) = (address, next);
        }
        trace
    }

    /// Returns the innermost return addresses at the last request of the thread.
    pub(crate) fn last_trace(&self) -> Trace {
        let mut trace = [0; DEPTH];
        trace.iter_mut().zip(self.return_addresses()).for_each(|(to, from)| *to = from);
        trace
    }

    /// Returns two values for the function with this frame pointer: the frame pointer of its caller, or 0 if it is not
    /// a frame, and the return address. `None` if no frame can be at this position.
    #[inline]
    pub(crate) fn frame_at(&self, frame: usize) -> Option<(usize, usize)> {
        // The frame must be two words above the stack pointer of the worker, with the same alignment. The rotation
        // turns a distance that is not a multiple of 8 into a large number.
        let distance = self.depth(frame).wrapping_sub(8);
        if distance.rotate_right(3) >= (self.stack - 1) >> 3 {
            return None;
        }
        // SAFETY: these are two words on the stack of the thread. If they are not a frame, only the resulting addresses
        // are wrong.
        let (next, address) = unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) };
        // The stack grows towards lower addresses.
        Some((if next > frame { next } else { 0 }, address))
    }
}
