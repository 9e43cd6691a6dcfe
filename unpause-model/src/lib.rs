//! Models: a test gives a closure, and many runs of the closure are made, each under another schedule.
//!
//! This is the base of crates that give the names of other tools, such as `unpause-loom`. It depends on nothing: under
//! `cargo unpause test --any` the program is linked with the engine, which opens a door to it here. Without that
//! command a model runs on real threads some times, and says so once.
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
//! The code of this crate is not instrumented, so its records about a run are no shared memory of the run.

mod door;
mod kept;
mod real;

use std::panic::{self, AssertUnwindSafe};

pub use self::door::{fail, is_stepped};
pub use self::kept::{Kind, at_end, count, detach, local, number};

/// A model: how its runs are made.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    /// The settings of the runs by the engine, a line for each phase: variables of unpause such as
    /// `SIM_STRATEGY=exhaustive`, with blanks between them. The next phase is made if no run of this one fails. The
    /// first word of a line may be a condition: `unproved`, if the phase before was no proof, or `weak`, if a search
    /// has taken orders weaker than `SeqCst` for it.
    pub plan: &'a str,
    /// The name of the tool whose names the test uses, for messages.
    pub tool: &'a str,
}

impl Model<'_> {
    /// Makes the runs of `body`, and returns their number. The thread that calls it waits. Values that `body`
    /// captures outlive the runs.
    ///
    /// # Panics
    /// If a run fails: with the message of its panic, or with a line about the failure.
    pub fn check<F>(&self, body: F) -> u64
    where
        F: Fn() + Send + Sync + 'static,
    {
        match self.try_check(&|| body(), size_of::<F>() > 0) {
            Ok(runs) => runs,
            // The screen has told all, so the hook is not called.
            Err(message) => panic::resume_unwind(Box::new(message)),
        }
    }

    /// The same for a body whose type is not known. If it `has_captured` memory, that memory outlives the runs.
    ///
    /// # Errors
    /// If a run fails: the message of its panic, or a line about the failure.
    pub fn try_check(&self, body: &(dyn Fn() + Sync), has_captured: bool) -> Result<u64, String> {
        let once = || once(body);
        match door::open() {
            Some(door) => door.check(self.plan, has_captured, &once),
            None => real::check(self.tool, &once),
        }
    }
}

/// Runs the body of a model once, with all threads that it leaves behind.
///
/// # Errors
/// Why the run has failed. `None` if it has panicked, which its panic hook has told.
fn once(body: &dyn Fn()) -> Result<(), Option<String>> {
    kept::begin();
    let run = || {
        body();
        kept::end()
    };
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(ended) => ended.map_err(Some),
        Err(payload) => {
            let message = message(&*payload);
            // Its memory ends with the run.
            std::mem::forget(payload);
            Err(match is_stepped() {
                true => None,
                false => Some(message),
            })
        }
    }
}

/// The text of a panic.
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (None, Some(message)) => message.clone(),
        (None, None) => "a value that is no text".to_owned(),
    }
}
