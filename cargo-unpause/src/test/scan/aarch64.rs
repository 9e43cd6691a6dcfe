//! aarch64 instructions that synchronise threads or call the system. These instructions are tested on encodings only:
//! no program has been run on this processor.

use std::collections::BTreeMap;

use super::{Decoded, Instruction};

/// A kind of instruction: a mask of the bits common to all its instructions, the values of these bits, and the name.
type Kind = (u32, u32, &'static str);

/// The instructions, from Arm's manual: exclusive loads and stores, compare and swap, atomic memory operations,
/// barriers. Load-acquire and store-release are in the first group, because their encodings differ in only a few bits.
const SYNCHRONISE: &[Kind] = &[
    // size 001000 0 L 0 Rs o0 Rt2 Rn Rt
    (0x3FE0_8000, 0x0800_0000, "stxr"),
    (0x3FE0_8000, 0x0800_8000, "stlxr"),
    (0x3FE0_8000, 0x0840_0000, "ldxr"),
    (0x3FE0_8000, 0x0840_8000, "ldaxr"),
    // 1 size 001000 0 L 1: pairs; 0 size: compare and swap of pairs
    (0xBFE0_8000, 0x8820_0000, "stxp"),
    (0xBFE0_8000, 0x8820_8000, "stlxp"),
    (0xBFE0_8000, 0x8860_0000, "ldxp"),
    (0xBFE0_8000, 0x8860_8000, "ldaxp"),
    (0xBFA0_7C00, 0x0820_7C00, "casp"),
    // size 001000 1 L 1: compare and swap; size 001000 1 L 0: acquire and release
    (0x3FA0_7C00, 0x08A0_7C00, "cas"),
    (0x3FE0_8000, 0x0880_8000, "stlr"),
    (0x3FE0_8000, 0x08C0_8000, "ldar"),
    // size 111000 A R 1 Rs o3 opc 00 Rn Rt
    (0x3F20_FC00, 0x3820_0000, "ldadd"),
    (0x3F20_FC00, 0x3820_1000, "ldclr"),
    (0x3F20_FC00, 0x3820_2000, "ldeor"),
    (0x3F20_FC00, 0x3820_3000, "ldset"),
    (0x3F20_FC00, 0x3820_4000, "ldsmax"),
    (0x3F20_FC00, 0x3820_5000, "ldsmin"),
    (0x3F20_FC00, 0x3820_6000, "ldumax"),
    (0x3F20_FC00, 0x3820_7000, "ldumin"),
    (0x3F20_FC00, 0x3820_8000, "swp"),
    (0x3FFF_FC00, 0x38BF_C000, "ldapr"),
    (0xFFFF_F0FF, 0xD503_30BF, "dmb"),
];

/// The system call instruction.
const CALL: Kind = (0xFFE0_001F, 0xD400_0001, "svc");

/// The prefix of the compiler's functions for atomic operations, which choose between instructions at run time. These
/// functions are in std's files, which are known, so the scan searches for calls of these functions.
pub(super) const OUTLINED: &str = "__aarch64_";

/// Finds the instructions in the code at an address. `outlined` contains the [functions](OUTLINED), keyed by address.
///
/// Does not detect data between the code.
pub(super) fn decode(code: &[u8], address: u64, outlined: &BTreeMap<u64, &str>) -> Decoded {
    let mut found = Vec::new();
    for (number, word) in code.chunks_exact(4).enumerate() {
        let address = address + 4 * number as u64;
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let is = |(mask, value, _): &&Kind| word & mask == *value;
        let of = |(_, _, name): &Kind| (*name).to_owned();
        let synchronises = SYNCHRONISE
            .iter()
            .find(is)
            .map(of)
            .or_else(|| outlined.get(&called(word, address)?).map(|name| (*name).to_owned()));
        let calls = is(&&CALL);
        if let Some(name) = synchronises.or_else(|| calls.then(|| of(&CALL))) {
            found.push(Instruction { address, calls, name });
        }
    }
    Decoded { found, has_data: false }
}

/// Returns the address that an instruction calls or jumps to.
fn called(word: u32, address: u64) -> Option<u64> {
    let is_branch = word & 0x7C00_0000 == 0x1400_0000;
    // A signed distance of 26 bits, in words.
    let distance = i64::from((word << 6) as i32 >> 6) * 4;
    is_branch.then(|| address.wrapping_add_signed(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[u32]) -> Vec<String> {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let outlined = [(0x2000, "__aarch64_ldadd4_acq_rel")].into();
        let decoded = decode(&code, 0x1000, &outlined);
        decoded.found.into_iter().map(|found| found.name).collect()
    }

    #[test]
    fn each_kind_is_found() {
        let kinds = [
            (0x885F_7C20, "ldxr"),
            (0xC85F_FC20, "ldaxr"),
            (0x8802_7C20, "stxr"),
            (0xC802_FC20, "stlxr"),
            (0xC87F_0440, "ldxp"),
            (0xC87F_8440, "ldaxp"),
            (0xC823_0440, "stxp"),
            (0xC823_8440, "stlxp"),
            (0x88A1_7C62, "cas"),
            (0xC8E1_FC62, "cas"),
            (0x4820_7C82, "casp"),
            (0x4860_FC82, "casp"),
            (0xB821_0062, "ldadd"),
            (0xF8E1_0062, "ldadd"),
            (0xB821_1062, "ldclr"),
            (0xB821_2062, "ldeor"),
            (0xB821_3062, "ldset"),
            (0xB821_4062, "ldsmax"),
            (0xB821_7062, "ldumin"),
            (0xB821_8062, "swp"),
            (0xF8E1_8062, "swp"),
            (0x88DF_FC20, "ldar"),
            (0x889F_FC20, "stlr"),
            (0xB8BF_C020, "ldapr"),
            (0xD503_3BBF, "dmb"),
            (0xD503_39BF, "dmb"),
            (0xD400_0001, "svc"),
        ];
        for (word, name) in kinds {
            assert_eq!(names(&[word]), [name], "{word:x}");
        }
        // bl, to 0xFFC bytes after the second word
        assert_eq!(names(&[0xD503_201F, 0x9400_03FF]), ["__aarch64_ldadd4_acq_rel"]);
    }

    #[test]
    fn similar_instructions_are_not_found() {
        // ldr, str with a register, ldp, nop, isb, ret, add, movz, brk
        let others = [
            0xB940_0020,
            0xB821_6862,
            0xA940_0440,
            0xD503_201F,
            0xD503_3FDF,
            0xD65F_03C0,
            0x8B01_0000,
            0xD280_0000,
            0xD420_0000,
            0x9400_03FF,
        ];
        assert_eq!(names(&others), [""; 0]);
    }
}
