//! JSON reports and pages: their paths.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use unpause_ordered::Map;

use super::sources::Sources;
use super::{folder, folder_name, shorter, where_user_is, write_in};
use crate::engine::config::{Config, JsonFiles};
use crate::engine::runner::{Site, style};
use crate::report::{Finding, Report, json_with_sources, page};

/// The number of reports that this process has written to each path. A test may have several reports, for example one
/// for each run of a `Runner` in a loop.
static WRITTEN: Mutex<Map<PathBuf, u32>> = Mutex::new(Map::new());

/// A file of a report.
struct ReportFile {
    folder: PathBuf,
    /// The file name of the first report.
    name: String,
    /// True if further reports get a number. False if they replace the file.
    is_numbered: bool,
    /// True if a setting requests the file, so that the user must know if it cannot be written.
    is_requested: bool,
}

impl ReportFile {
    /// Returns the files of a report. The report of a failure is beside its trace, and also where the setting requests
    /// it.
    fn all_of(report: &Report, site: &Site, config: &Config) -> Vec<ReportFile> {
        let finding = report.finding.as_deref();
        // A further phase of a model is a different test with the same name.
        let phase = config.phase().map_or(String::new(), |phase| format!("-phase-{phase}"));
        let beside = |name: String, is_numbered, is_requested| {
            let folder = folder(site, config.out.as_deref());
            ReportFile { folder, name, is_numbered, is_requested }
        };
        let is_all = matches!(config.json, JsonFiles::All);
        let of_failure = finding.filter(|finding| is_all || leaves_files(finding, report.real));
        // A later trace replaces the trace of the same name.
        let of_failure =
            of_failure.map(|finding| beside(format!("{}.json", finding.run.seed), false, is_all));
        match &config.json {
            JsonFiles::Never => Vec::new(),
            JsonFiles::OfFailures => Vec::from_iter(of_failure),
            JsonFiles::All => {
                let passed = || beside(format!("passed{phase}.json"), true, true);
                vec![of_failure.unwrap_or_else(passed)]
            }
            JsonFiles::At(path) => {
                let path = where_user_is(path, site);
                let (folder, name, is_numbered) = match named_file(&path, "json") {
                    Some((folder, name)) => (folder, name, false),
                    None => (path, format!("{}{phase}.json", folder_name(&site.key())), true),
                };
                let requested = ReportFile { folder, name, is_numbered, is_requested: true };
                [Some(requested), of_failure].into_iter().flatten().collect()
            }
        }
    }

    /// Returns the name for the next report, and counts the report.
    fn next_name(&self) -> String {
        if !self.is_numbered {
            return self.name.clone();
        }
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let count = written.entry(self.folder.join(&self.name)).or_default();
        *count += 1;
        match (*count, self.name.strip_suffix(".json")) {
            (number @ 2.., Some(stem)) => format!("{stem}-{number}.json"),
            _ => self.name.clone(),
        }
    }
}

/// Makes the next report of the test replace this report, because the test is repeated or continued.
pub(crate) fn supersede_json(report: &Report, site: &Site, config: &Config) {
    let files = ReportFile::all_of(report, site, config);
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    for file in files.iter().filter(|file| file.is_numbered) {
        if let Some(count) = written.get_mut(&file.folder.join(&file.name)) {
            *count = count.saturating_sub(1);
        }
    }
}

/// Clears the numbers of written reports, to simulate a new process.
#[cfg(test)]
pub(crate) fn forget_written() {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// Returns `true` if a failure leaves files of its run.
fn leaves_files(finding: &Finding, real: bool) -> bool {
    finding.trace_file.is_some() || real
}

/// Writes the report as JSON, and as an HTML page if that is requested. Unless the settings forbid it, a failure that
/// leaves a trace is written beside the trace. Other reports are written only on request. If a requested file cannot be
/// written, the report gets a warning.
pub(crate) fn write_json(report: &mut Report, site: &Site, config: &Config) {
    let files = ReportFile::all_of(report, site, config);
    let real = report.real;
    let beside = || folder(site, config.out.as_deref());
    let page_name = match report.finding.as_deref_mut() {
        Some(finding) if config.html && leaves_files(finding, real) => {
            let name = format!("{}.html", finding.run.seed);
            // The path must be set before the report is rendered, because the JSON document contains both the path and
            // the text output with it.
            finding.page_file = Some(shorter(beside().join(&name), site).display().to_string());
            Some(name)
        }
        _ => None,
    };
    if files.is_empty() && page_name.is_none() {
        return;
    }
    let mut sources = Sources::new(site, config);
    let document = json_with_sources(report, &style(), &mut |file, line| sources.line(file, line));
    let lost = |what: &str, error: io::Error| {
        format!("{}: the {what} could not be written: {error}", report.test)
    };
    let mut warnings = Vec::new();
    for file in files {
        let written = write_in(&document, &file.folder, &file.next_name()).err();
        warnings.extend(written.filter(|_| file.is_requested).map(|error| lost("report", error)));
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
    let file = named_file(&path, ending);
    file.unwrap_or_else(|| (path, format!("{}.{ending}", folder_name(&site.key()))))
}

/// Returns the folder and the file name of a path, if it has the extension `ending`.
fn named_file(path: &Path, ending: &str) -> Option<(PathBuf, String)> {
    let name = path.file_name().filter(|_| path.extension().is_some_and(|own| own == ending))?;
    Some((path.parent()?.to_owned(), name.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::Location;
    use unpause_ordered::Set;

    use super::*;
    use crate::engine::config::Settings;

    /// Returns the names of the files in a folder, without the name of the test.
    fn names(folder: &Path) -> Set<String> {
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            name.split_once("demo").map_or(name.clone(), |(_, rest)| rest.to_owned())
        };
        fs::read_dir(folder).unwrap().map(name).collect()
    }

    #[test]
    fn a_report_replaces_no_other_report_of_the_process() {
        let folder = std::env::temp_dir().join(format!("sim-reports-{}", std::process::id()));
        let site = Site { test: "demo".to_owned(), ..Site::of_program(Location::caller()) };
        let config = |json| {
            let out = Some(folder.join("out"));
            Settings { json: Some(json), out, ..Settings::default() }.resolve().unwrap()
        };
        let report = || Report { runs: 1, ..Report::default() };
        let reports = folder.join("reports");
        let into = config(JsonFiles::At(reports.clone()));
        for expected in [&[".json"][..], &[".json", "-2.json"]] {
            write_json(&mut report(), &site, &into);
            assert_eq!(names(&reports), Set::from_iter(expected.iter().map(|&name| name.into())));
        }
        // The third report replaces the second.
        supersede_json(&report(), &site, &into);
        write_json(&mut report(), &site, &into);
        assert_eq!(names(&reports).len(), 2);

        let beside = config(JsonFiles::All);
        (0..2).for_each(|_| write_json(&mut report(), &site, &beside));
        let files = names(&super::folder(&site, Some(&folder.join("out"))));
        assert_eq!(files, Set::from_iter(["passed.json", "passed-2.json"].map(str::to_owned)));

        let one = folder.join("one");
        let file = config(JsonFiles::At(one.join("report.json")));
        (0..2).for_each(|_| write_json(&mut report(), &site, &file));
        assert_eq!(names(&one), Set::from_iter(["report.json".to_owned()]));
        fs::remove_dir_all(folder).unwrap();
    }
}
