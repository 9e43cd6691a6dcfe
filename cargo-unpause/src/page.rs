//! The file of a page for a browser.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Usage;
use crate::failures::PAGE;

/// Returns the file if its name ends like the name of a page.
///
/// # Errors
/// Otherwise. This prevents a typing error from overwriting a trace, a report or a history.
pub(crate) fn named(file: PathBuf) -> Result<PathBuf, Usage> {
    match file.extension().is_some_and(|ending| ending == PAGE || ending == "htm") {
        true => Ok(file),
        false => Err(Usage(format!(
            "the page would be {}, but its name should end in .{PAGE}",
            file.display()
        ))),
    }
}

/// Writes a page.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(file: &Path, page: &str) -> Result<(), Usage> {
    fs::write(file, page).map_err(|error| {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let remedy = match folder {
            Some(folder) if !folder.is_dir() => format!("there is no folder {}", folder.display()),
            _ => "--html=FILE names another file".to_owned(),
        };
        Usage(format!("{} cannot be written: {error}. {remedy}", file.display()))
    })
}
