//! Operations on words, as the machine sees them.

/// Sequentially consistent, as the C ABI numbers memory orders: 0 relaxed, 2 acquire, 3 release, 4 both.
pub const SEQ_CST: u8 = 5;

/// Returns `true` if a load, read-modify-write or fence of this memory order acquires.
pub fn acquires(order: u8) -> bool {
    matches!(order, 1 | 2 | 4 | 5)
}

/// Returns `true` if a store, read-modify-write or fence of this memory order releases.
pub fn releases(order: u8) -> bool {
    matches!(order, 3..=5)
}

/// An operation on a word, or a fence.
pub trait Operation {
    /// The address of the word. Words do not overlap.
    fn address(&self) -> usize;

    /// The number of bytes of the word: 1 to 8; 0 for a fence.
    fn size(&self) -> u8;

    /// Returns `true` if the operation reads the word.
    fn reads(&self) -> bool;

    /// Returns `true` if the operation can end without a store: a load, a compare-exchange.
    fn may_only_read(&self) -> bool;

    /// The memory order that the operation asks for if it writes, or if it does not.
    fn order_if(&self, writes: bool) -> u8;

    /// The value that the operation leaves in place of `old`; `None` if it writes nothing.
    fn written_over(&self, old: u64) -> Option<u64>;
}

/// The result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// The value that it has seen; for a store, the value that it follows in modification order.
    pub old: u64,
    /// The value that it has left.
    pub new: u64,
    /// True if memory takes part. If not, the operation has seen an old value, or it precedes a newer store.
    pub in_memory: bool,
}
