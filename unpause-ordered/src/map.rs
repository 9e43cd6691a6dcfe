//! The ordered map, [`Map`].

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Bound, Index, RangeBounds};

use crate::search::search;

use iter::IterMut;

pub use iter::Iter;

mod iter;

/// The maximum number of entries in a piece. A fuller piece is split in two.
const MOST: usize = 512;

/// A map sorted by key.
///
/// Like a [`BTreeMap`](std::collections::BTreeMap), but compiled in a tenth of the time. The entries are stored in
/// sorted pieces of at most 512 entries. A lookup is two binary searches. An insertion moves the later entries of its
/// piece, so a map that grows in key order moves no entries. An emptied map keeps the memory of its first piece.
///
/// ```
/// let mut ages = unpause_ordered::Map::new();
/// ages.insert("Bob", 41);
/// ages.insert("Ann", 37);
/// assert_eq!(ages.get("Ann"), Some(&37));
/// assert_eq!(ages.keys().collect::<Vec<_>>(), [&"Ann", &"Bob"]);
/// ```
pub struct Map<K, V> {
    first: Piece<K, V>,
    /// The pieces after the first, all non-empty. A small map needs only one allocation.
    more: Vec<Piece<K, V>>,
    len: usize,
}

type Piece<K, V> = Vec<(K, V)>;

/// The position of an entry: the index of its piece, and the index in that piece.
#[derive(Clone, Copy, PartialEq, Eq)]
struct At {
    piece: usize,
    entry: usize,
}

/// Returns the position of an entry found in a piece. Compiled once, unlike the methods of `Result`.
#[inline]
fn in_piece(piece: usize, found: Result<usize, usize>) -> Result<At, At> {
    match found {
        Ok(entry) => Ok(At { piece, entry }),
        Err(entry) => Err(At { piece, entry }),
    }
}

impl<K, V> Map<K, V> {
    /// Creates an empty map. Does not allocate.
    pub const fn new() -> Map<K, V> {
        Map { first: Vec::new(), more: Vec::new(), len: 0 }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if the map is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all entries, and keeps memory for later entries.
    pub fn clear(&mut self) {
        self.first.clear();
        self.more.clear();
        self.len = 0;
    }

    /// Returns all entries, in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter::new(&self.first, &self.more)
    }

    /// Returns all keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// Returns all values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// Returns all entries in order, with mutable values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        IterMut { front: self.first.iter_mut(), more: self.more.iter_mut() }
    }

    /// Returns all values in the order of their keys, mutably.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// Returns all values, in the order of their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }

    /// Returns the entry with the smallest key.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.first.first().map(|(key, value)| (key, value))
    }

    /// Returns the entry with the greatest key.
    pub fn last(&self) -> Option<(&K, &V)> {
        self.more.last().unwrap_or(&self.first).last().map(|(key, value)| (key, value))
    }

    /// Removes the entry with the smallest key. Moves the other entries of its piece.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.is_empty()).then(|| self.take(At { piece: 0, entry: 0 }))
    }

    /// Removes the entry with the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let piece = self.more.len();
        let entry = self.piece(piece).len().checked_sub(1)?;
        Some(self.take(At { piece, entry }))
    }

    /// Keeps the entries for which `keep` returns `true`. Cost: O(n).
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let mut keep = |entry: &mut (K, V)| keep(&entry.0, &mut entry.1);
        self.first.retain_mut(&mut keep);
        for piece in &mut self.more {
            piece.retain_mut(&mut keep);
        }
        self.more.retain(|piece| !piece.is_empty());
        self.fill_first();
        self.len = self.first.len() + self.more.iter().map(Vec::len).sum::<usize>();
    }

    fn piece(&self, number: usize) -> &Piece<K, V> {
        match number.checked_sub(1) {
            None => &self.first,
            Some(number) => &self.more[number],
        }
    }

    fn piece_mut(&mut self, number: usize) -> &mut Piece<K, V> {
        match number.checked_sub(1) {
            None => &mut self.first,
            Some(number) => &mut self.more[number],
        }
    }

    fn entry_at(&mut self, at: At) -> &mut (K, V) {
        &mut self.piece_mut(at.piece)[at.entry]
    }

    /// Makes the next piece the first piece, if the first piece is empty.
    fn fill_first(&mut self) {
        if self.first.is_empty() && !self.more.is_empty() {
            self.first = self.more.remove(0);
        }
    }

    fn take(&mut self, at: At) -> (K, V) {
        let piece = self.piece_mut(at.piece);
        let taken = piece.remove(at.entry);
        if piece.is_empty() {
            match at.piece {
                0 => self.fill_first(),
                number => drop(self.more.remove(number - 1)),
            }
        }
        self.len -= 1;
        taken
    }

    /// Inserts an entry at its position, and returns the final position.
    fn put(&mut self, mut at: At, key: K, value: V) -> At {
        let piece = self.piece_mut(at.piece);
        if piece.len() == MOST {
            let (from, place) = halved(at);
            let rest = piece.split_off(from);
            self.more.insert(at.piece, rest);
            at = place;
        }
        self.piece_mut(at.piece).insert(at.entry, (key, value));
        self.len += 1;
        at
    }
}

