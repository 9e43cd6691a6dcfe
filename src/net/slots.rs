//! Items with reusable numbers, so that a run in the steady state allocates no memory.

/// A collection of items with numbers.
#[derive(Debug)]
pub(super) struct Slots<T> {
    items: Vec<Option<T>>,
    free: Vec<u64>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Adds an item. Returns its number.
    #[inline]
    pub(super) fn add(&mut self, item: T) -> u64 {
        match self.free.pop() {
            Some(number) => {
                self.items[number as usize] = Some(item);
                number
            }
            None => {
                self.items.push(Some(item));
                self.items.len() as u64 - 1
            }
        }
    }

    /// Returns the item with this number.
    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.items.get_mut(number as usize)?.as_mut()
    }

    /// Removes the item with this number, if it exists.
    #[inline]
    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        let item = self.items.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn numbers_are_given_again() {
        let mut slots = Slots::default();
        let [a, b] = ["a", "b"].map(|item| slots.add(item));
        assert_eq!([a, b], [0, 1]);
        assert_eq!((slots.remove(a), slots.remove(a)), (Some("a"), None));
        assert_eq!(slots.get_mut(a), None);
        assert_eq!([slots.add("c"), slots.add("d")], [0, 2]);
        let mut get = |number| slots.get_mut(number).copied();
        assert_eq!([0, 1, 2, 3].map(&mut get), [Some("c"), Some("b"), Some("d"), None]);
    }
}
