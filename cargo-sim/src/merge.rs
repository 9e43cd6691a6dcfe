//! `cargo sim merge`: what the results of shards say together.

mod part;
mod seeds;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use lexopt::prelude::*;
use serde_json::{Value as Json, json};

use crate::{Exit, Terminal, Usage};
use part::{Failure, Part, Subject};
use seeds::{Every, Seeds, common};

/// More rows of seeds that were not run are no help.
const ROWS_MAX: usize = 12;

/// One test under one strategy: all that is known of it.
struct Merged<'a> {
    subject: &'a Subject,
    files: usize,
    asked: u128,
    passed: u128,
    left: Vec<Every>,
    /// The failures by kind and place, each with its seeds; the first of each is of the lowest seed.
    failures: BTreeMap<(&'a str, &'a str), Vec<&'a Failure>>,
}

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
                return Err(Usage::unknown_option(&other, &options, "cargo sim merge --help"));
            }
        }
    }
    if paths.is_empty() {
        let message = "which results? `cargo sim merge FOLDER …`, as SIM_RESULTS named it";
        return Err(Usage(message.to_owned()));
    }
    let mut parts = Vec::new();
    for file in files(&paths)? {
        let name = file.display().to_string();
        let bytes = fs::read(&file).map_err(|error| Usage(format!("{name}: {error}")))?;
        let (part, cut_off) = Part::read(&bytes).map_err(|why| Usage(format!("{name}{why}")))?;
        if cut_off {
            terminal.error(&format!("note: {name} ends within a line, which was left out"));
        }
        parts.extend(part);
    }
    let merged = merged(&parts)?;
    for one in &merged {
        terminal.print(&if as_json { format!("{}\n", one.json()) } else { one.text() });
    }
    Ok(if merged.iter().any(|one| !one.failures.is_empty()) {
        Exit::Bad
    } else if merged.iter().any(|one| !one.left.is_empty()) {
        terminal.error("not all seeds were run: run those shards again, and they go on from there");
        Exit::Undecided
    } else {
        Exit::Good
    })
}

/// The files of results among these files and in these folders.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Usage> {
    let mut found = Vec::new();
    for path in paths {
        let before = found.len();
        let problem = |error| Usage(format!("{}: {error}", path.display()));
        if fs::metadata(path).map_err(problem)?.is_dir() {
            walk(path, &mut found).map_err(problem)?;
        } else {
            found.push(path.clone());
        }
        if found.len() == before {
            let path = path.display();
            return Err(Usage(format!("{path} has no files of results, which end with .jsonl")));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // A link that leads upwards would be gone through for ever.
        if entry.file_type()?.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
    Ok(())
}

fn merged(parts: &[Part]) -> Result<Vec<Merged<'_>>, Usage> {
    let mut by_subject: BTreeMap<&Subject, Vec<&Part>> = BTreeMap::new();
    for part in parts {
        by_subject.entry(&part.subject).or_default().push(part);
    }
    by_subject.into_iter().map(|(subject, parts)| Merged::of(subject, &parts)).collect()
}

