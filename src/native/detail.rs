//! The detail in which a run steps its locks: by calls, by their queues or by instructions.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::Set;

use crate::run::ids::Place;
use crate::run::place::in_text;
use crate::run::untried::Untried;
use crate::seam;

/// The report text for a part of the program that searches do not see: uses of a lock outside of its calls, which the
/// search steps as single operations.
pub(super) const OTHERWISE: &str =
    "the own code of a lock, which another operation on it has brought a thread to";

thread_local! {
    /// True if a run on this thread has left out orders of lock operations since the last [`take_simplified`].
    static SIMPLIFIED: Cell<bool> = const { Cell::new(false) };
}

/// Records that the run leaves out orders of lock operations that threads may see.
pub(super) fn simplify() {
    SIMPLIFIED.set(true);
}

/// Returns `true` if a run on this thread has left out orders of lock operations since the last call. Runs of a search
/// leave out none. All interleavings of such a run together are then not all interleavings of the program.
pub(crate) fn take_simplified() -> bool {
    SIMPLIFIED.replace(false)
}

/// True if searches step the instructions of locks.
static IN_DETAIL: AtomicBool = AtomicBool::new(false);

/// The first reason for it in a search.
static REASON: Mutex<Option<String>> = Mutex::new(None);

/// Makes future searches step whole lock calls.
pub(super) fn begin_calls() {
    IN_DETAIL.store(false, Ordering::Relaxed);
    reason().take();
}

/// Makes future searches step the instructions of locks if `wanted`, else whole calls.
pub(crate) fn step_instructions(wanted: bool) {
    IN_DETAIL.store(wanted, Ordering::Relaxed);
}

/// Records that a run of a search uses a lock outside of its calls, at `place`.
pub(super) fn is_used_otherwise(place: Place) {
    reason().get_or_insert_with(|| {
        let place = in_text(place);
        format!(
            "a lock is used at {place} by an operation that is no whole call of `lock`, `try_lock`, `read` or `write`"
        )
    });
}

/// Records that a thread parks at `place` in a run of a search, after it has used a cell of once_cell. Such a cell
/// waits by `park`, too. As a single step, it would not wait for a thread that initializes it.
pub(super) fn parks_after_cell(place: Place) {
    let text =
        || format!("a thread parks at {} after it has used a cell of once_cell", in_text(place));
    reason().get_or_insert_with(text);
}

/// Makes future runs step the instructions of locks, if a run of a search has used a lock outside of its calls. In this
/// case, returns the reason why the search must begin again.
pub(crate) fn begin_instructions(untried: &mut Set<Untried>) -> Option<String> {
    let begins =
        untried.remove(&Untried::Function(OTHERWISE)) && !IN_DETAIL.swap(true, Ordering::Relaxed);
    begins.then(|| {
        let unknown = || "a lock is used by an operation that is no whole call".to_owned();
        let reason = reason().clone().unwrap_or_else(unknown);
        format!("the search steps the instructions of locks, because {reason}")
    })
}

fn reason() -> MutexGuard<'static, Option<String>> {
    REASON.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock operations that are points of a run. The detail is a decision of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Detail {
    /// A call that acquires a lock is a point; a call that releases it is not.
    #[default]
    Calls,
    /// Each atomic operation is a point.
    Instructions,
    /// In a search: a call that acquires or releases a lock is a point. A writer joins the queue at an earlier point.
    Searched,
    /// A call is one operation of the lock's own code, which acquires the lock or joins its queue: see
    /// [`super::queues`].
    Queues,
}

/// Returns `true` for the decision that contains the detail of a run.
pub(crate) fn is_detail(why: &str) -> bool {
    why == seam::PROPERTIES
}

/// Returns this decision, which is below `bound`, with the detail of searches. `None` if its detail leaves out no
/// orders of lock operations.
pub(crate) fn exact_detail(properties: u64, bound: u64) -> Option<u64> {
    let detail = Detail::of_number(seam::detail_in(properties));
    let leaves_out = matches!(detail, Detail::Calls | Detail::Queues);
    leaves_out.then(|| seam::with_detail((properties, bound), Detail::of_searches()))
}

impl Detail {
    /// Returns the number of the detail that searches use.
    pub(super) fn of_searches() -> u64 {
        if IN_DETAIL.load(Ordering::Relaxed) { 1 } else { 2 }
    }

    /// Returns the detail with this number.
    pub(super) fn of_number(number: u64) -> Detail {
        match number {
            0 => Detail::Calls,
            1 => Detail::Instructions,
            2 => Detail::Searched,
            _ => Detail::Queues,
        }
    }
}
