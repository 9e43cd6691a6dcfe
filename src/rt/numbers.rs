//! Process-wide unique numbers for worlds, runs and shared objects.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The first unused number. 0 is never used.
static FREE: AtomicU64 = AtomicU64::new(1);

/// The number of values that a worker reserves at a time. With single values, workers with short bodies would contend
/// for the counter.
const AT_ONCE: u64 = 1024;

/// A block of unique numbers, which are only compared for equality.
#[derive(Debug, Default)]
pub(super) struct Numbers(Range<u64>);

impl Numbers {
    /// Returns a number that no other call in the process returns.
    pub(super) fn next(&mut self) -> u64 {
        if self.0.is_empty() {
            let first = FREE.fetch_add(AT_ONCE, Ordering::Relaxed);
            self.0 = first..first + AT_ONCE;
        }
        let number = self.0.start;
        self.0.start += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn nobody_gets_the_number_of_another() {
        let (mut one, mut other) = (Numbers::default(), Numbers::default());
        let mut given = HashSet::from([0]);
        for _ in 0..3 * AT_ONCE {
            assert!(given.insert(one.next()));
            assert!(given.insert(other.next()));
        }
    }
}
