//! JSON reports: their paths, and the source lines that they quote.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use unpause_ordered::Map;

use super::{folder, folder_name, shorter, where_user_is, write_in};
use crate::engine::config::{Config, JsonFiles};
use crate::engine::runner::{Site, style};
use crate::report::{Report, json_with_sources, page};

/// The maximum size in bytes of a source file that is read.
const SOURCE_MAX: u64 = 4 << 20;
/// The maximum length of a source line in characters. Longer lines are cut.
const LINE_MAX: usize = 400;

/// Writes the report as JSON if the settings request it, and as an HTML page if that is requested. By default, only a
/// failure that leaves a trace is written as JSON, beside the trace. If a requested file cannot be written, the report
/// gets a warning.
pub(crate) fn write_json(report: &mut Report, site: &Site, config: &Config) {
    let real = report.real;
    let finding = report.finding.as_deref_mut();
    let seed = finding.as_ref().map(|finding| finding.run.seed);
    let name = || seed.map_or_else(|| "passed.json".to_owned(), |seed| format!("{seed}.json"));
    let leaves = finding.as_ref().is_some_and(|finding| finding.trace_file.is_some() || real);
    let beside = || folder(site, config.out.as_deref());
    let file = match &config.json {
        JsonFiles::OfFailures if leaves => Some((beside(), name())),
        JsonFiles::All => Some((beside(), name())),
        JsonFiles::At(path) => Some(requested(path, site, "json")),
        JsonFiles::OfFailures | JsonFiles::Never => None,
    };
    let page_name = seed.filter(|_| leaves && config.html).map(|seed| format!("{seed}.html"));
    if let (Some(finding), Some(name)) = (finding, &page_name) {
        // The path must be set before the report is rendered, because the JSON document contains both the path and the
        // text output with it.
        finding.page_file = Some(shorter(beside().join(name), site).display().to_string());
    }
    if file.is_none() && page_name.is_none() {
        return;
    }
    let mut sources = Sources { site, of_threads: config.is_native(), files: Map::new() };
    let document = json_with_sources(report, &style(), &mut |file, line| sources.line(file, line));
    let lost = |what: &str, error: io::Error| {
        format!("{}: the {what} could not be written: {error}", report.test)
    };
    let mut warnings = Vec::new();
    if let Some((folder, name)) = file {
        let written = write_in(&document, &folder, &name);
        let is_requested = config.json != JsonFiles::OfFailures;
        warnings.extend(written.err().filter(|_| is_requested).map(|error| lost("report", error)));
    }
    let page = page_name.and_then(|name| write_in(&page(&document), &beside(), &name).err());
    let is_lost = page.is_some();
    warnings.extend(page.map(|error| lost("page", error)));
    report.warnings.extend(warnings);
    if let Some(finding) = report.finding.as_deref_mut().filter(|_| is_lost) {
        finding.page_file = None;
    }
}

/// Returns the folder and the file name for a requested file. If the path has the extension `ending`, it is the file
/// itself. Otherwise the path is a folder that contains a file for each test.
pub(crate) fn requested(path: &Path, site: &Site, ending: &str) -> (PathBuf, String) {
    let path = where_user_is(path, site);
    let name = path.file_name().filter(|_| path.extension().is_some_and(|own| own == ending));
    match (name, path.parent()) {
        (Some(name), Some(folder)) => (folder.to_owned(), name.to_string_lossy().into_owned()),
        _ => (path, format!("{}.{ending}", folder_name(&site.key()))),
    }
}

/// A cache of the source files that a report quotes.
struct Sources<'a> {
    site: &'a Site,
    /// True if the places are of plain threads.
    of_threads: bool,
    files: Map<String, Option<String>>,
}

impl Sources<'_> {
    /// Returns the source line with this number, counted from 1, without its indentation.
    fn line(&mut self, file: &str, line: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), self.read(file).ok());
        }
        let text = self.files.get(file)?.as_deref()?;
        let line = text.lines().nth(line.checked_sub(1)? as usize)?;
        Some(line.trim().chars().take(LINE_MAX).collect())
    }

    /// Reads a source file, if it is not too large.
    fn read(&self, file: &str) -> io::Result<String> {
        let path = self.site.source(file, self.of_threads).ok_or(io::ErrorKind::NotFound)?;
        match fs::metadata(&path)?.len() <= SOURCE_MAX {
            true => fs::read_to_string(path),
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}
