//! The process of `cargo unpause`: its streams, variables and arguments.

#![forbid(unsafe_code)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

fn cargo_unpause(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-unpause"));
    for variable in ["COLUMNS", "NO_COLOR", "CARGO_TERM_COLOR", "TERM"] {
        command.env_remove(variable);
    }
    command.args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    command
}

fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("process").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

const STALE: &str = "examples/histories/stale.edn";

/// A file of results of one seed, which passed.
fn results(folder: &Path) -> String {
    let text = "{\"sim\":4,\"package\":\"p 1\",\"target\":\"lib\",\"test\":\"p::t\",\"must_fail\":false,\"first\":0,\
        \"count\":1,\"shard\":1,\"of\":1,\"settings\":{\"strategy\":\"random\"},\"build\":\"sim\",\
        \"binary\":\"0123456789abcdef\"}\n{\"from\":0,\"done\":1,\"steps\":1}\n";
    let path = folder.join("1-of-1.jsonl");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_an_error() {
    let results = results(&folder("full"));
    for arguments in [
        &["check", STALE][..],
        &["check", STALE, "examples/histories/fresh.edn"],
        &["merge", &results],
        &["merge", "--json", &results],
        &["--help"],
        &["--version"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (code, _, said) = output(cargo_unpause(arguments).stdout(full).stderr(Stdio::piped()));
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains("error: the results could not be written: No space left"), "{said}");
        let (code, shown, _) = output(&mut cargo_unpause(arguments));
        assert!(code == Some(0) || code == Some(1), "{arguments:?}");
        assert!(!shown.is_empty());
    }
}

#[test]
fn a_kept_trace_that_failed_twice_counts_once() {
    let path = results(&folder("kept"));
    let failed = |name: &str| {
        format!(
            "{{\"failed\":null,\"file\":\"{name}.simtrace\",\"kind\":\"panic\",\"place\":\"a.rs:1\",\
             \"what\":\"lost\"}}\n"
        )
    };
    let text = std::fs::read_to_string(&path).unwrap() + &["b", "a", "b"].map(failed).concat();
    std::fs::write(&path, text).unwrap();
    let (code, said, errors) = output(&mut cargo_unpause(&["merge", &path]));
    assert_eq!(code, Some(1), "{errors}");
    assert!(said.contains("a.simtrace, and 1 other: lost"), "{said}");
}

#[test]
fn nobody_reading_on_is_no_error() {
    let mut child = cargo_unpause(&["check", STALE]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn any_width_will_do() {
    let (_, usual, _) = output(&mut cargo_unpause(&["check", STALE]));
    for (columns, widest) in [
        ("0", 100),
        ("40", 40),
        ("1000", 1000),
        ("1000000000", 1000),
        ("18446744073709551615", 1000),
        ("99999999999999999999999", 100),
        ("wide", 100),
        ("-1", 100),
    ] {
        let (code, shown, _) = output(cargo_unpause(&["check", STALE]).env("COLUMNS", columns));
        assert_eq!(code, Some(1), "{columns}");
        let ruler = shown.lines().find(|line| line.starts_with("── history")).unwrap();
        let width = ruler.chars().count();
        assert!(width <= widest && width + 2 > widest, "{columns}: {width}");
        assert_eq!(shown == usual, widest == 100, "{columns}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_may_have_any_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = folder("names");
    for name in [&b"\xff\xfe.edn"[..], b"a\nb.edn", "é ü.edn".as_bytes()] {
        let path = folder.join(OsStr::from_bytes(name));
        std::fs::copy(root.join(STALE), &path).unwrap();
        let (code, shown, said) = output(cargo_unpause(&["check"]).arg(&path));
        assert_eq!(code, Some(1), "{shown}{said}");
    }
    let (code, shown, _) = output(cargo_unpause(&["check"]).arg(&folder));
    assert_eq!(code, Some(1));
    assert!(shown.contains("3 histories: 0 consistent, 3 violated"), "{shown}");
}

#[test]
fn help_and_version_are_said() {
    let general = output(&mut cargo_unpause(&["--help"]));
    for (arguments, like) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "check"], &["check", "--help"]),
        (&["sim", "help", "merge"], &["merge", "--help"]),
    ] {
        let said = output(&mut cargo_unpause(arguments));
        assert_eq!(said, output(&mut cargo_unpause(like)), "{arguments:?}");
        assert_eq!(said.0, Some(0));
        assert_eq!(said == general, arguments == ["help"]);
    }
    let (code, _, said) = output(&mut cargo_unpause(&["help", "chekc"]));
    assert!(code == Some(2) && said.contains("did you mean `check`?"), "{said}");
    for arguments in [&["--version"][..], &["-V"], &["sim", "--version"]] {
        let (code, shown, _) = output(&mut cargo_unpause(arguments));
        assert_eq!(
            (code, shown),
            (Some(0), format!("cargo-unpause {}\n", env!("CARGO_PKG_VERSION")))
        );
    }
}

#[test]
fn a_setting_that_cannot_be_used_is_told_before_anything_is_built() {
    for (name, value) in [
        ("SIM_TIME", "5 s"),
        ("SIM_SEEDS", "9..3"),
        ("SIM_STRATEGY", "exhaustve"),
        ("SIM_STEPS", "0"),
        ("SIM_ISOLATE", "thread"),
        ("SIM_REPLAY", ""),
        ("SIM_SHARD", "5/4"),
    ] {
        for arguments in [&["test", "--any"][..], &["test"], &["nextest", "run"]] {
            // Without a compiler, the command cannot build a program.
            let mut command = cargo_unpause(arguments);
            let (code, shown, said) = output(command.env(name, value).env("RUSTC", "/none"));
            assert_eq!((code, &*shown), (Some(2), ""), "{said}");
            let expected = format!("error: {name} is {value:?}, but should be ");
            assert!(said.starts_with(&expected) && said.lines().count() == 1, "{said}");
        }
    }
}

/// Cargo reports success even if no test runs.
#[cfg(unix)]
#[test]
fn a_replay_that_runs_no_test_has_not_passed() {
    let folder = folder("replay");
    let cargo = folder.join("cargo");
    std::fs::write(&cargo, "#!/bin/sh\neval \"$UNPAUSE_SCRIPT\"\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&cargo).status().unwrap().success());
    let report = folder.join("passed.json");
    let text = "{\"format\":\"unpause pass\",\"version\":1,\"by\":\"0.1.0\",\"test\":\"demo::t\",\"package\":\"demo\",\
        \"runs\":1,\"rehearsals\":0,\"seeds\":{\"first\":\"0\",\"last\":\"9\"},\"steps\":30,\"settings\":[],\
        \"real_threads\":false,\"replayed\":null,\"warnings\":[],\"notes\":[],\"searched\":null,\"coverage\":null,\
        \"closure\":null,\"statistics\":null,\"faults\":[],\"finding\":null,\"screen\":{\"width\":100,\
        \"lines\":[[[\"strong\",\"the screen\"]]]},\"places\":[]}";
    std::fs::write(&report, text).unwrap();
    let copies = "cp \"$UNPAUSE_REPORT\" \"$SIM_JSON/demo.t.json\"";
    for (script, expected) in [("true", 2), (copies, 0), ("exit 101", 1)] {
        let mut command = cargo_unpause(&["replay", "17@tests::t"]);
        command.env_remove("SIM_JSON").env("CARGO", &cargo);
        command.env("UNPAUSE_SCRIPT", script).env("UNPAUSE_REPORT", &report);
        let (code, _, said) = output(&mut command);
        assert_eq!(code, Some(expected), "{script}: {said}");
        assert_eq!(said.contains("no test has written a report"), expected == 2, "{said}");
    }
}

/// Like Ctrl-C, a kill ends only the command: the test has a process group of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_test_ends_with_the_command_that_started_it() {
    let folder = folder("ended");
    let (cargo, mark) = (folder.join("cargo"), folder.join("mark"));
    // The test of this Cargo does not end.
    std::fs::write(&cargo, "#!/bin/sh\necho $$ > \"$UNPAUSE_MARK\"\nexec sleep 60\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&cargo).status().unwrap().success());
    let mut command = cargo_unpause(&["play", "tests::transfers"]);
    command.env("CARGO", &cargo).env("UNPAUSE_MARK", &mark);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut started = command.spawn().unwrap();
    let waited = |what: &str, is_over: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !is_over() {
            assert!(began.elapsed() < Duration::from_secs(30), "{what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let number = || std::fs::read_to_string(&mark).unwrap_or_default();
    waited("the test does not start", &|| number().ends_with('\n'));
    let process = Path::new("/proc").join(number().trim());
    assert!(process.exists(), "the test has ended by itself");
    started.kill().unwrap();
    started.wait().unwrap();
    // If no parent waits for an ended process, the process remains as a zombie.
    let has_ended = || {
        let stat = std::fs::read_to_string(process.join("stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    waited("the test continues", &has_ended);
}
