//! Numbers that nobody else in the process has: of worlds, of runs, of shared objects.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The first number that nobody has taken. 0 is none.
static FREE: AtomicU64 = AtomicU64::new(1);

/// A worker takes so many at a time: workers that run short bodies would otherwise pass the counter to and
/// fro.
const AT_ONCE: u64 = 1024;

/// Numbers to be given out, only ever compared for equality.
#[derive(Debug, Default)]
pub(super) struct Numbers(Range<u64>);

impl Numbers {
    /// One that was not given out before, by whomever.
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
