//! A queue that stores its first item without an allocation, because most queues of the network
//! hold at most one item.

use std::collections::VecDeque;

/// A first-in, first-out queue.
#[derive(Clone, Debug)]
pub(super) struct Queue<T> {
    first: Option<T>,
    // Invariant: empty if `first` is `None`.
    others: VecDeque<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { first: None, others: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            Some(_) => self.others.push_back(item),
        }
    }

    /// Adds an item at the front.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(super) fn push_first(&mut self, item: T) {
        let second = self.first.replace(item);
        second.into_iter().for_each(|second| self.others.push_front(second));
    }

    /// Removes the first item.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let first = self.first.take();
        if !self.others.is_empty() {
            self.first = self.others.pop_front();
        }
        first
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// Returns the item at this position.
    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        match at.checked_sub(1) {
            None => self.first.as_mut(),
            Some(at) => self.others.get_mut(at),
        }
    }

    /// Calls `visit` with each item.
    #[inline]
    pub(super) fn each(&self, mut visit: impl FnMut(&T)) {
        self.first.iter().for_each(&mut visit);
        if !self.others.is_empty() {
            self.others.iter().for_each(visit);
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.others)
    }

    /// Keeps the items for which `is_kept` returns `true`.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        if !self.others.is_empty() {
            self.others.retain(&mut is_kept);
        }
        if self.first.as_ref().is_some_and(|first| !is_kept(first)) {
            self.first = if self.others.is_empty() { None } else { self.others.pop_front() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;

    fn all(queue: &Queue<u32>) -> Vec<u32> {
        assert_eq!(queue.len(), queue.iter().count());
        assert_eq!(queue.is_empty(), queue.iter().next().is_none());
        queue.iter().copied().collect()
    }

    #[test]
    fn items_come_in_their_order() {
        let mut queue = Queue::default();
        (0..4).for_each(|item| queue.push(item));
        assert_eq!(all(&queue), [0, 1, 2, 3]);
        assert_eq!(
            (0..5).map(|at| queue.get_mut(at).copied()).collect::<Vec<_>>()[..],
            [Some(0), Some(1), Some(2), Some(3), None]
        );
        assert_eq!(queue.pop(), Some(0));
        queue.push_first(5);
        assert_eq!(all(&queue), [5, 1, 2, 3]);
        assert_eq!(queue.pop(), Some(5));
        queue.push(4);
        assert_eq!(all(&queue), [1, 2, 3, 4]);
        queue.retain(|item| item % 2 == 0);
        assert_eq!(all(&queue), [2, 4]);
        queue.retain(|item| *item != 4);
        assert_eq!((queue.pop(), queue.pop()), (Some(2), None));
        assert!(all(&queue).is_empty());
    }
}
