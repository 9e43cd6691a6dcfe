//! The std functions that a thread is in, as far as this matters for its requests.
//!
//! `print!` holds a lock while it formats its arguments and writes the text. No thread of the run reads the text. If
//! the thread makes no request in between, the call is a part of one step, and the order of two such calls makes no
//! difference. So a search records the call only if the thread makes a request in it, for example in a `Display` of its
//! own.

use super::arch::DISTANCE_OF_RETURN;
use super::compiled::note_entered;
use super::switch::frame_pointer;
use super::thread::Thread;

/// The part of std with the standard streams.
const STREAMS: &str = "std::io::stdio::";
/// The functions that print.
const PRINTS: [&str; 2] = ["std::io::stdio::_print", "std::io::stdio::_eprint"];

/// The functions that a thread has entered.
#[derive(Default)]
pub(crate) struct StdCalls {
    /// The frame of a function that starts a process, or 0.
    pub(crate) starts_child: usize,
    print: Print,
}

/// A call of a function that prints.
#[derive(Default)]
struct Print {
    /// The address at which the return address of the call is on the stack; 0 if there was no call.
    slot: usize,
    /// The return address.
    returns_to: usize,
    path: &'static str,
}

impl Print {
    /// Returns `true` if the call may not have returned. `frame` is a frame pointer of the same thread.
    fn goes_on(&self, frame: usize) -> bool {
        // The stack grows towards lower addresses, so a slot below this frame is of an ended call. Above, the next call
        // of the caller has overwritten the slot.
        // SAFETY: an address of the stack above a frame in use is a part of the stack.
        frame < self.slot && unsafe { *(self.slot as *const usize) } == self.returns_to
    }
}

impl StdCalls {
    /// Records that the thread enters a function with this path. Returns `true` for functions that
    /// print, and for their calls of functions of streams. `frame` is the frame pointer of the recording function.
    pub(crate) fn is_print(&mut self, path: &'static str, frame: usize) -> bool {
        if self.print.slot != 0 && self.print.goes_on(frame) {
            return path.contains(STREAMS);
        }
        let Some(distance) = DISTANCE_OF_RETURN.filter(|_| PRINTS.contains(&path)) else {
            return false;
        };
        let slot = frame + distance;
        // SAFETY: the caller has saved the return address there.
        let returns_to = unsafe { *(slot as *const usize) };
        self.print = Print { slot, returns_to, path };
        true
    }

    /// Returns `true` if the thread has entered a function that prints.
    #[inline]
    pub(crate) fn may_print(&self) -> bool {
        self.print.slot != 0
    }

    /// Records the function that prints, if the thread is still in it.
    #[inline(never)]
    fn note_print(&mut self) {
        match self.print.goes_on(frame_pointer()) {
            true => note_entered(self.print.path),
            false => self.print = Print::default(),
        }
    }
}

impl Thread {
    /// Called at a request of a thread that has lent memory, or has entered a function that prints.
    #[cold]
    pub(crate) fn note_stop(&mut self) {
        if self.lent.get() != usize::MAX {
            self.note_return();
        }
        if self.std_calls.may_print() {
            self.std_calls.note_print();
        }
    }
}
