//! The identity of the running program, which prevents the reuse of another program's results.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

/// The number of bytes per read.
const BLOCK: usize = 1 << 16;

/// Returns the identity of this program as 16 hexadecimal digits. The identity is the linker's build ID, which is a
/// hash of the content, or otherwise a hash of the file. The identity is computed once per process.
///
/// Two programs collide with a probability of about 2^-64. The hash does not resist deliberate collisions.
pub(super) fn binary() -> Result<&'static str, &'static str> {
    static BINARY: OnceLock<Result<String, String>> = OnceLock::new();
    let hash = BINARY.get_or_init(|| {
        // On Linux this path opens the program that is running, even if its file has been replaced since.
        let own = Path::new("/proc/self/exe");
        let file = File::open(own).or_else(|_| File::open(std::env::current_exe()?));
        file.and_then(of_file).map(|id| format!("{id:016x}")).map_err(|error| error.to_string())
    });
    hash.as_deref().map_err(String::as_str)
}

/// Returns the identity of the program in a file. Prefers the build ID, because hashing 30 MB takes about 0.1 s without
/// optimization.
fn of_file(mut file: impl Read) -> io::Result<u64> {
    let mut block = vec![0; BLOCK];
    let filled = fill(&mut file, &mut block)?;
    match build_id(&block[..filled]) {
        Some(id) => Ok(id),
        // The beginning of the file is already read, so the hash covers it before the remaining bytes.
        None => hash(block[..filled].chain(file)),
    }
}

/// Returns the first eight bytes of the build ID, if it is in the given beginning of a Linux program. The build ID is
/// the note `NT_GNU_BUILD_ID` in a `PT_NOTE` segment of a little-endian ELF64 file.
fn build_id(beginning: &[u8]) -> Option<u64> {
    // All offsets come from the file, which may be damaged, so reads and sums are checked.
    let number = |at: usize, bytes: usize| {
        let field = beginning.get(at..at.checked_add(bytes)?)?;
        let number = field.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
        usize::try_from(number).ok()
    };
    if !beginning.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (headers, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for header in 0..count {
        let header = headers.checked_add(header * size)?;
        let (mut note, length) =
            (number(header.checked_add(8)?, 8)?, number(header.checked_add(32)?, 8)?);
        let end = note.checked_add(length)?;
        // 4 is `PT_NOTE`; the kind 3 below is `NT_GNU_BUILD_ID`.
        if number(header, 4)? != 4 {
            continue;
        }
        // Each note advances by at least 12 bytes, so the loop ends.
        while note.checked_add(12)? <= end {
            let (name, id, kind) = (number(note, 4)?, number(note + 4, 4)?, number(note + 8, 4)?);
            let content = note.checked_add(12 + name.next_multiple_of(4))?;
            if kind == 3 && id >= 8 && beginning.get(note + 12..note + 16)? == b"GNU\0" {
                let id = beginning.get(content..content + 8)?.try_into().ok()?;
                return Some(u64::from_be_bytes(id));
            }
            note = content.checked_add(id.next_multiple_of(4))?;
        }
    }
    None
}

/// Returns the hash of all bytes. Each step processes 16 bytes, because the library may be compiled without
/// optimization.
fn hash(mut from: impl Read) -> io::Result<u64> {
    let (mut hash, mut length) = (1u128, 0u128);
    let mut block = vec![0; BLOCK];
    loop {
        let filled = fill(&mut from, &mut block)?;
        length += filled as u128;
        // The last block is padded with zeros. The hash of the length distinguishes the padding from zeros in the file.
        block[filled..].fill(0);
        let mut at = 0;
        while at < filled {
            let mut word = [0; 16];
            // `BLOCK` is a multiple of 16, so the range ends within the block.
            word.copy_from_slice(&block[at..at + 16]);
            hash = absorbed(hash, u128::from_le_bytes(word));
            at += 16;
        }
        if filled < BLOCK {
            let hash = absorbed(absorbed(hash, length), 0);
            return Ok((hash >> 64) as u64 ^ hash as u64);
        }
    }
}

/// Mixes a word into the hash. The function is bijective in `hash` and in `word`: a multiplication by an odd number and
/// a rotation.
fn absorbed(hash: u128, word: u128) -> u128 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(59)
}

/// Reads until the block is full or the input ends. Returns the number of bytes.
fn fill(from: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match from.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_byte_more_or_another_one_is_another_program() {
        let mut seen = BTreeSet::new();
        let mut bytes = vec![0u8; 3 * BLOCK / 2];
        for length in [0, 1, 7, 8, 31, 32, 33, BLOCK - 1, BLOCK, BLOCK + 1, bytes.len()] {
            assert!(seen.insert(of_file(&bytes[..length]).unwrap()), "{length}");
        }
        for at in (0..bytes.len()).step_by(997) {
            for value in [1, 128] {
                bytes[at] = value;
                assert!(seen.insert(of_file(&bytes[..]).unwrap()), "{at}");
            }
            bytes[at] = 0;
        }
    }

    #[test]
    fn this_program_has_one() {
        let binary = binary().unwrap();
        assert!(binary.len() == 16 && binary.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    /// Creates an ELF file with two notes. The second note contains the build ID.
    fn elf() -> Vec<u8> {
        let mut elf = vec![0; 400];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let mut put = |at: usize, bytes: &[u8]| elf[at..at + bytes.len()].copy_from_slice(bytes);
        put(32, &64u64.to_le_bytes());
        put(54, &56u16.to_le_bytes());
        put(56, &2u16.to_le_bytes());
        // The first segment has another type; the second contains the notes and begins at offset 200.
        put(64, &1u32.to_le_bytes());
        put(120, &4u32.to_le_bytes());
        put(128, &200u64.to_le_bytes());
        put(152, &68u64.to_le_bytes());
        put(200, b"\x04\0\0\0\x10\0\0\0\x01\0\0\0GNU\0");
        put(232, b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0\x01\x23\x45\x67\x89\xab\xcd\xef");
        elf
    }

    #[test]
    fn the_build_id_is_found_where_there_is_one() {
        let elf = elf();
        assert_eq!(build_id(&elf), Some(0x0123_4567_89ab_cdef));
        // If the file is damaged, the function may return `None` or another ID, but must not panic.
        for at in 0..elf.len() {
            let mut other = elf.clone();
            for value in [0, 1, 3, 0x7f, 0xff] {
                other[at] = value;
                build_id(&other);
            }
            build_id(&elf[..at]);
        }
    }
}
