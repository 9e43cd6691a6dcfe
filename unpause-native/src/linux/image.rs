//! The thread-local variables of the program, in their state at the start of a thread.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

use object::elf::PT_GNU_RELRO;

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
        let mut image = Image { offset: 0, initial: 0, initialized: 0, size: 0 };
        // SAFETY: the callback is called only during this call, with the pointer passed here.
        unsafe { libc::dl_iterate_phdr(Some(read), (&raw mut image).cast()) };
        image
    })
}

/// Reads the headers of the first object, which is the program.
unsafe extern "C" fn read(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    image: *mut c_void,
) -> c_int {
    // SAFETY: the headers are from the linker, and the pointer was passed to `dl_iterate_phdr`.
    unsafe {
        let object = &*object;
        for at in 0..object.dlpi_phnum {
            let header = &*object.dlpi_phdr.add(usize::from(at));
            if header.p_type == libc::PT_TLS {
                *image.cast::<Image>() = Image {
                    offset: object.dlpi_tls_data as isize - switch::thread_pointer() as isize,
                    initial: (object.dlpi_addr + header.p_vaddr) as usize,
                    initialized: header.p_filesz as usize,
                    size: header.p_memsz as usize,
                };
            }
        }
    }
    // A result other than 0 ends the iteration.
    1
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
    *LOADED.get_or_init(find)
}

fn find() -> (usize, usize) {
    unsafe extern "C" fn read(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the headers are from the linker, and the pointer is passed below.
        unsafe {
            let object = &*object;
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
            let size = loaded.map(|header| header.p_vaddr + header.p_memsz).max().unwrap_or(0);
            *found.cast() = (object.dlpi_addr as usize, size as usize);
        }
        1
    }
    let mut found = (0usize, 0usize);
    // SAFETY: the callback is called only during this call, with the pointer passed here.
    unsafe { libc::dl_iterate_phdr(Some(read), (&raw mut found).cast()) };
    found
}

/// Returns the addresses that the dynamic linker has protected from writes after the start of the program. They contain
/// constants with addresses.
pub(crate) fn protected() -> Range<usize> {
    unsafe extern "C" fn read(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the headers are from the linker, and the pointer is passed below.
        unsafe {
            let object = &*object;
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            if let Some(header) = headers.iter().find(|header| header.p_type == PT_GNU_RELRO) {
                let begin = (object.dlpi_addr + header.p_vaddr) as usize;
                *found.cast() = begin..begin + header.p_memsz as usize;
            }
        }
        1
    }
    static PROTECTED: OnceLock<Range<usize>> = OnceLock::new();
    let find = || {
        let mut found = 0usize..0;
        // SAFETY: the callback is called only during this call, with the pointer passed here.
        unsafe { libc::dl_iterate_phdr(Some(read), (&raw mut found).cast()) };
        found
    };
    PROTECTED.get_or_init(find).clone()
}

/// Returns the addresses and sizes of the writable memory of the program.
pub(crate) fn writable() -> Vec<(usize, usize)> {
    unsafe extern "C" fn read(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the headers are from the linker, and the pointer is passed below.
        unsafe {
            let object = &*object;
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            let is_writable = |header: &&libc::Elf64_Phdr| {
                header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0
            };
            let range = |header: &libc::Elf64_Phdr| {
                ((object.dlpi_addr + header.p_vaddr) as usize, header.p_memsz as usize)
            };
            *found.cast() = headers.iter().filter(is_writable).map(range).collect::<Vec<_>>();
        }
        1
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    // SAFETY: the callback is called only during this call, with the pointer passed here.
    unsafe { libc::dl_iterate_phdr(Some(read), (&raw mut found).cast()) };
    found
}
