//! `cargo unpause merge`: computes the verdict on the results of all shards.

mod merged;
mod search;
mod seeds;
mod shown;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use lexopt::prelude::*;
use sim::__private::results::{ResultsFile, Subject, Unread};

use crate::{Exit, Terminal, Usage};
use merged::Merged;
use search::MergedSearch;
pub(crate) use shown::grouped;

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut paths, mut as_json) = (Vec::new(), false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("json") => as_json = true,
            Value(path) => paths.push(PathBuf::from(path)),
            other => {
                let options = ["--json", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause merge --help"));
            }
        }
    }
    if paths.is_empty() {
        let message = "which results? `cargo unpause merge FOLDER …`, as SIM_RESULTS named it";
        return Err(Usage(message.to_owned()));
    }
    let mut exits = BTreeSet::new();
    let parts = parts(&files(&paths)?, terminal, &mut exits);
    let mut by_subject: BTreeMap<Subject, Vec<Part>> = BTreeMap::new();
    for part in parts {
        by_subject.entry(part.results.header.subject.clone()).or_default().push(part);
    }
    let subjects: Vec<Subject> = by_subject.keys().cloned().collect();
    // An incomplete file has remaining seeds.
    let (mut programs, mut left) = (false, exits.contains(&Exit::Undecided.code()));
    for (subject, parts) in by_subject {
        let several = subjects.iter().filter(|other| same_but_for_the_program(other, &subject));
        let several = several.count() > 1;
        programs |= several;
        let style = terminal.style();
        let shown = if MergedSearch::is_search(&subject) {
            MergedSearch::of(&subject, parts, &paths[0]).map(|merged| {
                let text = if as_json { format!("{}\n", merged.json()) } else { merged.text() };
                (merged.exit(), merged.has_left(), text)
            })
        } else {
            let parts = parts.into_iter().map(|part| part.results).collect();
            Merged::of(&subject, parts).map(|merged| {
                let json = || format!("{}\n", merged.json());
                let text = if as_json { json() } else { merged.text(several, style) };
                (merged.exit(), merged.has_left(), text)
            })
        };
        match shown {
            Ok((exit, has_left, text)) => {
                exits.insert(exit.code());
                left |= has_left;
                terminal.print(&text);
            }
            Err(why) => {
                exits.insert(Exit::Usage.code());
                terminal.error(&format!("error: {why}"));
            }
        }
    }
    if programs {
        terminal.error(
            "results of several programs do not add up: build once, and run all shards with that program",
        );
    }
    for (at, one) in subjects.iter().enumerate() {
        let mut others = subjects[at + 1..].iter();
        if let Some(other) = others.find(|other| same_but_for_the_settings(other, one)) {
            let differs = one.differing_settings(other);
            let differs =
                differs.iter().map(|(name, [one, other])| format!("{name}: {one} and {other}"));
            terminal.error(&format!(
                "{}: results under several settings do not add up ({}): run all shards under one of them",
                one.test,
                differs.collect::<Vec<_>>().join("; ")
            ));
        }
    }
    // An error takes precedence over a failure, and a failure over remaining seeds.
    let worst = [Exit::Usage, Exit::Bad, Exit::Undecided];
    let worst = worst.into_iter().find(|exit| exits.contains(&exit.code()));
    if left {
        terminal.error("the results are incomplete: run those shards again, and they continue where they stopped");
    }
    Ok(worst.unwrap_or(Exit::Good))
}

/// Returns `true` if two subjects differ at most in the program.
fn same_but_for_the_program(one: &Subject, other: &Subject) -> bool {
    Subject { binary: String::new(), ..one.clone() }
        == Subject { binary: String::new(), ..other.clone() }
}

/// Returns `true` if two subjects differ only in the settings. Each phase of a model has settings of its own.
fn same_but_for_the_settings(one: &Subject, other: &Subject) -> bool {
    one.phase() == other.phase()
        && Subject { settings: Vec::new(), ..one.clone() }
            == Subject { settings: Vec::new(), ..other.clone() }
}

/// A candidate for a result file.
struct FileCandidate {
    path: PathBuf,
    /// `true` if the command line names the file, `false` if it was found in a folder.
    named: bool,
}

/// A result file.
struct Part {
    path: PathBuf,
    results: ResultsFile,
}

