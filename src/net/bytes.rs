//! The bytes of a message. Short messages are stored inline, without an allocation.

use std::ops::Deref;

/// The maximum number of bytes that are stored inline.
const FEW: usize = 30;

/// The bytes of one message.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    Few { count: u8, bytes: [u8; FEW] },
    Many(Vec<u8>),
}

impl From<&[u8]> for Bytes {
    fn from(all: &[u8]) -> Bytes {
        match all.len() {
            count @ ..=FEW => {
                let mut bytes = [0; FEW];
                bytes[..count].copy_from_slice(all);
                Bytes::Few { count: count as u8, bytes }
            }
            _ => Bytes::Many(all.to_vec()),
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Few { count, bytes } => &bytes[..usize::from(*count)],
            Bytes::Many(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, FEW};

    #[test]
    fn all_bytes_are_kept() {
        let all: Vec<u8> = (0..=255).collect();
        for count in 0..all.len() {
            let bytes = Bytes::from(&all[..count]);
            assert_eq!(*bytes, all[..count]);
            assert_eq!(matches!(bytes, Bytes::Few { .. }), count <= FEW);
        }
    }
}
