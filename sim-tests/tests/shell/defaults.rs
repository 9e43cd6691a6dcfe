//! The file `unpause.toml` of a package: its effects, the settings that override it, and its errors.

use std::fs;
use std::path::{Path, PathBuf};

use crate::child::{Child, child, folder};

/// A package with this file.
fn package(name: &str, file: &str) -> PathBuf {
    let package = folder(name);
    fs::write(package.join("Cargo.toml"), "").unwrap();
    fs::write(package.join("unpause.toml"), file).unwrap();
    package
}

/// A test of the package that fails under its seventh seed.
fn failing(package: &Path) -> Child {
    child("in_a_package").env("UNPAUSE_PACKAGE", package)
}

#[cfg_attr(feature = "sim", test)]
fn defaults_of_a_package_are_in_its_file_and_variables_count_more() {
    let package = package("defaults", "out = \"here\" # not in target\n\n[ci]\nout = 'in-ci'\n");
    let trace = "demo.in_a_package/6.simtrace";
    let is_in = |child: Child, folder: &str| {
        let folder = package.join(folder);
        let ended = child.fails();
        assert!(folder.join(trace).exists(), "{} has no trace: {ended}", folder.display());
        // The file exists in a replay, so the command does not mention it.
        assert!(!ended.after("replay:").contains("SIM_OUT"), "{ended}");
        fs::remove_dir_all(folder).unwrap();
    };
    is_in(failing(&package), "here");
    is_in(failing(&package).env("CI", "true"), "in-ci");
    is_in(failing(&package).env("CI", "false"), "here");
    is_in(failing(&package).env("SIM_OUT", package.join("of-the-call")), "of-the-call");
}

#[cfg_attr(feature = "sim", test)]
fn a_failure_on_ci_is_a_page_too() {
    let package = package("pages", "[ci]\nmax_steps = 100\n");
    let page = package.join("out/demo.in_a_package/6.html");
    let is_written = |child: Child| {
        let said = child.env("SIM_OUT", package.join("out")).fails();
        assert_eq!(said.stderr.contains("page:"), page.exists(), "{said}");
        fs::remove_file(&page).is_ok()
    };
    assert!(!is_written(failing(&package)));
    assert!(is_written(failing(&package).env("CI", "true")));
    assert!(!is_written(failing(&package).env("CI", "true").env("SIM_HTML", "0")));
    fs::write(package.join("unpause.toml"), "html = false\n").unwrap();
    assert!(!is_written(failing(&package).env("CI", "true")));
}

#[cfg_attr(feature = "sim", test)]
fn an_argument_of_a_test_counts_more_than_the_file() {
    // The test has 40 seeds, and the seventh fails.
    let package = package("arguments", "seeds = 2\nmax_steps = 1\n");
    let ended = failing(&package).fails();
    ended.says(&["seeds 0 to 39"]);
    // The test sets no step limit, so the limit of the file applies, and the trace contains it.
    ended.says(&["FAILED  demo::in_a_package  seed 0: step limit reached"]);
    let again = failing(&package).env("SIM_REPLAY", ended.after("trace:")).fails();
    again.says(&["step limit reached"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_fault_in_the_file_fails_the_tests_with_its_line() {
    let package = package("fault", "seeds = 7\n\nmax_step = 100\n");
    let ended = failing(&package).fails();
    let file = package.join("unpause.toml");
    ended.says(&[&format!(
        "FAILED  demo::in_a_package: the line {}:3 is \"max_step\", but should be the name of a setting: did you mean `max_steps`?",
        file.display()
    )]);
    // A test that ignores the file does not: it fails as always.
    fs::remove_file(&file).unwrap();
    failing(&package).fails().says(&["an update was lost"]);
}
