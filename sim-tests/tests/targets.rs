//! Tests with the same path in a library, binaries, integration tests and an example of one package. Each test must
//! have its own results, and a printed command must replay only its own failure.
//!
//! Runs cargo on a small package in a temporary folder. Needs no network: versions come from the
//! lock file of this workspace. The target folder stays for the next time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MANIFEST: &str = r#"
[package]
name = "both"
version = "0.1.0"
edition = "2024"

[dependencies]
unpause = { path = LIBRARY, features = ["sim"] }

[[test]]
name = "re-named"
path = "tests/other.rs"

[[test]]
name = "no-harness"
harness = false

[[example]]
name = "ex"
test = true

[workspace]
"#;

/// Loses an update.
const SHARED: &str = r#"
use sim::{Atomic, Ordering::SeqCst, Runner};

pub async fn loses(what: &str) {
    let counter = std::sync::Arc::new(Atomic::new(0));
    sim::map_concurrently(0..2, |_| {
        let counter = counter.clone();
        async move {
            let seen = counter.load(SeqCst).await;
            counter.store(seen + 1, SeqCst).await;
        }
    })
    .await;
    let found = counter.load(SeqCst).await;
    assert_eq!(found, 2, "lost in {what}");
}

/// Ends as a test does: with the text of the report, if it failed.
#[allow(dead_code)]
pub fn check(runner: Runner, what: &str) {
    let report = runner.run(async || loses(what).await);
    print!("{}", sim::report::text(&report, &Default::default()));
    assert!(report.passed());
}
"#;

const LIB: &str = r#"
#[cfg(test)]
mod lossy;

#[cfg(test)]
mod tests {
    #[sim::test]
    async fn simple() {}

    #[sim::test]
    async fn r#type() {
        crate::lossy::loses("lib").await;
    }
}
"#;

/// A program that fails only with these two arguments. One argument contains a space.
const MAIN: &str = r#"
mod lossy;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    assert_eq!(words, ["lose it", "--now"]);
    lossy::check(sim::Runner::new(), "PLACE");
}

#[cfg(test)]
mod tests {
    #[sim::test]
    async fn simple() {
        crate::lossy::loses("PLACE").await;
    }
}
"#;

const TEST: &str = r#"
#[path = "../src/lossy.rs"]
mod lossy;

mod tests {
    #[sim::test]
    async fn simple() {
        crate::lossy::loses("PLACE").await;
    }

    #[test]
    fn runner() {
        crate::lossy::check(sim::Runner::new(), "a runner in PLACE");
    }
}
"#;

const NO_HARNESS: &str = r#"
#[path = "../src/lossy.rs"]
mod lossy;

fn main() {
    lossy::check(sim::Runner::new(), "no harness");
}
"#;

struct Package {
    folder: PathBuf,
}

