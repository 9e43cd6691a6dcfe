//! `cargo unpause show`, `ls`, `keep`, `drop` and `diff` on failures that tests have left.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::child::{Ended, child, files, folder, names_of_reports};

const TRACE: &str = "target/sim/demo/demo.in_a_package/6.simtrace";
const REPORT: &str = "target/sim/demo/demo.in_a_package/6.json";

/// A package with a failure in its target folder, and the output of its test.
fn package(name: &str) -> (PathBuf, Ended) {
    let package = folder(&format!("commands-{name}"));
    let manifest =
        "[package]\nname = \"demo\"\nversion = \"1.2.3\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(package.join("src/lib.rs"), "").unwrap();
    let ended = run(&package, "").fails();
    (package, ended)
}

fn run(package: &Path, variant: &str) -> crate::child::Child {
    let child = child("in_a_package").env("UNPAUSE_PACKAGE", package);
    let child =
        child.env("UNPAUSE_VARIANT", variant).env("SIM_OUT", package.join("target/sim/demo"));
    child.in_folder(package, package)
}

/// The answer of a command in a folder: exit code, output, errors.
fn command(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let answer = folder.join("answer");
    let child = child("answers::the_command").in_folder(folder, folder);
    child.env("UNPAUSE_ARGUMENTS", arguments.join("\n")).env("UNPAUSE_ANSWER", &answer).passes();
    let read = |name: &str| fs::read_to_string(answer.join(name)).unwrap();
    let all = (read("code").parse().unwrap(), read("output"), read("errors"));
    fs::remove_dir_all(answer).unwrap();
    all
}

/// The command succeeds; returns its output.
#[track_caller]
fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let (code, output, errors) = command(folder, arguments);
    assert_eq!(code, 0, "{arguments:?}: {errors}");
    output
}

