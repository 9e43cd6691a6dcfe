//! Failure files below the project's target folder, and among the kept traces of its packages.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use super::{KEPT, REPORT, TRACE};

/// The maximum depth of failure files below a folder: `<package>/<test>/<file>`.
const DEPTH_MAX: usize = 4;

/// The project in the current folder, as reported by Cargo.
pub(crate) struct Project {
    /// Each package with its name and the folder of its manifest.
    pub(crate) packages: Vec<(String, PathBuf)>,
    /// Each target, with its package, its kinds and its name.
    targets: Vec<(String, Vec<String>, String)>,
    /// The folder of failures that were not kept.
    pub(crate) failures: PathBuf,
}

/// The trace of a failure, or its report if it has no trace.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) modified: SystemTime,
    /// `true` for a kept trace.
    pub(crate) is_kept: bool,
}

impl Project {
    /// Returns the project of the current folder. Without a manifest, it has no packages, and its failures are in
    /// `target/sim`.
    pub(crate) fn here() -> Project {
        let alone = || Project {
            packages: Vec::new(),
            targets: Vec::new(),
            failures: PathBuf::from("target/sim"),
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments = ["metadata", "--format-version=1", "--no-deps", "--offline"];
        let Ok(output) = Command::new(cargo).args(arguments).output() else { return alone() };
        let Ok(metadata) = serde_json::from_slice::<serde_json::Value>(&output.stdout) else {
            return alone();
        };
        let Some(target) = metadata["target_directory"].as_str() else { return alone() };
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let package = |package: &serde_json::Value| {
            let manifest = Path::new(package["manifest_path"].as_str()?);
            Some((package["name"].as_str()?.to_owned(), shorter(manifest.parent()?)))
        };
        let target_of = |package: &serde_json::Value, target: &serde_json::Value| {
            let kinds = target["kind"].as_array()?.iter().filter_map(|kind| kind.as_str());
            let kinds = kinds.map(str::to_owned).collect();
            let name = target["name"].as_str()?.to_owned();
            Some((package["name"].as_str()?.to_owned(), kinds, name))
        };
        let targets = packages.clone().flat_map(|package| {
            let targets = package["targets"].as_array().into_iter().flatten();
            targets.filter_map(move |target| target_of(package, target))
        });
        Project {
            targets: targets.collect(),
            packages: packages.filter_map(package).collect(),
            failures: shorter(&Path::new(target).join("sim")),
        }
    }

    /// Returns `true` if a package has a target of this kind with this name: `("test", "queue")`.
    pub(crate) fn has_target(&self, package: &str, (kind, name): (&str, &str)) -> bool {
        self.targets.iter().any(|(of, kinds, own)| {
            of == package && own == name && kinds.iter().any(|own| own == kind)
        })
    }

    /// Returns all failures, newest first.
    pub(crate) fn failures(&self) -> Vec<Found> {
        let mut folders = vec![self.failures.clone()];
        match self.packages.is_empty() {
            true => folders.push(PathBuf::from(KEPT)),
            false => folders.extend(self.packages.iter().map(|(_, folder)| folder.join(KEPT))),
        }
        found_in(&folders)
    }
}

/// Returns the path relative to the current folder, if it is below that folder.
fn shorter(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    below.unwrap_or_else(|| path.to_owned())
}

/// Returns the failures in these folders, newest first. A report beside its trace is not listed separately.
pub(crate) fn found_in(folders: &[PathBuf]) -> Vec<Found> {
    let mut files = BTreeSet::new();
    folders.iter().for_each(|folder| walk(folder, DEPTH_MAX, &mut files));
    let has_trace = |path: &Path| files.contains(&path.with_extension(TRACE));
    let is_listed =
        |path: &&PathBuf| path.extension() == Some(OsStr::new(TRACE)) || !has_trace(path);
    let found = |path: &PathBuf| Found {
        modified: fs::metadata(path)
            .and_then(|data| data.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH),
        is_kept: path.components().any(|part| part.as_os_str() == KEPT),
        path: path.clone(),
    };
    let mut found: Vec<Found> = files.iter().filter(is_listed).map(found).collect();
    found.sort_by(|one, other| {
        other.modified.cmp(&one.modified).then_with(|| one.path.cmp(&other.path))
    });
    found
}

/// Adds the traces and reports of a folder.
fn walk(folder: &Path, depth: usize, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        if path.is_dir() && depth > 1 {
            walk(&path, depth - 1, files);
        } else if [TRACE, REPORT].contains(&ending) {
            files.insert(path);
        }
    }
}
