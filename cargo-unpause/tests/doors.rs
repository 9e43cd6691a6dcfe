//! A failure of each door, from its files: async code, a cluster, tokio's names, plain threads and `--any`. Each failure
//! is shown, kept and replayed by the command. The replay has only the trace, in an empty environment.
//!
//! Builds packages and the runtime, so it is not run by itself: `cargo test -p cargo-unpause --test doors -- --ignored`.

#![forbid(unsafe_code)]
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_unpause::document::{Document, Kept, Part, Replayed};
use jsonschema::draft202012;
use serde_json::Value as Json;

/// The parts of a manifest that every package with its own workspace needs. The profile in these parts equals the
/// profile of the crates in `downstream.rs`.
const FEATURES: &str = "
[features]
default = [\"std\"]
std = []
extra = []

[workspace]
";

const ASYNC: &str = r#"
use std::sync::Arc;

use sim::net::link;
use sim::{Atomic, Ordering::SeqCst};

#[cfg(feature = "extra")]
mod extra {
    use super::*;

    #[sim::test(seeds = 200)]
    async fn an_update_is_lost() {
        let counter = Arc::new(Atomic::new(0));
        let tasks = [0, 1].map(|_| {
            let counter = counter.clone();
            sim::spawn(async move {
                let seen = counter.load(SeqCst).await;
                counter.store(seen + 1, SeqCst).await;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(counter.load(SeqCst).await, 2, "an update is lost");
    }
}

#[sim::test(seeds = 500)]
async fn a_message_comes_too_late() {
    let (client, server) = (sim::node("client"), sim::node("server"));
    let (ask, mut asked) = link(&client, &server);
    let calling = client.spawn(async move { ask.send(7).await.is_ok() });
    let serving = server.spawn(async move { asked.recv().await });
    sim::spawn(async move { client.kill() }).detach();
    let sent = calling.await.unwrap_or(false);
    assert!(sent && serving.await.unwrap() == Some(7), "a message is lost");
}
"#;

const TOKIO: &str = r#"
use std::sync::Arc;

#[tokio::test]
async fn a_permit_is_taken_twice() {
    use tokio::sync::Mutex;
    let counter = Arc::new(Mutex::new(0));
    let tasks = [0, 1].map(|_| {
        let counter = counter.clone();
        tokio::spawn(async move {
            let seen = *counter.lock().await;
            *counter.lock().await = seen + 1;
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*counter.lock().await, 2, "a permit is lost");
}
"#;

const THREADS: &str = r#"
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

ATTRIBUTE
fn a_thread_overwrites_the_other() {
    let counter = Arc::new(AtomicU32::new(0));
    let threads = [0, 1].map(|_| {
        let counter = counter.clone();
        thread::spawn(move || {
            let seen = counter.load(SeqCst);
            counter.store(seen + 1, SeqCst);
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(counter.load(SeqCst), 2, "a thread lost its update");
}
"#;

/// The folder for the files of failures.
const OUT: &str = "out";

/// The target folder for the dependencies of these packages. Another test that needs the same dependencies uses the
/// same folder.
#[derive(Clone, Copy)]
enum Target {
    /// The folder of `downstream.rs` and other tests of packages that depend on unpause.
    Downstream,
    /// The folder of `native-tests`.
    NativeTests,
    /// The folder of the package. The package has no dependencies.
    Own,
}

impl Target {
    fn variables(self) -> Vec<(&'static str, PathBuf)> {
        match self {
            Target::Downstream => {
                let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("downstream");
                let same = [("CARGO_INCREMENTAL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")];
                let same = same.map(|(name, value)| (name, value.into()));
                same.into_iter().chain([("CARGO_TARGET_DIR", folder)]).collect()
            }
            Target::NativeTests => {
                let usual = || root().join("native-tests/target");
                let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(usual, PathBuf::from);
                vec![("CARGO_TARGET_DIR", folder)]
            }
            Target::Own => Vec::new(),
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A package whose tests fail.
struct Package {
    folder: PathBuf,
    target: Target,
}

impl Package {
    /// Writes a package of this test.
    fn new(name: &str, dependencies: &str, test: &str, target: Target) -> Package {
        let dependencies = dependencies.replace("ROOT", &root().display().to_string());
        let manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n{dependencies}{FEATURES}"
        );
        Package::of_files(name, &manifest, &root().join("Cargo.lock"), test, target)
    }

    /// Writes a package with the dependencies, features and profile of `native-tests`. The package has the feature
    /// `tokio`.
    fn like_native_tests(name: &str, test: &str) -> Package {
        let folder = root().join("native-tests");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let own_tests = manifest.find("[[test]]").unwrap();
        let after = manifest.find("[lints.rust]").unwrap();
        let manifest = format!("{}{}", &manifest[..own_tests], &manifest[after..])
            .replace("\"native-tests\"", &format!("{name:?}"))
            .replace("path = \"..", &format!("path = \"{}", root().display()));
        let lock = folder.join("Cargo.lock");
        Package::of_files(name, &manifest, &lock, test, Target::NativeTests)
    }

    /// Writes the files of a package. The target folder of the previous execution stays, except for the failures in it.
    fn of_files(name: &str, manifest: &str, lock: &Path, test: &str, target: Target) -> Package {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doors").join(name);
        for old in ["tests", "sim-regressions", "reports", OUT] {
            let _ = fs::remove_dir_all(folder.join(old));
        }
        for (file, text) in [("Cargo.toml", manifest), ("src/lib.rs", ""), ("tests/all.rs", test)] {
            fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
            fs::write(folder.join(file), text).unwrap();
        }
        // Versions come from a lock file of the project, so nothing is downloaded.
        fs::copy(lock, folder.join("Cargo.lock")).unwrap();
        Package { folder, target }
    }

    /// Runs a program in the folder. The program gets only these variables, and the variables that name the locations
    /// of tools and of built parts.
    fn run(
        &self,
        program: impl Into<OsString>,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> (i32, String, String) {
        let mut command = Command::new(program.into());
        command.args(arguments).current_dir(&self.folder).env_clear();
        let kept = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "TMPDIR"];
        let kept = kept.into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        // These variables must stay, because parts that were built with them would otherwise be built again.
        let of_profile = |(name, _): &(OsString, OsString)| {
            name.to_str().is_some_and(|name| {
                name.starts_with("CARGO_PROFILE_DEV_") || name == "CARGO_INCREMENTAL"
            })
        };
        let profile = std::env::vars_os().filter(of_profile);
        command.envs(kept.chain(profile)).env("CARGO_NET_OFFLINE", "true");
        command.envs(self.target.variables());
        // The engine of `--any` takes longer to optimize than these runs take.
        command.env("UNPAUSE_PROFILE_OPT_LEVEL", "0").env("UNPAUSE_PROFILE_CODEGEN_UNITS", "1");
        command.env("UNPAUSE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        let ended = command.envs(variables.iter().copied()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ended.status.code().unwrap_or(-1), text(&ended.stdout), text(&ended.stderr))
    }

    fn command(&self, arguments: &[&str]) -> (i32, String, String) {
        self.run(env!("CARGO_BIN_EXE_cargo-unpause"), arguments, &[])
    }

    /// The only file with this extension below a folder, relative to the package.
    #[track_caller]
    fn only(&self, folder: &str, ending: &str) -> String {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.path().is_dir() {
                    true => walk(&entry.path(), found),
                    false => found.push(entry.path()),
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.folder.join(folder), &mut found);
        found.retain(|path| path.extension().is_some_and(|own| own == ending));
        assert_eq!(found.len(), 1, "{folder}: {found:?}");
        found[0].strip_prefix(&self.folder).unwrap().display().to_string()
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }
}

/// Returns `true` if the text is on the screen, where long lines are wrapped.
fn has(screen: &str, text: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<String>();
    words(screen).contains(&words(text))
}

/// Runs a failing test, and then each command on the files of its failure. `said` is a part of the failure.
fn check(package: &Package, program: &str, arguments: &[&str], said: &str) {
    let program = match program {
        "cargo" => OsString::from("cargo"),
        _ => env!("CARGO_BIN_EXE_cargo-unpause").into(),
    };
    // A requested folder of reports does not replace the report beside the trace.
    let variables = [("SIM_JSON", "reports"), ("SIM_OUT", OUT)];
    let (exit, output, errors) = package.run(program, arguments, &variables);
    let printed = output + &errors;
    assert!(exit != 0 && has(&printed, said), "{arguments:?}: {printed}");
    let trace = package.only(OUT, "simtrace");
    let file = package.only(OUT, "json");
    assert_eq!(file, trace.replace(".simtrace", ".json"));
    let text = package.read(&file);
    assert_eq!(text, package.read(&package.only("reports", "json")));

    // The report is read without loss, and it has the printed screen.
    let value: Json = serde_json::from_str(&text).unwrap();
    let problems = draft202012::new(&Document::schema()).unwrap();
    let problems: Vec<String> = problems.iter_errors(&value).map(|e| e.to_string()).collect();
    assert_eq!(problems, [""; 0]);
    let document = Document::read(&text).unwrap();
    assert_eq!(document.value(), value);
    let screen = document.screen.text(false);
    assert!(has(&screen, said) && printed.contains(&screen), "{screen}\nis not in {printed}");
    for shown in [&trace, &file] {
        assert_eq!(package.command(&["show", shown]), (0, screen.clone(), String::new()));
    }

    // From here on there is only the trace.
    fs::remove_file(package.folder.join(&file)).unwrap();
    let (exit, steps, errors) = package.command(&["show", &trace]);
    assert!(exit == 0 && has(&steps, said) && errors.contains("so only the steps"), "{errors}");
    let (exit, output, errors) = package.command(&["keep", &trace, "--json"]);
    assert_eq!(exit, 0, "{errors}");
    let kept: Json = serde_json::from_str(&output).unwrap();
    let kept = Kept::read(Some(&kept)).unwrap();
    assert!(kept.is_new && kept.failure.contains(said), "{output}");
    fs::remove_file(package.folder.join(&trace)).unwrap();
    let (exit, output, errors) = package.command(&["replay", &kept.path]);
    let again = output + &errors;
    assert!(exit == 1 && has(&again, said), "{again}");
    assert!(has(&again, "replay of") && has(&again, &kept.path), "{again}");
    let (exit, output, errors) = package.command(&["replay", &kept.path, "--json"]);
    assert_eq!(exit, 1, "{errors}");
    let replayed: Json = serde_json::from_str(&output).unwrap();
    let replayed = Replayed::read(Some(&replayed)).unwrap();
    assert_eq!((replayed.same_failure, replayed.tests.len()), (Some(true), 1), "{output}");
    // The next door of the package must have its own files.
    for folder in [OUT, "reports", "sim-regressions"] {
        let _ = fs::remove_dir_all(package.folder.join(folder));
    }
}

#[test]
#[ignore = "builds packages: run by .ci/run"]
fn a_failure_of_async_code_or_a_cluster_is_shown_kept_and_replayed() {
    let dependency = "\n[dependencies]\nunpause = { path = \"ROOT\", features = [\"sim\"] }\n";
    let package = Package::new("doors", dependency, ASYNC, Target::Downstream);
    let test = ["test", "--test", "all"];
    let extra = [&test[..], &["--features", "extra", "extra::an_update_is_lost"]].concat();
    check(&package, "cargo", &extra, "an update is lost");
    let without = ["test", "--test", "all", "--no-default-features", "a_message_comes_too_late"];
    check(&package, "cargo", &without, "a message is lost");
}

/// With tokio's names, the library has more features than in other tests. So it is compiled once more.
#[test]
#[ignore = "builds the library: run by .ci/run --long"]
fn a_failure_of_tokio_is_shown_kept_and_replayed() {
    let package = Package::new(
        "doors-tokio",
        "\n[dependencies]\n\
         tokio = { package = \"unpause-tokio\", path = \"ROOT/unpause-tokio\", features = [\"macros\", \"rt\", \"sync\"] }\n",
        TOKIO,
        Target::Downstream,
    );
    check(&package, "cargo", &["test", "--test", "all", "a_permit"], "a permit is lost");
}

#[test]
#[ignore = "builds packages: run by .ci/run"]
fn a_failure_of_plain_threads_is_shown_kept_and_replayed() {
    let test = THREADS.replace("ATTRIBUTE", "#[cfg(feature = \"tokio\")]\n#[sim::test(native)]");
    let package = Package::like_native_tests("threads", &test);
    let arguments = ["unpause", "test", "--features", "tokio", "a_thread_overwrites"];
    check(&package, "unpause", &arguments, "a thread lost its update");
}

#[test]
#[ignore = "builds packages and the runtime: run by .ci/run"]
fn a_failure_of_any_crate_is_shown_kept_and_replayed() {
    let test = THREADS.replace("ATTRIBUTE", "#[cfg(feature = \"extra\")]\n#[test]");
    let package = Package::new("existing", "", &test, Target::Own);
    let arguments = ["unpause", "test", "--any", "--features", "extra", "a_thread_overwrites"];
    check(&package, "unpause", &arguments, "a thread lost its update");
}

/// A test whose trace is kept. `UPDATE` reads and writes the counter.
const KEPT: &str = r#"
use std::sync::Arc;

use sim::{Atomic, Ordering::SeqCst};

#[sim::test(seeds = 200)]
async fn NAME() {
    let counter = Arc::new(Atomic::new(0));
    let tasks = [0, 1].map(|_| {
        let counter = counter.clone();
        sim::spawn(async move {
            UPDATE
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(counter.load(SeqCst).await, 2, "an update is lost");
}
"#;

#[test]
#[ignore = "builds packages: run by .ci/run"]
fn a_kept_trace_that_no_longer_replays_is_stale() {
    let dependency = "\n[dependencies]\nunpause = { path = \"ROOT\", features = [\"sim\"] }\n";
    let test = |name: &str, update: &str| KEPT.replace("NAME", name).replace("UPDATE", update);
    let lost = "let seen = counter.load(SeqCst).await; counter.store(seen + 1, SeqCst).await;";
    let swapped = "let seen = counter.load(SeqCst).await; counter.swap(seen + 1, SeqCst).await;";
    let mended = "counter.fetch_add(1, SeqCst).await;";
    let package = Package::new("kept", dependency, &test("adds", lost), Target::Downstream);
    let (exit, output, errors) =
        package.run("cargo", &["test", "--test", "all"], &[("SIM_OUT", OUT)]);
    assert_eq!(exit, 101, "{output}{errors}");
    let trace = package.only(OUT, "simtrace");
    assert_eq!(package.command(&["keep", &trace]).0, 0);
    fs::remove_dir_all(package.folder.join(OUT)).unwrap();
    let kept = package.only("sim-regressions", "simtrace");
    let judged = |more: &[&str]| {
        let (exit, output, errors) =
            package.command(&[&["drop", "--stale", "--dry-run"], more].concat());
        assert_eq!(exit, 0, "{errors}");
        (output, errors)
    };
    let replayed = |text: &str| {
        fs::write(package.folder.join("tests/all.rs"), text).unwrap();
        judged(&["--replay"])
    };
    // Without a replay, a line that is there says nothing. A note says so.
    let (output, errors) = judged(&[]);
    assert!(output.is_empty() && errors.contains("1 kept trace without a report"), "{errors}");
    // The trace replays, with the failure.
    let (output, errors) = replayed(&test("adds", lost));
    assert!(output.is_empty() && errors.contains("nothing is stale"), "{errors}");
    // The run differs from the trace, but follows it to the failure.
    let (output, errors) = replayed(&test("adds", swapped));
    assert!(output.is_empty() && errors.contains("its replay differs from step"), "{errors}");
    assert!(errors.contains(&format!("fails with the kept trace {kept}")), "{errors}");
    // The run differs from the trace, and nothing fails.
    let (output, errors) = replayed(&test("adds", mended));
    let expected = format!("would drop {kept}: its replay differs from step ");
    assert!(output.starts_with(&expected), "{output}{errors}");
    // A program that cannot be built says nothing about its traces.
    let (output, errors) = replayed(&test("adds", "mended"));
    assert!(output.is_empty() && errors.contains("its test did not run: error"), "{errors}");
    let (output, errors) = replayed(&test("adds_up", lost));
    assert_eq!(output, format!("would drop {kept}: there is no test adds any more\n"), "{errors}");
    // An ignored test is not run, and not gone.
    let ignored = test("adds", lost).replace("#[sim::test", "#[ignore]\n#[sim::test");
    let (output, errors) = replayed(&ignored);
    assert!(output.is_empty() && errors.contains("its test adds was not run"), "{errors}");
    // The target is gone.
    fs::rename(package.folder.join("tests/all.rs"), package.folder.join("tests/other.rs")).unwrap();
    let (output, errors) = judged(&[]);
    let expected = format!("would drop {kept}: kept has no target --test all any more\n");
    assert_eq!(output, expected, "{errors}");
}
