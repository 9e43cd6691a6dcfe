//! Spurious failures of `compare_exchange_weak`, which see the expected value.
//!
//! LLVM's pass calls one function for weak and strong operations. Compiled code treats the operation as a success if
//! the result is the expected value, but another result would be a value that the memory never had. So the result is
//! the value in memory, and the function returns to the code for a failure:
//!
//! ```text
//! call __tsan_atomic64_compare_exchange_val
//! cmp  rax, r14        skipped
//! je   done            skipped, with the flags of equal values, which they are
//! …                    returns here
//! ```
//!
//! If the result is moved between the two instructions, or is the operand of a conditional instruction, only the
//! comparison is skipped. The flags then show a difference. This is not possible if the code for the failure uses the
//! same flags again.
//!
//! The pass runs after LLVM's optimisations, so no optimisation concludes from a failure that the value is different.
//! An operation cannot be made to fail if other instructions follow it.

use super::request::Request;
use super::thread::Thread;

/// The bytes of code at an address.
type Code = [u8; 16];

/// The return address of a compare-exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Return {
    /// The distance from the normal return address.
    distance: isize,
    /// True if the flags must show a difference.
    differs: bool,
}

impl Return {
    /// Returns the address as one number, with the flag in the lowest bit. 0 is the normal return address.
    pub(crate) fn packed(self) -> usize {
        (self.distance << 1) as usize | usize::from(self.differs)
    }
}

/// Returns the return address that makes the last requested compare-exchange of the thread fail although it sees the
/// expected value. `None` if it cannot be made to fail.
pub(crate) fn failure(thread: &Thread) -> Option<Return> {
    let Request::Access(access) = thread.request else { return None };
    // SAFETY: this is code of the program after a call, or near a jump there or its target. A function does not end
    // with a call that returns, and more bytes follow the code of a program.
    let code = |at: isize| unsafe { *((thread.caller.0 as isize + at) as *const Code) };
    returns(&code, access.size, access.operand)
}

/// Returns the same result for code that is given by its distance from the return address.
fn returns(code: &dyn Fn(isize) -> Code, size: u8, expected: u64) -> Option<Return> {
    let compared = comparison(&code(0), size, expected)? as isize;
    if let Some(distance) = unequal(&code(compared), compared) {
        return Some(Return { distance, differs: false });
    }
    let used = compared + moves(code, compared);
    let behind = match unequal(&code(used), used) {
        Some(target) => target,
        // In an operation on one byte, the flag may also become the value, as in `AtomicBool`.
        None => used + conditional(&code(used)).filter(|_| size > 1)? as isize,
    };
    let behind = behind + moves(code, behind);
    let uses_flags =
        unequal(&code(behind), behind).is_some() || conditional(&code(behind)).is_some();
    (!uses_flags).then_some(Return { distance: compared, differs: true })
}

/// Returns the target of a jump (`je` or `jne`) at a distance, if the values differ.
fn unequal(code: &Code, at: isize) -> Option<isize> {
    let far = || i32::from_le_bytes([code[2], code[3], code[4], code[5]]) as isize;
    match (code[0], code[1]) {
        (0x74, _) => Some(at + 2),
        (0x75, distance) => Some(at + 2 + distance as i8 as isize),
        (0x0f, 0x84) => Some(at + 6),
        (0x0f, 0x85) => Some(at + 6 + far()),
        _ => None,
    }
}

/// Returns the length of an instruction that sets or moves a register depending on a comparison.
fn conditional(code: &Code) -> Option<usize> {
    let at = usize::from(code[0] & 0xf0 == 0x40);
    let known = code[at] == 0x0f && matches!(code[at + 1], 0x94 | 0x95 | 0x44 | 0x45);
    let (mode, rm) = (code[at + 2] >> 6, code[at + 2] & 7);
    known.then(|| at + 3 + operand(mode, rm, code[at + 3]))
}

/// Returns the number of bytes of the instructions from a distance on that move a value and preserve the flags.
fn moves(code: &dyn Fn(isize) -> Code, from: isize) -> isize {
    /// The maximum number of such instructions.
    const MOVES: usize = 4;
    let mut length = 0;
    for _ in 0..MOVES {
        let code = code(from + length);
        let at = usize::from(code[0] & 0xf0 == 0x40);
        // These are moves to a register or memory, moves from a register, and constants to four-byte registers.
        length += match code[at] {
            0x88..=0x8b | 0x8d => {
                let (mode, rm) = (code[at + 1] >> 6, code[at + 1] & 7);
                (at + 2 + operand(mode, rm, code[at + 2])) as isize
            }
            0xb8..=0xbf if code[0] & 0xf8 != 0x48 => at as isize + 5,
            _ => break,
        };
    }
    length
}

