//! Texts of runs that live as long as the process, for example the names of nodes. The number of these texts is small.

use std::sync::{Mutex, PoisonError};
use unpause_ordered::Set;

/// Returns the same text with the lifetime of the process.
pub(crate) fn interned(text: &str) -> &'static str {
    static KNOWN: Mutex<Set<&'static str>> = Mutex::new(Set::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(text).copied().unwrap_or_else(|| {
        let text: &'static str = Box::leak(text.into());
        known.insert(text);
        text
    })
}
