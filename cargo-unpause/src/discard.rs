//! `cargo unpause drop`: removes failure files, by name, or all failure files that no longer match the sources. With
//! `--replay`, kept traces are also replayed.

mod replayed_traces;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use lexopt::prelude::*;

use sim::check::picture::screen::plural;

use self::replayed_traces::{Replay, Replays};
use crate::document::{self, Dropped, DroppedFailure};
use crate::failures::{Loaded, PAGE, Project, REPORT, TRACE};
use crate::invocation::Invocation;
use crate::replay::invocation_of;
use crate::{Exit, Terminal, Usage};

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut paths, mut stale, mut dry, mut as_json) = (Vec::new(), false, false, false);
    let mut replays = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("stale") => stale = true,
            Long("replay") => replays = Some(Replays::default()),
            Long("dry-run") => dry = true,
            Long("json") => as_json = true,
            Value(path) => paths.push(PathBuf::from(path)),
            other => {
                let options = ["--stale", "--replay", "--dry-run", "--json", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause drop --help"));
            }
        }
    }
    if replays.is_some() && !stale {
        return Err(Usage("--replay belongs to --stale: `drop FILE` replays nothing".to_owned()));
    }
    let mut dropped = Vec::new();
    match (paths.is_empty(), stale) {
        (true, false) => {
            return Err(Usage(
                "which failures? `cargo unpause drop FILE …`, or --stale for those that the sources have left behind"
                    .to_owned(),
            ));
        }
        (false, true) => return Err(Usage("name files, or --stale, and not both".to_owned())),
        (false, false) => {
            // All names are checked before any failure is removed.
            for path in paths {
                Loaded::read(&path)?;
                dropped.push((path, None));
            }
        }
        (true, true) => dropped = all_stale(replays, terminal),
    }
    if dropped.is_empty() && !as_json {
        terminal.error("nothing is stale");
    }
    let mut failures = Vec::new();
    for (path, why) in dropped {
        let files = files_of(&path);
        for file in &files {
            if !dry {
                // If the user names several files of one failure, the first name has removed all of them.
                let removed = fs::remove_file(file).or_else(|error| match error.kind() {
                    ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                });
                removed.map_err(|error| {
                    Usage(format!("{} cannot be removed: {error}", file.display()))
                })?;
            }
        }
        let path = path.display().to_string();
        if !as_json {
            let word = if dry { "would drop" } else { "dropped" };
            let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            terminal.print(&format!("{word} {path}{why}\n"));
        }
        let files = files.iter().map(|file| file.display().to_string()).collect();
        failures.push(DroppedFailure { path, files, why });
    }
    if as_json {
        let (format, version) = (Dropped::FORMAT.to_owned(), document::ANSWERS);
        let answer = Dropped { format, version, is_removed: !dry, failures };
        terminal.print(&document::line(&answer));
    }
    Ok(Exit::Good)
}

/// Returns all stale failures of the project, each with the reason. With `replays`, kept traces that are not stale by
/// their sources are replayed.
fn all_stale(
    mut replays: Option<Replays>,
    terminal: &mut Terminal,
) -> Vec<(PathBuf, Option<String>)> {
    let (project, mut stale, mut left) = (Project::here(), Vec::new(), 0u64);
    for found in project.failures() {
        let Ok(loaded) = Loaded::read(&found.path) else { continue };
        if let Some(why) = why_stale(&loaded, &project) {
            stale.push((found.path, Some(why)));
            continue;
        }
        let Some(replays) = replays.as_mut().filter(|_| found.is_kept) else {
            left += u64::from(found.is_kept && loaded.report.is_none());
            continue;
        };
        match replays.judge(&loaded) {
            Replay::Stale(why) => stale.push((found.path, Some(why))),
            Replay::Fits => {}
            Replay::Unknown(why) => {
                terminal.error(&format!("not judged: {}: {why}", found.path.display()));
            }
        }
    }
    if left > 0 {
        let traces = plural(left, "kept trace");
        terminal.error(&format!(
            "note: {traces} without a report: only lines that are gone make such a trace stale. --replay runs its test"
        ));
    }
    stale
}

/// Returns the file of a failure and the related files beside it.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let endings = [TRACE, REPORT, PAGE, "rs", "jsonl"];
    let beside = endings.map(|ending| path.with_extension(ending));
    beside.into_iter().filter(|file| file == path || file.exists()).collect()
}