impl Package {
    fn new() -> Package {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("targets");
        // The folder may not exist.
        let _ = fs::remove_dir_all(&folder);
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let main = |path: &str, place: &str| {
            let path = format!("#[path = {path:?}]\nmod lossy;");
            MAIN.replace("mod lossy;", &path).replace("PLACE", place)
        };
        for (file, text) in [
            ("Cargo.toml", MANIFEST.replace("LIBRARY", &format!("{library:?}"))),
            ("src/lossy.rs", SHARED.to_owned()),
            ("src/lib.rs", LIB.to_owned()),
            ("src/main.rs", main("lossy.rs", "main")),
            ("src/bin/my-tool.rs", main("../lossy.rs", "my-tool")),
            ("examples/ex.rs", main("../src/lossy.rs", "an example")),
            ("tests/both.rs", TEST.replace("PLACE", "a test")),
            ("tests/other.rs", TEST.replace("PLACE", "a renamed test")),
            ("tests/no-harness.rs", NO_HARNESS.to_owned()),
        ] {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fs::copy(library.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        Package { folder }
    }

    /// Runs a command line in a shell. Returns `true` if it succeeded, and its output and errors.
    fn shell(&self, line: &str) -> (bool, String) {
        let mut sh = Command::new("sh");
        sh.args(["-c", line]).current_dir(&self.folder).env("PWD", &self.folder);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let ours = ["CARGO_PKG_", "CARGO_MANIFEST_", "SIM_", "NEXTEST"];
            if ours.iter().any(|prefix| text.starts_with(prefix)) || text.ends_with("RUSTFLAGS") {
                sh.env_remove(&name);
            }
        }
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("downstream");
        sh.env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true");
        sh.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        let output = sh.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Asserts that a command fails for this reason. The command that it prints must fail in the same way.
    #[track_caller]
    fn replays(&self, line: &str, reason: &str, command: &str) {
        let (success, first) = self.shell(line);
        assert!(!success && first.contains(reason), "{line}: {first}");
        let after = |label: &str| {
            let found = first.lines().find_map(|line| line.strip_prefix(label));
            found.unwrap_or_else(|| panic!("no {label} {first}")).trim().to_owned()
        };
        let printed = after("replay:");
        let expected = printed.split_once(' ').map(|(_, command)| command);
        assert!(printed.starts_with("SIM_REPLAY=sim2:"), "{printed}");
        assert!(expected.is_some_and(|found| found.ends_with(command)), "{printed}");
        let (success, again) = self.shell(&printed);
        assert!(!success && again.contains(reason), "{printed}: {again}");
        assert!(again.contains("replay of a given trace"), "{printed}: {again}");
        let tests = again.matches("running ").count();
        assert_eq!(tests, again.matches("running 1 test\n").count(), "{printed}: {again}");
        assert_eq!(again.matches("FAILED  ").count(), 1, "{printed}: {again}");
    }

    /// The failing tests, with their targets.
    fn failures(&self, variables: &str) -> Vec<String> {
        let (success, text) = self.shell(&format!("{variables} cargo test --no-fail-fast"));
        assert!(!success, "{text}");
        let lines = text.lines();
        let mut lost: Vec<String> = lines
            .filter(|line| line.contains("lost in "))
            .map(|line| line.trim().to_owned())
            .collect();
        lost.sort();
        lost.dedup();
        lost
    }
}

#[test]
fn tests_of_one_path_in_several_targets_are_not_taken_for_each_other() {
    let package = Package::new();
    let replays = |line: &str, reason: &str, command: &str| package.replays(line, reason, command);
    replays(
        "cargo test --lib",
        "lost in lib",
        "cargo test -p both --lib 'tests::r#type' -- --exact",
    );
    replays(
        "cargo test --bin both",
        "lost in main",
        "cargo test -p both --bin both tests::simple -- --exact",
    );
    replays(
        "cargo test --bin my-tool",
        "lost in my-tool",
        "cargo test -p both --bin my-tool tests::simple -- --exact",
    );
    replays(
        "cargo test --test both simple",
        "lost in a test",
        "cargo test -p both --test both tests::simple -- --exact",
    );
    replays(
        "cargo test --test both runner",
        "lost in a runner in a test",
        "cargo test -p both --test both tests::runner -- --exact",
    );
    replays(
        "cargo test --test re-named simple",
        "lost in a renamed test",
        "cargo test -p both --test 're[-_]named' tests::simple -- --exact",
    );
    replays("cargo test --test no-harness", "lost in no harness", "--test no-harness");
    replays(
        "cargo test --example ex",
        "lost in an example",
        "cargo test -p both --example ex tests::simple -- --exact",
    );
    // Programs, with their arguments.
    replays(
        "cargo run --example ex -- 'lose it' --now",
        "lost in an example",
        "cargo run -p both --example ex -- 'lose it' --now",
    );
    replays(
        "cargo run --bin both -- 'lose it' --now",
        "lost in main",
        "debug/both 'lose it' --now",
    );

    // Each target has its own folder of traces.
    let plain = package.failures("SIM_OUT=traces");
    assert!(plain.len() > 6, "{plain:?}");
    for folder in [
        "both.tests.type",
        "bin-both.tests.simple",
        "test-both.tests.simple",
        "example-ex.tests.simple",
    ] {
        assert!(package.folder.join("traces").join(folder).is_dir(), "{folder}");
    }

    // With results, no test passes that fails without them, and all results can be merged.
    assert_eq!(package.failures("SIM_RESULTS=results"), plain);
    let mut terminal = cargo_unpause::Terminal::silent();
    let results = package.folder.join("results");
    let code = cargo_unpause::run(vec!["merge".into(), results.into()], &mut terminal);
    let said = terminal.output();
    assert_eq!(code, 1, "{said}");
    for subject in [
        "both::tests::simple  (both 0.1.0, lib, ",
        "both::tests::simple  (both 0.1.0, bin both, ",
        "both::tests::simple  (both 0.1.0, test both, ",
        "ex::tests::simple  (both 0.1.0, example ex, ",
    ] {
        assert_eq!(said.matches(subject).count(), 1, "{subject}: {said}");
    }
}
