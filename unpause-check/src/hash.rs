//! The hash function of the checkers' tables: fast, the same in every run, and well mixed.
//!
//! The states of a search resemble each other (neighbouring numbers, masks with few bits). So the
//! hasher folds the words by multiplication, and finishes the sum like MurmurHash3 (`fmix64`,
//! Appleby 2011). Without the finish, tables that take their index from the low bits degenerate
//! into lists. The hash does not resist attacks, but an attacker could only slow down the check of
//! their own history.

// tidy: fixed hasher: and looked up only
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash map with the same layout in every run. Even so, no code iterates over it.
pub(super) type Table<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;

#[derive(Clone, Copy, Default)]
pub(super) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        let mut word = self.0;
        word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        word ^ (word >> 33)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// A hasher that also counts its input bytes, which approximates the size of any value.
#[derive(Clone, Copy, Default)]
pub(super) struct Weigher {
    hasher: WordHasher,
    pub(super) bytes: usize,
}

macro_rules! weighed {
    ($($write:ident($word:ty))*) => {
        $(fn $write(&mut self, word: $word) {
            self.bytes += size_of::<$word>();
            self.hasher.$write(word);
        })*
    };
}

impl Hasher for Weigher {
    fn finish(&self) -> u64 {
        self.hasher.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.hasher.write(bytes);
    }

    weighed!(write_u8(u8) write_u16(u16) write_u32(u32) write_u64(u64) write_u128(u128) write_usize(usize));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    #[test]
    fn neighbouring_masks_spread_over_the_low_bits() {
        let mut buckets = [0u32; 256];
        for position in 0..64u32 {
            for bit in 0..128 {
                let mut hasher = WordHasher::default();
                (position, 1u128 << bit).hash(&mut hasher);
                buckets[(hasher.finish() & 255) as usize] += 1;
            }
        }
        // 8192 keys, so 32 are expected in each bucket; five standard deviations are 28.
        assert!(buckets.iter().all(|&count| (4..=60).contains(&count)), "{buckets:?}");
    }
}
