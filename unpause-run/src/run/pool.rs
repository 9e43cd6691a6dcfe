//! A vector that keeps the allocations of its entries when it is cleared.

/// Entries `0..len` are live. The entries behind them are spare and keep their allocations for the
/// next run.
#[derive(Debug)]
pub struct Pool<T> {
    entries: Vec<T>,
    len: usize,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { entries: Vec::new(), len: 0 }
    }
}

impl<T> Pool<T> {
    /// Makes all entries spare.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds an entry and returns it, so that the caller can overwrite it. The entry is a spare entry with its old
    /// content, if any, else a new entry.
    #[inline]
    pub fn push(&mut self, create: impl FnOnce() -> T) -> &mut T {
        if self.len == self.entries.len() {
            self.entries.push(create());
        }
        self.len += 1;
        &mut self.entries[self.len - 1]
    }
}

impl<T> Pool<T> {
    /// Returns a live entry, with one bounds check; indexing the slice needs two.
    #[inline(always)]
    pub fn at(&self, index: usize) -> &T {
        debug_assert!(index < self.len);
        &self.entries[index]
    }

    /// Returns a live entry as a mutable reference.
    #[inline(always)]
    pub fn at_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.len);
        &mut self.entries[index]
    }
}

impl<T> std::ops::Deref for Pool<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.entries[..self.len]
    }
}

impl<T> std::ops::DerefMut for Pool<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.entries[..self.len]
    }
}
