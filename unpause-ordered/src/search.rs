//! Binary search.

use std::cmp::Ordering;

/// Returns the position of an element in a sorted list of `length` elements, or else the position at which to insert
/// it.
///
/// `compare` compares the element at a position with the wanted element. The last position is compared first, because
/// most elements arrive in order.
#[inline]
pub(crate) fn search(
    length: usize,
    compare: &mut dyn FnMut(usize) -> Ordering,
) -> Result<usize, usize> {
    let Some(last) = length.checked_sub(1) else {
        return Err(0);
    };
    match compare(last) {
        Ordering::Less => return Err(length),
        Ordering::Equal => return Ok(last),
        Ordering::Greater => {}
    }
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
        }
    }
    Err(low)
}
