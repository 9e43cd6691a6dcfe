//! The end of the process on purpose: nothing can interrupt a task that hangs or that would end the process, and no
//! other test can continue.
//!
//! A test harness keeps the output of failed tests until all tests have ended. If the process ends before, the
//! output would be lost, so the screens of failed tests are kept here too.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use crate::engine::underway;

/// The exit code of a process that was ended so: the same as after a panic.
const EXIT: i32 = 101;

/// The screens of the tests that have failed.
static FAILED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A test failed, and a harness may have its screen.
pub(super) fn failed(screen: &str) {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).push(screen.to_owned());
}

/// Shows the screens of tests that have failed and `screen`, which reports the failure, and ends the process.
pub(crate) fn end_process(screen: &str) -> ! {
    let failed = std::mem::take(&mut *FAILED.lock().unwrap_or_else(PoisonError::into_inner));
    let mut text = String::new();
    if !failed.is_empty() {
        text += "note: the failure below ends the process. These tests had failed before:\n\n";
        failed.iter().for_each(|screen| text += &format!("{}\n\n", screen.trim_end()));
    }
    text += screen;
    // Not `eprint!`: a test harness may have taken that, and will have no time to show it.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    underway::unmark_all();
    std::process::exit(EXIT)
}
