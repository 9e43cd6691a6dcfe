//! Reports as JSON files: where they are written, and the source lines in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use unpause_ordered::Map;

use super::{folder, folder_name, where_user_is, write_in};
use crate::engine::config::{Config, JsonFiles};
use crate::engine::runner::{Site, style};
use crate::report::{Report, json_with_sources};

/// Larger source files are not read.
const SOURCE_MAX: u64 = 4 << 20;
/// Maximum length of a source line in characters; the rest of it is left out.
const LINE_MAX: usize = 400;

/// Writes the report as JSON, if it is a failure beside its trace, or if it is requested. A requested file that cannot
/// be written is a warning.
pub(crate) fn write_json(report: &mut Report, site: &Site, config: &Config) {
    let finding = report.finding.as_deref();
    let name = || match finding {
        Some(finding) => format!("{}.json", finding.run.seed),
        None => "passed.json".to_owned(),
    };
    let leaves = finding.is_some_and(|finding| finding.trace_file.is_some() || report.real);
    let beside = || folder(site, config.out.as_deref());
    let (folder, name) = match &config.json {
        JsonFiles::OfFailures if leaves => (beside(), name()),
        JsonFiles::All => (beside(), name()),
        JsonFiles::At(path) => requested(path, site),
        JsonFiles::OfFailures | JsonFiles::Never => return,
    };
    let mut sources = Sources { site, files: Map::new() };
    let document = json_with_sources(report, &style(), &mut |file, line| sources.line(file, line));
    let Err(error) = write_in(&document, &folder, &name) else { return };
    if config.json != JsonFiles::OfFailures {
        let test = &report.test;
        report.warnings.push(format!("{test}: the report could not be written: {error}"));
    }
}

/// Returns the folder and the name of a requested file.
fn requested(path: &Path, site: &Site) -> (PathBuf, String) {
    let path = where_user_is(path, site);
    let name = path.file_name().filter(|_| path.extension().is_some_and(|ending| ending == "json"));
    match (name, path.parent()) {
        (Some(name), Some(folder)) => (folder.to_owned(), name.to_string_lossy().into_owned()),
        _ => (path, format!("{}.json", folder_name(&site.key()))),
    }
}

/// The source files that a report names.
struct Sources<'a> {
    site: &'a Site,
    files: Map<String, Option<String>>,
}

impl Sources<'_> {
    /// Returns a line, counted from 1, without its indentation.
    fn line(&mut self, file: &str, line: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), self.read(file).ok());
        }
        let text = self.files.get(file)?.as_deref()?;
        let line = text.lines().nth(line.checked_sub(1)? as usize)?;
        Some(line.trim().chars().take(LINE_MAX).collect())
    }

    /// Reads a file.
    fn read(&self, file: &str) -> io::Result<String> {
        let path = self.site.source(file).ok_or(io::ErrorKind::NotFound)?;
        match fs::metadata(&path)?.len() <= SOURCE_MAX {
            true => fs::read_to_string(path),
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}
