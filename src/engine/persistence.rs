//! Trace files: their location, and functions to read and write them.
//!
//! A failing run writes `target/sim/<package>/<test>/<seed>.simtrace`, and beside it up to three more files.
//! `<seed>.json` is the report for programs. `<seed>.rs` contains a generated program, if any, and `<seed>.jsonl` a
//! violated history. On real threads there is no trace, so only the other files remain of the run. Users keep traces in
//! `sim-regressions/<test>/` beside the package's `Cargo.toml`. These traces are replayed before any seed, and no test
//! writes them. `<test>` also contains the name of the Cargo target, because several targets of a package may have a
//! test with the same path: see [`Site::key`].

mod json;
mod sources;

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use unpause_ordered::{Set, sort};

#[cfg(test)]
pub(crate) use self::json::forget_written;
#[allow(unused_imports, reason = "the real build has no searches")]
pub(crate) use self::json::{requested, supersede_json, write_json};
pub(crate) use self::sources::quote;
use crate::engine::runner::Site;
use crate::report::{Origin, Report, Style, rust};
use crate::run::program::ProgramRecord;
use crate::run::trace::Trace;
use crate::run::trace::format::{self, TraceError};
use crate::run::{Failure, Outcome, Run};

/// The extension of trace files.
const ENDING: &str = "simtrace";

/// The error for a trace that cannot be used.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The file cannot be read.
    Io(PathBuf, io::Error),
    /// The file is not a trace.
    Format(PathBuf, TraceError),
    /// The inline trace is invalid.
    Inline(String),
}

impl Unreadable {
    /// Returns this error with another name for the file.
    pub(crate) fn of(self, path: PathBuf) -> Unreadable {
        match self {
            Unreadable::Io(_, error) => Unreadable::Io(path, error),
            Unreadable::Format(_, error) => Unreadable::Format(path, error),
            Unreadable::Inline(error) => Unreadable::Inline(error),
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Io(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Unreadable::Format(path, error) => write!(f, "{}: {error}", path.display()),
            Unreadable::Inline(error) => write!(f, "inline trace: {error}"),
        }
    }
}

/// Reads a trace from a file, or parses `source` if it is an inline trace. A relative path is searched in this order:
/// the working directory, the folder where Cargo was started, the folder of the package's `Cargo.toml`, and the folders
/// above it. The search is necessary because Cargo runs a test in the folder of its package, but users mostly run Cargo
/// in the workspace folder.
pub(crate) fn read_source(source: &str, site: &Site) -> Result<Trace, Unreadable> {
    if format::is_inline(source) {
        return format::parse_inline(source).map_err(|error| Unreadable::Inline(error.to_string()));
    }
    let path = PathBuf::from(source);
    let above = site.manifest_dir.as_deref().into_iter().flat_map(Path::ancestors);
    let folders = started_in(site).into_iter().chain(above.map(Path::to_owned));
    let found = match path.exists() {
        true => None,
        false => folders.map(|folder| folder.join(&path)).find(|path| path.exists()),
    };
    match found {
        // The error names the file as the user did.
        Some(found) => read(&found).map_err(|error| error.of(path)),
        None if path.exists() || path.is_absolute() => read(&path),
        None => {
            let looked =
                "no such file here, beside the package's Cargo.toml or in a folder above it";
            Err(Unreadable::Io(path, io::Error::new(io::ErrorKind::NotFound, looked)))
        }
    }
}

/// Returns the origin of this source, for a report.
pub(crate) fn origin(source: &str, site: &Site) -> Origin {
    if format::is_inline(source) {
        Origin::Inline
    } else if Path::new(source).is_absolute() {
        // The path comes from an attribute, where the engine made it absolute.
        Origin::File(shorter(source.into(), site).display().to_string())
    } else {
        Origin::File(source.to_owned())
    }
}

/// Reads a trace from a file.
pub(crate) fn read(path: &Path) -> Result<Trace, Unreadable> {
    let bytes = fs::read(path).map_err(|error| Unreadable::Io(path.to_owned(), error))?;
    format::parse(&bytes).map_err(|error| Unreadable::Format(path.to_owned(), error))
}

/// Returns the kept traces of a test, sorted by name. Adds a warning for each subfolder, because traces in subfolders
/// are not replayed.
///
/// # Errors
/// If a folder exists but cannot be read, because its traces would be skipped silently.
pub(crate) fn regressions(
    site: &Site,
    warnings: &mut Vec<String>,
) -> Result<Vec<PathBuf>, Unreadable> {
    let Some(manifest_dir) = &site.manifest_dir else { return Ok(Vec::new()) };
    if !manifest_dir.exists() {
        warnings.push(format!(
            "{} is not there: traces that were kept in its sim-regressions are not replayed",
            manifest_dir.display()
        ));
    }
    let mut files = Vec::new();
    let all = manifest_dir.join("sim-regressions");
    // Most packages keep no trace.
    if matches!(fs::metadata(&all), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        return Ok(files);
    }
    // The folder name without the target belongs to all tests with this path. A trace in it from a test in another
    // target is stale, and the report says so.
    let names = [&site.key(), &site.test].map(|name| [folder_name(name), plain_name(name)]);
    for name in Set::from_iter(names.into_iter().flatten()) {
        let folder = all.join(name);
        let unreadable = |error| Unreadable::Io(folder.clone(), error);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable(error)),
        };
        for entry in entries {
            let path = entry.map_err(unreadable)?.path();
            let ending = path.extension().unwrap_or_default();
            if ending.eq_ignore_ascii_case(ENDING) {
                files.push(path);
            } else if path.is_dir() {
                let path = shorter(path, site).display().to_string();
                warnings.push(format!("{path} is a folder, and traces in it are not replayed"));
            }
        }
    }
    sort(&mut files);
    Ok(files)
}

