//! A failing test: its screen, its trace file, and the command that replays it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::child::{self, Ended, child, folder, root};

/// A `cargo` that runs this test binary as Cargo would: in the folder of its package, with the
/// filter and the arguments after `--`.
const CARGO: &str = r#"#!/bin/sh
[ "$1" = test ] || exit 90
shift
filter=
while [ $# -gt 0 ]; do
    case $1 in
    -p) [ "$2" = sim-tests ] || exit 91; shift ;;
    --test) [ "$2" = shell ] || exit 92; shift ;;
    --) shift; break ;;
    -*) ;;
    *) filter=$1 ;;
    esac
    shift
done
cd "$UNPAUSE_CARGO_FOLDER" && exec "$UNPAUSE_CARGO_PROGRAM" "$filter" "$@" --nocapture
"#;

/// Runs a printed command in a folder, with the real Cargo or with the replacement above.
pub(crate) fn shell(command: &str, folder: &Path, cargo: Option<&Path>) -> Ended {
    let mut sh = Command::new("sh");
    child::clean(&mut sh);
    sh.args(["-c", command]).current_dir(folder).env("PWD", folder);
    child::with_its_compiler(&mut sh);
    if let Some(cargo) = cargo {
        let path = std::env::var("PATH").unwrap();
        sh.env("PATH", format!("{}:{path}", cargo.display()));
        calls_the_fixture(&mut sh, cargo);
    }
    Ended::of(sh.output().unwrap())
}

/// The command will take the script above for Cargo.
pub(crate) fn calls_the_fixture(command: &mut Command, cargo: &Path) {
    command.env("CARGO", cargo.join("cargo"));
    command.env("UNPAUSE_CARGO_FOLDER", env!("CARGO_MANIFEST_DIR"));
    command.env("UNPAUSE_CARGO_PROGRAM", std::env::current_exe().unwrap());
}

pub(crate) fn fake_cargo(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    fs::write(folder.join("cargo"), CARGO).unwrap();
    let made = Command::new("chmod").arg("+x").arg(folder.join("cargo")).status().unwrap();
    assert!(made.success());
    folder
}

#[cfg_attr(feature = "sim", test)]
fn the_screen_is_on_stderr_and_the_trace_where_it_says() {
    let ended = child("lost_update").fails();
    ended.says(&[
        "FAILED  shell::fixture::lost_update  seed 6: main panicked\n\n  an update was lost: 1 of 2\n",
        "tested      7 runs of seeds 0 to 999, random\n",
    ]);
    assert!(!ended.stdout.contains("FAILED  "), "{ended}");
    let trace = ended.after("trace:");
    assert_eq!(trace, "target/sim/sim-tests/test-shell.fixture.lost_update/6.simtrace");
    let text = fs::read_to_string(root().join(trace)).unwrap();
    assert!(text.starts_with("simtrace 2\n"), "{text}");
    assert!(text.contains("an update was lost: 1 of 2"), "{text}");
}

/// The annotation for GitHub, if any, in the output that a harness shows for a failing test.
fn annotation(ended: &Ended) -> Option<&str> {
    let lines = ended.stdout.lines().chain(ended.stderr.lines());
    let mut found = lines.filter(|line| line.trim_start().starts_with("::error "));
    let first = found.next()?;
    assert_eq!(found.next(), None, "{ended}");
    Some(first)
}

#[cfg_attr(feature = "sim", test)]
fn in_github_actions_a_failure_is_shown_beside_the_source_line() {
    let in_actions = |test, repository: &Path| {
        let child = child::captured(test).env("GITHUB_ACTIONS", "true");
        child.env("GITHUB_WORKSPACE", repository.canonicalize().unwrap())
    };
    let fixture = include_str!("fixture.rs");
    let line = |text: &str| 1 + fixture.lines().position(|line| line.contains(text)).unwrap();
    // The annotation is at the line that panics.
    let ended = in_actions("lost_update", &root()).fails();
    let panics = line("an update was lost");
    let file = "sim-tests/tests/shell/fixture.rs";
    let shown =
        format!("::error file={file},line={panics},title=shell%3A%3Afixture%3A%3Alost_update::");
    let found = annotation(&ended).expect("a line");
    assert!(found.starts_with(&shown), "{shown} is not in {ended}");
    assert!(found.contains("an update was lost: 1 of 2%0Areplay: SIM_REPLAY="), "{ended}");
    // A deadlock has several locations, so the annotation shows the location of the test. The repository may be inside
    // another repository, or above it.
    let ended = in_actions("deadlocks", &root().join("sim-tests")).fails();
    let shown =
        format!("::error file=tests/shell/fixture.rs,line={},", line("async fn deadlocks()"));
    assert!(annotation(&ended).is_some_and(|found| found.starts_with(&shown)), "{shown} {ended}");
    // A test that must fail passes, so it has no annotation.
    assert_eq!(annotation(&in_actions("must_fail", &root()).arg("--nocapture").passes()), None);
    assert_eq!(annotation(&child("lost_update").fails()), None);
    assert_eq!(annotation(&child("lost_update").env("GITHUB_ACTIONS", "false").fails()), None);
}

