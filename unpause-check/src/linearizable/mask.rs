//! Sets of small numbers, for example the operations in flight that are already ordered.
//!
//! A set is one machine word for up to 64 numbers, and a boxed slice for more. The search is written once over
//! [`Mask`], so only memory limits the number of operations that overlap.

use std::hash::Hash;

pub(super) trait Mask: Clone + Eq + Hash {
    /// Returns a mask with room for `bits` bits, none of them set.
    fn empty(bits: usize) -> Self;
    fn has(&self, bit: u32) -> bool;
    fn set(&mut self, bit: u32);
    fn clear(&mut self, bit: u32);
    /// Returns the number of bytes on the heap.
    fn heap(&self) -> usize;
    /// Returns the number of bits set.
    fn count(&self) -> u32;
    /// Returns `true` if every bit of `self` is set in `other`.
    fn within(&self, other: &Self) -> bool;
}

impl Mask for u64 {
    fn heap(&self) -> usize {
        0
    }

    fn empty(bits: usize) -> Self {
        // `search_from` chooses the mask by the number of slots and of pending operations.
        assert!(bits <= 64, "the search chose too narrow a mask");
        0
    }

    fn has(&self, bit: u32) -> bool {
        self & (1 << bit) != 0
    }

    fn set(&mut self, bit: u32) {
        *self |= 1 << bit;
    }

    fn clear(&mut self, bit: u32) {
        *self &= !(1 << bit);
    }

    fn count(&self) -> u32 {
        self.count_ones()
    }

    fn within(&self, other: &Self) -> bool {
        self & !other == 0
    }
}

impl Mask for Box<[u64]> {
    /// Returns the size including the overhead of the allocator.
    fn heap(&self) -> usize {
        size_of_val::<[u64]>(self) + 16
    }

    fn empty(bits: usize) -> Self {
        vec![0; bits.div_ceil(64)].into_boxed_slice()
    }

    fn has(&self, bit: u32) -> bool {
        self[bit as usize / 64] & (1 << (bit % 64)) != 0
    }

    fn set(&mut self, bit: u32) {
        self[bit as usize / 64] |= 1 << (bit % 64);
    }

    fn clear(&mut self, bit: u32) {
        self[bit as usize / 64] &= !(1 << (bit % 64));
    }

    fn count(&self) -> u32 {
        self.iter().map(|word| word.count_ones()).sum()
    }

    fn within(&self, other: &Self) -> bool {
        self.iter().zip(other).all(|(own, other)| own & !other == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves_like_a_set<B: Mask>(bits: &[u32; 4], other: u32) {
        let (mut some, mut more) = (B::empty(other as usize + 1), B::empty(other as usize + 1));
        for &bit in bits {
            assert!(!some.has(bit));
            some.set(bit);
            more.set(bit);
            assert!(some.has(bit));
        }
        assert_eq!(some.count(), 4);
        more.set(other);
        assert!(some.within(&more) && !more.within(&some) && some.within(&some));
        more.clear(other);
        more.clear(other - 1);
        assert!(some == more);
    }

    #[test]
    fn a_word_and_a_slice_are_the_same_set() {
        behaves_like_a_set::<u64>(&[0, 31, 32, 61], 63);
        behaves_like_a_set::<Box<[u64]>>(&[0, 31, 32, 61], 63);
        behaves_like_a_set::<Box<[u64]>>(&[0, 63, 64, 127], 130);
    }
}