/// Writes the trace of a failing run. Returns the path relative to the folder of the user.
pub(crate) fn write(trace: &Trace, site: &Site, out: Option<&Path>) -> io::Result<PathBuf> {
    let name = format!("{}.{ENDING}", trace.header.seed);
    write_text(&format::write(trace), &name, site, out)
}

/// Writes the generated programs of a failing run as source code, and its violated history, beside the trace. Stores
/// the paths in the report. If there is a trace, write errors are ignored, because the trace contains everything. On
/// real threads nothing else remains of the run. Therefore a history is written for every failure, and the report has a
/// warning about each write error.
pub(crate) fn write_beside(report: &mut Report, site: &Site, out: Option<&Path>) {
    let source = rust(report, &Style::default());
    let real = report.real;
    let Some(finding) = report.finding.as_deref_mut() else { return };
    if finding.trace_file.is_none() && !real {
        return;
    }
    let seed = finding.run.seed;
    let mut write = |ending: &str, text: &str| {
        let name = format!("{seed}.{ending}");
        match write_text(text, &name, site, out) {
            Ok(path) => Some(path.display().to_string()),
            Err(error) => {
                let lost = || format!("{name} of the failing run could not be written: {error}");
                report.warnings.extend(real.then(lost));
                None
            }
        }
    };
    let any = finding.run.programs.iter().any(ProgramRecord::can_be_written);
    finding.source_file = any.then(|| write("rs", &source)).flatten();
    finding.history_file = history(&finding.run, real).and_then(|lines| write("jsonl", lines));
}

/// Returns the violated history in file format. If no history was violated and `any` is true, returns the last history
/// of a failing run.
fn history(run: &Run, any: bool) -> Option<&str> {
    let record = match &run.outcome {
        Outcome::Failed(Failure::History { history, .. }) => run.histories.get(*history),
        Outcome::Failed(_) if any => run.histories.last(),
        _ => None,
    };
    record?.lines.as_deref()
}

/// Writes a file with this name into the trace folder of the test. Returns the path relative to the folder of the user.
pub(crate) fn write_text(
    text: &str,
    name: &str,
    site: &Site,
    out: Option<&Path>,
) -> io::Result<PathBuf> {
    let path = write_in(text, &folder(site, out), name)?;
    Ok(shorter(path, site))
}

