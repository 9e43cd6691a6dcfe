//! Accesses to a value without synchronisation of its own: they must not overlap.

use std::sync::{TryLockError, TryLockResult};

/// Returns the guard of an access.
///
/// # Panics
/// If another access is in progress, unless both only read.
#[track_caller]
pub(super) fn entered<G>(guard: TryLockResult<G>) -> G {
    match guard {
        Ok(guard) => guard,
        // The value is as the panicking access left it, like plain memory.
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => panic!(
            "data race: two accesses to a `RaceCell` overlap. Order them by other means, and do not access the cell \
             within `with_mut`"
        ),
    }
}
