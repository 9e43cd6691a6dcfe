//! Writers that may or may not take effect: open and lost calls, by the value that they write.

use crate::model::Key;
use unpause_ordered::{Map, Set};

/// Equal writers with their invocations, by these.
type Equal = Vec<(u64, u32)>;

#[derive(Default)]
pub(super) struct Pool {
    /// Plain writers of each value, by invocation.
    plain: Map<Key, Equal>,
    /// Plain writers by invocation.
    by_time: Map<u64, (u32, Key)>,
    /// Swaps by the value that they replace and then by their new value, by invocation.
    swaps: Map<Key, Map<Key, Equal>>,
    /// The values that swaps to a value replace.
    sources: Map<Key, Set<Key>>,
    /// Values that some writer here writes and some swap here replaces.
    inner: Set<Key>,
}

impl Pool {
    /// Adds a writer.
    pub(super) fn add(&mut self, call: u32, invoked: u64, value: Key, from: Option<Key>) {
        match from {
            None => {
                put(self.plain.entry(value).or_default(), invoked, call);
                self.by_time.insert(invoked, (call, value));
            }
            Some(from) => {
                let values = self.swaps.entry(from).or_default();
                put(values.entry(value).or_default(), invoked, call);
                self.sources.entry(value).or_default().insert(from);
                self.note(from);
            }
        }
        self.note(value);
    }

    pub(super) fn remove(&mut self, call: u32, invoked: u64, value: Key, from: Option<Key>) {
        match from {
            None => {
                if take(self.plain.entry(value).or_default(), call) {
                    self.plain.remove(&value);
                }
                self.by_time.remove(&invoked);
            }
            Some(from) => {
                let values = self.swaps.entry(from).or_default();
                if take(values.entry(value).or_default(), call) {
                    values.remove(&value);
                    let sources = self.sources.entry(value).or_default();
                    sources.remove(&from);
                    if sources.is_empty() {
                        self.sources.remove(&value);
                    }
                }
                if values.is_empty() {
                    self.swaps.remove(&from);
                }
                self.note(from);
            }
        }
        self.note(value);
    }

    /// Equal plain writers of a value, by invocation.
    pub(super) fn plain(&self, value: Key) -> &[(u64, u32)] {
        self.plain.get(&value).map_or(&[], Vec::as_slice)
    }

    /// Equal swaps of one value for another, by invocation.
    pub(super) fn swaps(&self, from: Key, value: Key) -> &[(u64, u32)] {
        let values = self.swaps.get(&from);
        values.and_then(|values| values.get(&value)).map_or(&[], Vec::as_slice)
    }

    /// The values that swaps to a value replace.
    pub(super) fn sources(&self, value: Key) -> impl Iterator<Item = Key> {
        self.sources.get(&value).into_iter().flatten().copied()
    }

    /// Swaps that replace a value, equal ones together.
    pub(super) fn replacing(&self, from: Key) -> impl Iterator<Item = (Key, &[(u64, u32)])> {
        let values = self.swaps.get(&from).into_iter().flatten();
        values.map(|(value, calls)| (*value, calls.as_slice()))
    }

    /// The values that swaps replace.
    pub(super) fn replaced(&self) -> impl Iterator<Item = Key> {
        self.swaps.keys().copied()
    }

    /// Plain writers by value, equal ones together.
    pub(super) fn values(&self) -> impl Iterator<Item = (Key, &[(u64, u32)])> {
        self.plain.iter().map(|(value, calls)| (*value, calls.as_slice()))
    }

    /// How many [`values`](Pool::values) there are.
    pub(super) fn number_of_values(&self) -> usize {
        self.plain.len()
    }

    /// Plain writers by invocation, with their values.
    pub(super) fn by_time(&self) -> impl Iterator<Item = (u64, u32, Key)> {
        self.by_time.iter().map(|(invoked, (call, value))| (*invoked, *call, *value))
    }

    /// Values that some writer here writes and some swap here replaces.
    pub(super) fn inner(&self) -> &Set<Key> {
        &self.inner
    }

    /// Returns `true` if the register may hold a value without a cluster.
    pub(super) fn has(&self, value: Key) -> bool {
        self.plain.contains_key(&value) || self.sources.contains_key(&value)
    }

    fn note(&mut self, value: Key) {
        if self.has(value) && self.swaps.contains_key(&value) {
            self.inner.insert(value);
        } else {
            self.inner.remove(&value);
        }
    }
}

fn put(list: &mut Equal, invoked: u64, call: u32) {
    // Most were invoked after all others.
    let place = list.iter().rposition(|(other, _)| *other < invoked).map_or(0, |place| place + 1);
    list.insert(place, (invoked, call));
}

/// Removes a call from a list. Returns `true` if the list is empty then.
fn take(list: &mut Equal, call: u32) -> bool {
    // Most calls end soon after they begin.
    let place = list.iter().rposition(|(_, other)| *other == call).expect("it was added");
    list.remove(place);
    list.is_empty()
}