/// Reads the files. Prints a message for each file without results and adds its exit code to `exits`.
fn parts(files: &[FileCandidate], terminal: &mut Terminal, exits: &mut BTreeSet<u8>) -> Vec<Part> {
    let (mut parts, mut foreign) = (Vec::new(), 0);
    for FileCandidate { path, named } in files {
        let name = path.display();
        let mut error = |terminal: &mut Terminal, why: String| {
            terminal.error(&format!("error: {name}{why}"));
            exits.insert(Exit::Usage.code());
        };
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(why) => {
                error(terminal, format!(": {why}"));
                continue;
            }
        };
        match ResultsFile::read(&bytes) {
            Ok(results) => {
                match results.damaged {
                    0 => {}
                    1 => terminal
                        .error(&format!("note: {name}: 1 line is not whole and was left out")),
                    n => terminal
                        .error(&format!("note: {name}: {n} lines are not whole and were left out")),
                }
                parts.push(Part { path: path.clone(), results });
            }
            Err(Unread::Begun) => {
                terminal.error(&format!(
                    "{name}: nothing was written to it yet, so nothing of its shard is known to have run"
                ));
                exits.insert(Exit::Undecided.code());
            }
            Err(Unread::Foreign) if *named || is_called_like_results(path) => {
                error(
                    terminal,
                    ": no results of unpause: the first line has no \"sim\"".to_owned(),
                );
            }
            Err(Unread::Foreign) => {
                foreign += 1;
                terminal.error(&format!("no results  {name}"));
            }
            Err(Unread::Line(line, why)) => error(terminal, format!(":{line}: {why}")),
        }
    }
    // If there are no results, the verdict is not a pass.
    if parts.is_empty() && exits.is_empty() {
        terminal.error(&format!("error: none of these {foreign} files has results"));
        exits.insert(Exit::Usage.code());
    }
    parts
}

/// Returns `true` for names of result files, such as `2-of-4.jsonl`.
fn is_called_like_results(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    stem.split_once("-of-").is_some_and(|(shard, of)| number(shard) && number(of))
}

/// Returns the files among `paths`, and the `.jsonl` files in the folders among `paths`. Follows links to folders.
fn files(paths: &[PathBuf]) -> Result<Vec<FileCandidate>, Usage> {
    let mut found = BTreeMap::new();
    for path in paths {
        let problem = |error| Usage(format!("{}: {error}", path.display()));
        if fs::metadata(path).map_err(problem)?.is_dir() {
            let mut inside = Vec::new();
            walk(path, &mut BTreeSet::new(), &mut inside)?;
            if inside.is_empty() {
                let path = path.display();
                return Err(Usage(format!(
                    "{path} has no files of results, which end with .jsonl"
                )));
            }
            for path in inside {
                found.entry(path).or_insert(false);
            }
        } else {
            found.insert(path.clone(), true);
        }
    }
    Ok(found.into_iter().map(|(path, named)| FileCandidate { path, named }).collect())
}

/// Collects the files in a folder. `above` contains the ancestors of the folder, so that the walk stops at a link to an
/// ancestor.
fn walk(
    folder: &Path,
    above: &mut BTreeSet<PathBuf>,
    found: &mut Vec<PathBuf>,
) -> Result<(), Usage> {
    let problem = |error| Usage(format!("{}: {error}", folder.display()));
    let own = fs::canonicalize(folder).map_err(problem)?;
    if !above.insert(own.clone()) {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        // A dangling link is reported as an unreadable file.
        let kind = fs::metadata(&path).map(|metadata| (metadata.is_dir(), metadata.is_file()));
        let (is_folder, is_file) = kind.unwrap_or((false, true));
        if is_folder {
            walk(&path, above, found)?;
        } else if is_file && path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
    above.remove(&own);
    Ok(())
}

const HELP: &str = "\
Puts the results of shards together: which seeds passed, what failed, what is left to run.

usage: cargo unpause merge [options] FOLDER|FILE …

Tests write results into the folder that SIM_RESULTS names, a file for each test and shard. Failures
are grouped by kind and place, and the lowest seed of each is shown with the command that replays it.
Conditions (sometimes!, cover!) and tests that must fail are judged over all runs. If the shards ran
with SIM_COVERAGE or SIM_STATISTICS, the output has the coverage and statistics of all seeds.

options:
      --json                 an object for each test, on a line of its own
  -h, --help

exit codes:
  0  all seeds were run and passed, and all conditions were met
  1  something failed
  2  the command line or a file makes no sense; the message says where
  3  nothing failed, but not all seeds were run, or something is not known
The worst counts: 2 before 1 before 3 before 0.
";

#[cfg(test)]
mod tests {
    use super::*;
    use sim::__private::results::MustFail;

    #[test]
    fn phases_of_a_model_are_no_results_under_several_settings() {
        let subject = |settings: &[(&str, &str)]| {
            let text = |text: &str| text.to_owned();
            let settings = settings.iter().map(|(name, value)| (text(name), text(value)));
            Subject {
                test: text("demo::test"),
                package: text("demo 1.0.0"),
                target: text("lib"),
                must_fail: MustFail::No,
                settings: settings.collect(),
                build: text("sim"),
                binary: text("1"),
                command: text("cargo unpause test"),
            }
        };
        let search = subject(&[("strategy", "exhaustive")]);
        let phase = subject(&[("memory", "c11"), ("phase", "3")]);
        assert!(same_but_for_the_settings(&search, &subject(&[("strategy", "pct")])));
        assert!(!same_but_for_the_settings(&search, &phase));
    }
}
