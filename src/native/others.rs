//! The wait of the first thread for all other threads.
//!
//! Joins of several threads come before or after the steps of the others. This wait has only one order: the first
//! thread can continue when all other threads have ended.

use super::ops::RESUME;
use super::sites::Site;
use super::threads::with;
use crate::rt::{WORLD, World};
use crate::run::ids::TaskId;
use crate::seam::ForeignWord;

/// Waits until all other threads have ended. Must be called for the first thread.
pub(super) async fn wait(site: Site) {
    let waits = with(|threads| {
        threads.awaits_others = threads.has_unfinished(None);
        threads.awaits_others
    });
    if waits {
        // No memory has this address.
        let threads = ForeignWord::without_values("Threads", site.place, u64::MAX);
        threads.resume(&RESUME, site.place).await;
    }
}

/// Lets the first thread continue if it waits, and if `thread`, which ends, is the last other thread.
pub(super) fn end(thread: usize) {
    if with(|threads| threads.awaits_others && !threads.has_unfinished(Some(thread))) {
        WORLD.with(|world: &World| world.resume(TaskId::MAIN));
    }
}
