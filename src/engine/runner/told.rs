//! The lines that a user must see although a test passes and its harness hides what the test prints.
//!
//! They go to the standard error itself, which no harness captures within the process: proofs, coverage and statistics
//! that were requested, and notes, each once in a process. Warnings about runs are printed like the output of the test.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use unpause_ordered::Set;

use crate::report::{Report, Searched, Style, text};

/// Shows the report of a test that passes.
pub(super) fn passed(report: &Report, style: &Style) {
    let told = told(report, style);
    let assumption = report.searched.as_ref().and_then(Searched::assumption);
    let line = match assumption {
        // The screen has it in a line of its own.
        Some(assumption) if told.lines().count() == 1 => {
            format!("{} (assumes that {assumption})\n", told.trim_end())
        }
        _ => told.clone(),
    };
    write(&format!("{}{line}", remarks(report)));
    let fell_short = report.searched.as_ref().is_some_and(|searched| !searched.is_as_requested());
    let screen = text(&Report { notes: Vec::new(), ..report.clone() }, style);
    // Not what the user has seen.
    let rest = screen.strip_prefix(&*told).unwrap_or(&screen);
    if !rest.is_empty() && (!told.is_empty() || fell_short || !report.warnings.is_empty()) {
        eprint!("{rest}");
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

/// The remarks on a test that passes, in lines: its notes, each once in a process, because some are about all tests,
/// and the reason why it is not a proof.
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

/// The beginning of the screen, as far as the user requested it: all of a replay, of coverage, other orders of calls
/// and statistics; the first line of a search that did what was requested.
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

/// Writes lines to the standard error, in one piece: other tests run beside this one.
fn write(lines: &str) {
    if lines.is_empty() {
        return;
    }
    let begin = if is_line_open() { "\n" } else { "" };
    // Not `eprint!`, because a test harness captures that and discards it if the test passes.
    let _ = io::stderr().lock().write_all(format!("{begin}{lines}").as_bytes());
}

/// Returns `true` if the harness may have printed a part of a line while a test runs.
pub(crate) fn is_line_open() -> bool {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let threads = std::env::var("RUST_TEST_THREADS").ok();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    leaves_lines_open(&arguments, threads.as_deref(), cores)
}

/// Returns `true` if libtest, called so, has printed a part of a line while a test runs: dots, or the name of the only
/// test that runs.
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
