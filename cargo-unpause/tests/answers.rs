//! The JSON of `ls`, `keep`, `drop`, `replay` and `init`, and the commands that traces name. Nothing is built: the
//! tests write the traces, and a script takes the place of cargo.

#![forbid(unsafe_code)]
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use cargo_unpause::document::{
    Dropped, Initialized, Kept, Listed, Part, Replayed, Word, answers_schema,
};
use jsonschema::{Validator, draft202012};
use serde_json::Value as Json;

/// A validator of the schema that shares no code with this project.
static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| draft202012::new(&answers_schema()).unwrap());

const TRACE: &str = "target/sim/demo/demo.tests.loses/7.simtrace";

/// A new package with the trace of a failure. `lines` are further lines of its header.
fn package(name: &str, lines: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers").join(name);
    let _ = fs::remove_dir_all(&folder);
    let trace = folder.join(TRACE);
    fs::create_dir_all(trace.parent().unwrap()).unwrap();
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    let manifest =
        "[workspace]\n[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let text = format!(
        "simtrace 2\ntest \"demo::tests::loses (lib)\"\npackage \"demo 0.1.0\"\nseed 7\n{lines}\
         verdict \"panic in main: lost\"\ntask 0\nstep 0 0\nend 1\n"
    );
    fs::write(trace, text).unwrap();
    folder
}

/// Calls the command in a folder. Returns its exit code, its output and its errors. `script` is run in place of cargo, if
/// it is not empty.
fn command(folder: &Path, arguments: &[&str], script: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-unpause"));
    command.args(arguments).current_dir(folder);
    for variable in ["CARGO_TARGET_DIR", "COLUMNS", "SIM_JSON"] {
        command.env_remove(variable);
    }
    if !script.is_empty() {
        let cargo = folder.join("cargo");
        fs::write(&cargo, format!("#!/bin/sh\n{script}\n")).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&cargo).status().unwrap().success());
        command.env("CARGO", cargo);
    }
    let ended = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ended.status.code(), text(&ended.stdout), text(&ended.stderr))
}

/// The answer of a command, which satisfies the schema and can be read without loss.
#[track_caller]
fn answer<T: Part>(code: i32, (found, output, errors): (Option<i32>, String, String)) -> T {
    assert_eq!(found, Some(code), "{errors}");
    assert_eq!(output.lines().count(), 1, "{output}");
    let value: Json = serde_json::from_str(&output).unwrap();
    let problems: Vec<String> =
        VALIDATOR.iter_errors(&value).map(|error| error.to_string()).collect();
    assert_eq!(problems, [""; 0], "{output}");
    let read = T::read(Some(&value)).unwrap_or_else(|wrong| panic!("{wrong:?}: {output}"));
    assert_eq!(read.write(), Some(value));
    read
}

#[test]
fn the_schema_of_the_manual_is_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/answers.schema.json");
    let schema = answers_schema();
    assert!(draft202012::meta::is_valid(&schema));
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "UPDATE_EXPECT=1 changes {path:?}");
}

#[test]
fn ls_answers_in_json() {
    let folder = package("ls", "");
    fs::write(folder.join("target/sim/demo/demo.tests.loses/8.simtrace"), "simtrace").unwrap();
    let listed: Listed = answer(0, command(&folder, &["ls", "--json"], ""));
    let [one, other] = &listed.failures[..] else { panic!("{listed:?}") };
    let (read, unread) = if one.path == TRACE { (one, other) } else { (other, one) };
    assert_eq!((read.seed, read.kind.as_deref()), (Some(Word(7)), Some("panic")));
    assert_eq!((read.test.as_deref(), read.report), (Some("demo::tests::loses"), Some(false)));
    assert_eq!((read.kept, &read.error), (false, &None));
    assert!(unread.path.ends_with("8.simtrace") && unread.error.is_some(), "{unread:?}");
    assert_eq!((&unread.test, unread.steps), (&None, None));
}

