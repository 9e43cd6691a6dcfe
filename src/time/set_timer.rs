//! The timers of the program, in place of the library's timers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::seam;

/// Sets the timers that are used outside of runs, once for the whole program. Without it one thread of the process has
/// them. Timers that were made before keep theirs.
///
/// `make` returns a future that ends when the time has passed. It is called where a timer is made, first polled or
/// reset. In a run the time is virtual, and no such timer is made.
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
/// With tokio, whose timers need its runtime: `set_timer(|after| Box::pin(tokio::time::sleep(after)))`.
///
/// # Errors
/// [`TimerSet`] if they were set before; then those stay.
pub fn set_timer<F>(make: F) -> Result<(), TimerSet>
where
    F: Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> + Send + Sync + 'static,
{
    if seam::set_timer(Box::new(make)) { Ok(()) } else { Err(TimerSet) }
}

/// The timers had been set before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerSet;

impl fmt::Display for TimerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the timers are already set: call set_timer once, at the start of the program")
    }
}

impl std::error::Error for TimerSet {}
