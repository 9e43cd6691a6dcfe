//! Signs of life from within a step.
//!
//! A watchdog reports a step that lasts too long as a hang. A check of a long history may last longer and is no hang,
//! because its budget ends it. So it signals now and then, and the watchdog of the thread counts the signals.

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

/// Has `watcher` watch this thread from here on. Returns the watcher before.
pub(crate) fn watch(watcher: Watcher) -> Watcher {
    let beats = BEATS.with(|beats| beats.replace(watcher.beats));
    Watcher { beats, hang: HANG.replace(watcher.hang) }
}

/// The time limit of a step of this thread; none without a watcher.
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