#[test]
fn keep_and_drop_answer_in_json() {
    let folder = package("keep", "");
    let kept: Kept = answer(0, command(&folder, &["keep", TRACE, "--json"], ""));
    assert_eq!(kept.path, "sim-regressions/demo.tests.loses/panic-7.simtrace");
    assert_eq!((kept.is_new, kept.seed, &kept.kind[..]), (true, Some(Word(7)), "panic"));
    assert_eq!((&kept.test[..], &kept.package[..]), ("demo::tests::loses", "demo"));
    assert_eq!(kept.failure, "panic in main: lost");
    let again: Kept = answer(0, command(&folder, &["keep", "--last", "--json"], ""));
    assert_eq!((again.is_new, &again.path), (false, &kept.path));
    // A copy from another machine.
    fs::copy(folder.join(TRACE), folder.join("7.simtrace")).unwrap();
    let copy: Kept = answer(0, command(&folder, &["keep", "7.simtrace", "--json"], ""));
    assert_eq!((copy.is_new, &copy.path), (false, &kept.path));
    let (code, output, errors) = command(&folder, &["keep", "gone.simtrace", "--json"], "");
    assert_eq!((code, &output[..]), (Some(2), ""));
    assert!(errors.contains("there is no file gone.simtrace"), "{errors}");

    fs::write(folder.join(TRACE).with_extension("json"), "{}").unwrap();
    let report = TRACE.replace("simtrace", "json");
    let dry = ["drop", TRACE, "--dry-run", "--json"];
    let dropped: Dropped = answer(0, command(&folder, &dry, ""));
    assert!(!dropped.is_removed && folder.join(TRACE).exists());
    assert_eq!(dropped.failures[0].files, [TRACE.to_owned(), report]);
    let dropped: Dropped = answer(0, command(&folder, &["drop", TRACE, "--json"], ""));
    assert!(dropped.is_removed && !folder.join(TRACE).exists());
    assert_eq!((&dropped.failures[0].path[..], &dropped.failures[0].why), (TRACE, &None));
    // If no failure is stale, the answer is an empty list. After that, the package gets another name.
    let stale = ["drop", "--stale", "--json"];
    let dropped: Dropped = answer(0, command(&folder, &stale, ""));
    assert_eq!(dropped.failures, []);
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest.replace("demo", "other")).unwrap();
    let dropped: Dropped = answer(0, command(&folder, &stale, ""));
    assert_eq!(dropped.failures[0].why.as_deref(), Some("there is no package demo any more"));
}

#[test]
fn init_answers_in_json_with_the_added_lines() {
    let folder = package("init", "");
    let manifest = folder.join("Cargo.toml");
    let before = fs::read_to_string(&manifest).unwrap();
    let shown: Initialized = answer(0, command(&folder, &["init", "--json"], ""));
    assert!(!shown.is_written);
    assert_eq!(fs::read_to_string(&manifest).unwrap(), before);
    let written: Initialized = answer(0, command(&folder, &["init", "--yes", "--json"], ""));
    assert_eq!((written.is_written, &written.changes), (true, &shown.changes));
    let after = fs::read_to_string(&manifest).unwrap();
    let added = &written.changes[0].added;
    assert!(added.iter().any(|line| line.text.starts_with("unpause = ")), "{added:?}");
    for line in added {
        let at = usize::try_from(line.line).unwrap() - 1;
        assert_eq!(after.lines().nth(at), Some(&line.text[..]));
    }
    let again: Initialized = answer(0, command(&folder, &["init", "--yes", "--json"], ""));
    assert!(!again.is_written && again.changes.is_empty());
}

#[test]
fn a_trace_alone_names_the_command_that_replays_it() {
    for (name, line, expected) in [
        ("usual", "", "test -p demo --lib tests::loses -- --exact"),
        (
            "features",
            "cargo test --release -p demo --no-default-features --features a,b --lib tests::loses -- --exact\n",
            "test --release -p demo --no-default-features --features a,b --lib tests::loses -- --exact",
        ),
        (
            "any",
            "cargo unpause test --any --races -p demo --test 're[-_]named' loses -- --exact --include-ignored\n",
            "unpause test --any --races -p demo --test 're[-_]named' loses -- --exact --include-ignored",
        ),
        (
            "spaces",
            "cargo run -p demo --example queue -- \"7 8\"\n",
            "run -p demo --example queue -- '7 8'",
        ),
    ] {
        // A text of a trace has double quotes.
        let folder = package(name, &line.replace('\'', "\""));
        let (code, output, errors) = command(&folder, &["replay", TRACE, "--dry-run"], "");
        let trace = folder.join(TRACE).display().to_string();
        let running = format!("running: SIM_REPLAY={trace} cargo {expected}\n");
        assert_eq!((code, &output[..], errors), (Some(0), "", running));
        let dry = ["replay", TRACE, "--dry-run", "--json"];
        let dry: Replayed = answer(0, command(&folder, &dry, ""));
        assert_eq!(dry.command, format!("SIM_REPLAY={trace} cargo {expected}"));
        assert_eq!((dry.is_run, dry.same_failure, dry.exit_code), (false, None, None));
    }
    // A trace from another machine must not run any other command.
    for (name, line, said) in [
        ("none", "cargo none\n", "names no test that cargo runs"),
        ("install", "cargo install evil\n", "it runs neither a test nor an example"),
        ("config", "cargo test --config a=b\n", "--config is no argument of such a command"),
        (
            "escape",
            "cargo test \"a\\u{1b}[2J\"\n",
            "it has a control character: cargo test a\u{fffd}[2J",
        ),
    ] {
        let folder = package(name, line);
        let (code, _, errors) = command(&folder, &["replay", TRACE], "echo started");
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(said), "{said}: {errors}");
    }
}