/// Returns the length of the instruction that compares the register `rax`, of `size` bytes, with `expected`. The other
/// operand may be a register or memory with this value.
fn comparison(code: &Code, size: u8, expected: u64) -> Option<usize> {
    // The prefixes: the operand size of two bytes, and then a byte 0x4_ for eight-byte operands and for the upper eight
    // registers.
    let word = usize::from(code[0] == 0x66);
    let prefix = code[word] & 0xf0 == 0x40;
    let rex = if prefix { code[word] & 0x0f } else { 0 };
    let (wide, upper_reg, upper_rm) = (rex & 8 != 0, rex & 4 != 0, rex & 1 != 0);
    let at = word + usize::from(prefix);
    let opcode = code[at];
    // Opcodes for one byte are even, and 0x83 belongs to the larger sizes.
    let of_size = match size {
        1 => opcode & 1 == 0 && word == 0,
        2 => opcode & 1 == 1 && word == 1 && !wide,
        4 => opcode & 1 == 1 && word == 0 && !wide,
        _ => opcode & 1 == 1 && word == 0 && wide,
    };
    if !of_size {
        return None;
    }
    let (mode, reg, rm) = (code[at + 1] >> 6, code[at + 1] >> 3 & 7, code[at + 1] & 7);
    let reg_is_rax = reg == 0 && !upper_reg;
    let rm_is_rax = mode == 3 && rm == 0 && !upper_rm;
    let immediate = usize::from(size.min(4));
    let mask = u64::MAX >> (64 - 8 * u32::from(size));
    let value = |from: usize, length: usize| {
        let bytes = (0..length).rev().fold(0u64, |value, n| value << 8 | u64::from(code[from + n]));
        // The value is sign-extended to the size.
        let unused = 64 - 8 * length as u32;
        ((bytes << unused) as i64 >> unused) as u64 & mask
    };
    match opcode {
        // test rax, rax
        0x84 | 0x85 if rm_is_rax && reg_is_rax && expected == 0 => Some(at + 2),
        // cmp rax, immediate
        0x3c | 0x3d if value(at + 1, immediate) == expected => Some(at + 1 + immediate),
        0x80 | 0x81 if rm_is_rax && reg == 7 && value(at + 2, immediate) == expected => {
            Some(at + 2 + immediate)
        }
        0x83 if rm_is_rax && reg == 7 && value(at + 2, 1) == expected => Some(at + 3),
        // cmp with a register or memory, in both directions
        0x38 | 0x39 if rm_is_rax => Some(at + 2),
        0x38..=0x3b if reg_is_rax => Some(at + 2 + operand(mode, rm, code[at + 2])),
        _ => None,
    }
}

