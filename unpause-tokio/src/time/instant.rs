//! Instants: of the clock of the run, or of the runtime.

use std::fmt;

use sim::__private::in_run;

/// A moment: tokio's [`Instant`](real::time::Instant), but in a run it is read from the clock of
/// the run.
///
/// ```
/// use tokio::time::{Duration, Instant};
///
/// let now = Instant::now();
/// assert_eq!(now + Duration::from_secs(1) - now, Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instant {
    std: std::time::Instant,
}

impl Instant {
    /// Returns the current time. This call is not a point.
    #[track_caller]
    pub fn now() -> Instant {
        let std = match in_run() {
            true => sim::time::Instant::now().into_std(),
            false => real::time::Instant::now().into_std(),
        };
        Instant { std }
    }

    pub(super) fn of_run(instant: sim::time::Instant) -> Instant {
        Instant::from_std(instant.into_std())
    }

    pub(super) fn of_runtime(instant: real::time::Instant) -> Instant {
        Instant::from_std(instant.into_std())
    }

    pub(super) fn in_run(self) -> sim::time::Instant {
        sim::time::Instant::from_std(self.std)
    }

    pub(super) fn in_runtime(self) -> real::time::Instant {
        real::time::Instant::from_std(self.std)
    }
}

sim::__instant!(Instant);

impl fmt::Debug for Instant {
    /// In a run, formats the time since the start of the run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_run().fmt(f)
    }
}