/// Writes a file with this name into `folder`, and creates the folder if it does not exist. Returns the file path.
pub(crate) fn write_in(text: &str, folder: &Path, name: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    let named = |what: &str, path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("{what} {}: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| named("folder", folder, error))?;
    remove_old_drafts(folder);
    // Another process or thread may be writing the same file, so the content is written to a draft and then renamed.
    // Readers see only complete files.
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let (process, draft) = (std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
    let draft = folder.join(format!("{name}.{process}.{draft}.tmp"));
    let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &path));
    if let Err(error) = written {
        // The draft may not exist, for example if the disk is full.
        let _ = fs::remove_file(&draft);
        return Err(named("file", &path, error));
    }
    Ok(path)
}

/// Removes drafts of processes that were killed while writing. The folder may be a folder of the user, for example with
/// `SIM_JSON=report.json`, so all other files stay.
fn remove_old_drafts(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| is_draft(&entry.file_name())) {
        let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file());
        let modified = metadata.and_then(|metadata| metadata.modified().ok());
        let age = modified.and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > OLD) {
            // An error is ignored, because another process may have removed the draft.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns `true` for the name of a draft: the name of a written file, two numbers and `tmp`.
fn is_draft(name: &OsStr) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_suffix(".tmp")) else { return false };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = rest.rsplitn(3, '.');
    let numbers = parts.next().is_some_and(number) && parts.next().is_some_and(number);
    let written = parts.next().and_then(|written| Path::new(written).extension());
    numbers && written.is_some_and(|ending| WRITTEN.iter().any(|own| ending == *own))
}

/// The extensions of the files that [`write_in`] writes.
const WRITTEN: [&str; 6] = [ENDING, "json", "jsonl", "html", "rs", "certificate"];

/// The age from which a draft is considered abandoned by its process.
const OLD: Duration = Duration::from_secs(600);

/// Returns the folder for the files of a test.
fn folder(site: &Site, out: Option<&Path>) -> PathBuf {
    let folder = match out {
        Some(out) => where_user_is(out, site),
        None => package_folder(site),
    };
    folder.join(folder_name(&site.key()))
}

/// Returns the default folder for the files of a package.
pub(crate) fn package_folder(site: &Site) -> PathBuf {
    target_folder(site).join("sim").join(folder_name(&site.package))
}

/// Returns Cargo's target folder: the [marked](marked_folder) folder, or the default folder of the package.
fn target_folder(site: &Site) -> PathBuf {
    match (marked_folder(), &site.manifest_dir) {
        (Some(folder), _) => folder.to_owned(),
        (None, Some(manifest_dir)) => manifest_dir.join("target"),
        (None, None) => PathBuf::from("target"),
    }
}

/// Returns the highest folder above the running program that contains a marker file of Cargo, if any. Cargo writes
/// `CACHEDIR.TAG` only into a target folder that it created, and `.rustc_info.json` into every target folder. The
/// folder is searched once per process.
fn marked_folder() -> Option<&'static Path> {
    static MARKED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let program = std::env::current_exe().ok();
        let above = program.as_deref().into_iter().flat_map(Path::ancestors);
        let marks = ["CACHEDIR.TAG", ".rustc_info.json"];
        let is_marked = |folder: &&Path| marks.iter().any(|mark| folder.join(mark).exists());
        above.filter(is_marked).last().map(Path::to_owned)
    };
    MARKED.get_or_init(find).as_deref()
}

/// Returns the folder in which the user started Cargo, if it can be determined. Cargo runs a test in the folder of its
/// package, but leaves the variable `PWD` of the shell unchanged. `PWD` is accepted if it is the working directory of
/// this process or of its parent. `PWD` is also accepted if it is a folder inside the package, or a folder above the
/// package that contains a `Cargo.toml`.
fn started_in(site: &Site) -> Option<PathBuf> {
    let shell = PathBuf::from(std::env::var_os("PWD")?);
    let here = std::env::current_dir().ok()?;
    let package = site.manifest_dir.as_deref();
    let above = || package.is_some_and(|package| package.starts_with(&shell));
    let inside = || package.is_some_and(|package| shell.starts_with(package));
    let believed = shell == here
        || (above() && shell.join("Cargo.toml").exists())
        || (inside() && shell.is_dir())
        || parent_is_in(&shell);
    believed.then_some(shell)
}

