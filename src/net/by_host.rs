//! A map from a host number and a key to a value.

/// Values by host, each with a key that is unique within its host.
#[derive(Debug)]
pub(super) struct ByHost<K, V> {
    /// The lists, indexed by host number and each sorted by key.
    lists: Vec<Vec<(K, V)>>,
}

impl<K, V> Default for ByHost<K, V> {
    fn default() -> ByHost<K, V> {
        ByHost::new()
    }
}

impl<K, V> ByHost<K, V> {
    pub(super) const fn new() -> ByHost<K, V> {
        ByHost { lists: Vec::new() }
    }
}

impl<K: Ord, V> ByHost<K, V> {
    /// Returns the value of a host for this key.
    pub(super) fn get(&self, host: usize, key: &K) -> Option<&V> {
        let list = self.lists.get(host)?;
        let at = list.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
        Some(&list[at].1)
    }

    /// Adds a value. Replaces the value with the same key, if any.
    pub(super) fn insert(&mut self, host: usize, key: K, value: V) {
        if self.lists.len() <= host {
            self.lists.resize_with(host + 1, Vec::new);
        }
        let list = &mut self.lists[host];
        match list.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(at) => list[at].1 = value,
            Err(at) => list.insert(at, (key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ByHost;

    #[test]
    fn a_value_is_found_by_its_host_and_its_key() {
        let mut all = ByHost::new();
        for (host, key, value) in [(2, 'b', 1), (0, 'b', 2), (2, 'a', 3), (2, 'b', 4)] {
            all.insert(host, key, value);
        }
        let get = |host, key| all.get(host, &key).copied();
        assert_eq!([get(2, 'b'), get(0, 'b'), get(2, 'a')], [Some(4), Some(2), Some(3)]);
        assert_eq!([get(1, 'b'), get(0, 'a'), get(7, 'b')], [None; 3]);
    }
}
