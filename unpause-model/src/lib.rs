//! Models: a test passes a closure, which is run many times, each time under another schedule.
//!
//! This is the base of crates that provide the names of other tools, such as `unpause-loom`. The crate has no
//! dependencies: `cargo unpause test --any` links the program with the engine, which registers itself here. Without
//! that command, a model runs several times on real threads, and prints a note once.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! use unpause_model::Model;
//!
//! Model { plan: "SIM_STRATEGY=exhaustive", tool: "an example" }.check(|| {
//!     let number = Arc::new(AtomicU32::new(0));
//!     let other = number.clone();
//!     let thread = std::thread::spawn(move || other.fetch_add(1, SeqCst));
//!     number.fetch_add(1, SeqCst);
//!     thread.join().unwrap();
//!     assert_eq!(number.load(SeqCst), 2);
//! });
//! ```
//!
//! The code of this crate is not instrumented, so its records of a run do not count as shared memory of the run.

mod door;
mod kept;
mod real;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub use self::door::{
    await_others, between_tests, end_locals, fail, is_stepped, may_be_old, outside,
};
pub use self::kept::{
    Flag, Kind, at_end, call, count, detach, has_detached, is_ending, is_marked, is_running,
    joined_panic, local, mark, number,
};

/// The settings for the runs of a model.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    /// The settings for runs under the engine, one line per phase. A line contains unpause variables such as
    /// `SIM_STRATEGY=exhaustive`, separated by spaces. The next phase runs if no run of this phase fails. The first
    /// word of a line may be a condition. `unproved` means: only if the previous phase was not a proof. `weak` means:
    /// only if a search treated orders weaker than `SeqCst` as `SeqCst`.
    pub plan: &'a str,
    /// The name of the tool whose names the test uses, for messages.
    pub tool: &'a str,
}

impl Model<'_> {
    /// Executes the runs of `body`, and returns their number. The calling thread waits. Values captured by `body`
    /// outlive the runs.
    ///
    /// # Panics
    /// If a run fails. The message is the run's panic message, or a line about the failure.
    pub fn check<F>(&self, body: F) -> u64
    where
        F: Fn() + Send + Sync + 'static,
    {
        let checked = self.try_check(&|| body(), size_of::<F>() > 0);
        if let Some(message) = checked.failure {
            // The screen has already shown everything, so the panic hook is not called.
            panic::resume_unwind(Box::new(message));
        }
        checked.runs
    }

    /// Like `check`, for a body of unknown type. `has_captured` is `true` if the body captures memory, which outlives
    /// the runs. A failure does not panic.
    pub fn try_check(&self, body: &(dyn Fn() + Sync), has_captured: bool) -> Checked {
        let calls = AtomicU64::new(0);
        let once = || once(body, calls.fetch_add(1, Relaxed));
        let (runs, failure) = match door::open() {
            Some(door) => door.check(self.plan, has_captured, &once),
            None => real::check(self.tool, &once),
        };
        // A search also calls the body in runs that do not count. Captured values see these calls.
        let runs = if has_captured { runs.max(calls.into_inner()) } else { runs };
        Checked { runs, failure }
    }
}

/// The end of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// The number of runs, up to the failing run. If the body has captured memory: the number of calls of the body.
    pub runs: u64,
    /// The panic message of the failing run, or a line about the failure; `None` if no run failed.
    pub failure: Option<String>,
}

/// Runs the body of a model once, with all threads that it leaves behind. `call` is the number of earlier calls in this
/// process.
///
/// # Errors
/// Returns the reason why the run failed, or `None` if it panicked and the panic hook has already reported the panic.
fn once(body: &dyn Fn(), call: u64) -> Result<(), Option<String>> {
    kept::begin(call);
    let run = || {
        body();
        kept::end()
    };
    let ended = panic::catch_unwind(AssertUnwindSafe(run));
    kept::leave();
    match ended {
        Ok(ended) => ended.map_err(Some),
        Err(payload) => {
            let message = message(&*payload);
            // Not dropped, because the payload's memory is freed with the run.
            std::mem::forget(payload);
            Err(match is_stepped() {
                true => None,
                // The panic of the body often only says that a thread has panicked.
                false => Some(kept::take_panic().unwrap_or(message)),
            })
        }
    }
}

/// Returns the text of a panic.
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (None, Some(message)) => message.clone(),
        (None, None) => "a value that is no text".to_owned(),
    }
}
