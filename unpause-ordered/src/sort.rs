//! Sort functions, of which only one is compiled per key type.

use std::cmp::Ordering;

/// The maximum number of elements sorted by insertion.
const FEW: usize = 16;

/// Sorts by the order of the type, stably.
///
/// For numbers, std's `sort_unstable` is faster and already compiled. Cost: O(n log n) comparisons through a reference,
/// and a list of n numbers if there are more than sixteen elements.
///
/// # Panics
///
/// If there are 2³² elements or more.
///
/// ```
/// let mut names = vec!["b", "a"];
/// unpause_ordered::sort(&mut names);
/// assert_eq!(names, ["a", "b"]);
/// ```
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts by a comparison, stably.
///
/// # Panics
///
/// If there are 2³² elements or more, or if `compare` panics.
///
/// ```
/// let mut words = vec!["ccc", "a", "bb"];
/// unpause_ordered::sort_by(&mut words, |a, b| b.len().cmp(&a.len()));
/// assert_eq!(words, ["ccc", "bb", "a"]);
/// ```
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if items.len() <= FEW {
        // Insertion sort needs no list of positions.
        for end in 1..items.len() {
            for at in (1..=end).rev() {
                if compare(&items[at - 1], &items[at]).is_le() {
                    break;
                }
                items.swap(at - 1, at);
            }
        }
        return;
    }
    let order = order(items.len(), &|a, b| compare(&items[a as usize], &items[b as usize]));
    arrange(order, &mut |a, b| items.swap(a, b));
}

/// Sorts by a key, stably. The key is computed for each comparison.
///
/// # Panics
///
/// If there are 2³² elements or more, or if `key` panics.
///
/// ```
/// let mut calls = vec![(2, "b"), (1, "c"), (2, "a")];
/// unpause_ordered::sort_by_key(&mut calls, |call| call.0);
/// assert_eq!(calls, [(1, "c"), (2, "b"), (2, "a")]);
/// ```
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by a number, stably. The number is computed once per element, if there are more than sixteen elements.
///
/// As fast as std's sort, because the numbers are sorted without calls through a reference.
///
/// # Panics
///
/// If there are 2³² elements or more, or if `number` panics.
///
/// ```
/// let mut calls = vec![(2, "b"), (1, "c"), (2, "a")];
/// unpause_ordered::sort_by_number(&mut calls, |call| call.0);
/// assert_eq!(calls, [(1, "c"), (2, "b"), (2, "a")]);
/// ```
pub fn sort_by_number<T>(items: &mut [T], number: impl Fn(&T) -> u64) {
    if items.len() <= FEW {
        return sort_by(items, |a, b| number(a).cmp(&number(b)));
    }
    let order = order_of_numbers(items.len(), &|at| number(&items[at as usize]));
    arrange(order, &mut |a, b| items.swap(a, b));
}

/// Returns the positions in sorted order.
#[inline]
fn order(length: usize, compare: &dyn Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let mut order = positions(length);
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// Returns the positions `0..length`, sorted by their numbers. For equal numbers, the lower position comes first.
///
/// # Panics
///
/// If there are 2³² positions or more, or if `number` panics.
///
/// ```
/// let times = [30, 10, 20];
/// let order = unpause_ordered::order_of_numbers(3, &|at| times[at as usize]);
/// assert_eq!(order, [1, 2, 0]);
/// ```
#[inline]
pub fn order_of_numbers(length: usize, number: &dyn Fn(u32) -> u64) -> Vec<u32> {
    let mut pairs = Vec::with_capacity(length);
    for at in positions(length) {
        pairs.push((number(at), at));
    }
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, at)| at).collect()
}

#[inline]
fn positions(length: usize) -> Vec<u32> {
    let end = u32::try_from(length).expect("fewer than 2^32 elements");
    (0..end).collect()
}

/// Moves the element at `order[i]` to `i`, for each `i`, by swaps along each cycle of the permutation.
#[inline]
fn arrange(mut order: Vec<u32>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at as u32) as usize;
            if from == start {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_sorts_sort_as_the_standard_library(items in prop::collection::vec((0u8..6, any::<u8>()), 0..60)) {
            let mut by_key = items.clone();
            by_key.sort_by_key(|item| item.0);
            for sorter in [
                |items: &mut [(u8, u8)]| sort_by_key(items, |item| item.0),
                |items: &mut [(u8, u8)]| sort_by_number(items, |item| item.0.into()),
                |items: &mut [(u8, u8)]| sort_by(items, |a, b| a.0.cmp(&b.0)),
            ] {
                let mut ours = items.clone();
                sorter(&mut ours);
                prop_assert_eq!(&ours, &by_key);
            }
            let (mut all, mut ours) = (items.clone(), items);
            all.sort();
            sort(&mut ours);
            prop_assert_eq!(ours, all);
        }
    }
}
