//! Detects a run that blocks its thread, for example with `thread::sleep`, the join of a `std::thread`, a file, a
//! socket, or a std lock.
//!
//! A run has a single thread, and this thread does everything that the run waits for. So if the thread neither runs nor
//! waits for a processor, it is blocked in a call that the run does not see. Linux counts both times for each thread;
//! other systems do not, so nothing is detected there. A `std::thread` that is not joined blocks nothing: see
//! [`left_threads`](super::left_threads).

use std::time::{Duration, Instant};

use super::times::ThreadTimes;

/// The minimum duration of a reported blockage. Linux updates the times of a running thread only at each tick of the
/// system clock, which is 1 to 10 ms.
const LEAST: Duration = Duration::from_millis(20);

/// Calls `act`. Also returns the time for which `act` blocked the thread. `None` if it blocked for less than the
/// minimum, or if the system does not provide the times.
pub(super) fn during<T>(act: impl FnOnce() -> T) -> (T, Option<Duration>) {
    let (before, began) = (ThreadTimes::now(), Instant::now());
    let done = act();
    let (passed, after) = (began.elapsed(), ThreadTimes::now());
    let stood = before.zip(after).and_then(|(before, after)| {
        let busy = after.busy().saturating_sub(before.busy());
        let stood = passed.saturating_sub(busy);
        (after.waits > before.waits && stood >= LEAST).then_some(stood)
    });
    (done, stood)
}

/// A run that blocked its thread for a longer time is not repeated to find the call.
pub(super) const REPEATED: Duration = Duration::from_secs(5);

/// Returns the note about a test with a run that blocked its thread for the time `stood`. `call` is a text about the
/// [call](super::blocked_call), if it is known.
pub(super) fn note(test: &str, stood: Duration, call: Option<&str>) -> String {
    let call = call.unwrap_or(
        "in a call that it does not see. Usual causes: thread::sleep (use sim::time::sleep), the join of a \
         std::thread (use sim::spawn), a file, a socket, a lock or channel of std",
    );
    format!("{test}: a run stood still for {} ms {call}", stood.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_stands_still_and_one_that_works_does_not() {
        let (_, slept) = during(|| std::thread::sleep(3 * LEAST));
        let told = ThreadTimes::now().is_some();
        assert!(told || !cfg!(target_os = "linux"), "Linux tells");
        assert_eq!(slept.is_some(), told);
        let until = Instant::now() + 3 * LEAST;
        let (_, worked) = during(|| while Instant::now() < until {});
        assert_eq!(worked, None);
    }
}
