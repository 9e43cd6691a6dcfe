//! x86-64 instructions that synchronise threads or call the system.

use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind, Register};

use super::{Decoded, Instruction};

/// Finds the instructions in the code at an address. `is_rust` is `true` for a Rust function, in which accesses are
/// instrumented.
pub(super) fn decode(code: &[u8], address: u64, is_rust: bool) -> Decoded {
    let mut decoded = Decoded::default();
    let mut at = 0;
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            // An instruction may begin at any of the next bytes.
            decoded.has_data = true;
            at += 1;
            decoder = Decoder::with_ip(64, &code[at..], address + at as u64, DecoderOptions::NONE);
            continue;
        }
        at += instruction.len();
        if is_rust && is_fence(&instruction) {
            continue;
        }
        if let Some((calls, name)) = kind(&instruction) {
            decoded.found.push(Instruction { address: instruction.ip(), calls, name });
        }
    }
    decoded
}

/// Returns the name of an instruction that synchronises threads or calls the system, and `true` if it calls the system.
fn kind(instruction: &iced_x86::Instruction) -> Option<(bool, String)> {
    let mnemonic = instruction.mnemonic();
    let name = || format!("{mnemonic:?}").to_lowercase();
    let has_memory = || (0..2).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    match mnemonic {
        _ if instruction.has_lock_prefix() => Some((false, format!("lock {}", name()))),
        // The processor locks the memory even without a prefix.
        Mnemonic::Xchg if has_memory() => Some((false, name())),
        Mnemonic::Mfence | Mnemonic::Xbegin => Some((false, name())),
        Mnemonic::Syscall | Mnemonic::Sysenter => Some((true, name())),
        Mnemonic::Int if instruction.immediate8() == 0x80 => Some((true, "int 0x80".to_owned())),
        _ => None,
    }
}

/// Returns `true` for a fence implemented by an operation on a stack word: an operation that does not change the word,
/// or event-listener's `lock not`. Runs are sequentially consistent, so such a fence has no effect between instrumented
/// accesses.
fn is_fence(instruction: &iced_x86::Instruction) -> bool {
    let is_on_stack = instruction.op_kind(0) == OpKind::Memory
        && instruction.memory_base() == Register::RSP
        && instruction.memory_index() == Register::None;
    let has_zero = || {
        matches!(
            instruction.op_kind(1),
            OpKind::Immediate8 | OpKind::Immediate8to32 | OpKind::Immediate8to64
        ) && instruction.immediate(1) == 0
    };
    instruction.has_lock_prefix()
        && is_on_stack
        && match instruction.mnemonic() {
            Mnemonic::Or | Mnemonic::Add => has_zero(),
            Mnemonic::Not => instruction.memory_displacement64() == 0,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(code: &[u8]) -> Vec<(u64, bool, String)> {
        let decoded = decode(code, 0x1000, false);
        assert!(!decoded.has_data);
        decoded.found.into_iter().map(|found| (found.address, found.calls, found.name)).collect()
    }

    #[test]
    fn each_kind_is_found_at_its_address() {
        let kinds: &[(&[u8], bool, &str)] = &[
            (&[0xF0, 0x0F, 0xC1, 0x07], false, "lock xadd"),
            (&[0xF0, 0x48, 0x0F, 0xB1, 0x0F], false, "lock cmpxchg"),
            (&[0xF0, 0x48, 0x0F, 0xC7, 0x0F], false, "lock cmpxchg16b"),
            (&[0xF0, 0x83, 0x0C, 0x24, 0x00], false, "lock or"),
            (&[0xF0, 0x0F, 0xBA, 0x2F, 0x03], false, "lock bts"),
            (&[0x87, 0x07], false, "xchg"),
            (&[0x86, 0x07], false, "xchg"),
            (&[0x0F, 0xAE, 0xF0], false, "mfence"),
            (&[0xC7, 0xF8, 0x00, 0x00, 0x00, 0x00], false, "xbegin"),
            (&[0x0F, 0x05], true, "syscall"),
            (&[0xCD, 0x80], true, "int 0x80"),
        ];
        for (code, calls, name) in kinds {
            let after_another = [&[0x90], *code, &[0xC3]].concat();
            assert_eq!(names(&after_another), [(0x1001, *calls, (*name).to_owned())], "{code:x?}");
        }
    }

    #[test]
    fn similar_instructions_are_not_found() {
        let others: &[&[u8]] = &[
            // The exchanges of registers, and the exchange that is encoded as a nop.
            &[0x87, 0xC8],
            &[0x66, 0x90],
            // xadd without lock, lfence, sfence, int3
            &[0x0F, 0xC1, 0x07],
            &[0x0F, 0xAE, 0xE8],
            &[0x0F, 0xAE, 0xF8],
            &[0xCC],
            // the bytes of `lock xadd` and of `syscall` in a constant
            &[0x48, 0xB8, 0xF0, 0x0F, 0xC1, 0x07, 0x0F, 0x05, 0x87, 0x07],
        ];
        for code in others {
            assert_eq!(names(code), [], "{code:x?}");
        }
    }

    #[test]
    fn data_among_code_is_noticed() {
        assert!(decode(&[0x90, 0x06, 0xF0, 0x0F, 0xC1, 0x07], 0, false).has_data);
        assert!(decode(&[0xF0, 0x90], 0, false).has_data, "a lock that no instruction takes");
    }

    #[test]
    fn fences_on_the_stack_are_found_in_other_languages_only() {
        let is_found = |code: &[u8], is_rust| !decode(code, 0, is_rust).found.is_empty();
        // lock or dword [rsp - 8], 0; lock add qword [rsp], 0; lock not qword [rsp]
        let fences: [&[u8]; 3] = [
            &[0xF0, 0x83, 0x4C, 0x24, 0xF8, 0x00],
            &[0xF0, 0x48, 0x83, 0x04, 0x24, 0x00],
            &[0xF0, 0x48, 0xF7, 0x14, 0x24],
        ];
        for code in fences {
            assert!(is_found(code, false) && !is_found(code, true), "{code:x?}");
        }
        // lock or dword [rsp], 1; lock xadd [rsp], eax; lock or dword [rax], 0; mfence
        let others: [&[u8]; 4] = [
            &[0xF0, 0x83, 0x0C, 0x24, 0x01],
            &[0xF0, 0x0F, 0xC1, 0x04, 0x24],
            &[0xF0, 0x83, 0x08, 0x00],
            &[0x0F, 0xAE, 0xF0],
        ];
        for code in others {
            assert!(is_found(code, true), "{code:x?}");
        }
    }
}
