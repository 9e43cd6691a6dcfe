//! Code under test: a counter that loses updates, and its fixed twin.

#![forbid(unsafe_code)]

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// Adds one in two steps.
pub fn add_in_two_steps(count: &AtomicUsize) {
    let value = count.load(SeqCst);
    count.store(value + 1, SeqCst);
}

/// Adds one.
///
/// ```
/// let count = std::sync::atomic::AtomicUsize::new(0);
/// any_tests::add(&count);
/// assert_eq!(count.into_inner(), 1);
/// ```
pub fn add(count: &AtomicUsize) {
    count.fetch_add(1, SeqCst);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// The number after two threads have added one.
    fn after(add: fn(&AtomicUsize)) -> usize {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| add(&count));
            scope.spawn(|| add(&count));
        });
        count.into_inner()
    }

    #[test]
    fn two_steps_lose_an_update() {
        assert_eq!(after(add_in_two_steps), 2);
    }

    #[test]
    fn one_step_loses_none() {
        assert_eq!(after(add), 2);
    }
}
