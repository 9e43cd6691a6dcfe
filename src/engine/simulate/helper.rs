//! The talk with a [helper](Helper): a copy of this process that makes runs of plain threads for it, because a process
//! steps one run at a time.
//!
//! This process asks for some runs, and waits. Meanwhile the helper says now and then that it is making runs, and hears
//! if it is to make no more. A helper is lost if it says nothing for the time limit of a step, or has ended: what it
//! was asked for is then done here, where a run that hangs or ends its process is reported. Nothing else is: what a
//! helper finds is found here once more.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::session::Session;
use crate::engine::config::LogMode;
use crate::native::{self, Helper, HelperLine};

/// Runs are made here alone for so long before helpers begin.
pub(super) const ALONE: Duration = Duration::from_millis(50);

/// The interval of signs of life.
const BEAT: Duration = Duration::from_millis(50);

/// The least time without a sign of life after which a helper is lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns `true` if another run may be made.
pub(super) type GoesOn<'a> = &'a dyn Fn() -> bool;

/// The number of processes that make runs of the test, this one included. Tasks of futures need no other.
pub(super) fn processes(session: &Session<'_>) -> usize {
    let config = session.config;
    // Subscribers of this process hear each run, or its notes are entered before it.
    let is_heard = config.log == LogMode::All || session.watch.notes().is_some();
    // Without a limit nobody would know that a helper is lost.
    let is_able = config.is_native() && !is_heard && config.hang.is_some();
    if is_able && native::may_have_helpers() { config.jobs } else { 1 }
}

/// Asks a helper, and waits for the answer. When `goes_on` is false for the first time, the helper is to make no other
/// run. `None` if the helper is lost.
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

/// Answers questions as a helper, until the process is ended. A text that needs no answer has an empty one; after a
/// text without one the process ends.
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
            // Nothing else is said to a helper that makes runs.
            let is_asked =
                line.say(".\n") && matches!(line.hear(Some(Duration::from_nanos(1))), Ok(None));
            is_cut.set(is_cut.get() || !is_asked);
        }
        !is_cut.get()
    };
    while let Ok(Some(text)) = { line.borrow_mut().hear(None) } {
        // The answer was under way.
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
