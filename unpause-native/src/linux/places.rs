//! Return addresses to lines of source, by the program's debug information.

use std::cell::RefCell;

use super::image::load_address;

/// A function call in the source: one return address has several if functions were inlined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The function's path, without a hash.
    pub function: String,
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1; 0 if the debug information has none.
    pub line: u32,
}

impl Frame {
    /// Returns `true` if the function is part of the standard library.
    pub fn is_of_std(&self) -> bool {
        let parts = [
            "/library/core/src/",
            "/library/std/src/",
            "/library/alloc/src/",
            "/library/test/src/",
        ];
        self.file.starts_with("/rustc/") || parts.iter().any(|part| self.file.contains(part))
    }
}

thread_local! {
    static LOADER: RefCell<Option<Result<addr2line::Loader, ()>>> = const { RefCell::new(None) };
}

/// The frames at a return address, innermost first; none without debug information.
pub(crate) fn frames(return_address: usize) -> Vec<Frame> {
    let Some(address) = return_address.checked_sub(load_address() + 1) else { return Vec::new() };
    LOADER.with(|loader| {
        let mut loader = loader.borrow_mut();
        let open = || addr2line::Loader::new("/proc/self/exe").map_err(drop);
        let Ok(loader) = loader.get_or_insert_with(open) else { return Vec::new() };
        let Ok(mut found) = loader.find_frames(address as u64) else { return Vec::new() };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let name = name.map(|name| format!("{:#}", rustc_demangle::demangle(&name)));
            let (file, line) = frame.location.map_or((None, None), |at| (at.file, at.line));
            frames.push(Frame {
                function: name.unwrap_or_default(),
                file: file.unwrap_or_default().to_owned(),
                line: line.unwrap_or(0),
            });
        }
        frames
    })
}
