//! Deliberate end of the process. The runner ends the process after a hang, because nothing can interrupt the task. The
//! runner also ends the process if a task would end the process itself. No other test can continue then.
//!
//! A test harness holds back the output of failed tests until all tests have ended. An early end of the process would
//! lose this output. Therefore this module also keeps the output of failed tests.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use crate::engine::underway;

/// The exit code of a process that is ended deliberately: the same as after a panic.
const EXIT: i32 = 101;

/// The text outputs of failed tests.
static FAILED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Records the output of a failed test, which a harness may be holding back.
pub(super) fn failed(screen: &str) {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).push(screen.to_owned());
}

/// Prints the outputs of earlier failed tests, then `screen`, which reports the current failure, and ends the process.
pub(crate) fn end_process(screen: &str) -> ! {
    let failed = std::mem::take(&mut *FAILED.lock().unwrap_or_else(PoisonError::into_inner));
    let mut text = String::new();
    if !failed.is_empty() {
        text += "note: the failure below ends the process. These tests had failed before:\n\n";
        failed.iter().for_each(|screen| text += &format!("{}\n\n", screen.trim_end()));
    }
    text += screen;
    // This is not `eprint!`, because a test harness may capture it and would have no time to show the text.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    underway::unmark_all();
    std::process::exit(EXIT)
}
