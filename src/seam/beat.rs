//! Progress signals from within a step.
//!
//! A watchdog reports a step that lasts too long as a hang. The check of a long history may last longer, but is not a
//! hang, because its budget ends it. So the check sends signals regularly, and the watchdog of the thread counts them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

thread_local! {
    static BEATS: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
    static HANG: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// The watch over a thread: the counter of its signals, and the time limit of a step.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    pub(crate) beats: Option<Arc<AtomicU64>>,
    pub(crate) hang: Option<Duration>,
}

/// Sets the watcher of this thread from here on. Returns the previous watcher.
pub(crate) fn watch(watcher: Watcher) -> Watcher {
    let beats = BEATS.with(|beats| beats.replace(watcher.beats));
    Watcher { beats, hang: HANG.replace(watcher.hang) }
}

/// Returns the time limit of a step on this thread; `None` without a watcher.
pub(crate) fn hang_limit() -> Option<Duration> {
    HANG.get()
}

/// Reports progress within a long step.
pub(crate) fn beat() {
    super::stepped::alive();
    BEATS.with(|beats| {
        if let Some(beats) = &*beats.borrow() {
            beats.fetch_add(1, Ordering::Relaxed);
        }
    });
}
