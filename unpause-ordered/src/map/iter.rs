//! The iterator of a map, [`Iter`].

use std::slice;

/// The entries of a [`Map`](super::Map) or of a range of the map, in order.
pub struct Iter<'a, K, V> {
    front: slice::Iter<'a, (K, V)>,
    between: slice::Iter<'a, Vec<(K, V)>>,
    back: slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Iter<'a, K, V> {
    pub(super) fn new(front: &'a [(K, V)], between: &'a [Vec<(K, V)>]) -> Iter<'a, K, V> {
        Iter::between(front, between, &[])
    }

    pub(super) fn between(
        front: &'a [(K, V)],
        between: &'a [Vec<(K, V)>],
        back: &'a [(K, V)],
    ) -> Iter<'a, K, V> {
        Iter { front: front.iter(), between: between.iter(), back: back.iter() }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<(&'a K, &'a V)> {
        loop {
            if let Some((key, value)) = self.front.next() {
                return Some((key, value));
            }
            let Some(piece) = self.between.next() else {
                return self.back.next().map(|(key, value)| (key, value));
            };
            self.front = piece.iter();
        }
    }
}

impl<'a, K, V> DoubleEndedIterator for Iter<'a, K, V> {
    fn next_back(&mut self) -> Option<(&'a K, &'a V)> {
        loop {
            if let Some((key, value)) = self.back.next_back() {
                return Some((key, value));
            }
            let Some(piece) = self.between.next_back() else {
                return self.front.next_back().map(|(key, value)| (key, value));
            };
            self.back = piece.iter();
        }
    }
}

/// All entries of a [`Map`](super::Map) in order, with mutable values.
pub(super) struct IterMut<'a, K, V> {
    pub(super) front: slice::IterMut<'a, (K, V)>,
    pub(super) more: slice::IterMut<'a, Vec<(K, V)>>,
}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<(&'a K, &'a mut V)> {
        loop {
            if let Some((key, value)) = self.front.next() {
                return Some((key, value));
            }
            self.front = self.more.next()?.iter_mut();
        }
    }
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter { front: self.front.clone(), between: self.between.clone(), back: self.back.clone() }
    }
}
