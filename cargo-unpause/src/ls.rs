//! `cargo unpause ls`: lists the failure files, newest first.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lexopt::prelude::*;
use sim::check::picture::screen::{Line, Paint, Screen};

use crate::document::{self, Listed, ListedFailure, Word};
use crate::failures::{Found, Loaded, Project, found_in};
use crate::{Exit, Terminal, Usage, junit};

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut folders, mut as_json, mut junit) = (Vec::new(), false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("json") => as_json = true,
            Long("junit") => junit = Some(PathBuf::from(parser.value()?)),
            Value(folder) => folders.push(PathBuf::from(folder)),
            other => {
                let options = ["--json", "--junit", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause ls --help"));
            }
        }
    }
    if as_json && junit.is_some() {
        let text = "--json prints a list, and --junit writes a file: name one of them";
        return Err(Usage(text.to_owned()));
    }
    if let Some(folder) = folders.iter().find(|folder| !folder.is_dir()) {
        return Err(Usage(format!("there is no folder {}", folder.display())));
    }
    let (found, searched) = match folders.is_empty() {
        true => {
            let project = Project::here();
            (project.failures(), project.failures.display().to_string())
        }
        false => {
            let names: Vec<String> =
                folders.iter().map(|folder| folder.display().to_string()).collect();
            (found_in(&folders), names.join(", "))
        }
    };
    if found.is_empty() && !as_json {
        terminal.error(&format!("no failures in {searched}"));
    }
    if let Some(file) = junit {
        for note in junit::write(&file, &found)? {
            terminal.error(&format!("note: {note}"));
        }
        terminal.print(&format!("{}\n", file.display()));
        return Ok(Exit::Good);
    }
    let now = SystemTime::now();
    let mut failures = Vec::new();
    let mut screen = Screen::new(terminal.style());
    for found in &found {
        let loaded = Loaded::read(&found.path);
        match as_json {
            true => failures.push(listed(found, &loaded)),
            false => screen.uncut(line_of(found, &loaded, now)),
        }
    }
    let format = Listed::FORMAT.to_owned();
    terminal.print(&match as_json {
        true => document::line(&Listed { format, version: document::ANSWERS, failures }),
        false => screen.finish(),
    });
    Ok(Exit::Good)
}

fn line_of(found: &Found, loaded: &Result<Loaded, Usage>, now: SystemTime) -> Line {
    let age = age(now.duration_since(found.modified).unwrap_or_default());
    let mut line = Line::of(Paint::Faint, &format!("{age:>4}  "));
    match loaded {
        Ok(loaded) => {
            let kind = loaded.kind();
            let paint = if kind == "passed" { Paint::Good } else { Paint::Bad };
            line = line
                .with(paint, &format!("{kind:<12}"))
                .with(Paint::Strong, &format!("  {}", loaded.test()));
            let seed = loaded.seed().map_or_else(String::new, |seed| format!("  seed {seed}"));
            line = line.with(Paint::Plain, &format!("{seed}, {} steps", loaded.step_count()));
        }
        Err(_) => line = line.with(Paint::Notice, "unreadable  "),
    }
    if found.is_kept {
        line = line.with(Paint::Plain, "  kept");
    }
    line.with(Paint::Faint, &format!("  {}", found.path.display()))
}

/// Returns a failure of the list. An unreadable file has only its path, its time and the error.
fn listed(found: &Found, loaded: &Result<Loaded, Usage>) -> ListedFailure {
    let seconds = found.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (known, error) = match loaded {
        Ok(loaded) => (Some(loaded), None),
        Err(why) => (None, Some(why.0.clone())),
    };
    ListedFailure {
        path: found.path.display().to_string(),
        kept: found.is_kept,
        modified: seconds.as_secs(),
        kind: known.map(Loaded::kind),
        test: known.map(|loaded| loaded.test().to_owned()),
        package: known.map(|loaded| loaded.package().to_owned()),
        seed: known.and_then(Loaded::seed).map(Word),
        steps: known.map(Loaded::step_count),
        failure: known.map(Loaded::text),
        report: known.map(|loaded| loaded.report.is_some()),
        error,
    }
}

/// Formats a duration in one unit: `3m`.
fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let units = [(86_400, "d"), (3600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(length, _)| seconds >= *length);
    unit.map_or_else(
        || format!("{seconds}s"),
        |(length, unit)| format!("{}{unit}", seconds / length),
    )
}

const HELP: &str = "\
Lists failures, newest first: their age, kind, test, seed, steps and file.

usage: cargo unpause ls [FOLDER …] [--json | --junit FILE]

Without a folder: the failures in the target folder of the project, target/sim, and the kept traces in
the sim-regressions of its packages.

  --json        an object with the list of failures, each with path, kind, test, package, seed, steps, …
                (docs/json.md)
  --junit FILE  writes the newest failure of each test as JUnit XML, with properties: seed, trace, replay,
                cause, report, page. If FILE is the JUnit file of another program, such as nextest, the
                properties are added to its failed tests.

examples:
  cargo unpause ls
  cargo unpause ls traces-of-ci --json
  cargo unpause ls --junit target/nextest/ci/junit.xml

exit codes: 0 they were listed, also if there are none; 2 an argument is invalid.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        for (seconds, expected) in
            [(0, "0s"), (59, "59s"), (60, "1m"), (7199, "1h"), (200_000, "2d")]
        {
            assert_eq!(age(Duration::from_secs(seconds)), expected);
        }
    }
}
