//! Trace files: where they are kept, how they are written and read.
//!
//! A failing run writes `target/sim/<package>/<test>/<seed>.simtrace`, with `<seed>.json`, the report for programs,
//! `<seed>.rs` if a program was generated and `<seed>.jsonl` if a history was violated. On real threads there is no
//! trace; the others are all that is left of the run. Traces that the user keeps are in `sim-regressions/<test>/`
//! beside the package's `Cargo.toml` and are replayed before any seed; no test writes them. `<test>` names the target
//! of the test too, because several targets of a package may have a test of the same path: see [`Site::key`].

mod json;

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use unpause_ordered::{Set, sort};

#[allow(unused_imports, reason = "the real build has no searches")]
pub(crate) use self::json::{requested, write_json};
use crate::engine::runner::Site;
use crate::report::{Origin, Report, Style, rust};
use crate::run::program::ProgramRecord;
use crate::run::trace::Trace;
use crate::run::trace::format::{self, TraceError};
use crate::run::{Failure, Outcome, Run};

/// The ending of trace files.
const ENDING: &str = "simtrace";

/// A trace that cannot be used.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The file cannot be read.
    Io(PathBuf, io::Error),
    /// The file is not a trace.
    Format(PathBuf, TraceError),
    /// The inline trace is not one.
    Inline(String),
}

impl Unreadable {
    /// The same with another name for the file.
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

/// The trace in a file or in the text itself. A relative name is searched in the process's folder,
/// in the folder where Cargo was started, beside the package's `Cargo.toml` and in the folders
/// above it. The reason: Cargo runs a test in the folder of its package, and is itself mostly run
/// in the folder of the workspace.
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
        // Named as the user named it.
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
        // The path of an attribute was made absolute.
        Origin::File(shorter(source.into(), site).display().to_string())
    } else {
        Origin::File(source.to_owned())
    }
}

/// The trace in a file.
pub(crate) fn read(path: &Path) -> Result<Trace, Unreadable> {
    let bytes = fs::read(path).map_err(|error| Unreadable::Io(path.to_owned(), error))?;
    format::parse(&bytes).map_err(|error| Unreadable::Format(path.to_owned(), error))
}

