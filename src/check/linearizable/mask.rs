//! Sets of small numbers: which operations in flight are ordered already.
//!
//! One machine value up to 128 of them at once, a boxed slice beyond: the search is written once
//! over [`Mask`], and how many operations overlap is limited by memory alone.

use std::hash::Hash;

pub(super) trait Mask: Clone + Eq + Hash {
    /// No bit set, room for `bits` of them.
    fn empty(bits: usize) -> Self;
    fn has(&self, bit: u32) -> bool;
    fn set(&mut self, bit: u32);
    fn clear(&mut self, bit: u32);
    /// Whether every bit of `self` is set in `other`.
    fn within(&self, other: &Self) -> bool;
}

impl Mask for u128 {
    fn empty(bits: usize) -> Self {
        assert!(bits <= 128, "the search chose too narrow a mask");
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

    fn within(&self, other: &Self) -> bool {
        self & !other == 0
    }
}

impl Mask for Box<[u64]> {
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

    fn within(&self, other: &Self) -> bool {
        self.iter().zip(other).all(|(own, other)| own & !other == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves_like_a_set<B: Mask>() {
        let (mut some, mut more) = (B::empty(128), B::empty(128));
        for bit in [0, 63, 64, 127] {
            assert!(!some.has(bit));
            some.set(bit);
            more.set(bit);
            assert!(some.has(bit));
        }
        more.set(65);
        assert!(some.within(&more) && !more.within(&some) && some.within(&some));
        more.clear(65);
        more.clear(66);
        assert!(some == more);
    }

    #[test]
    fn a_word_and_a_slice_are_the_same_set() {
        behaves_like_a_set::<u128>();
        behaves_like_a_set::<Box<[u64]>>();
    }
}