/// Returns the reason why the run of a failure can no longer be reproduced: its package, or a source place of the run,
/// is gone. `None` if there is no sign of that.
fn why_stale(loaded: &Loaded, project: &Project) -> Option<String> {
    let package = loaded.package();
    let known = project.packages.iter().find(|(name, _)| name == package);
    let folder = match known {
        Some((_, folder)) => folder,
        None if project.packages.is_empty() || package.is_empty() => return None,
        None => return Some(format!("there is no package {package} any more")),
    };
    if let Some(target) = invocation_of(loaded).ok().as_ref().and_then(Invocation::target)
        && !project.has_target(package, target)
    {
        let (kind, name) = target;
        return Some(format!("{package} has no target --{kind} {name} any more"));
    }
    let mut sources: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, line, source) in places_of(loaded) {
        // Files of other packages and of the standard library are not checked.
        if Path::new(&file).is_absolute() || file.starts_with('<') {
            continue;
        }
        let texts = sources.entry(file.clone()).or_insert_with(|| read(&file, folder));
        if texts.is_empty() {
            // A path of another crate begins with that crate's folder, so it need not exist in this package.
            if source.is_some() {
                return Some(format!("{file} is not there any more"));
            }
            continue;
        }
        let at = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
        let mut found = texts.iter().filter_map(|text| text.lines().nth(at?)).peekable();
        if found.peek().is_none() {
            return Some(format!("{file} has no line {line} any more"));
        }
        let is_source = |source: &str, found: &str| found.trim().starts_with(source.trim_end());
        if source.is_some_and(|source| !found.any(|found| is_source(&source, found))) {
            return Some(format!("{file}:{line} was changed"));
        }
    }
    None
}

/// Returns the source places of a run's operations: file, line, and the text of the line if known.
fn places_of(loaded: &Loaded) -> Vec<(String, u64, Option<String>)> {
    if let Some(report) = &loaded.report {
        let events = report.finding.iter().flat_map(|finding| &finding.run.events);
        let places = events.filter_map(|event| report.place(event.place));
        return places
            .filter_map(|place| Some((place.file.clone(), place.line?, place.source.clone())))
            .collect();
    }
    let steps = loaded.trace.iter().flat_map(|trace| &trace.steps);
    let places = steps.flat_map(|step| &step.operations).map(|operation| &operation.place);
    let place = |place: &String| {
        let (file, line) = place.rsplit_once(':')?.0.rsplit_once(':')?;
        Some((file.to_owned(), line.parse().ok()?, None))
    };
    places.filter_map(place).collect()
}

/// Returns the texts of the source files with this name. The compiler names a file relative to the workspace root, but
/// places of plain threads are relative to their package. So a name may match several files, and only one of them is
/// correct.
fn read(file: &str, package: &Path) -> Vec<String> {
    let manifest = package.join("Cargo.toml");
    let manifest = std::path::absolute(&manifest).unwrap_or(manifest);
    let folders: Vec<&Path> = manifest.ancestors().skip(1).collect();
    let text = |folder: &&Path| fs::read_to_string(folder.join(file)).ok();
    let root = folders.iter().position(|folder| folder.join("Cargo.lock").exists());
    let (inside, outside) = folders.split_at(root.map_or(folders.len(), |root| root + 1));
    let mut texts: Vec<String> = inside.iter().filter_map(text).collect();
    if texts.is_empty() {
        texts.extend(outside.iter().find_map(text));
    }
    texts
}

const HELP: &str = "\
Removes failures: the trace, and the report, page, history and programs beside it. Without --replay, nothing
is built or run.

usage: cargo unpause drop FILE … [--dry-run] [--json]
       cargo unpause drop --stale [--replay] [--dry-run] [--json]

  --stale      all failures of the project, kept ones too, that the sources have left behind: the package or
               the target is gone, a file or a line of an operation is gone, or the line reads differently
               now. Lines are compared only if there is a report beside the trace
  --replay     also builds and runs the test of each kept trace. A trace is stale if its test is gone, or if
               the run differs from the trace and no longer leads to a failure
  --dry-run    says what would be removed, and removes nothing
  --json       writes the failures and their files as JSON (docs/json.md)

examples:
  cargo unpause drop target/sim/demo/bank.transfers/17.simtrace
  cargo unpause drop --stale --dry-run
  cargo unpause drop --stale --replay

exit codes: 0 they are removed, also if nothing was stale; 2 a file or an argument is invalid.
";
