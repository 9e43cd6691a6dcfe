//! Signs of life from within a step.
//!
//! A watchdog takes a step that lasts too long for a hang. A check of a long history may last longer and is none: its
//! budget ends it. So it gives a sign now and then, which the watchdog of the thread counts.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

thread_local! {
    static BEATS: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
    static HANG: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Who watches a thread: where its signs are counted, and how long a step may take.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    pub(crate) beats: Option<Arc<AtomicU64>>,
    pub(crate) hang: Option<Duration>,
}

/// From here on this thread is watched by `watcher`. Returns who watched it before.
pub(crate) fn watch(watcher: Watcher) -> Watcher {
    let beats = BEATS.with(|beats| beats.replace(watcher.beats));
    Watcher { beats, hang: HANG.replace(watcher.hang) }
}

/// How long a step of this thread may take; none if nobody watches.
pub(crate) fn hang_limit() -> Option<Duration> {
    HANG.get()
}

/// What the thread does takes long, and goes on.
pub(crate) fn beat() {
    BEATS.with(|beats| {
        if let Some(beats) = &*beats.borrow() {
            beats.fetch_add(1, Ordering::Relaxed);
        }
    });
}
