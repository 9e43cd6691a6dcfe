//! `cargo unpause check --html`: the history and the verdict as a page for a browser.

use std::path::{Path, PathBuf};

use sim::report::history_page;
use unpause_histories::HistoryFinding;

use super::{as_json, called, is_standard_input};
use crate::failures::PAGE;
use crate::{Usage, page};

/// Returns the file of the page: the requested file, or the file of the history with another ending.
///
/// # Errors
/// If the name does not end like a page, or is the name of the history. If the history comes from the standard input,
/// and no file is requested.
pub(super) fn file_of(history: &Path, wanted: Option<&Path>) -> Result<PathBuf, Usage> {
    let file = match wanted {
        Some(wanted) => page::named(wanted.to_owned())?,
        None if is_standard_input(history) => {
            let text = "the page of the standard input needs a name: --html=FILE.html";
            return Err(Usage(text.to_owned()));
        }
        None => history.with_extension(PAGE),
    };
    match file == history {
        true => Err(Usage("the page would overwrite the history: --html=FILE.html".to_owned())),
        false => Ok(file),
    }
}

/// Writes the page.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write(file: &Path, history: &Path, finding: &HistoryFinding) -> Result<(), Usage> {
    page::write(file, &history_page(&as_json::finding(&called(history), finding).to_string()))
}
