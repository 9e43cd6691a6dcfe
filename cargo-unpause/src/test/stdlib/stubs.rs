//! Assembly functions that take the place of std functions with locks of their own, and record their calls.
//!
//! Most of these functions record their entry, and continue in std's function. Some calls are also recorded when they
//! return. Their functions have a frame, which identifies the call, and call std's function. If a call ends by a panic,
//! no return is recorded.

use std::fmt::Write as _;

use super::names::Names;

/// The functions whose return is recorded: functions that print, and functions that start a process.
const BRACKETED: &[&str] = &[
    "std::io::stdio::_print",
    "std::io::stdio::_eprint",
    "<std::process::Command>::spawn",
    "<std::process::Command>::output",
    "<std::process::Command>::status",
];

/// The texts for one processor architecture.
#[derive(Hash)]
pub(super) struct Texts {
    /// Calls `unpause_std_entered` with the text at `9` and a frame pointer, and preserves the argument registers. The
    /// frame pointer is set before.
    enter: &'static str,
    /// Sets the second argument to 0, for a function without a frame.
    without_frame: &'static str,
    /// Sets the second argument to the frame pointer.
    with_frame: &'static str,
    /// Jumps to the function whose name follows.
    jump: &'static str,
    /// Creates the frame.
    begin: &'static str,
    /// Calls the function whose name follows.
    call: &'static str,
    /// Calls `unpause_std_left` with the frame pointer, preserves the results, and returns.
    end: &'static str,
}

/// The registers are saved in front of the assignment of the arguments. The seven registers align the stack.
const X86_64: Texts = Texts {
    enter: "push rdi\npush rsi\npush rdx\npush rcx\npush r8\npush r9\npush rax
{frame}\nlea rdi, [rip + 9f]\ncall unpause_std_entered
pop rax\npop r9\npop r8\npop rcx\npop rdx\npop rsi\npop rdi",
    without_frame: "xor esi, esi",
    with_frame: "mov rsi, rbp",
    jump: "jmp",
    // The stack pointer is then as after a call, which the text for the entry expects.
    begin: ".cfi_startproc\npush rbp\n.cfi_def_cfa_offset 16\n.cfi_offset rbp, -16
mov rbp, rsp\n.cfi_def_cfa_register rbp\nsub rsp, 8",
    call: "add rsp, 8\ncall",
    end: "push rax\npush rdx\nmov rdi, rbp\ncall unpause_std_left\npop rdx\npop rax
pop rbp\n.cfi_def_cfa rsp, 8\nret\n.cfi_endproc",
};

/// The text for the entry also saves the register for large results and the return address. It was assembled, and was
/// run in an emulator only. The frame was only assembled.
const AARCH64: Texts = Texts {
    enter: "stp x0, x1, [sp, #-80]!\nstp x2, x3, [sp, #16]\nstp x4, x5, [sp, #32]
stp x6, x7, [sp, #48]\nstp x8, x30, [sp, #64]
{frame}\nadrp x0, 9f\nadd x0, x0, :lo12:9f\nbl unpause_std_entered
ldp x8, x30, [sp, #64]\nldp x6, x7, [sp, #48]\nldp x4, x5, [sp, #32]
ldp x2, x3, [sp, #16]\nldp x0, x1, [sp], #80",
    without_frame: "mov x1, #0",
    with_frame: "mov x1, x29",
    jump: "b",
    begin: ".cfi_startproc\nstp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset w30, -8
.cfi_offset w29, -16\nmov x29, sp\n.cfi_def_cfa w29, 16",
    call: "bl",
    end: "stp x0, x1, [sp, #-16]!\nmov x0, x29\nbl unpause_std_left\nldp x0, x1, [sp], #16
ldp x29, x30, [sp], #16\n.cfi_def_cfa sp, 0\nret\n.cfi_endproc",
};

pub(super) const TEXTS: Texts = if cfg!(target_arch = "aarch64") { AARCH64 } else { X86_64 };

/// Returns the source of the functions, together with the list of the toolchain's variables.
pub(super) fn stubs(names: &Names) -> String {
    let mut text = String::from(
        "#![no_std]\n// The functions with locks of their own: each notes that it was entered, and is then std's.\n\
         core::arch::global_asm!(r#\"\n.text\n",
    );
    for (symbol, path) in &names.noted {
        let _ = writeln!(
            text,
            ".globl \"__wrap_{symbol}\"\n.type \"__wrap_{symbol}\",@function\n\"__wrap_{symbol}\":"
        );
        text += &stub(symbol, BRACKETED.contains(&path.as_str()));
        let shown = path.replace(['"', '\\', '#'], "");
        let _ = writeln!(text, ".section .rodata\n9: .asciz \"{shown}\"\n.text");
    }
    text += ".globl unpause_std_replaced\nunpause_std_replaced: ret\n";
    // The runtime reads the list, because a crate name is not enough: a test program may be called `std`.
    text += ".section .rodata\n.globl unpause_std_variables\nunpause_std_variables:\n";
    for symbol in &names.variables {
        let _ = writeln!(text, ".ascii \"{symbol}\\n\"");
    }
    text += ".byte 0\n\"#);\n";
    text
}

/// Returns the instructions of one function.
fn stub(symbol: &str, is_bracketed: bool) -> String {
    let Texts { enter, without_frame, with_frame, jump, begin, call, end } = TEXTS;
    match is_bracketed {
        true => {
            let enter = enter.replace("{frame}", with_frame);
            format!("{begin}\n{enter}\n{call} \"__real_{symbol}\"\n{end}\n")
        }
        false => {
            format!("{}\n{jump} \"__real_{symbol}\"\n", enter.replace("{frame}", without_frame))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::{library, names};
    use super::*;
    use crate::usage::Usage;

    #[test]
    fn each_function_with_a_recorded_return_is_in_the_library_of_this_toolchain() {
        let library = library(&OsString::from("rustc"), "libstd-");
        let library = library.unwrap_or_else(|Usage(text)| panic!("{text}"));
        let names = names::find(&library).unwrap();
        for path in BRACKETED {
            assert!(names.noted.iter().any(|(_, noted)| noted == path), "{path}");
        }
    }
}
