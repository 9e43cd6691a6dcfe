//! The thread-local variables of the program, in their state at the start of a thread.

use std::ops::Range;
use std::sync::OnceLock;

use object::elf::PT_GNU_RELRO;

use super::loaded::{LoadedObject, of_program};
use super::switch;

/// The initial values of the program's thread-local variables.
pub(crate) struct Image {
    /// The distance of a thread's variables from the base of its thread-local block.
    pub(crate) offset: isize,
    /// The address of the initial values.
    pub(crate) initial: usize,
    /// The number of bytes that have an initial value; the rest is zero.
    pub(crate) initialized: usize,
    /// The number of bytes.
    pub(crate) size: usize,
}

/// Returns the image of the running program.
pub(crate) fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let none = Image { offset: 0, initial: 0, initialized: 0, size: 0 };
        of_program(image_of).flatten().unwrap_or(none)
    })
}

fn image_of(program: &LoadedObject<'_>) -> Option<Image> {
    let header = program.headers().iter().find(|header| header.p_type == libc::PT_TLS)?;
    Some(Image {
        offset: program.thread_locals() as isize - switch::thread_pointer() as isize,
        initial: program.range(header).start,
        initialized: header.p_filesz as usize,
        size: header.p_memsz as usize,
    })
}

/// Returns the address at which the program is loaded.
pub(crate) fn load_address() -> usize {
    loaded().0
}

/// Returns the number of bytes from this address to the end of the program in memory.
pub(crate) fn size() -> usize {
    loaded().1
}

fn loaded() -> (usize, usize) {
    static LOADED: OnceLock<(usize, usize)> = OnceLock::new();
    *LOADED.get_or_init(|| {
        let address_and_size = of_program(|program| {
            let headers = program.headers().iter();
            let loaded = headers.filter(|header| header.p_type == libc::PT_LOAD);
            let size = loaded.map(|header| header.p_vaddr + header.p_memsz).max().unwrap_or(0);
            (program.address(), size as usize)
        });
        address_and_size.unwrap_or_default()
    })
}

/// Returns the addresses that the dynamic linker has protected from writes after the start of the program. They contain
/// constants with addresses.
pub(crate) fn protected() -> Range<usize> {
    static PROTECTED: OnceLock<Range<usize>> = OnceLock::new();
    let find = || {
        let range = of_program(|program| {
            let mut headers = program.headers().iter();
            let header = headers.find(|header| header.p_type == PT_GNU_RELRO)?;
            Some(program.range(header))
        });
        range.flatten().unwrap_or_default()
    };
    PROTECTED.get_or_init(find).clone()
}

/// Returns the addresses and sizes of the writable memory of the program.
pub(crate) fn writable() -> Vec<(usize, usize)> {
    let ranges = of_program(|program| {
        let is_writable = |header: &&libc::Elf64_Phdr| {
            header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0
        };
        let range = |header: &libc::Elf64_Phdr| {
            let range = program.range(header);
            (range.start, range.len())
        };
        program.headers().iter().filter(is_writable).map(range).collect()
    });
    ranges.unwrap_or_default()
}
