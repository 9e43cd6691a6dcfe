//! Operations on words, in the form that the machine requires.

/// The number of the order `SeqCst` in the C ABI. The other orders are: 0 relaxed, 2 acquire, 3 release, 4 acquire and
/// release.
pub const SEQ_CST: u8 = 5;

/// Returns `true` if a load, read-modify-write or fence of this memory order acquires.
#[inline]
pub fn acquires(order: u8) -> bool {
    matches!(order, 1 | 2 | 4 | 5)
}

/// Returns `true` if a store, read-modify-write or fence of this memory order releases.
#[inline]
pub fn releases(order: u8) -> bool {
    matches!(order, 3..=5)
}

/// An operation on a word, or a fence.
pub trait Operation {
    /// Returns the address of the word. Words do not overlap.
    fn address(&self) -> usize;

    /// Returns the number of bytes of the word: 1 to 8, or 0 for a fence.
    fn size(&self) -> u8;

    /// Returns `true` if the operation reads the word.
    fn reads(&self) -> bool;

    /// Returns `true` if the operation may perform no store, like a load or a compare-exchange.
    fn may_only_read(&self) -> bool;

    /// Returns the memory order of the operation, for the case that it writes or does not write.
    fn order_if(&self, writes: bool) -> u8;

    /// Returns the value that replaces `old`, or `None` if the operation writes nothing.
    fn written_over(&self, old: u64) -> Option<u64>;
}

/// The result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// The value that the operation read; for a store, the value that the store follows in modification order.
    pub old: u64,
    /// The value after the operation.
    pub new: u64,
    /// `true` if the operation takes effect in memory. If `false`, the operation read an old value, or its store
    /// precedes a newer store.
    pub in_memory: bool,
}
