//! The checksum of a trace file: FNV-1a, 64 bits.
//!
//! It detects damage, not malice. Every step of the algorithm is a bijection of the state, so two
//! files of the same length that differ in one byte never have the same checksum.
//!
//! Source: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV Non-Cryptographic Hash
//! Algorithm", draft-eastlake-fnv, sections 2 and 5.

use std::fmt;

/// The checksum of the lines so far. O(1) per byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Checksum(u64);

impl Checksum {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    /// Creates the checksum of an empty text.
    pub(super) fn new() -> Checksum {
        Checksum(Checksum::OFFSET_BASIS)
    }

    /// Adds a line, without its surrounding white space.
    pub(super) fn line(&mut self, line: &str) {
        for byte in line.bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(Checksum::PRIME);
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published vectors have no line feed, so the test advances each vector by one step.
    /// Vectors: <http://www.isthe.com/chongo/src/fnv/test_fnv.c>.
    #[test]
    fn agrees_with_the_published_vectors() {
        for (text, expected) in [
            ("", 0xcbf2_9ce4_8422_2325_u64),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            let mut checksum = Checksum::new();
            checksum.line(text);
            let line_fed = (expected ^ u64::from(b'\n')).wrapping_mul(Checksum::PRIME);
            assert_eq!(checksum, Checksum(line_fed), "{text}");
        }
    }
}
