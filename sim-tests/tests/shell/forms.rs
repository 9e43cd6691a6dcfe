//! The forms of a test: it must fail, it panics, it is ignored, it returns a `Result`, it has cases.

use std::process::Command;

use crate::child::{self, Ended, captured, child, files, folder, root};

#[cfg_attr(feature = "sim", test)]
fn a_test_that_must_fail_passes_and_shows_what_it_is_about() {
    let ended = child("must_fail").passes();
    ended.says(&["an update was lost", "the test must fail (must_fail) and did, so it passes"]);
}

/// The width is set by a variable, or read from the terminal that `script` creates.
#[cfg(target_os = "linux")]
#[cfg_attr(feature = "sim", test)]
fn a_screen_is_as_wide_as_the_terminal() {
    let heading = |text: &str| {
        let line = text.lines().map(|line| line.trim_end_matches('\r'));
        let line = line
            .filter(|line| line.contains("schedule") && line.contains("──"))
            .map(str::to_owned)
            .next();
        let mut line = line.unwrap_or_else(|| panic!("no schedule:\n{text}"));
        // The colours are removed from the line.
        while let Some(start) = line.find('\u{1b}') {
            let end = start + line[start..].find('m').unwrap();
            line.replace_range(start..=end, "");
        }
        line.chars().count()
    };
    assert_eq!(heading(&child("lost_update").fails().stderr), 100);
    assert_eq!(heading(&child("lost_update").env("COLUMNS", "72").fails().stderr), 72);
    for columns in [60, 130] {
        let program = std::env::current_exe().unwrap();
        let program = program.display();
        let line = format!(
            "stty cols {columns} rows 40; {program} fixture::lost_update --exact --nocapture"
        );
        let mut script = Command::new("script");
        child::clean(&mut script);
        script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
        match script.output() {
            Ok(output) => {
                assert_eq!(heading(&String::from_utf8_lossy(&output.stdout)), columns);
            }
            Err(error) => eprintln!("SKIPPED: there is no command `script`: {error}"),
        }
    }
}

/// A limit is not a failure of the program, and another failure is not the expected failure.
#[cfg_attr(feature = "sim", test)]
fn a_test_that_must_fail_does_not_pass_with_any_failure() {
    let limited = child("must_fail").env("SIM_STEPS", "1").fails();
    limited.says(&[
        "the test must fail (must_fail), but not with the step limit, which is no failure of the program",
    ]);
    child("musts::must_lose")
        .passes()
        .says(&["the test must fail (must_fail) and did, so it passes"]);
    let other = child("musts::must_lose").env("UNPAUSE_VARIANT", "at once").fails();
    other.says(&[
        "the test must fail (must_fail), but not with a failure that has \"update was lost\" as its kind or in its text",
        "failed at once",
    ]);
    child("musts::must_never_end").passes().says(&["and did, so it passes"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_test_that_must_fail_and_does_not_fails() {
    let ended = child("must_fail").env("UNPAUSE_VARIANT", "fixed").fails();
    ended.says(&[
        "FAILED  shell::fixture::must_fail: the test must fail (must_fail), but none of 1000 runs did",
        "remove must_fail",
    ]);
    ended.says_not("passed");
}

#[cfg_attr(feature = "sim", test)]
fn the_words_of_a_panic_are_what_should_panic_hears() {
    child("should_panic_with_its_own_words").passes();
    let fixed = captured("should_panic_with_its_own_words").env("UNPAUSE_VARIANT", "fixed").run();
    assert_eq!(fixed.code, Some(101), "{fixed}");
    assert!(fixed.stdout.contains("test did not panic as expected"), "{fixed}");
}

#[cfg_attr(feature = "sim", test)]
fn the_error_of_a_result_is_shown() {
    child("returns_an_error")
        .fails()
        .says(&["seed 0: the test returned an error", "ParseIntError { kind: InvalidDigit }"]);
}

#[cfg_attr(feature = "sim", test)]
fn an_ignored_test_is_not_run_unless_asked_for() {
    let ended = child("ignored").passes();
    assert!(ended.stdout.contains("1 ignored") && !ended.stdout.contains("the ignored test ran"));
    let asked = child("ignored").arg("--ignored").passes();
    assert!(asked.stdout.contains("the ignored test ran"), "{asked}");
}

#[cfg_attr(feature = "sim", test)]
fn each_case_has_a_trace_of_its_own() {
    let out = folder("forms");
    let cases = [
        "with_cases::case_1",
        "with_cases::case_2",
        "with_test_cases::test_case_1_one",
        "with_test_cases::test_case_2_two",
    ];
    for case in cases {
        let ended = child(case).env("SIM_OUT", &out).fails();
        ended.says(&[&format!("FAILED  shell::fixture::{case}  seed 0: main panicked")]);
        assert!(ended.after("replay:").ends_with(&format!("fixture::{case} -- --exact")));
    }
    let expected =
        cases.map(|case| format!("test-shell.fixture.{}/0.simtrace", case.replace("::", ".")));
    assert_eq!(files(&out), expected);
}

#[cfg_attr(feature = "sim", test)]
fn a_test_that_awaits_nothing_fails_and_passes_like_any_other() {
    let ended = child("awaits_nothing").fails();
    ended.says(&["seed 0: main panicked", "nothing was awaited", "── schedule ── 1 step"]);
    child("awaits_nothing").env("UNPAUSE_VARIANT", "").passes();
}

/// Runs the tests under nextest, which starts a process for each test and selects the test by its name.
#[cfg_attr(feature = "sim", test)]
fn nextest_runs_the_tests_and_the_printed_command_works_after_it() {
    let there = Command::new("cargo").args(["nextest", "--version"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: cargo-nextest is not installed");
        return;
    }
    let mut command = Command::new("cargo");
    child::clean(&mut command);
    child::with_its_compiler(&mut command);
    // Variables of a surrounding nextest must not affect this process.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("NEXTEST") {
            command.env_remove(name);
        }
    }
    // The features of the workspace are selected, because this program was built with them.
    command.args(["nextest", "run", "--workspace", "--test", "shell", "--no-fail-fast"]);
    command.args(["--offline", "--no-capture", "fixture::deadlocks", "fixture::does_nothing"]);
    let ended = Ended::of(command.current_dir(root()).env("PWD", root()).output().unwrap());
    assert_eq!(ended.code, Some(100), "{ended}");
    ended.says(&[
        "FAILED  shell::fixture::deadlocks  seed 6: deadlock, 0.0 and 0.1 wait for each other",
        "2 tests run: 1 passed, 1 failed",
    ]);
    let command = child("deadlocks").fails().after("replay:");
    assert_eq!(ended.after("replay:"), command);
}
