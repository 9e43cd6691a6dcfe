//! Lines that a user must see even if a test passes and its harness hides the output of the test.
//!
//! These lines are written directly to standard error, which no harness captures within the process. The lines are
//! proofs, requested coverage and statistics, and notes, each printed once per process. Warnings about runs are printed
//! like the output of the test.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use unpause_ordered::Set;

use crate::report::{Report, Searched, Style, text};

/// Shows the report of a passing test.
pub(super) fn passed(report: &Report, style: &Style) {
    let told = told(report, style);
    write(&format!("{}{}", remarks(report), with_assumption(&told, report)));
    let fell_short = report.searched.as_ref().is_some_and(|searched| !searched.is_as_requested());
    let screen = text(&Report { notes: Vec::new(), ..report.clone() }, style);
    // The output without the part that the user has already seen.
    let rest = screen.strip_prefix(&*told).unwrap_or(&screen);
    if !rest.is_empty() && (!told.is_empty() || fell_short || !report.warnings.is_empty()) {
        eprint!("{rest}");
    }
}

/// Returns the requested text of a passing test. If the text is a single line, the assumption of the search is added. A
/// longer text contains it in a separate line.
pub(super) fn with_assumption(told: &str, report: &Report) -> String {
    match report.searched.as_ref().and_then(Searched::assumption) {
        Some(assumption) if told.lines().count() == 1 => {
            format!("{} (assumes that {assumption})\n", told.trim_end())
        }
        _ => told.to_owned(),
    }
}

/// Shows a note.
pub(super) fn note(note: &str) {
    write(&format!("note: {note}\n"));
}

/// Shows the remarks on a report.
pub(super) fn remarks_of(report: &Report) {
    write(&remarks(report));
}

/// Returns the remarks on a passing test, as lines: its notes, and the reason why its search is not a proof. Each note
/// is shown once per process, because some notes are about all tests.
pub(super) fn remarks(report: &Report) -> String {
    static TOLD: Mutex<Set<String>> = Mutex::new(Set::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let new = report.notes.iter().filter(|note| told.insert((*note).clone()));
    let mut lines: String = new.map(|note| format!("note: {note}\n")).collect();
    if let Some(why) = report.searched.as_ref().and_then(|searched| searched.fell_short()) {
        lines += &format!("NOT A PROOF  {}: {why}\n", report.test);
    }
    lines
}

/// Returns the part of the text output that the user requested. For a replay, coverage, other orders of calls and
/// statistics, this is the whole text. If a search reached its goal, this is only the first line.
pub(super) fn told(report: &Report, style: &Style) -> String {
    let (warnings, notes) = (Vec::new(), Vec::new());
    let screen = || text(&Report { warnings, notes, ..report.clone() }, style);
    let requested = report.replayed.is_some()
        || report.coverage.is_some()
        || report.closure.is_some()
        || report.statistics.is_some();
    if requested {
        return screen();
    }
    match &report.searched {
        Some(searched) if searched.is_as_requested() => {
            screen().split_inclusive('\n').take(1).collect()
        }
        _ => String::new(),
    }
}

/// Writes lines to standard error in a single call, because other tests run in parallel.
fn write(lines: &str) {
    if lines.is_empty() {
        return;
    }
    let begin = if is_line_open() { "\n" } else { "" };
    // This is not `eprint!`, because a test harness captures that and discards it if the test passes.
    let _ = io::stderr().lock().write_all(format!("{begin}{lines}").as_bytes());
}

/// Returns `true` if the harness may have printed an incomplete line while a test runs.
pub(crate) fn is_line_open() -> bool {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let threads = std::env::var("RUST_TEST_THREADS").ok();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    leaves_lines_open(&arguments, threads.as_deref(), cores)
}

/// Returns `true` if libtest with these arguments prints an incomplete line while a test runs: dots, or the name of the
/// only running test.
fn leaves_lines_open(arguments: &[String], threads: Option<&str>, cores: usize) -> bool {
    let value = |name: &str| {
        let after = |(at, argument): (usize, &String)| match argument.strip_prefix(name)? {
            "" => arguments.get(at + 1).cloned(),
            value => value.strip_prefix('=').map(str::to_owned),
        };
        arguments.iter().enumerate().find_map(after)
    };
    let quiet = arguments.iter().any(|argument| argument == "-q" || argument == "--quiet");
    let terse = value("--format").is_some_and(|format| format == "terse");
    let threads = value("--test-threads").or_else(|| threads.map(str::to_owned));
    let threads = threads.and_then(|threads| threads.parse().ok()).unwrap_or(cores);
    quiet || terse || threads == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_anew_beside_dots_and_names() {
        for (arguments, threads, cores, expected) in [
            ("", None, 4, false),
            ("", None, 1, true),
            ("", Some("1"), 4, true),
            ("name --exact --nocapture", None, 4, false),
            ("-q", None, 4, true),
            ("--quiet", None, 4, true),
            ("--format=terse", None, 4, true),
            ("--format pretty", None, 4, false),
            ("--test-threads=1", None, 4, true),
            ("--test-threads 1", None, 4, true),
            ("--test-threads=3", Some("1"), 1, false),
        ] {
            let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
            assert_eq!(
                leaves_lines_open(&arguments, threads, cores),
                expected,
                "{arguments:?} {threads:?} {cores}"
            );
        }
    }

    #[test]
    fn a_note_is_told_once_in_a_process() {
        let note = "told::a note that no other test has".to_owned();
        let report = Report { runs: 1, notes: vec![note.clone()], ..Report::default() };
        assert_eq!(remarks(&report), format!("note: {note}\n"));
        assert_eq!(remarks(&report), "");
    }
}
