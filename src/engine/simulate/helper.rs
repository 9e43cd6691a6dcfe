//! The communication with a [helper](Helper). A helper is a copy of this process that executes runs of plain threads
//! for it, because a process can execute only one run at a time.
//!
//! This process sends a request for runs, and waits. Meanwhile the helper regularly sends a heartbeat, and checks if it
//! must stop. A helper is lost if it sends nothing for the time limit of a step, or has ended. This process then
//! executes the requested runs itself, and reports a run that hangs or ends the process. A failure that a helper found
//! is reproduced in this process before it is reported.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::session::Session;
use crate::engine::config::LogMode;
use crate::native::{self, Helper, HelperLine};

/// The time during which only this process executes runs. After this time, helpers start.
pub(super) const ALONE: Duration = Duration::from_millis(50);

/// The interval of heartbeats.
const BEAT: Duration = Duration::from_millis(50);

/// The minimum time without a heartbeat after which a helper is lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// A function that returns `true` if another run may be executed.
pub(super) type GoesOn<'a> = &'a dyn Fn() -> bool;

/// Returns the number of processes that execute runs of the test, including this process. Async tasks need no further
/// process.
pub(super) fn processes(session: &Session<'_>) -> usize {
    if is_able(session) && native::may_have_helpers() { session.config.jobs } else { 1 }
}

/// Returns `true` if copies of this process can execute runs of the test.
pub(super) fn is_able(session: &Session<'_>) -> bool {
    let config = session.config;
    // Subscribers in this process must receive each run, or a note is recorded before each run. Helpers cannot do
    // either.
    let is_heard = config.log == LogMode::All || session.watch.notes().is_some();
    // Without a time limit, a lost helper would not be detected.
    config.is_native() && !is_heard && config.hang.is_some()
}

/// Sends a request to a helper, and waits for the reply. As soon as `goes_on` returns `false`, the helper receives the
/// request to stop after the current run. `None` if the helper is lost.
pub(super) fn ask(
    session: &Session<'_>,
    helper: &mut Helper,
    question: &str,
    goes_on: GoesOn<'_>,
) -> Option<String> {
    let hang = session.config.hang.unwrap_or(PATIENCE).max(PATIENCE);
    if !helper.line.say(question) {
        return None;
    }
    let (mut heard, mut is_cut) = (Instant::now(), false);
    loop {
        match helper.line.hear(Some(BEAT)).ok()? {
            Some(line) if line != ".\n" => return Some(line),
            Some(_) => heard = Instant::now(),
            None if heard.elapsed() < hang => {}
            None => return None,
        }
        if !is_cut && !goes_on() {
            is_cut = true;
            if !helper.line.say("cut\n") {
                return None;
            }
        }
    }
}

/// Answers requests as a helper, until the process is ended. `answer` returns an empty reply for a text that needs no
/// reply. If it returns `None`, the process ends.
pub(super) fn serve(
    line: &mut HelperLine,
    answer: &mut dyn FnMut(&str, GoesOn<'_>) -> Option<String>,
) {
    let line = RefCell::new(line);
    let (last, is_cut) = (Cell::new(Instant::now()), Cell::new(false));
    let goes_on = || {
        if last.get().elapsed() >= BEAT {
            last.set(Instant::now());
            let mut line = line.borrow_mut();
            // A helper that executes runs receives no other message than `cut`.
            let is_asked =
                line.say(".\n") && matches!(line.hear(Some(Duration::from_nanos(1))), Ok(None));
            is_cut.set(is_cut.get() || !is_asked);
        }
        !is_cut.get()
    };
    while let Ok(Some(text)) = { line.borrow_mut().hear(None) } {
        // The message arrived too late: the reply was already sent.
        if text == "cut\n" {
            continue;
        }
        last.set(Instant::now());
        is_cut.set(false);
        match answer(&text, &goes_on) {
            Some(said) if said.is_empty() || line.borrow_mut().say(&said) => {}
            _ => return,
        }
    }
}
