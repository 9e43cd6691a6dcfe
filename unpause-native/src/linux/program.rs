//! The file of the running program: its symbols and its debug information.

use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::OnceLock;

use object::{File, Object};

/// Returns the file of the program, which is mapped once and stays mapped. The mapping of a file does not slow down a
/// fork.
///
/// # Errors
/// Returns an error if the file cannot be read, or is not a program.
pub(crate) fn program() -> Result<&'static File<'static>, &'static str> {
    static PROGRAM: OnceLock<Result<File<'static>, String>> = OnceLock::new();
    let read = || File::parse(mapped()?).map_err(|error| error.to_string());
    PROGRAM.get_or_init(read).as_ref().map_err(|error| &**error)
}

/// Returns the bytes of the file; `None` if it cannot be read.
pub(crate) fn bytes() -> Option<&'static [u8]> {
    mapped().ok()
}

/// Maps the file on the first call.
fn mapped() -> Result<&'static [u8], String> {
    static BYTES: OnceLock<Result<&'static [u8], String>> = OnceLock::new();
    BYTES.get_or_init(|| map().map_err(|error| error.to_string())).clone()
}

/// Maps the file.
fn map() -> std::io::Result<&'static [u8]> {
    let file = std::fs::File::open("/proc/self/exe")?;
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
    // SAFETY: this is a new mapping, which is never unmapped. The system prevents writes to the file of a running
    // program.
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