#[test]
fn replay_answers_in_json_with_the_tests_that_it_has_run() {
    let folder = package("replay", "");
    let arguments = ["replay", TRACE, "--json"];
    let report = |failure: &str| {
        format!(
            "mkdir -p \"$SIM_JSON\"; cat > \"$SIM_JSON/demo.t.json\" <<'END'\n{}\nEND\n",
            report_with(failure)
        )
    };
    let seen = "echo arguments: \"$@\" replay: \"$SIM_REPLAY\" >&2\n";
    let same = format!("{seen}{}exit 101", report("panic in main: lost"));
    let (code, output, errors) = command(&folder, &arguments, &same);
    let trace = folder.join(TRACE);
    let expected = format!(
        "arguments: test -p demo --lib tests::loses -- --exact replay: {}\n",
        trace.display()
    );
    assert!(errors.ends_with(&expected), "{errors}");
    let failed: Replayed = answer(1, (code, output, errors));
    assert_eq!((failed.is_run, failed.exit_code), (true, Some(101)));
    assert_eq!(failed.same_failure, Some(true));
    let test = &failed.tests[0];
    assert_eq!((test.passed, test.kind.as_deref()), (false, Some("panic")));
    assert_eq!((&test.screen[..], test.diverged), ("the screen\n", false));

    let other = format!("{}exit 101", report("panic in main: something else"));
    let failed: Replayed = answer(1, command(&folder, &arguments, &other));
    assert_eq!(failed.same_failure, Some(false));
    let passed: Replayed = answer(0, command(&folder, &arguments, &report("")));
    assert_eq!((passed.same_failure, passed.tests[0].passed), (Some(false), true));
    let not_built: Replayed = answer(1, command(&folder, &arguments, "exit 101"));
    assert_eq!((not_built.tests.len(), not_built.exit_code), (0, Some(101)));
    let (code, output, errors) = command(&folder, &arguments, "true");
    assert_eq!((code, &output[..]), (Some(2), ""));
    assert!(errors.contains("no test has written a report"), "{errors}");
    let seed = ["replay", "17@tests::loses", "--json"];
    let seed: Replayed = answer(0, command(&folder, &seed, &report("")));
    assert_eq!(seed.same_failure, None);
}

/// A report with this failure; an empty text means that the test passed.
fn report_with(failure: &str) -> Json {
    let size = serde_json::json!({"tasks": 1, "steps": 0, "switches": 0, "preemptions": 0, "draws": 0, "commands": 0});
    let run = serde_json::json!({
        "seed": "7", "strategy": "random", "passed": false, "tasks": [], "objects": [], "step_count": 0,
        "omitted_steps": null, "steps": [], "draws": [], "events": [], "calls": [],
        "threads": {"spawns": [], "holds": [], "own": [], "panicked_from": null}, "histories": [], "programs": [],
        "leaked": [], "stuck": [], "circle": [], "spins": [], "foreign": false, "time_moves": [], "output": "",
        "panics": [], "conditions": [], "faults": [],
    });
    let signature = serde_json::json!({"kind": "panic", "place": "src/lib.rs:9:9"});
    let of_panic = serde_json::json!({"task": 0, "message": "lost", "place": null});
    let origin = serde_json::json!({"kind": "file", "seed": null, "file": "7.simtrace"});
    let finding = serde_json::json!({
        "failure": {"kind": "panic", "text": failure, "signature": signature, "panic": of_panic}, "from": origin,
        "size": size, "original_size": size, "shrunk": null, "proof": null, "strengthening": null, "with_sc": null,
        "why": null, "called_from": null, "needs_runtime": null, "trace_file": null, "trace_error": null,
        "source_file": null, "history_file": null, "replay": null, "record": null, "run": run,
    });
    let passed = failure.is_empty();
    serde_json::json!({
        "format": if passed { "unpause pass" } else { "unpause failure" }, "version": 1, "by": "0.1.0",
        "test": "demo::tests::loses", "package": "demo", "runs": 1, "rehearsals": 0, "seeds": null, "steps": 30,
        "settings": [], "real_threads": false, "replayed": origin, "warnings": [], "notes": [], "searched": null,
        "coverage": null, "closure": null, "statistics": null, "faults": [],
        "finding": if passed { Json::Null } else { finding },
        "screen": {"width": 100, "lines": [[["strong", "the screen"]]]}, "places": [],
    })
}
