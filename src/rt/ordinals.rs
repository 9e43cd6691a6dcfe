//! The numbers that distinguish objects created at the same place in the source.
//!
//! The numbers are computed for a report or the census, and not during a run, because most runs are never reported.

use crate::run::ObjectRecord;
use unpause_ordered::Map;

/// Gives each record its number among the records of its kind and place. The cost is O(log p) per record for p places.
/// Objects of nodes follow all other objects, because different runs may create them in different orders.
pub(super) fn number(records: &mut [ObjectRecord]) {
    // The line is compared first: two places usually differ in it, and file names take longer to compare.
    let key = |record: &ObjectRecord| {
        let place = record.place;
        (place.line(), place.column(), record.kind, place.file())
    };
    let (nodes, others): (Vec<_>, Vec<_>) =
        records.iter_mut().partition(|record| record.node.is_some());
    let mut records: Vec<&mut ObjectRecord> = others.into_iter().chain(nodes).collect();
    let ordinals: Vec<u32> = ordinals(records.iter().map(|record| key(record))).collect();
    for (record, ordinal) in records.iter_mut().zip(ordinals) {
        record.ordinal = ordinal;
    }
}

/// Returns, for each key, the number of equal keys before it.
fn ordinals<K: Ord>(keys: impl Iterator<Item = K>) -> impl Iterator<Item = u32> {
    let mut next: Map<K, u32> = Map::new();
    keys.map(move |key| {
        let next = next.entry(key).or_insert(0);
        *next += 1;
        *next - 1
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn equal_keys_are_numbered_in_order() {
        let found: Vec<u32> = ordinals("abacaba".chars()).collect();
        assert_eq!(found, [0, 0, 1, 0, 2, 1, 3]);
    }

    /// A key that counts its comparisons.
    struct Counted<'a>(u32, &'a Cell<u64>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other) == Ordering::Equal
        }
    }

    impl Eq for Counted<'_> {}

    impl PartialOrd for Counted<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Counted<'_> {
        fn cmp(&self, other: &Self) -> Ordering {
            self.1.set(self.1.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    /// Returns the number of comparisons for `objects` objects at `places` places.
    fn comparisons(objects: u32, places: u32) -> u64 {
        let compared = Cell::new(0);
        let keys = (0..objects).map(|n| Counted(n % places, &compared));
        assert_eq!(ordinals(keys).map(u64::from).sum::<u64>(), sum(objects, places));
        compared.get()
    }

    /// Returns the sum of all numbers.
    fn sum(objects: u32, places: u32) -> u64 {
        (0..u64::from(objects)).map(|n| n / u64::from(places)).sum()
    }

    #[test]
    fn comparisons_are_in_proportion_to_the_objects() {
        // For example, an array of slots with two objects each has two places.
        for objects in [256, 512, 1024, 2048] {
            assert!(comparisons(objects, 2) <= 2 * u64::from(objects));
        }
        // In these programs, each object has its own place.
        assert!(comparisons(4096, 4096) <= 3 * comparisons(2048, 2048));
    }
}
