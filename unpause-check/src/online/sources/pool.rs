//! The pool of writers that may or may not take effect: pending and lost calls, by the value that
//! they write.

use crate::model::Key;
use unpause_ordered::{Map, Set};

/// Equal writers with their invocation times, sorted by time.
type Equal = Vec<(u64, u32)>;

#[derive(Default)]
pub(super) struct Pool {
    /// The plain writers of each value, sorted by invocation.
    plain: Map<Key, Equal>,
    /// The plain writers, by invocation time.
    by_time: Map<u64, (u32, Key)>,
    /// The swaps by the value that they replace, then by their new value; sorted by invocation.
    swaps: Map<Key, Map<Key, Equal>>,
    /// For each value, the values that swaps to it replace.
    sources: Map<Key, Set<Key>>,
    /// The values that a writer in the pool writes and a swap in the pool replaces.
    inner: Set<Key>,
}

impl Pool {
    /// Adds a writer.
    pub(super) fn add(&mut self, call: u32, invoked: u64, value: Key, from: Option<Key>) {
        match from {
            None => {
                put(self.plain.entry(value).or_default(), invoked, call);
                // Each event has its own time, so the time identifies the writer.
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
        // The tables must be up to date here, because `note` derives `inner` from them.
        self.note(value);
    }

    /// Returns the equal plain writers of a value, sorted by invocation.
    pub(super) fn plain(&self, value: Key) -> &[(u64, u32)] {
        self.plain.get(&value).map_or(&[], Vec::as_slice)
    }

    /// Returns the equal swaps from one value to another, sorted by invocation.
    pub(super) fn swaps(&self, from: Key, value: Key) -> &[(u64, u32)] {
        let values = self.swaps.get(&from);
        values.and_then(|values| values.get(&value)).map_or(&[], Vec::as_slice)
    }

    /// Returns the values that swaps to this value replace.
    pub(super) fn sources(&self, value: Key) -> impl Iterator<Item = Key> {
        self.sources.get(&value).into_iter().flatten().copied()
    }

    /// Returns the swaps that replace a value, grouped by equality.
    pub(super) fn replacing(&self, from: Key) -> impl Iterator<Item = (Key, &[(u64, u32)])> {
        let values = self.swaps.get(&from).into_iter().flatten();
        values.map(|(value, calls)| (*value, calls.as_slice()))
    }

    /// Returns the values that swaps replace.
    pub(super) fn replaced(&self) -> impl Iterator<Item = Key> {
        self.swaps.keys().copied()
    }

    /// Returns the plain writers by value, grouped by equality.
    pub(super) fn values(&self) -> impl Iterator<Item = (Key, &[(u64, u32)])> {
        self.plain.iter().map(|(value, calls)| (*value, calls.as_slice()))
    }

    /// Returns the number of entries in [`values`](Pool::values).
    pub(super) fn number_of_values(&self) -> usize {
        self.plain.len()
    }

    /// Returns the plain writers in the order of their invocation, with their values.
    pub(super) fn by_time(&self) -> impl Iterator<Item = (u64, u32, Key)> {
        self.by_time.iter().map(|(invoked, (call, value))| (*invoked, *call, *value))
    }

    /// Returns the values that a writer in the pool writes and a swap in the pool replaces.
    pub(super) fn inner(&self) -> &Set<Key> {
        &self.inner
    }

    /// Returns `true` if a writer in the pool could make the register hold this value.
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
    // Most writers were invoked after all others.
    let place = list.iter().rposition(|(other, _)| *other < invoked).map_or(0, |place| place + 1);
    list.insert(place, (invoked, call));
}

/// Removes a call from a list. Returns `true` if the list is then empty.
fn take(list: &mut Equal, call: u32) -> bool {
    // Most calls end soon after they begin.
    let place = list.iter().rposition(|(_, other)| *other == call).expect("it was added");
    list.remove(place);
    list.is_empty()
}
