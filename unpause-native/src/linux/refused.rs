//! Calls that a run does not support. They fail, a search that meets one is not a proof, and a message names the call,
//! its place and the remedy.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use super::compiled::note_entered;
use super::local::FRAMES;
use super::places::{self, Frame};
use super::thread::{current, on_carrier, outside};

/// The calls that a message has named.
static TOLD: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Reports a call of a simulated thread that a run does not support. The thread has called a function with this frame
/// pointer. Returns the error number of the call.
pub(crate) fn refuse(call: &'static str, remedy: &'static str, frame: usize) -> c_int {
    let Some(thread) = current() else { return libc::ENOSYS };
    note_entered(call);
    let addresses: Vec<usize> = outside(|| thread.frames_from(frame).take(FRAMES).collect());
    on_carrier(move || {
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        if told.contains(&call) {
            return;
        }
        told.push(call);
        let place = place(&addresses);
        eprintln!(
            "unpause: {place}a run does not support `{call}`, so the call fails. {remedy}, or leave the test to \
             `cargo test`."
        );
    });
    libc::ENOSYS
}

/// Returns the innermost line outside of std, followed by a colon. Empty without debug information.
fn place(addresses: &[usize]) -> String {
    let mut frames = addresses.iter().flat_map(|address| places::frames(*address));
    let is_known = |frame: &Frame| frame.line > 0 && !frame.is_of_std();
    frames.find(is_known).map_or_else(String::new, |frame| {
        format!("{}:{}:{}: ", places::in_package(&frame.file), frame.line, frame.column)
    })
}