/// Returns the number of bytes for the address of an operand.
fn operand(mode: u8, rm: u8, index: u8) -> usize {
    let has_index = mode != 3 && rm == 4;
    let far = match mode {
        0 if rm == 5 || has_index && index & 7 == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    usize::from(has_index) + far
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code, followed by padding.
    fn padded(bytes: &[u8], at: isize) -> Code {
        std::array::from_fn(|n| {
            let at = usize::try_from(at + n as isize).ok();
            at.and_then(|at| bytes.get(at).copied()).unwrap_or(0xcc)
        })
    }

    fn length(bytes: &[u8], size: u8, expected: u64) -> Option<usize> {
        comparison(&padded(bytes, 0), size, expected)
    }

    fn found(bytes: &[u8], size: u8) -> Option<(isize, bool)> {
        let found = returns(&|at| padded(bytes, at), size, 77)?;
        Some((found.distance, found.differs))
    }

    #[test]
    fn a_failure_returns_to_the_code_for_it() {
        // cmp rax, rbx, and what follows
        let behind = |code: &[u8]| found(&[&[0x48, 0x39, 0xd8], code].concat(), 8);
        assert_eq!(behind(&[0x74, 0x20, 0x90]), Some((5, false)), "je");
        assert_eq!(behind(&[0x75, 0xf0]), Some((-11, false)), "jne, backwards");
        assert_eq!(behind(&[0x0f, 0x84, 0x10, 1, 0, 0]), Some((9, false)), "je, far");
        assert_eq!(behind(&[0x0f, 0x85, 0x10, 1, 0, 0]), Some((9 + 0x110, false)), "jne, far");
        assert_eq!(behind(&[0x49, 0x89, 0xc6, 0x75, 0x10]), Some((3, true)), "mov r14, rax; jne");
        assert_eq!(behind(&[0x0f, 0x94, 0xc3, 0x90]), Some((3, true)), "sete bl");
        assert_eq!(behind(&[0x4c, 0x0f, 0x45, 0xeb]), Some((3, true)), "cmovne r13, rbx");
        // The second jump uses the same comparison.
        assert_eq!(behind(&[0x74, 0x20, 0x74, 0x30]), Some((5, false)), "je; je");
        assert_eq!(
            behind(&[0x49, 0x89, 0xc6, 0x74, 0x20, 0x74, 0x30]),
            None,
            "mov r14, rax; je; je"
        );
        assert_eq!(behind(&[0x0f, 0x94, 0xc3, 0x74, 0x20]), None, "sete bl; je");
        assert_eq!(behind(&[0x48, 0x01, 0xc3, 0x75, 0x10]), None, "add rbx, rax; jne");
        assert_eq!(behind(&[0x7f, 0x10]), None, "jg");
        // sete bl, for one byte: the value may be computed from it
        assert_eq!(found(&[0x38, 0xd8, 0x0f, 0x94, 0xc3], 1), None);
    }

    #[test]
    fn a_return_is_one_number() {
        let packed = |distance, differs| Return { distance, differs }.packed() as isize;
        assert_eq!((packed(5, false), packed(3, true), packed(-11, false)), (10, 7, -22));
    }

    /// The instructions are assembler output, each with the size and the value that it compares.
    #[test]
    fn comparisons_of_the_result_are_known() {
        let known: &[(&[u8], u8, u64)] = &[
            (&[0x48, 0x85, 0xc0], 8, 0),              // test rax, rax
            (&[0x85, 0xc0], 4, 0),                    // test eax, eax
            (&[0x66, 0x85, 0xc0], 2, 0),              // test ax, ax
            (&[0x84, 0xc0], 1, 0),                    // test al, al
            (&[0x48, 0x39, 0xd8], 8, 77),             // cmp rax, rbx
            (&[0x4c, 0x39, 0xf0], 8, 77),             // cmp rax, r14
            (&[0x48, 0x3b, 0x45, 0xd0], 8, 77),       // cmp rax, [rbp - 48]
            (&[0x48, 0x3b, 0x44, 0x24, 0x10], 8, 77), // cmp rax, [rsp + 16]
            (&[0x48, 0x3b, 0x84, 0x24, 0x10, 0x01, 0x00, 0x00], 8, 77), // cmp rax, [rsp + 272]
            (&[0x48, 0x3b, 0x05, 0x10, 0x01, 0x00, 0x00], 8, 77), // cmp rax, [rip + 272]
            (&[0x39, 0x45, 0xd0], 4, 77),             // cmp [rbp - 48], eax
            (&[0x48, 0x83, 0xf8, 0x03], 8, 3),        // cmp rax, 3
            (&[0x48, 0x83, 0xf8, 0xff], 8, u64::MAX), // cmp rax, -1
            (&[0x83, 0xf8, 0xff], 4, 0xffff_ffff),    // cmp eax, -1
            (&[0x66, 0x83, 0xf8, 0x05], 2, 5),        // cmp ax, 5
            (&[0x48, 0x3d, 0x00, 0x01, 0x00, 0x00], 8, 256), // cmp rax, 256
            (&[0x3d, 0x00, 0x01, 0x00, 0x00], 4, 256), // cmp eax, 256
            (&[0x66, 0x3d, 0x00, 0x01], 2, 256),      // cmp ax, 256
            (&[0x3c, 0x03], 1, 3),                    // cmp al, 3
            (&[0x38, 0xd8], 1, 77),                   // cmp al, bl
            (&[0x44, 0x38, 0xf0], 1, 77),             // cmp al, r14b
            (&[0x3a, 0x45, 0xd0], 1, 77),             // cmp al, [rbp - 48]
        ];
        for (bytes, size, expected) in known {
            assert_eq!(length(bytes, *size, *expected), Some(bytes.len()), "{bytes:x?}");
        }
    }

    #[test]
    fn other_instructions_are_not_skipped() {
        let other: &[(&[u8], u8, u64)] = &[
            (&[0x48, 0x89, 0xc3], 8, 0),       // mov rbx, rax
            (&[0x48, 0x85, 0xc0], 8, 1),       // test rax, rax, with another value expected
            (&[0x48, 0x83, 0xf8, 0x03], 8, 4), // cmp rax, 3, with another value expected
            (&[0x48, 0x39, 0xcb], 8, 77),      // cmp rbx, rcx
            (&[0x49, 0x39, 0xc9], 8, 77),      // cmp r9, rcx
            (&[0x4d, 0x85, 0xc0], 8, 0),       // test r8, r8
            (&[0x85, 0xc0], 8, 0),             // test eax, eax, of a result of eight bytes
            (&[0x48, 0x85, 0xc0], 4, 0),       // test rax, rax, of a result of four
            (&[0x48, 0x83, 0xc0, 0x03], 8, 3), // add rax, 3
            (&[0xc3], 8, 0),                   // ret
        ];
        for (bytes, size, expected) in other {
            assert_eq!(length(bytes, *size, *expected), None, "{bytes:x?}");
        }
    }
}
