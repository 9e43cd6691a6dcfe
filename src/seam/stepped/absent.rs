//! Builds that are not instrumented: no plain thread is stepped.

use crate::run::note::Note;

/// Has no effect, because no run has its own process in this build.
#[inline]
#[allow(dead_code, reason = "runs on real threads are watched from within")]
pub(crate) fn alive() {}

/// Has no effect, because no run has its own process in this build.
#[inline]
#[allow(dead_code, reason = "runs on real threads have nothing to note")]
pub(crate) fn note(_note: impl FnOnce() -> Note) {}

/// Calls `act`.
#[inline]
pub(crate) fn on_carrier<R>(act: impl FnOnce() -> R) -> R {
    act()
}

/// Returns `None`: no plain thread has a clock.
#[inline]
#[allow(dead_code, reason = "runs on real threads have no clocks")]
pub(crate) fn clock_of(_thread: usize) -> Option<unpause_orders::Clock> {
    None
}