#[cfg_attr(feature = "sim", test)]
fn the_path_is_right_from_where_cargo_was_started() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = root().join("target/sim/sim-tests/test-shell.fixture.deadlocks/");
    // Not below the current folder; a folder that the shell has left; a folder without a package.
    for shell in [package, Path::new("/nowhere"), root().parent().unwrap()] {
        let ended = child("deadlocks").in_folder(package, shell).fails();
        assert!(Path::new(&ended.after("trace:")).starts_with(&whole), "{shell:?} {ended}");
    }
    let ended = child("deadlocks").in_folder(&root(), &root()).fails();
    assert!(ended.after("trace:").starts_with("target/sim/"), "{ended}");
}

#[cfg_attr(feature = "sim", test)]
fn the_printed_command_fails_in_the_same_way() {
    let cargo = fake_cargo("same");
    for (test, inline) in [
        ("lost_update", true),
        ("deadlocks", true),
        ("never_ends", true),
        ("fails_after_long", false),
    ] {
        let first = child(test).fails();
        let command = first.after("replay:");
        assert_eq!(command.starts_with("SIM_REPLAY=sim2:"), inline, "{command}");
        assert!(command.ends_with(&format!(" fixture::{test} -- --exact")), "{command}");
        let again = shell(&command, &root(), Some(&cargo));
        assert_eq!(again.code, Some(101), "{command} {again}");
        same(&first, &again);
        // The printed command has the same result.
        let third = shell(&again.after("replay:"), &root(), Some(&cargo));
        assert_eq!(third.stderr, again.stderr);
        // The file, independent of its length.
        let file = child(test).env("SIM_REPLAY", first.after("trace:")).fails();
        same(&first, &file);
    }
}

/// Asserts that both failures are the same and have the same steps.
fn same(first: &Ended, again: &Ended) {
    assert_eq!(again.schedule(), first.schedule());
    let headline = |ended: &Ended| {
        // The first line of a replay contains a file instead of a seed, and the longer line may be wrapped.
        let text: Vec<&str> = ended.stderr.split_whitespace().collect();
        let from = text.iter().position(|word| word.ends_with(':')).unwrap();
        text[from + 1..from + 4].join(" ")
    };
    assert_eq!(headline(again), headline(first));
}

/// Only this test runs Cargo itself. The test selects the features of the workspace, because this program was built
/// with them. With the features of the package, Cargo would build the program again.
#[cfg_attr(feature = "sim", test)]
fn the_printed_command_works_with_the_real_cargo() {
    let first = child("deadlocks").fails();
    let command =
        first.after("replay:").replace(" -p sim-tests ", " --workspace ") + " --nocapture";
    assert!(command.contains("cargo test --workspace --test shell "), "{command}");
    let again = shell(&format!("CARGO_NET_OFFLINE=true {command}"), &root(), None);
    assert_eq!(again.code, Some(101), "{command} {again}");
    assert_eq!(again.stdout.matches("running 1 test").count(), 1, "{again}");
    assert_eq!(again.schedule(), first.schedule());
}

#[cfg_attr(feature = "sim", test)]
fn the_command_does_not_reach_a_test_whose_name_begins_alike() {
    let command = child("lost_update").fails().after("replay:");
    let again = shell(&command, &root(), Some(&fake_cargo("alike")));
    assert!(again.stdout.contains("running 1 test"), "{again}");
    assert!(!again.stdout.contains("lost_update_of_another_test"), "{again}");
}

#[cfg_attr(feature = "sim", test)]
fn a_backtrace_is_not_on_the_screen() {
    let plain = child("lost_update").fails().stderr;
    for (name, value) in [("RUST_BACKTRACE", "1"), ("RUST_BACKTRACE", "full"), ("NO_COLOR", "1")] {
        assert_eq!(child("lost_update").env(name, value).fails().stderr, plain, "{name}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn colours_can_be_asked_for_where_there_is_no_terminal() {
    let always = || child("lost_update").env("CARGO_TERM_COLOR", "always");
    assert!(always().run().stderr.contains("\u{1b}[1;31mFAILED"));
    assert!(!always().env("NO_COLOR", "1").fails().stderr.contains('\u{1b}'));
}
