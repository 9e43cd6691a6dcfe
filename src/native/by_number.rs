//! Hash tables with addresses, or hashes of addresses, as keys. One multiplication spreads the
//! keys.

// tidy: never iterated
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table with numbers as keys.
pub(super) type ByNumber<T> = HashMap<u64, T, BuildHasherDefault<NumberHasher>>;

/// Hashes one number.
#[derive(Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}
