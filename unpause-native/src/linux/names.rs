//! Names: numbers by which all runs know the same thread, allocation or object.
//!
//! A search compares objects of different runs by their names. Two objects of a run with the same name would be one
//! object for it, and it would miss interleavings.

/// The name of the first thread of a run. It must not be a small number, because the names of its children are hashes
/// of this name.
pub(crate) const FIRST_THREAD: u64 = name_of(0, 0);

/// The numbers of the parts of a thread that contain memory. Its children have small numbers, and its allocations have
/// multiples of 2^32.
pub(crate) const THREAD_LOCALS: u64 = u64::MAX;
pub(crate) const STACK_OF_THREAD: u64 = u64::MAX - 1;

/// Returns the name of the `nth` part of the whole with the name `of`.
//
// The finalizer is that of SplitMix64 (Steele, Lea, Flood 2014). It is a permutation, so the parts of one whole differ.
#[inline]
pub(crate) const fn name_of(of: u64, nth: u64) -> u64 {
    let mut word = of.rotate_left(23).wrapping_add(nth).wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The threads of a tree with three children for each thread, three levels deep.
    fn threads() -> Vec<u64> {
        let mut all = vec![FIRST_THREAD];
        for at in 0..13 {
            let parent = all[at];
            all.extend((1..=3).map(|nth| name_of(parent, nth)));
        }
        all
    }

    #[test]
    fn threads_allocations_and_addresses_have_different_names() {
        let mut names = HashSet::new();
        let mut made = 0;
        for thread in threads() {
            made += 1;
            names.insert(thread);
            for allocation in (1..=300).map(|nth| name_of(thread, nth << 32)) {
                for offset in (0..64).step_by(8) {
                    made += 1;
                    names.insert(name_of(allocation, offset));
                }
            }
        }
        assert_eq!(names.len(), made);
    }
}
