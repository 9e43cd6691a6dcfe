//! A run that blocks its thread: with `thread::sleep`, the join of a `std::thread`, a file, a socket, a lock of std.
//!
//! A run has one thread, and all that it waits for is done by that thread. So if the thread neither
//! runs nor waits for a processor, it is in a call that the run does not see. Linux counts both
//! times for each thread; elsewhere nothing is found. A `std::thread` that is not joined is not
//! found either: nothing tells who started it.

use std::time::{Duration, Instant};

use super::times::ThreadTimes;

/// A shorter standstill is not reported. The times of a thread that runs are brought up to date at each tick of the
/// system's clock, which is 1 to 10 ms.
const LEAST: Duration = Duration::from_millis(20);

/// Does `act`. Returns the time for which it blocked the thread, besides its result; `None` if it hardly did, or if the
/// system does not tell.
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

/// The note about a test whose run stood still for so long.
pub(super) fn note(test: &str, stood: Duration) -> String {
    format!(
        "{test}: a run stood still for {} ms in a call that it does not see. Usual causes: thread::sleep (use \
         sim::time::sleep), the join of a std::thread (use sim::spawn), a file, a socket, a lock or channel of std",
        stood.as_millis()
    )
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
