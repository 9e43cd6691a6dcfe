//! Random values, drawn as decisions of the run.
//!
//! In a run these values are decisions like any other: they come from the seed, belong to the trace, are replayed, and
//! become smaller by shrinking. A draw is not a point. In a stress test the values come from the seed of the test;
//! elsewhere they differ each time.

use std::ops::Range;

use crate::seam::{self, on_carrier};

/// Returns a random number below `bound`. All numbers have the same probability. Shrinks to 0.
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

/// Returns a number in `range`. Shrinks to the start of the range.
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

/// Returns `true` or `false`. Shrinks to `false`.
///
/// ```
/// let _: bool = sim::rand::bool();
/// ```
pub fn bool() -> bool {
    below(2) == 1
}

/// Returns an element of `items`, or `None` if `items` is empty. Shrinks to the first element.
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

/// Puts `items` in a random order. Shrinks to a fixed order.
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