/// The command is refused with an error that has these parts.
#[track_caller]
fn refused(folder: &Path, arguments: &[&str], parts: &[&str]) {
    let (code, output, errors) = command(folder, arguments);
    assert_eq!((code, &output[..]), (2, ""), "{arguments:?}: {errors}");
    for part in parts {
        assert!(errors.contains(part), "{part:?} is not said of {arguments:?}: {errors}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn show_has_the_screen_and_parts_of_the_run() {
    let (package, ended) = package("show");
    for arguments in [["show", TRACE], ["show", REPORT], ["show", "--last"]] {
        let screen = succeeds(&package, &arguments);
        assert!(
            ended.stderr.contains(&screen) && screen.contains("FAILED  demo::in_a_package"),
            "{screen}"
        );
    }
    let stores = succeeds(&package, &["show", TRACE, "--object", "atomic#0"]);
    assert_eq!(stores.matches("store atomic#0 := 1").count(), 2, "{stores}");
    assert!(!stores.contains("spawn"), "{stores}");
    let task = succeeds(&package, &["show", TRACE, "--task", "0.1"]);
    assert_eq!(task.matches("store atomic#0 := 1").count(), 1, "{task}");
    assert!(task.contains("sim-tests/tests/shell/fixture.rs:"), "{task}");
    let json: Value = serde_json::from_str(&succeeds(
        &package,
        &["show", TRACE, "--task", "0.1", "--object", "atomic#0", "--json"],
    ))
    .unwrap();
    let steps = json["steps"].as_array().unwrap();
    let store =
        steps.iter().find(|step| step["operations"][0]["text"] == "store atomic#0 := 1").unwrap();
    let step = store["step"].to_string();
    let one = succeeds(&package, &["show", REPORT, "--step", &step]);
    assert!(one.contains("│ false => hits.store(seen + 1, SeqCst).await,"), "{one}");
    let all: Value = serde_json::from_str(&succeeds(&package, &["show", TRACE, "--json"])).unwrap();
    let file = fs::read_to_string(package.join(REPORT)).unwrap();
    assert_eq!(all, serde_json::from_str::<Value>(&file).unwrap());
}

#[cfg_attr(feature = "sim", test)]
fn a_trace_without_its_report_is_shown_by_its_steps() {
    let (package, _) = package("alone");
    fs::remove_file(package.join(REPORT)).unwrap();
    let (code, output, errors) = command(&package, &["show", TRACE]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        errors.contains("there is no target/sim/demo/demo.in_a_package/6.json beside it"),
        "{errors}"
    );
    assert_eq!(output.matches("store atomic#0 ->1").count(), 2, "{output}");
    assert!(output.contains("an update was lost: 1 of 2"), "{output}");
    // A report of another run is not taken for the report of this run.
    run(&package, "more steps").fails();
    let reports = names_of_reports(&package.join("target/sim"));
    let longer = fs::read(package.join("target/sim").join(&reports[0])).unwrap();
    run(&package, "").fails();
    fs::write(package.join(REPORT), longer).unwrap();
    let (_, _, errors) = command(&package, &["show", TRACE]);
    assert!(errors.contains("is the report of another run than the trace"), "{errors}");
}

#[cfg_attr(feature = "sim", test)]
fn a_wrong_argument_is_named_with_what_would_be_right() {
    let (package, _) = package("wrong");
    for (arguments, parts) in [
        (
            &["show", TRACE, "--task", "0.7"][..],
            &["no task \"0.7\"", "there is: main, 0.0, 0.1"][..],
        ),
        (
            &["show", TRACE, "--object", "atomc#0"],
            &["no object \"atomc#0\"; did you mean `atomic#0`?"],
        ),
        (&["show", TRACE, "--step", "999"], &["no step 999", "it has 0 to "]),
        (&["show", TRACE, "--step", "x"], &["--step is \"x\", but should be the number of a step"]),
        (&["show", TRACE, "--taks", "0.1"], &["no option `--taks`; did you mean `--task`?"]),
        (&["show"], &["which failure?", "--last"]),
        (&["show", TRACE, "--last"], &["not both"]),
        (&["show", "7.simtrace"], &["there is no file 7.simtrace", "cargo unpause ls"]),
        (&["show", "target"], &["target is a folder", "cargo unpause ls target"]),
        (&["show", "Cargo.toml"], &["Cargo.toml is neither a trace nor a report"]),
        (&["shwo", TRACE], &["did you mean `show`?"]),
        (&["ls", "nowhere"], &["there is no folder nowhere"]),
        (&["ls", "--jsn"], &["did you mean `--json`?"]),
        (&["keep"], &["which failure?"]),
        (&["keep", TRACE, "--name", "a/b"], &["--name is \"a/b\""]),
        (&["drop"], &["--stale"]),
        (&["drop", "Cargo.toml"], &["neither a trace nor a report"]),
        (&["diff", TRACE], &["two failures are compared, and one was given"]),
    ] {
        refused(&package, arguments, parts);
    }
    let whole = fs::read(package.join(REPORT)).unwrap();
    fs::write(package.join(REPORT), &whole[..whole.len() / 2]).unwrap();
    refused(&package, &["show", REPORT], &["it is not JSON", "If it was cut off"]);
    // The trace is still shown.
    let (code, output, errors) = command(&package, &["show", TRACE]);
    assert!(code == 0 && output.contains("store") && errors.contains("it is not JSON"), "{errors}");
    for name in ["show", "ls", "keep", "drop", "diff"] {
        let help = succeeds(&package, &[name, "--help"]);
        assert!(help.contains("example") && help.contains("exit codes:"), "{help}");
    }
    assert!(package.join("Cargo.toml").exists());
}

#[cfg_attr(feature = "sim", test)]
fn ls_writes_a_junit_file_with_the_properties_of_failures() {
    let (package, _) = package("junit");
    assert_eq!(succeeds(&package, &["ls", "--junit", "junit.xml"]), "junit.xml\n");
    let text = fs::read_to_string(package.join("junit.xml")).unwrap();
    for part in [
        "<testsuites name=\"unpause\" tests=\"1\" failures=\"1\" errors=\"0\">",
        "in_a_package\" classname=\"demo",
        "<property name=\"unpause.seed\" value=\"6\"/>",
        &format!("<property name=\"unpause.trace\" value=\"{TRACE}\"/>"),
        &format!("<property name=\"unpause.report\" value=\"{REPORT}\"/>"),
        "<property name=\"unpause.replay\" value=\"SIM_REPLAY=",
        "an update was lost: 1 of 2\" type=\"panic\">FAILED  demo::in_a_package",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn ls_lists_failures_and_keep_adds_one_that_its_test_replays() {
    let (package, _) = package("keep");
    let line = succeeds(&package, &["ls"]);
    assert_eq!(line.lines().count(), 1, "{line}");
    for part in ["panic", "demo::in_a_package  seed 6, ", TRACE] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let kept = "sim-regressions/demo.in_a_package/panic-6.simtrace";
    assert_eq!(succeeds(&package, &["keep", "--last"]), format!("kept: {kept}\n"));
    assert_eq!(succeeds(&package, &["keep", REPORT]), format!("already kept: {kept}\n"));
    // The trace is enough.
    let hidden = package.join("hidden.json");
    fs::rename(package.join(REPORT), &hidden).unwrap();
    assert_eq!(succeeds(&package, &["keep", TRACE]), format!("already kept: {kept}\n"));
    fs::rename(hidden, package.join(REPORT)).unwrap();
    run(&package, "").fails().says(&[&format!("replay of {kept}: main panicked")]);
    let list: Value = serde_json::from_str(&succeeds(&package, &["ls", "--json"])).unwrap();
    assert_eq!((&list["format"], &list["version"]), (&"unpause ls".into(), &1.into()));
    let list = list["failures"].as_array().unwrap();
    let paths: Vec<(&str, bool)> = list
        .iter()
        .map(|row| (row["path"].as_str().unwrap(), row["kept"].as_bool().unwrap()))
        .collect();
    assert_eq!(paths.len(), 2);
    assert!(paths.contains(&(TRACE, false)) && paths.contains(&(kept, true)), "{paths:?}");
    // Another failure of the same name gets a number.
    run(&package, "more steps").env("SIM_SEED", "6").run();
    let name = succeeds(&package, &["keep", TRACE, "--name", "panic-6"]);
    assert!(
        name.starts_with("kept: ") && name.contains("panic-6-2.simtrace")
            || name.starts_with("already"),
        "{name}"
    );
    let empty = folder("commands-empty");
    fs::write(empty.join("Cargo.toml"), fs::read(package.join("Cargo.toml")).unwrap()).unwrap();
    fs::create_dir_all(empty.join("src")).unwrap();
    fs::write(empty.join("src/lib.rs"), "").unwrap();
    assert_eq!(
        command(&empty, &["ls"]),
        (0, String::new(), "no failures in target/sim\n".to_owned())
    );
    let nothing = "{\"failures\":[],\"format\":\"unpause ls\",\"version\":1}\n";
    assert_eq!(succeeds(&empty, &["ls", "--json"]), nothing);
    refused(&empty, &["show", "--last"], &["there is no failure in target/sim"]);
    let trace = package.join(TRACE).display().to_string();
    fs::write(empty.join("Cargo.toml"), "[package]\nname = \"other\"\n\n[workspace]\n").unwrap();
    refused(&empty, &["keep", &trace], &["of package \"demo\"", "there is: other"]);
}

#[cfg_attr(feature = "sim", test)]
fn replay_runs_the_command_of_the_report_with_the_trace() {
    let (package, ended) = package("replay");
    let (code, _, errors) =
        command(&package, &["replay", "--last", "--dry-run", "--features", "extra"]);
    let trace = package.join(TRACE).display().to_string();
    let shown = ended.after("replay:");
    let (_, arguments) = shown.split_once(" cargo ").unwrap();
    let (before, after) = arguments.split_once(" -- ").unwrap();
    let expected =
        format!("running: SIM_REPLAY={trace} cargo {before} --features extra -- {after}\n");
    assert_eq!((code, errors), (0, expected));
    let seed = ["replay", "17@fixture::lost_update", "-p", "demo", "--lib", "--dry-run"];
    let (code, _, errors) = command(&package, &seed);
    let expected = "running: SIM_SEED=17 cargo test --no-fail-fast -p demo --lib fixture::lost_update -- --exact\n";
    assert_eq!((code, &errors[..]), (0, expected));
    refused(&package, &["replay", "17@"], &["the test is \"\", which is no name"]);
    refused(&package, &["replay", "--last", "-p", "demo"], &["are for SEED@TEST"]);
    refused(&package, &["replay", "x@y"], &["there is no file x@y"]);
    // An example, which has its own arguments.
    let report = fs::read_to_string(package.join(REPORT)).unwrap();
    let example = "run -p demo --example queue";
    let of_example = report.replace(arguments, &format!("{example} -- 7 --fast"));
    assert_ne!(of_example, report);
    fs::write(package.join(REPORT), of_example).unwrap();
    let (code, _, errors) =
        command(&package, &["replay", REPORT, "--dry-run", "--features", "extra"]);
    let expected =
        format!("running: SIM_REPLAY={trace} cargo {example} --features extra -- 7 --fast\n");
    assert_eq!((code, errors), (0, expected));
    // A report from another source must not run any other command.
    fs::write(package.join(REPORT), report.replace(" cargo test ", " sh -c ")).unwrap();
    refused(&package, &["replay", REPORT], &["is not run, because it does not call cargo"]);
    fs::remove_file(package.join(REPORT)).unwrap();
    // The trace is enough.
    let (code, _, errors) = command(&package, &["replay", TRACE, "--dry-run"]);
    let expected = format!("running: SIM_REPLAY={trace} cargo {arguments}\n");
    assert_eq!((code, errors), (0, expected));
    // This is the trace of an example as users keep it: without its report.
    let lines = fs::read_to_string(package.join(TRACE)).unwrap();
    let is_left = |line: &&str| !["checksum ", "cargo "].iter().any(|word| line.starts_with(word));
    let lines = lines.lines().filter(is_left);
    let of_example = |line: &str| match line.starts_with("test ") {
        true => "test \"queue_12 (example queue)\"\n".to_owned(),
        false => format!("{line}\n"),
    };
    fs::write(package.join("kept.simtrace"), lines.map(of_example).collect::<String>()).unwrap();
    let kept = package.join("kept.simtrace").display().to_string();
    let by_hand = format!("SIM_REPLAY={kept} cargo run -p demo --example queue");
    refused(&package, &["replay", "kept.simtrace"], &["names no test that cargo runs", &by_hand]);
}

/// The test uses a kept trace of plain threads. The package is a member of a workspace whose root is a package, too.
#[cfg_attr(feature = "sim", test)]
fn a_place_in_the_package_is_not_looked_up_in_the_root_alone() {
    let (member, _) = package("root/demo");
    let root = member.parent().unwrap();
    let manifest = |name: &str| format!("[package]\nname = {name:?}\nedition = \"2024\"\n");
    let members = "\n[workspace]\nmembers = [\"demo\"]\n";
    fs::write(root.join("Cargo.toml"), manifest("root") + members).unwrap();
    fs::write(member.join("Cargo.toml"), manifest("demo")).unwrap();
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/lib.rs"), "\n").unwrap();
    fs::write(root.join("Cargo.lock"), "version = 4\n").unwrap();
    let source = include_str!("fixture.rs");
    fs::write(member.join("src/lib.rs"), source).unwrap();
    // Places of plain threads are relative to their package.
    let trace = fs::read_to_string(member.join(TRACE)).unwrap();
    let trace = trace.replace("sim-tests/tests/shell/fixture.rs:", "src/lib.rs:");
    let (trace, _) = trace.split_once("checksum ").unwrap();
    assert!(trace.contains(" src/lib.rs:"), "{trace}");
    let kept = "demo/sim-regressions/demo.in_a_package/kept.simtrace";
    fs::create_dir_all(root.join(kept).parent().unwrap()).unwrap();
    fs::write(root.join(kept), trace).unwrap();
    let stale = || command(root, &["drop", "--stale", "--dry-run"]);
    let note = "note: 1 kept trace without a report: only lines that are gone make such a trace stale. --replay \
                runs its test\nnothing is stale\n";
    assert_eq!(stale(), (0, String::new(), note.to_owned()));
    fs::write(member.join("src/lib.rs"), "\n").unwrap();
    let (_, output, errors) = stale();
    let expected = format!("would drop {kept}: src/lib.rs has no line ");
    assert!(output.starts_with(&expected), "{output}{errors}");
}

#[cfg_attr(feature = "sim", test)]
fn drop_removes_failures_that_the_sources_have_left_behind() {
    let (package, _) = package("drop");
    let (code, output, errors) = command(&package, &["drop", "--stale"]);
    assert_eq!((code, &output[..], &errors[..]), (0, "", "nothing is stale\n"));
    let report = fs::read_to_string(package.join(REPORT)).unwrap();
    let changed = report.replace("hits.store(seen + 1,", "hits.store(seen + 7,");
    assert_ne!(changed, report);
    fs::write(package.join(REPORT), changed).unwrap();
    let output = succeeds(&package, &["drop", "--stale", "--dry-run"]);
    assert!(
        output.starts_with(&format!("would drop {TRACE}: sim-tests/tests/shell/fixture.rs:")),
        "{output}"
    );
    assert!(output.contains("was changed"), "{output}");
    assert!(package.join(TRACE).exists());
    succeeds(&package, &["drop", "--stale"]);
    assert!(!package.join(TRACE).exists() && !package.join(REPORT).exists());
    run(&package, "").fails();
    let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
    fs::write(package.join("Cargo.toml"), manifest.replace("demo", "renamed")).unwrap();
    let output = succeeds(&package, &["drop", "--stale", "--dry-run"]);
    assert!(output.contains("there is no package demo any more"), "{output}");
    // The first argument also removes the second file.
    succeeds(&package, &["drop", TRACE, REPORT]);
    assert_eq!(names_of_reports(&package.join("target/sim")), [""; 0]);
    assert_eq!(files(&package.join("target/sim")), [""; 0]);
}

#[cfg_attr(feature = "sim", test)]
fn diff_names_the_first_step_that_differs() {
    let (package, _) = package("diff");
    let other = package.join("other");
    fs::create_dir_all(&other).unwrap();
    let copy = |name: &str| fs::copy(package.join(TRACE), other.join(name)).unwrap();
    copy("a.simtrace");
    fs::copy(package.join(REPORT), other.join("a.json")).unwrap();
    assert!(
        succeeds(&package, &["diff", TRACE, "other/a.json"]).contains("all steps are the same")
    );
    // A kept trace has no report.
    copy("kept.simtrace");
    for known in [TRACE, REPORT] {
        let output = succeeds(&package, &["diff", "other/kept.simtrace", known]);
        assert!(output.contains("all steps are the same"), "{output}");
    }
    run(&package, "other operation").fails();
    let file = names_of_reports(&package.join("target/sim"));
    let file = format!("target/sim/{}", file[0]);
    let (code, output, errors) = command(&package, &["diff", "other/a.json", &file]);
    assert_eq!((code, &errors[..]), (1, ""), "{output}");
    for part in ["steps are the same", "store atomic#0 := 1", "swap atomic#0 0 → 1"] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let (code, output, _) = command(&package, &["diff", "other/a.json", &file, "--json"]);
    let json: Value = serde_json::from_str(&output).unwrap();
    assert_eq!((code, &json["equal"]), (1, &Value::Bool(false)));
    let next = |nth: usize| json["runs"][nth]["next"]["operations"][0].as_str().unwrap().to_owned();
    assert!(next(0).starts_with("store") && next(1).starts_with("swap"), "{json}");
}
