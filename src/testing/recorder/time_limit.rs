//! The time limit of a check. The limit is half of the hang limit of a step, so the check ends with a verdict before
//! the step counts as hung.
//!
//! The budget of a check counts configurations, and their time depends on the model, the machine and the build. A
//! verdict that is due to this time limit is unknown, so it is neither a pass nor a failure of the program.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::seam;
use unpause_check::Budget;

/// The longest interval between two clock reads that counts in full. A longer interval means that the process was
/// suspended, so only this part of the interval counts.
const LOOK: Duration = Duration::from_secs(1);

/// Runs `check` within `budget` and, if `timed`, within the time limit. Reports progress to the watchdog.
pub(super) fn within<R>(
    budget: &Budget<'_>,
    timed: bool,
    check: impl FnOnce(&Budget<'_>) -> R,
) -> R {
    let limit = seam::hang_limit().filter(|_| timed).map(|limit| limit / 2);
    let (last, seen) = (Cell::new(Instant::now()), Cell::new(Duration::ZERO));
    let stop = || {
        seam::beat();
        let now = Instant::now();
        let passed = now.saturating_duration_since(last.replace(now)).min(LOOK);
        seen.set(seen.get() + passed);
        limit.is_some_and(|limit| seen.get() >= limit) || budget.stop.is_some_and(|stop| stop())
    };
    check(&Budget { stop: Some(&stop), ..*budget })
}