/// Returns `true` if the parent process, such as Cargo, has this working directory. Returns `false` if the system does
/// not provide this information.
#[cfg(unix)]
fn parent_is_in(folder: &Path) -> bool {
    let parent = format!("/proc/{}/cwd", std::os::unix::process::parent_id());
    fs::read_link(parent).is_ok_and(|there| there == folder)
}

#[cfg(not(unix))]
fn parent_is_in(_: &Path) -> bool {
    false
}

/// Resolves a folder name that the user wrote: relative names are relative to the folder of the user.
pub(crate) fn where_user_is(folder: &Path, site: &Site) -> PathBuf {
    started_in(site).map_or_else(|| folder.to_owned(), |there| there.join(folder))
}

/// Returns the path relative to the folder of the user if it is below this folder; otherwise the absolute path.
pub(crate) fn shorter(path: PathBuf, site: &Site) -> PathBuf {
    let short =
        started_in(site).and_then(|there| path.strip_prefix(there).ok().map(Path::to_owned));
    match short {
        Some(short) => short,
        None => std::path::absolute(&path).unwrap_or(path),
    }
}

/// Returns a unique folder name: the [plain](plain_name) name, followed by a hash in two cases. The hash is added if
/// another name could have the same plain name, or if the plain name is too long for a file system.
pub(crate) fn folder_name(name: &str) -> String {
    let plain = plain_name(name);
    let is_plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
    // The plain name of a test path is unique, because a test path contains no dots.
    let own = name.replace("::", "").chars().all(is_plain) && !name.is_empty();
    if own && plain.len() <= NAME_MAX {
        return plain;
    }
    let beginning: String = plain
        .char_indices()
        .take_while(|(at, c)| at + c.len_utf8() <= NAME_MAX)
        .map(|(_, c)| c)
        .collect();
    // The hash is FNV-1a.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{beginning}-{:08x}", hash >> 32 ^ hash & 0xffff_ffff)
}

/// The maximum length of a name in bytes. File systems allow 255; the rest is for the hash and extensions.
const NAME_MAX: usize = 180;

/// Replaces `::` by `.`, and every character except letters, digits, `-`, `_` and `.` by `_`.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.replace("::", ".").chars().map(plain).collect();
    if name.trim_matches('.').is_empty() { "_".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_name_is_one_folder_that_stays_inside() {
        assert_eq!(folder_name("a::b::case_1"), "a.b.case_1");
        assert_eq!(folder_name("test-x::a::b"), "test-x.a.b");
        assert!(folder_name("../x/y").starts_with(".._x_y-"));
        assert!(folder_name("..").starts_with("_-"));
        assert!(folder_name("").starts_with("_-"));
    }

    #[test]
    fn names_that_differ_are_folders_that_differ_and_none_is_too_long() {
        let long = |last: &str| format!("{}{last}", "é".repeat(200));
        let names =
            ["a b", "a_b", "a/b", "a.b", "a::b", "", "..", "~", "_", &long("x"), &long("y")];
        let folders = std::collections::BTreeSet::from_iter(names.map(folder_name));
        assert_eq!(folders.len(), names.len(), "{folders:?}");
        assert!(folders.iter().all(|folder| folder.len() < 200 && !folder.contains('/')));
    }

    #[test]
    fn drafts_of_killed_processes_go_and_others_stay() {
        let folder = std::env::temp_dir().join(format!("sim-drafts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let old = std::time::SystemTime::now() - 2 * OLD;
        for (name, left) in [
            ("1.simtrace.7.0.tmp", false),
            ("report.json.7.2.tmp", false),
            ("1.simtrace", true),
            ("2.simtrace.7.1.tmp", true),
            // Files of other programs.
            ("notes.tmp", true),
            ("report.json.tmp", true),
            ("data.bin.7.1.tmp", true),
            ("1.simtrace.7.x.tmp", true),
        ] {
            let file = fs::File::create(folder.join(name)).unwrap();
            if name != "2.simtrace.7.1.tmp" {
                file.set_modified(old).unwrap();
            }
            remove_old_drafts(&folder);
            assert_eq!(folder.join(name).exists(), left, "{name}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
