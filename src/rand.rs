//! Random values that a run decides.
//!
//! In a run these values are decisions like any other: drawn from the seed, part of the trace, replayed,
//! and made small by shrinking. A draw is not a point. In a stress test the values come from the seed of the
//! test; elsewhere they differ each time.

use std::ops::Range;

use crate::seam::{self, on_carrier};

/// A number below `bound`, every one with the same probability. Shrinks to 0.
///
/// # Panics
/// If `bound` is 0.
///
/// ```
/// assert!(sim::rand::below(6) < 6);
/// ```
#[track_caller]
pub fn below(bound: u64) -> u64 {
    assert!(bound > 0, "there is no number below 0: give a bound of at least 1");
    on_carrier(|| seam::draw(bound, "rand"))
}

/// A number of `range`. Shrinks to the start of the range.
///
/// # Panics
/// If the range is empty.
///
/// ```
/// assert!((10..20).contains(&sim::rand::range(10..20)));
/// ```
#[track_caller]
pub fn range(range: Range<u64>) -> u64 {
    assert!(range.start < range.end, "there is no number in the empty range {range:?}");
    range.start + below(range.end - range.start)
}

/// True or false. Shrinks to false.
///
/// ```
/// let _: bool = sim::rand::bool();
/// ```
pub fn bool() -> bool {
    below(2) == 1
}

/// Returns one of `items`; `None` if there are none. Shrinks to the first.
///
/// ```
/// assert_eq!(sim::rand::choose(&[7]), Some(&7));
/// assert_eq!(sim::rand::choose::<u8>(&[]), None);
/// ```
pub fn choose<T>(items: &[T]) -> Option<&T> {
    match items {
        [] => None,
        _ => Some(&items[below(items.len() as u64) as usize]),
    }
}

/// Puts `items` in a random order. Shrinks to a fixed one.
///
/// ```
/// let mut items = [1, 2, 3];
/// sim::rand::shuffle(&mut items);
/// items.sort();
/// assert_eq!(items, [1, 2, 3]);
/// ```
pub fn shuffle<T>(items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1) as usize);
    }
}
