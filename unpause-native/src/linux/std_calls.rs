//! The std functions that a thread is in, as far as this matters for its requests.
//!
//! `print!` holds a lock while it formats its arguments and writes the text. No thread of the run reads the text. If
//! the thread makes no request in between, the call is a part of one step, and the order of two such calls makes no
//! difference. So a search records the call only if the thread makes a request in it, for example in a `Display` of its
//! own.

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

/// A call of a function that prints. The program calls an assembly function with a frame, which calls std's function
/// and then records its return.
#[derive(Default)]
struct Print {
    /// The frame of the assembly function; 0 if there was no call, or if it has returned.
    frame: usize,
    /// The return address of the assembly function.
    returns_to: usize,
    path: &'static str,
}

/// Returns the address to which a function with this frame returns.
///
/// # Safety
/// The frame must be on the stack of the running thread, above a frame in use.
unsafe fn return_address(frame: usize) -> usize {
    // SAFETY: the caller guarantees that the stack contains this address.
    unsafe { *((frame + size_of::<usize>()) as *const usize) }
}

impl Print {
    /// Returns `true` if the call may not have ended. `frame` is a frame pointer of the same thread.
    ///
    /// A call that returns is forgotten. A call that unwinds is not: it has ended if its frame is below this one, or if
    /// another call has overwritten its return address. Otherwise it may continue.
    fn goes_on(&self, frame: usize) -> bool {
        // SAFETY: an address of the stack above a frame in use is a part of the stack.
        frame < self.frame && unsafe { return_address(self.frame) } == self.returns_to
    }
}

impl StdCalls {
    /// Records that the thread enters a function with this path. Returns `true` for functions that print, and for their
    /// calls of functions of streams. `call` is the frame of the call if its return is recorded, otherwise 0. `frame`
    /// is the frame pointer of the recording function.
    pub(crate) fn is_print(&mut self, path: &'static str, call: usize, frame: usize) -> bool {
        if self.may_print() && self.print.goes_on(frame) {
            return path.contains(STREAMS);
        }
        if call == 0 || !PRINTS.contains(&path) {
            return false;
        }
        // SAFETY: this is the frame of the caller.
        let returns_to = unsafe { return_address(call) };
        self.print = Print { frame: call, returns_to, path };
        true
    }

    /// Records that the call with this frame returns.
    pub(crate) fn leave(&mut self, frame: usize) {
        if self.print.frame == frame {
            self.print = Print::default();
        }
        if self.starts_child == frame {
            self.starts_child = 0;
        }
    }

    /// Returns `true` if the thread has entered a function that prints, and has not returned from it.
    #[inline]
    pub(crate) fn may_print(&self) -> bool {
        self.print.frame != 0
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