/// The kept traces of a test, sorted by name. Folders among them get a warning, because they are not replayed.
///
/// # Errors
/// If a folder exists and cannot be read, because its traces would be skipped silently.
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
    // Without the target it is the folder of all tests of this path. A trace of another one of them is stale, and the
    // report says so.
    let names = [&site.key(), &site.test].map(|name| [folder_name(name), plain_name(name)]);
    for name in Set::from_iter(names.into_iter().flatten()) {
        let folder = manifest_dir.join("sim-regressions").join(name);
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

/// Writes the trace of a failing run. Returns where, as seen from where the user is.
pub(crate) fn write(trace: &Trace, site: &Site, out: Option<&Path>) -> io::Result<PathBuf> {
    let name = format!("{}.{ENDING}", trace.header.seed);
    write_text(&format::write(trace), &name, site, out)
}

/// Writes the programs of a failing run as source and its violated history beside its trace, and notes the paths in
/// the report. If there is a trace, an error here is ignored, because the trace has everything. On real threads
/// nothing else is left of the run: the history is kept whatever failed, and the report says what could not be
/// written.
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

/// Returns the violated history in the form of a file; if `any` and no history failed, the last one.
fn history(run: &Run, any: bool) -> Option<&str> {
    let record = match &run.outcome {
        Outcome::Failed(Failure::History { history, .. }) => run.histories.get(*history),
        Outcome::Failed(_) if any => run.histories.last(),
        _ => None,
    };
    record?.lines.as_deref()
}

/// Writes a file of this name where the traces of the test are. Returns where, as seen from where the user
/// is.
pub(crate) fn write_text(
    text: &str,
    name: &str,
    site: &Site,
    out: Option<&Path>,
) -> io::Result<PathBuf> {
    let path = write_in(text, &folder(site, out), name)?;
    Ok(shorter(path, site))
}

/// Writes a file of this name into a folder, which is made if it is not there. Returns its path.
pub(crate) fn write_in(text: &str, folder: &Path, name: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    let named = |what: &str, path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("{what} {}: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| named("folder", folder, error))?;
    remove_old_drafts(folder);
    // Another process or thread may be writing the same: each file appears whole.
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let (process, draft) = (std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
    let draft = folder.join(format!("{name}.{process}.{draft}.tmp"));
    let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &path));
    if let Err(error) = written {
        // It may not be there at all.
        let _ = fs::remove_file(&draft);
        return Err(named("file", &path, error));
    }
    Ok(path)
}

/// Removes drafts of processes that were killed while writing.
fn remove_old_drafts(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_draft = Path::new(&entry.file_name()).extension() == Some(OsStr::new("tmp"));
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        if is_draft && age.is_some_and(|age| age > OLD) {
            // Another process may have done it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Age of a draft that no process is writing any more.
const OLD: Duration = Duration::from_secs(600);

/// The folder of what is written of a test.
fn folder(site: &Site, out: Option<&Path>) -> PathBuf {
    let folder = match out {
        Some(out) => where_user_is(out, site),
        None => package_folder(site),
    };
    folder.join(folder_name(&site.key()))
}

/// The default folder for the files of a package.
pub(crate) fn package_folder(site: &Site) -> PathBuf {
    target_folder(site).join("sim").join(folder_name(&site.package))
}

/// Cargo's target folder: the folder above the running program that Cargo has marked as its own. It
/// writes the tag only into a folder that it has created, and the other mark into every one.
fn target_folder(site: &Site) -> PathBuf {
    let program = std::env::current_exe().ok();
    let above = program.as_deref().into_iter().flat_map(Path::ancestors);
    let marks = ["CACHEDIR.TAG", ".rustc_info.json"];
    let is_marked = |folder: &&Path| marks.iter().any(|mark| folder.join(mark).exists());
    let marked = above.filter(is_marked).last();
    match (marked, &site.manifest_dir) {
        (Some(folder), _) => folder.to_owned(),
        (None, Some(manifest_dir)) => manifest_dir.join("target"),
        (None, None) => PathBuf::from("target"),
    }
}

/// The folder that the user is in, if that is sure: Cargo runs a test elsewhere, in the folder of its
/// package, but leaves `PWD` as the shell said it. `PWD` is believed if it is the folder of this
/// process or of its parent, or else a folder in or above the package in which Cargo can be
/// started.
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

/// True if the working directory of the parent process, such as Cargo, is this folder. False where the system does
/// not tell.
#[cfg(unix)]
fn parent_is_in(folder: &Path) -> bool {
    let parent = format!("/proc/{}/cwd", std::os::unix::process::parent_id());
    fs::read_link(parent).is_ok_and(|there| there == folder)
}

#[cfg(not(unix))]
fn parent_is_in(_: &Path) -> bool {
    false
}

/// The folder that a user means by this name: who names one means it from where he is.
pub(crate) fn where_user_is(folder: &Path, site: &Site) -> PathBuf {
    started_in(site).map_or_else(|| folder.to_owned(), |there| there.join(folder))
}

/// The path as seen from where the user is, if it is below; else from the root.
pub(crate) fn shorter(path: PathBuf, site: &Site) -> PathBuf {
    let short =
        started_in(site).and_then(|there| path.strip_prefix(there).ok().map(Path::to_owned));
    match short {
        Some(short) => short,
        None => std::path::absolute(&path).unwrap_or(path),
    }
}

/// A unique folder name: the [plain](plain_name) name, followed by a hash if another name could have the same
/// plain name or it is too long for a file system.
pub(crate) fn folder_name(name: &str) -> String {
    let plain = plain_name(name);
    let is_plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
    // The plain name of a test path is unique: the path has no dots.
    let own = name.replace("::", "").chars().all(is_plain) && !name.is_empty();
    if own && plain.len() <= NAME_MAX {
        return plain;
    }
    let beginning: String = plain
        .char_indices()
        .take_while(|(at, c)| at + c.len_utf8() <= NAME_MAX)
        .map(|(_, c)| c)
        .collect();
    // FNV-1a.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{beginning}-{:08x}", hash >> 32 ^ hash & 0xffff_ffff)
}

/// Maximum length of a name in bytes. File systems allow 255, and endings need room.
const NAME_MAX: usize = 180;

/// Replaces all but letters, digits, `-`, `_` and `.` by `_`, and `::` by `.`.
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
        for (name, left) in
            [("1.simtrace.7.0.tmp", false), ("1.simtrace", true), ("2.simtrace.7.1.tmp", true)]
        {
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
