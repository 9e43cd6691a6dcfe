//! Hash tables with numbers as keys.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash table with numbers as keys.
pub type ByNumber<T> = HashMap<usize, T, BuildHasherDefault<NumberHasher>>;

/// Hashes one number.
#[derive(Default, Clone)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize((*byte).into()));
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}