impl<'a> Merged<'a> {
    fn of(subject: &'a Subject, parts: &[&'a Part]) -> Result<Merged<'a>, Usage> {
        let Some(modulus) = common(parts.iter().map(|part| part.passed.of)) else {
            let test = &subject.test;
            return Err(Usage(format!("{test}: these numbers of shards do not go together")));
        };
        let asked = Seeds::union(modulus, parts.iter().map(|part| part.asked));
        let passed = Seeds::union(modulus, parts.iter().map(|part| part.passed));
        let mut failures: BTreeMap<_, Vec<&Failure>> = BTreeMap::new();
        for failure in parts.iter().flat_map(|part| &part.failures) {
            failures.entry((&*failure.kind, &*failure.place)).or_default().push(failure);
        }
        for alike in failures.values_mut() {
            alike.sort_by_key(|failure| (failure.seed.is_none(), failure.seed));
            alike.dedup_by_key(|failure| (failure.seed, &failure.file));
        }
        let left = asked.without(&passed).rows();
        let (asked, passed) = (asked.len(), passed.len());
        Ok(Merged { subject, files: parts.len(), asked, passed, left, failures })
    }

    fn text(&self) -> String {
        let Subject { package, target, test, strategy, build, .. } = self.subject;
        let target = if target.is_empty() { String::new() } else { format!(", {target}") };
        let on_threads = if build == "sim" { "" } else { ", on real threads" };
        let files = if self.files == 1 { "file" } else { "files" };
        let mut text = format!("{test}  ({package}{target}, {strategy}{on_threads})\n");
        let (passed, asked) = (grouped(self.passed), grouped(self.asked));
        let _ = writeln!(text, "  passed   {passed} of {asked} seeds, in {} {files}", self.files);
        for ((kind, place), alike) in &self.failures {
            let first = alike[0];
            let at = if place.is_empty() { String::new() } else { format!("  {place}") };
            let _ = writeln!(text, "  failed   {kind}{at}");
            let others = match alike.len() {
                1 => String::new(),
                2 => ", and 1 other".to_owned(),
                count => format!(", and {} others", count - 1),
            };
            let from = match (first.seed, &first.file) {
                (Some(seed), _) => format!("seed {seed}"),
                (None, Some(file)) => file.clone(),
                (None, None) => "a trace".to_owned(),
            };
            let _ = writeln!(text, "           {from}{others}: {}", first.what);
            if let Some(replay) = &first.replay {
                let _ = writeln!(text, "           {replay}");
            }
        }
        for row in self.left.iter().take(ROWS_MAX) {
            let _ = writeln!(text, "  not run  {}", in_words(*row));
        }
        if let Some(more) = self.left.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
            let _ = writeln!(text, "  not run  and {more} rows of seeds more");
        }
        text + "\n"
    }

    fn json(&self) -> Json {
        let Subject { package, target, test, strategy, steps, build } = self.subject;
        let failures = self.failures.iter().map(|((kind, place), alike)| {
            let seeds: Vec<_> = alike.iter().filter_map(|failure| failure.seed).collect();
            let Failure { what, trace, replay, .. } = alike[0];
            json!({
                "kind": kind, "place": place, "seeds": seeds,
                "what": what, "trace": trace, "replay": replay,
            })
        });
        let left = self.left.iter();
        let left = left.map(|row| json!({"from": row.from, "every": row.of, "count": row.count}));
        // No seed is beyond 64 bits, but there may be 2^64 of them.
        let count = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        json!({
            "package": package, "target": target, "test": test, "strategy": strategy, "steps": steps, "build": build,
            "asked": count(self.asked), "passed": count(self.passed),
            "failures": failures.collect::<Vec<_>>(), "left": left.collect::<Vec<_>>(),
        })
    }
}

/// `250,000 seeds: 3, 7, 11, …, 999,999`.
fn in_words(row: Every) -> String {
    let seed = |i: u64| grouped(u128::from(row.from) + u128::from(row.of) * u128::from(i));
    let first: Vec<String> = (0..row.count.min(3)).map(seed).collect();
    let last = match row.count {
        0..=3 => String::new(),
        count => format!(", …, {}", seed(count - 1)),
    };
    let seeds = if row.count == 1 { "seed" } else { "seeds" };
    format!("{} {seeds}: {}{last}", grouped(row.count.into()), first.join(", "))
}

/// A number with commas: `12,345`.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

const HELP: &str = "\
Puts the results of shards together: which seeds passed, what failed, what is left to run.

usage: cargo sim merge [options] FOLDER|FILE …

Tests write results into the folder that SIM_RESULTS names, a file for each test and shard. Failures
are grouped by kind and place, and the lowest seed of each is shown with the command that replays it.

options:
      --json                 an object for each test, on a line of its own
  -h, --help

exit codes:
  0  all seeds were run and passed
  1  something failed
  2  the command line or a file makes no sense; the message says where
  3  nothing failed, but not all seeds were run
";