/// Returns the first entry that leaves a full piece, and the position in the two pieces of a new entry at `at`.
#[inline]
fn halved(at: At) -> (usize, At) {
    // If the map grows at its end, the full piece stays whole, so pieces remain full.
    let from = if at.entry == MOST { MOST } else { MOST / 2 };
    if at.entry > from || from == MOST {
        return (from, At { piece: at.piece + 1, entry: at.entry - from });
    }
    (from, at)
}

impl<K: Ord, V> Map<K, V> {
    /// Returns the position of a key, or else the position at which to insert the key.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<At, At>
    where
        K: Borrow<Q>,
    {
        self.locate(&mut |other| other.borrow().cmp(key))
    }

    fn locate(&self, compare: &mut dyn FnMut(&K) -> Ordering) -> Result<At, At> {
        let mut piece = 0;
        if !self.more.is_empty() {
            // The first piece with a last key not less than the key, or the last piece.
            piece = match search(self.more.len(), &mut |number| {
                compare(&self.piece(number)[self.piece(number).len() - 1].0)
            }) {
                Ok(number) | Err(number) => number,
            };
        }
        let entries = self.piece(piece);
        in_piece(piece, search(entries.len(), &mut |entry| compare(&entries[entry].0)))
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        Some(&self.piece(at.piece)[at.entry].1)
    }

    /// Returns the value of a key, mutably.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        Some(&mut self.entry_at(at).1)
    }

    /// Returns `true` if a key has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Sets the value of a key, and returns the previous value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.entry_at(at).1, value)),
            Err(at) => {
                self.put(at, key, value);
                None
            }
        }
    }

    /// Removes a key, and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        Some(self.take(at).1)
    }

    /// Returns the entry of a key, with a value or without.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let found = self.find(&key);
        Entry { map: self, key, found }
    }

    /// Returns the entries with keys in a range, in order.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (from, to) = self.bounds(range.start_bound(), range.end_bound());
        if (from.piece, from.entry) >= (to.piece, to.entry) {
            return Iter::new(&[], &[]);
        }
        if from.piece == to.piece {
            return Iter::new(&self.piece(from.piece)[from.entry..to.entry], &[]);
        }
        Iter::between(
            &self.piece(from.piece)[from.entry..],
            &self.more[from.piece..to.piece - 1],
            &self.piece(to.piece)[..to.entry],
        )
    }

    /// Returns the position of the first entry in a range, and the position after the last entry.
    fn bounds<Q: Ord + ?Sized>(&self, start: Bound<&Q>, end: Bound<&Q>) -> (At, At)
    where
        K: Borrow<Q>,
    {
        let before = |key: &Q| self.find(key).unwrap_or_else(|at| at);
        let behind = |key: &Q| match self.find(key) {
            Ok(at) => At { piece: at.piece, entry: at.entry + 1 },
            Err(at) => at,
        };
        let from = match start {
            Bound::Included(key) => before(key),
            Bound::Excluded(key) => behind(key),
            Bound::Unbounded => At { piece: 0, entry: 0 },
        };
        let to = match end {
            Bound::Included(key) => behind(key),
            Bound::Excluded(key) => before(key),
            Bound::Unbounded => {
                At { piece: self.more.len(), entry: self.piece(self.more.len()).len() }
            }
        };
        (from, to)
    }
}

/// The entry of a key in a [`Map`].
pub struct Entry<'a, K, V> {
    map: &'a mut Map<K, V>,
    key: K,
    found: Result<At, At>,
}

impl<'a, K: Ord, V> Entry<'a, K, V> {
    /// Returns the key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns the value. If there is none, inserts `value` first.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Returns the value. If there is none, inserts the result of `make` first.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let at = match self.found {
            Ok(at) => at,
            Err(at) => self.map.put(at, self.key, make()),
        };
        &mut self.map.entry_at(at).1
    }

    /// Returns the value. If there is none, inserts the type's default first.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value, if any.
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Entry<'a, K, V> {
        if let Ok(at) = self.found {
            change(&mut self.map.entry_at(at).1);
        }
        self
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Map<K, V> {
        Map::new()
    }
}

impl<K: Clone, V: Clone> Clone for Map<K, V> {
    fn clone(&self) -> Map<K, V> {
        Map { first: self.first.clone(), more: self.more.clone(), len: self.len }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Map<K, V>) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for Map<K, V> {}

impl<K: Ord, V: Ord> PartialOrd for Map<K, V> {
    fn partial_cmp(&self, other: &Map<K, V>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, V: Ord> Ord for Map<K, V> {
    fn cmp(&self, other: &Map<K, V>) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<K: Hash, V: Hash> Hash for Map<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        for entry in self {
            entry.hash(state);
        }
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for Map<K, V> {
    type Output = V;

    /// # Panics
    ///
    /// If the key has no value.
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key has a value")
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Map<K, V> {
        let mut map = Map::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    fn from(entries: [(K, V); N]) -> Map<K, V> {
        Map::from_iter(entries)
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    /// Collects the entries into one list: O(n) if there are several pieces.
    fn into_iter(mut self) -> std::vec::IntoIter<(K, V)> {
        let mut all = self.first;
        for piece in &mut self.more {
            all.append(piece);
        }
        all.into_iter()
    }
}
