//! The detail in which the locks of a run are stepped: by calls, by their queues or by instructions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::Set;

use crate::run::ids::Place;
use crate::run::untried::Untried;

/// A part of the program that a search does not see: other uses of a lock that it takes for one operation.
pub(super) const OTHERWISE: &str =
    "the own code of a lock, which another operation on it has brought a thread to";

/// True if searches step the instructions of locks.
static IN_DETAIL: AtomicBool = AtomicBool::new(false);

/// The place of the first other use of a lock that a search has met.
static AT: Mutex<Option<Place>> = Mutex::new(None);

/// Steps whole calls of locks in the searches to come.
pub(super) fn begin_calls() {
    IN_DETAIL.store(false, Ordering::Relaxed);
    at().take();
}

/// Steps the instructions of locks in the searches to come, or whole calls.
pub(crate) fn step_instructions(wanted: bool) {
    IN_DETAIL.store(wanted, Ordering::Relaxed);
}

/// A run of a search uses a lock otherwise than by its calls.
pub(super) fn is_used_otherwise(place: Place) {
    at().get_or_insert(place);
}

/// Steps the instructions of locks in the runs to come, if a run of a search has met other uses of a lock. Returns the
/// reason if it did: the search must begin again.
pub(crate) fn begin_instructions(untried: &mut Set<Untried>) -> Option<String> {
    let begins =
        untried.remove(&Untried::Function(OTHERWISE)) && !IN_DETAIL.swap(true, Ordering::Relaxed);
    let place = at().map_or(String::new(), |place| format!(" at {place}"));
    begins.then(|| {
        format!(
            "the search steps the instructions of locks, because a lock is used{place} by an operation that is no whole \
             call of `lock`, `try_lock`, `read` or `write`"
        )
    })
}

fn at() -> MutexGuard<'static, Option<Place>> {
    AT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operations of locks that are points of a run: one of its decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Detail {
    /// A call that acquires a lock is a point; a call that releases it is not.
    #[default]
    Calls,
    /// Each atomic operation is one.
    Instructions,
    /// In a search: a call that acquires a lock or gives it up is one, and a writer queues by one before.
    Searched,
    /// A call is one operation of the lock's own code, which takes the lock or joins its queue: see [`super::queues`].
    Queues,
}

impl Detail {
    /// The number of the detail of searches.
    pub(super) fn of_searches() -> u64 {
        if IN_DETAIL.load(Ordering::Relaxed) { 1 } else { 2 }
    }

    /// The detail of this number.
    pub(super) fn of_number(number: u64) -> Detail {
        match number {
            0 => Detail::Calls,
            1 => Detail::Instructions,
            2 => Detail::Searched,
            _ => Detail::Queues,
        }
    }
}
