//! The functions that a thread is in, by their frames: return addresses, and the positions on the stack.

use super::blocks::{DEPTH, Trace};
use super::thread::Thread;

/// The number of return addresses that distinguish callers.
const HASHED: usize = 8;

/// The hash of return addresses and one more, which is outside of them.
#[inline]
pub(crate) fn add(hash: u64, address: usize) -> u64 {
    (hash ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
}

impl Thread {
    /// The return addresses up to its last request, innermost first.
    pub(crate) fn return_addresses(&self) -> impl Iterator<Item = usize> {
        let (first, frame) = self.caller;
        (first != 0).then_some(first).into_iter().chain(self.frames_from(frame))
    }

    /// The return addresses up to its last request with the frame pointers of the functions that they are in, innermost
    /// first.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (usize, usize)> {
        let (first, frame) = self.caller;
        let read = move |frame: usize| {
            let inside = self.has_on_stack(frame) && frame.is_multiple_of(8);
            // SAFETY: a word on the stack of a suspended thread.
            if inside { unsafe { *(frame as *const usize) } } else { 0 }
        };
        let frames = std::iter::successors(Some(frame), move |frame| Some(read(*frame)));
        // Without a first address, the innermost one is in the caller of the function with this frame pointer.
        frames.skip(usize::from(first == 0)).zip(self.return_addresses())
    }

    /// The return addresses of the frames from `frame` on.
    pub(crate) fn frames_from(&self, mut frame: usize) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let (next, address) = self.frame_at(frame)?;
            frame = next;
            Some(address)
        })
    }

    /// A hash of the innermost return addresses of a function with this return address, or 0, and this frame pointer:
    /// the same for all requests of one line of code that was called from the same lines.
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

    /// The return addresses from a frame pointer of the thread that runs now.
    #[inline]
    pub(crate) fn trace(&self, mut frame: usize) -> Trace {
        let mut trace = [0; DEPTH];
        for to in &mut trace {
            let Some((next, address)) = self.frame_at(frame) else { break };
            (*to, frame) = (address, next);
        }
        trace
    }

    /// The innermost return addresses up to its last request.
    pub(crate) fn last_trace(&self) -> Trace {
        let mut trace = [0; DEPTH];
        trace.iter_mut().zip(self.return_addresses()).for_each(|(to, from)| *to = from);
        trace
    }

    /// The frame pointer of the caller of the function with this frame pointer, 0 if it is none, and the return address
    /// there. `None` if no frame can be there.
    #[inline]
    pub(crate) fn frame_at(&self, frame: usize) -> Option<(usize, usize)> {
        // Two words above the stack pointer of the worker, and aligned as it is. The rotation makes a large number of
        // a distance that is no multiple of 8.
        let distance = self.depth(frame).wrapping_sub(8);
        if distance.rotate_right(3) >= (self.stack - 1) >> 3 {
            return None;
        }
        // SAFETY: two words on the stack of the thread. If they are no frame, the addresses are wrong and nothing else.
        let (next, address) = unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) };
        // The stack grows down.
        Some((if next > frame { next } else { 0 }, address))
    }
}
