//! Counting sort, in linear time, for times that are positions in a history.

/// Returns the numbers `0..keys.len()`, sorted by their keys; for equal keys, the lower number comes first. Keys of
/// `u64::MAX` come last. O(n) if the largest other key is at most a few times the number of keys, as it is for
/// positions; O(n log n) otherwise.
pub(super) fn by_key(keys: &[u64]) -> Vec<u32> {
    const ROOM_PER_KEY: u64 = 8;
    let last = keys.iter().copied().filter(|key| *key != u64::MAX).max().unwrap_or(0);
    if last / ROOM_PER_KEY > keys.len() as u64 + 16 {
        return unpause_ordered::order_of_numbers(keys.len(), &|number| keys[number as usize]);
    }
    // First the count of each key, then the next position for each key.
    let never = last as usize + 1;
    // A key of `u64::MAX` needs no room for its value, because all such keys share the last bucket.
    let bucket = |key: u64| usize::try_from(key).map_or(never, |key| key.min(never));
    let mut places = vec![0u32; never + 1];
    for &key in keys {
        places[bucket(key)] += 1;
    }
    let mut sum = 0;
    for place in &mut places {
        (*place, sum) = (sum, sum + *place);
    }
    let mut sorted = vec![0; keys.len()];
    for (number, &key) in (0..).zip(keys) {
        let place = &mut places[bucket(key)];
        sorted[*place as usize] = number;
        *place += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::by_key;

    #[test]
    fn numbers_stand_by_their_keys_dense_or_not() {
        for factor in [1, 3, 1 << 40] {
            let keys: Vec<u64> = [3, 1, 1, u64::MAX, 0, 3, 2, u64::MAX, 7]
                .map(|key: u64| if key == u64::MAX { key } else { key * factor })
                .to_vec();
            assert_eq!(by_key(&keys), [4, 1, 2, 6, 0, 5, 8, 3, 7], "{factor}");
        }
        assert_eq!(by_key(&[]), []);
        assert_eq!(by_key(&[u64::MAX, u64::MAX]), [0, 1]);
    }
}
