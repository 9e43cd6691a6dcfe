//! The file of the program that runs: its symbols and its debug information.

use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::OnceLock;

use object::{File, Object};

/// The file of the program, mapped once and kept. A mapping of a file costs a fork nothing.
///
/// # Errors
/// If it cannot be read, or is not a program.
pub(crate) fn program() -> Result<&'static File<'static>, &'static str> {
    static PROGRAM: OnceLock<Result<File<'static>, String>> = OnceLock::new();
    let read = || File::parse(mapped()?).map_err(|error| error.to_string());
    PROGRAM.get_or_init(read).as_ref().map_err(|error| &**error)
}

/// The bytes of the file; `None` if it cannot be read.
pub(crate) fn bytes() -> Option<&'static [u8]> {
    mapped().ok()
}

/// Maps the file, the first time that it is called.
fn mapped() -> Result<&'static [u8], String> {
    static BYTES: OnceLock<Result<&'static [u8], String>> = OnceLock::new();
    BYTES.get_or_init(|| map().map_err(|error| error.to_string())).clone()
}

/// Maps the file.
fn map() -> std::io::Result<&'static [u8]> {
    let file = std::fs::File::open("/proc/self/exe")?;
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
    // SAFETY: a new mapping, which is never unmapped. The system lets nobody write to the file of a program that runs.
    unsafe {
        let address = libc::mmap(null_mut(), size, protection, flags, file.as_raw_fd(), 0);
        match address == libc::MAP_FAILED {
            true => Err(std::io::Error::last_os_error()),
            false => Ok(std::slice::from_raw_parts(address.cast(), size)),
        }
    }
}

/// Returns `true` if the program has symbols.
pub(crate) fn has_symbols() -> bool {
    program().is_ok_and(|program| program.symbols().next().is_some())
}
