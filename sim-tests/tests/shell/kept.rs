//! Traces that the user keeps in `sim-regressions/<test>/` beside `Cargo.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::child::{Child, child, files, folder};

/// A package that keeps the trace of the lost update.
fn package(name: &str) -> (PathBuf, PathBuf) {
    let package = folder(name);
    let kept = package.join("sim-regressions/demo.in_a_package");
    fs::create_dir_all(&kept).unwrap();
    let out = folder(&format!("{name}-out"));
    child("lost_update").env("SIM_OUT", &out).fails();
    let trace = out.join("test-shell.fixture.lost_update/6.simtrace");
    let file = kept.join("lost update.simtrace");
    fs::copy(trace, &file).unwrap();
    fs::write(kept.join("README.md"), "Only traces are replayed.\n").unwrap();
    (package, file)
}

fn run(package: &Path, variant: &str) -> Child {
    let child = child("in_a_package").env("UNPAUSE_PACKAGE", package);
    let child = child.env("UNPAUSE_VARIANT", variant).env("SIM_OUT", package.join("out"));
    child.in_folder(package, package)
}

#[cfg_attr(feature = "sim", test)]
fn a_kept_trace_that_still_fails_is_the_first_thing_reported() {
    let (package, _) = package("kept-fails");
    let ended = run(&package, "").fails();
    let file = "sim-regressions/demo.in_a_package/lost update.simtrace";
    ended.says(&[&format!("replay of {file}: main panicked")]);
    // A name with a blank is one word for the shell.
    assert!(ended.after("replay:").starts_with(&format!("SIM_REPLAY='{file}' ")), "{ended}");
    // A kept trace was replayed and no seed was run, so no file was written.
    assert_eq!(files(&package.join("out")), [""; 0]);
    // The result is the same on CI.
    assert_eq!(run(&package, "").env("CI", "true").fails().stderr, ended.stderr);
}

#[cfg_attr(feature = "sim", test)]
fn a_kept_trace_of_a_bug_that_is_gone_is_quiet() {
    let (package, _) = package("kept-passes");
    assert_eq!(run(&package, "forgiving").passes().stderr, "");
}

#[cfg_attr(feature = "sim", test)]
fn a_stale_kept_trace_is_followed_and_warned_of() {
    let (package, _) = package("kept-stale");
    let fixed = || crate::child::captured("in_a_package").env("UNPAUSE_PACKAGE", &package);
    let ended = fixed().env("UNPAUSE_VARIANT", "fixed").in_folder(&package, &package).passes();
    // One line is shown, although the harness captures the output.
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{ended}");
    for part in [
        "note: demo::in_a_package: sim-regressions/demo.in_a_package/lost update.simtrace is stale from step 2 on",
        "expected 0.0: load of object 0 at",
        "found 0.0: fetch_add of object 0 at",
        "without a failure. To remove it: rm 'sim-regressions/demo.in_a_package/lost update.simtrace'",
    ] {
        assert!(lines[0].contains(part), "{part:?} is not said: {ended}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_stale_kept_trace_that_still_leads_to_the_failure_fails() {
    let (package, _) = package("kept-stale-fails");
    let ended = run(&package, "other operation").fails();
    ended.says(&[
        "an update was lost",
        "lost update.simtrace: main panicked",
        "is stale from step",
        "to a failure. To record it anew: cp out/demo.in_a_package/6.simtrace 'sim-regressions/demo.in_a_package/lost update.simtrace'",
    ]);
    // The failure is written to the usual folder, and not among the kept traces.
    assert_eq!(files(&package.join("out")), ["demo.in_a_package/6.simtrace"]);
    let kept = ["demo.in_a_package/README.md", "demo.in_a_package/lost update.simtrace"];
    assert_eq!(files(&package.join("sim-regressions")), kept);
}

/// The watchdog ends the process, and reports the failure or the run that does not end.
#[cfg_attr(feature = "sim", test)]
fn messages_about_kept_traces_are_shown_if_a_run_does_not_end() {
    let (package, file) = package("kept-hangs");
    fs::create_dir(file.with_file_name("older")).unwrap();
    let folder = "sim-regressions/demo.in_a_package/older is a folder, and traces in it";
    let ended = run(&package, "never ends").env("SIM_HANG", "1s").fails();
    let unexplained = "the failure has no explanation, because another run of the test failed";
    ended.says(&["an update was lost", unexplained, folder]);
    let ended = run(&package, "other operation, never ends").env("SIM_HANG", "1s").fails();
    ended.says(&["has not yielded for 1 s", "lost update.simtrace is stale from step", folder]);
}

#[cfg_attr(feature = "sim", test)]
fn a_kept_trace_that_cannot_be_read_fails_the_test() {
    let (package, file) = package("kept-hostile");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    let ended = run(&package, "forgiving").fails();
    let words = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let file = "sim-regressions/demo.in_a_package/lost update.simtrace";
    assert!(words.contains("the trace cannot be read"), "{ended}");
    assert!(words.contains(&format!("{file}: line ")), "{ended}");
}

#[cfg_attr(feature = "sim", test)]
fn kept_traces_are_never_written() {
    let (package, file) = package("kept-unwritten");
    fs::remove_file(&file).unwrap();
    let before = files(&package.join("sim-regressions"));
    run(&package, "").fails();
    run(&package, "").env("CI", "true").fails();
    assert_eq!(files(&package.join("sim-regressions")), before);
}

#[cfg_attr(feature = "sim", test)]
fn a_folder_of_kept_traces_that_cannot_be_read_fails_the_test() {
    let (package, file) = package("kept-no-folder");
    let kept = file.parent().unwrap();
    fs::remove_dir_all(kept).unwrap();
    fs::write(kept, "not a folder").unwrap();
    let ended = run(&package, "forgiving").fails();
    ended.says(&["the trace cannot be read", "sim-regressions/demo.in_a_package"]);
    // Now the file with this name is one level higher.
    fs::remove_dir_all(package.join("sim-regressions")).unwrap();
    fs::write(package.join("sim-regressions"), "not a folder").unwrap();
    run(&package, "forgiving").fails().says(&["the trace cannot be read"]);
}

#[cfg_attr(feature = "sim", test)]
fn what_is_not_replayed_although_it_is_kept_is_told() {
    let (package, file) = package("kept-aside");
    let kept = file.parent().unwrap();
    fs::create_dir(kept.join("older")).unwrap();
    let ended = run(&package, "forgiving").passes();
    ended.says(&[
        "sim-regressions/demo.in_a_package/older is a folder, and traces in it are not replayed",
    ]);
    // The ending may be in capitals.
    fs::rename(&file, kept.join("1.SIMTRACE")).unwrap();
    run(&package, "").fails().says(&["replay of sim-regressions/demo.in_a_package/1.SIMTRACE"]);
    // If the package of a program no longer exists, there is nothing to replay.
    let gone = package.join("gone");
    let child = child("in_a_package").env("UNPAUSE_PACKAGE", &gone).env("UNPAUSE_VARIANT", "fixed");
    child.passes().says(&["gone is not there: traces that were kept in its sim-regressions"]);
}
