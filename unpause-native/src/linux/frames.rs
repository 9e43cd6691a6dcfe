//! The functions on the stack of a thread, found by its frames: return addresses, and positions on the stack.

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

    /// Returns hashes of eight parts of its used stack, innermost first, with 16 bits each. Addresses of the heap count
    /// as equal, because a loop that allocates in each round does not count its rounds. A small number beside the upper
    /// half of such an address is a number.
    pub(crate) fn hashes_of_stack(&self) -> (u64, u64) {
        /// The numbers of words of the parts.
        const PARTS: [usize; 8] = [8, 8, 16, 32, 64, 128, 256, 1024];
        const NUMBERS: usize = 1 << 12;
        let is_of_heap = |word: usize| heap::has(word) && heap::has(word.wrapping_sub(NUMBERS));
        let mut hashes = [0_u16; 8];
        let mut at = self.called_from & !7;
        if self.has_on_stack(at) {
            for (words, hash) in PARTS.into_iter().zip(&mut hashes) {
                let end = (at + words * 8).min(self.base & !7);
                let whole = (at..end).step_by(8).fold(0, |hash, address| {
                    // SAFETY: this is the used part of the stack of a suspended thread.
                    let word = unsafe { (address as *const usize).read_volatile() };
                    add(hash, if is_of_heap(word) { 0 } else { word })
                });
                (*hash, at) = ((whole >> 48) as u16, end);
            }
        }
        let half = |hashes: &[u16]| hashes.iter().fold(0, |all, hash| all << 16 | u64::from(*hash));
        (half(&hashes[..4]), half(&hashes[4..]))
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
