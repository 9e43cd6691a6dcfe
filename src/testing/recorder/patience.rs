//! How long a check may take: half as long as a step that hangs, so that it ends with a verdict before.
//!
//! Its budget counts configurations, and how long those take depends on the model, the machine and the build. A
//! verdict that comes of this limit is unknown, and so neither a pass nor a failure of the program.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::seam;
use unpause_check::Budget;

/// A pause between two looks counts as this at most: the process, not the check, stood still.
const LOOK: Duration = Duration::from_secs(1);

/// Does `check` within `budget` and, if it is `timed`, in time. Whoever watches the step sees that it goes on.
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
