//! Timers supplied by the program, which replace the timers of the library.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::seam;

/// Chooses the implementation of timers outside of runs. A program can choose it only once. By default, one thread of
/// the process drives all timers. Timers that already exist are not replaced.
///
/// `make` returns a future that completes after the given time. `make` is called when a timer is created, first polled
/// or reset. `make` is not called in a run, because time is virtual there.
///
/// ```
/// use sim::time::{Duration, Instant, set_timer, sleep};
///
/// set_timer(|after| Box::pin(futures_timer::Delay::new(after)))?;
/// let begin = Instant::now();
/// sim::block_on(sleep(Duration::from_millis(2)));
/// assert!(begin.elapsed() >= Duration::from_millis(2));
/// # Ok::<(), sim::time::TimerSet>(())
/// ```
///
/// The timers of tokio need its runtime: `set_timer(|after| Box::pin(tokio::time::sleep(after)))`.
///
/// # Errors
/// [`TimerSet`] if timers were set before; the earlier timers then remain.
pub fn set_timer<F>(make: F) -> Result<(), TimerSet>
where
    F: Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> + Send + Sync + 'static,
{
    if seam::set_timer(Box::new(make)) { Ok(()) } else { Err(TimerSet) }
}

/// The error if timers were set before.
///
/// ```
/// use sim::time::{TimerSet, set_timer};
///
/// set_timer(|after| Box::pin(futures_timer::Delay::new(after)))?;
/// let again = set_timer(|after| Box::pin(futures_timer::Delay::new(after)));
/// assert_eq!(again, Err(TimerSet));
/// # Ok::<(), TimerSet>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerSet;

impl fmt::Display for TimerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the timers are already set: call set_timer once, at the start of the program")
    }
}

impl std::error::Error for TimerSet {}
