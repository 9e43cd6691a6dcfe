//! What a load may see.
//!
//! Today memory is sequentially consistent: a load sees the last store to its object, in the order
//! of the steps, and orderings weaker than `SeqCst` are treated as `SeqCst`. A weaker model keeps
//! old stores here and asks the run which one a load sees; nothing outside this module changes.
//!
//! [`Memory`] holds one word for every object of a run. The words of atomics live here and not in
//! the atomics themselves, so that a `static` starts each run afresh, in several workers at once.

use crate::ids::ObjectId;

/// The words of one run, by object.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    words: Vec<u64>,
}

impl Memory {
    /// Forgets the last run and keeps its allocation.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }

    /// A new object, the next in order, whose word is `initial`.
    pub(crate) fn push(&mut self, initial: u64) {
        self.words.push(initial);
    }

    /// What a load of `object` sees.
    #[inline]
    pub(crate) fn load(&self, object: ObjectId) -> u64 {
        self.words[object.index()]
    }

    /// Stores `value`.
    #[inline]
    pub(crate) fn store(&mut self, object: ObjectId, value: u64) {
        self.words[object.index()] = value;
    }

    /// Reads the last value and, if `change` gives one, stores another, in one. Returns the value
    /// read and whether there was a store.
    #[inline]
    pub(crate) fn change(
        &mut self,
        object: ObjectId,
        change: impl FnOnce(u64) -> Option<u64>,
    ) -> (u64, Option<u64>) {
        let word = &mut self.words[object.index()];
        let old = *word;
        let new = change(old);
        if let Some(new) = new {
            *word = new;
        }
        (old, new)
    }
}
