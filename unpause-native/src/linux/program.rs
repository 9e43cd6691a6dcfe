//! The file of the program that runs: its symbols and its debug information.

use std::sync::OnceLock;

use object::{File, Object};

/// The file of the program, read once and kept.
///
/// # Errors
/// If it cannot be read, or is no program.
pub(crate) fn program() -> Result<&'static File<'static>, &'static str> {
    static PROGRAM: OnceLock<Result<File<'static>, String>> = OnceLock::new();
    let read = || {
        let bytes = std::fs::read("/proc/self/exe").map_err(|error| error.to_string())?;
        File::parse(&*bytes.leak()).map_err(|error| error.to_string())
    };
    PROGRAM.get_or_init(read).as_ref().map_err(|error| &**error)
}

/// Returns `true` if the program has symbols.
pub(crate) fn has_symbols() -> bool {
    program().is_ok_and(|program| program.symbols().next().is_some())
}
