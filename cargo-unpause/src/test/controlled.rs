//! The remark about the tests that ran: how many of them under the scheduler, and which of the others started threads.
//!
//! Each program appends lines to a file (`unpause-native/src/linux/uncontrolled.rs`). A program without the runtime
//! appends nothing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;

/// The environment variable with the path of the file to which programs append lines.
pub(super) const VARIABLE: &str = "UNPAUSE_THREADS";

/// The maximum number of tests shown.
const SHOWN: usize = 20;

/// The arguments with which Cargo runs no tests.
const NO_TESTS: [&str; 7] = ["--no-run", "--list", "--help", "-h", "--version", "-V", "list"];

/// Returns `true` if a command with these arguments runs tests.
pub(super) fn runs_tests(arguments: &[OsString]) -> bool {
    !arguments.iter().any(|word| NO_TESTS.iter().any(|none| word == none))
}

/// Returns the remark about the tests in the lines of all programs. `takes_any` is true with `--any`: all tests then
/// run under the scheduler, except tests of programs without the runtime.
pub(super) fn remark(lines: &str, takes_any: bool) -> String {
    let lines: Vec<Line<'_>> = lines.lines().filter_map(Line::read).collect();
    let processes: BTreeSet<&str> = lines.iter().map(|line| line.process).collect();
    // A test may start its own program again, which is a part of this test.
    let of_cargo = || lines.iter().filter(|line| !processes.contains(line.parent));
    let of_kind = |kind: &'static str| of_cargo().filter(move |line| line.kind == kind);
    let controlled: BTreeSet<_> =
        of_kind("controlled").map(|line| (line.process, line.test)).collect();
    let started: BTreeSet<_> = of_kind("started")
        .filter(|line| !controlled.contains(&(line.process, line.test)))
        .map(|line| (line.test, line.place))
        .collect();
    // The harness starts a thread for each test.
    let all = of_kind("test").count();
    let others = all.saturating_sub(controlled.len() + started.len());
    let mut text = match controlled.len() {
        0 if takes_any => NONE_OF_ANY.to_owned(),
        0 => NONE.to_owned(),
        1 => "1 test ran under the scheduler.".to_owned(),
        count => format!("{count} tests ran under the scheduler."),
    };
    match others {
        0 => {}
        1 => text += " 1 other test started no thread.",
        count => _ = write!(text, " {count} other tests started no thread."),
    }
    if started.is_empty() {
        return format!("note: {text}");
    }
    let tests = if started.len() == 1 { "1 test" } else { &format!("{} tests", started.len()) };
    let _ = write!(text, " {tests} started threads without it:");
    for (test, place) in started.iter().take(SHOWN) {
        let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
        let _ = write!(text, "\n  {test}{place}");
    }
    if started.len() > SHOWN {
        let _ = write!(text, "\n  and {} more", started.len() - SHOWN);
    }
    let remedy = if takes_any { REMEDY_OF_ANY } else { REMEDY };
    format!("note: {text}\n{remedy}")
}

const REMEDY: &str =
    "To control the threads of a test, replace `#[test]` by `#[sim::test(native)]`.";

const REMEDY_OF_ANY: &str =
    "Threads that a model does not start, and threads of benchmarks, have no scheduler.";

const NONE_OF_ANY: &str = "no test ran under the scheduler. Documentation tests, benchmarks and programs without \
    libtest (`harness = false`) run without it.";

const NONE: &str = "no test ran under the scheduler. Use `#[sim::test(native)]` in place of `#[test]`; in a crate that \
    does not depend on unpause, use --any.";

/// A line of a program.
struct Line<'a> {
    process: &'a str,
    parent: &'a str,
    kind: &'a str,
    test: &'a str,
    place: &'a str,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Option<Line<'a>> {
        let [process, parent, kind, test, place] =
            <[&str; 5]>::try_from(text.split('\t').collect::<Vec<_>>()).ok()?;
        Some(Line { process, parent, kind, test, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_by_kind() {
        let all = "5\t1\ttest\t\t\n".repeat(6);
        let controlled = "5\t1\tcontrolled\ta\t\n5\t1\tcontrolled\ta\t\n5\t1\tcontrolled\tb\t\n";
        let started = "5\t1\tstarted\tc\tsrc/c.rs:7\n";
        // A process of `a`, and a thread that `b` starts before its runs.
        let more = "6\t5\ttest\t\t\n6\t5\tstarted\td\tsrc/d.rs:1\n5\t1\tstarted\tb\tsrc/b.rs:2\n";
        assert_eq!(
            remark(&(all.clone() + controlled + started + more), false),
            "note: 2 tests ran under the scheduler. 3 other tests started no thread. 1 test started threads without \
             it:\n  c (src/c.rs:7)\n\
             To control the threads of a test, replace `#[test]` by `#[sim::test(native)]`."
        );
        assert_eq!(
            remark(&(all + controlled), false),
            "note: 2 tests ran under the scheduler. 4 other tests started no thread."
        );
        assert_eq!(remark(controlled, false), "note: 2 tests ran under the scheduler.");
    }

    #[test]
    fn a_command_without_controlled_tests_names_the_remedy() {
        assert_eq!(remark("", false), format!("note: {NONE}"));
        assert!(
            remark("5\t1\tstarted\tc\t\n", false).contains("use --any. 1 test started threads")
        );
    }

    #[test]
    fn with_any_no_attribute_is_a_remedy() {
        // Tests run on the main thread, so the harness starts no thread.
        let controlled = "5\t1\tcontrolled\ta\t\n5\t1\tcontrolled\tb\t\n";
        assert_eq!(remark(controlled, true), "note: 2 tests ran under the scheduler.");
        assert_eq!(remark("", true), format!("note: {NONE_OF_ANY}"));
        let started = remark("5\t1\tstarted\tc\tsrc/c.rs:7\n", true);
        assert!(started.contains("  c (src/c.rs:7)\n") && !started.contains("#["), "{started}");
    }

    #[test]
    fn a_long_list_of_tests_is_cut() {
        let lines: String = (100..130).map(|n| format!("5\t1\tstarted\tt{n}\t\n")).collect();
        let text = remark(&lines, false);
        assert_eq!(text.lines().count(), 1 + SHOWN + 1 + 1, "{text}");
        assert!(text.contains("\n  and 10 more\n"), "{text}");
    }

    #[test]
    fn a_command_that_lists_tests_runs_none() {
        let runs = |words: &str| {
            runs_tests(&words.split_whitespace().map(OsString::from).collect::<Vec<_>>())
        };
        assert!(runs("-p a") && runs("run --release"));
        assert!(!runs("--no-run") && !runs("-p a -- --list") && !runs("list"));
    }
}
