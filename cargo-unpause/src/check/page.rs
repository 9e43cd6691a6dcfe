//! `cargo unpause check --html`: the history and the verdict as a page for a browser.

use std::fs;
use std::path::{Path, PathBuf};

use sim::report::history_page;
use unpause_histories::HistoryFinding;

use super::{as_json, called, is_standard_input};
use crate::Usage;
use crate::failures::PAGE;

/// Returns the file of the page: the requested file, or the file of the history with another ending.
///
/// # Errors
/// If the name does not end like a page, so that a typing error overwrites no history. If the history comes from the
/// standard input, and no file is requested.
pub(super) fn file_of(history: &Path, wanted: Option<&Path>) -> Result<PathBuf, Usage> {
    let Some(file) = wanted else {
        if is_standard_input(history) {
            let text = "the page of the standard input needs a name: --html=FILE.html";
            return Err(Usage(text.to_owned()));
        }
        let page = history.with_extension(PAGE);
        return match page == history {
            true => Err(Usage("the page would overwrite the history: --html=FILE.html".to_owned())),
            false => Ok(page),
        };
    };
    match file.extension().is_some_and(|ending| ending == PAGE || ending == "htm") {
        true => Ok(file.to_owned()),
        false => Err(Usage(format!(
            "the page would be {}, but its name should end in .{PAGE}",
            file.display()
        ))),
    }
}

/// Writes the page.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write(page: &Path, history: &Path, finding: &HistoryFinding) -> Result<(), Usage> {
    let data = as_json::finding(&called(history), finding).to_string();
    fs::write(page, history_page(&data)).map_err(|error| {
        let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty());
        let remedy = match folder {
            Some(folder) if !folder.is_dir() => format!("there is no folder {}", folder.display()),
            _ => "--html=FILE names another file".to_owned(),
        };
        Usage(format!("{} cannot be written: {error}. {remedy}", page.display()))
    })
}
