//! The manifests that the README gives to a crate that uses the library, each tried by running
//! cargo on small crates in a temporary folder.
//!
//! Four manifests, and a program of another test, need builds of the library that no other test shares. They are tested
//! only with `UNPAUSE_LONG`.
//!
//! The tests need no network: versions come from the lock file of this workspace. All crates with the same build flags
//! share one target folder, which is kept for the next execution.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A library: real for its dependents, simulated in its own tests.
const QUEUE: &str = r#"
[package]
name = "queue"
version = "0.1.0"
edition = "2024"

[features]
# For crates that test their own code together with ours.
sim = ["unpause/sim"]

[dependencies]
unpause = { version = "0.1", default-features = false }

[dev-dependencies]
unpause = { version = "0.1", features = ["sim"] }

[lints.rust]
unexpected_cfgs = { level = "warn", check-cfg = ["cfg(sim_real)"] }
"#;

/// A program that uses the library: its tests simulate both.
const APP: &str = r#"
[package]
name = "app"
version = "0.1.0"
edition = "2024"

[dependencies]
queue = { path = "../queue" }
unpause = { version = "0.1", default-features = false }

[dev-dependencies]
queue = { path = "../queue", features = ["sim"] }
"#;

/// The workspace that contains both crates. A workspace whose root is not a package has the first resolver by default.
const WORKSPACE: &str = r#"
[workspace]
members = ["queue", "app"]
resolver = "3"
"#;

/// The line that stops a release build with the simulator from compiling.
const GUARD: &str = r#"const _: () = assert!(cfg!(debug_assertions) || !sim::SIMULATED, "this release simulates");"#;

const QUEUE_LIB: &str = r#"
use sim::{Atomic, Ordering::SeqCst};

/// Loses updates.
pub async fn increment(counter: &Atomic<u64>) {
    let value = counter.load(SeqCst).await;
    counter.store(value + 1, SeqCst).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn tells_its_build() {
        println!("tested: {}", sim::SIMULATED);
    }

    #[sim::test(must_fail)]
    async fn increments_are_lost() {
        let counter = Arc::new(Atomic::new(0));
        sim::map_concurrently(0..2, |_| {
            let counter = counter.clone();
            async move { increment(&counter).await }
        })
        .await;
        assert_eq!(counter.load(SeqCst).await, 2);
    }
}
"#;

const APP_MAIN: &str = r#"
fn main() {
    let counter = sim::Atomic::new(1);
    sim::block_on(queue::increment(&counter));
    println!("program: {} {}", sim::SIMULATED, counter.into_inner());
}

#[sim::test(must_fail, seeds = 200)]
async fn the_queue_is_simulated_too() {
    println!("tested: {}", sim::SIMULATED);
    let counter = std::sync::Arc::new(sim::Atomic::new(0));
    sim::map_concurrently(0..2, |_| {
        let counter = counter.clone();
        async move { queue::increment(&counter).await }
    })
    .await;
    assert_eq!(counter.load(sim::Ordering::SeqCst).await, 2);
}
"#;

/// The compiler flags of a build. Builds with different flags share no artifacts.
#[derive(Clone, Copy, Debug)]
enum Flags {
    None,
    /// With `--cfg sim_real`.
    Real,
}

/// The crates, written again; no other test uses them until the guard is dropped.
struct Crates {
    flags: Flags,
    folder: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

/// Returns `true` and prints a note if only a run with `UNPAUSE_LONG` executes the test.
fn is_left_out() -> bool {
    let is_left_out = !sim_tests::histories::long();
    if is_left_out {
        eprintln!("SKIPPED without UNPAUSE_LONG: it builds the library once more");
    }
    is_left_out
}

fn crates(flags: Flags, workspace: &str, app: &str, main: &str) -> Crates {
    static ALONE: [Mutex<()>; 2] = [Mutex::new(()), Mutex::new(())];
    let alone = ALONE[flags as usize].lock().unwrap_or_else(PoisonError::into_inner);
    // The lock serializes the tests of one process. Each process has its own folder.
    let name = format!("downstream-{flags:?}-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let here = format!("path = {library:?}");
    for (file, text) in [
        ("Cargo.toml", workspace),
        ("queue/Cargo.toml", QUEUE),
        ("queue/src/lib.rs", QUEUE_LIB),
        ("app/Cargo.toml", app),
        ("app/src/main.rs", main),
    ] {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text.replace("version = \"0.1\"", &here)).unwrap();
    }
    fs::copy(library.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    Crates { flags, folder, _alone: alone }
}

impl Drop for Crates {
    fn drop(&mut self) {
        // The folder would only waste disk space.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Crates {
    /// Runs cargo. Returns `true` if it succeeded, and its output and errors.
    fn cargo(&self, arguments: &str) -> (bool, String) {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command.args(arguments.split(' ')).current_dir(&self.folder);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let ours =
                ["CARGO_PKG_", "CARGO_MANIFEST_", "SIM_"].iter().any(|p| text.starts_with(p));
            if ours || text.ends_with("RUSTFLAGS") {
                command.env_remove(&name);
            }
        }
        // The crates are at another place each time, and their outputs have names of that place.
        let (target, rustflags) = match self.flags {
            Flags::None => ("downstream", ""),
            Flags::Real => ("downstream-real", "--cfg sim_real"),
        };
        command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join(target));
        command.env("RUSTFLAGS", rustflags).env("CARGO_NET_OFFLINE", "true");
        // The built programs hardly run.
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    #[track_caller]
    fn prints(&self, arguments: &str, expected: &[&str]) {
        let (success, text) = self.cargo(arguments);
        assert!(success, "cargo {arguments}:\n{text}");
        for line in expected {
            assert!(text.contains(line), "cargo {arguments}: {line:?} is not in\n{text}");
        }
    }
}

fn main_with_guard() -> String {
    format!("{GUARD}\n{APP_MAIN}")
}

/// A program that compiles only if it has the real build, or the simulator. The compiler decides it without code.
fn main_that_is(simulated: bool) -> String {
    let right = if simulated { "sim::SIMULATED" } else { "!sim::SIMULATED" };
    format!("const _: () = assert!({right}, \"the other build\");\n{APP_MAIN}")
}

// The name of this test is first in the alphabet, so it starts first. It runs beside the other tests, which run one at
// a time.
#[test]
fn a_cfg_overrides_the_feature() {
    if is_left_out() {
        return;
    }
    let crates = crates(Flags::Real, WORKSPACE, APP, &main_that_is(false));
    crates.prints("check -q -p app --tests", &[]);
    crates.prints("check -q -p app --features queue/sim", &[]);
}

/// The task is aborted although it never waits.
const ENDLESS_MAIN: &str = r#"
use sim::Ordering::SeqCst;

fn main() {}

#[sim::test(seeds = 3, hang = "2s")]
async fn an_abort_ends_a_task_that_never_waits() {
    let word = std::sync::Arc::new(sim::Atomic::new(0u64));
    let endless = word.clone();
    let task = sim::spawn(async move {
        loop {
            endless.fetch_add(1, SeqCst).await;
        }
    });
    sim::spin_until(|| async { word.load(SeqCst).await > 0 }).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
}
"#;

#[test]
fn a_release_that_does_not_shake_names_the_option_that_does_and_it_works() {
    if is_left_out() {
        return;
    }
    let crates = crates(Flags::Real, WORKSPACE, APP, ENDLESS_MAIN);
    let (success, text) = crates.cargo("test --release -p app");
    assert!(!success && text.contains("no task has made progress for 2 s"), "{text}");
    // The screen breaks lines between words.
    let words = text.split_whitespace().collect::<Vec<_>>();
    let said = words.join(" ");
    let reason = "built without debug assertions: threads are not shaken, so races are hardly found, an abort does \
        not end a task that never waits";
    assert!(said.contains(reason), "{text}");
    let option = words.windows(2).find(|pair| pair[0] == "--config").expect(&text).join(" ");
    assert!(said.contains(&format!("add to the command: {option}")), "{text}");
    assert_eq!(option, "--config profile.release.package.unpause.debug-assertions=true");
    // The library must be built again for this option.
    if sim_tests::histories::long() {
        crates.prints(
            &format!("test --release -p app {option}"),
            &["an_abort_ends_a_task_that_never_waits ... ok"],
        );
    }
}

#[test]
fn a_release_is_real_and_its_tests_are_simulated() {
    let crates = crates(Flags::None, WORKSPACE, APP, &main_with_guard());
    // The guard checks the debug assertions of its own crate, so the library need not be compiled in release.
    let of_queue = ["tested: true\n", "increments_are_lost ... ok"];
    let of_app = ["tested: true\n", "the_queue_is_simulated_too ... ok"];
    if sim_tests::histories::long() {
        crates.prints("check --release -q -p app", &[]);
        crates.prints("test -p queue --lib -- --nocapture", &of_queue);
        crates.prints("test -p app -- --nocapture", &of_app);
    } else {
        // Tested together they have one library, with the features of the crate that the README shows.
        let release = "build -q -p app --config profile.dev.package.app.debug-assertions=false";
        crates.prints(release, &[]);
        crates.prints("test -p queue -p app -- --nocapture", &[of_queue, of_app].concat());
    }
    // Both commands are in the README.
    crates.prints("tree -e features,no-dev -i unpause", &["unpause v0.1.0"]);
    let (_, tree) = crates.cargo("tree -e features,no-dev -i unpause");
    assert!(!tree.contains("feature \"sim\""), "{tree}");
    let (_, tree) = crates.cargo("tree -e features -i unpause");
    assert!(tree.contains("feature \"sim\""), "{tree}");
}

#[test]
fn a_feature_that_is_forwarded_simulates_on_request() {
    if is_left_out() {
        return;
    }
    // The dev-dependencies that enable `sim` are removed.
    let app = APP.split("[dev-dependencies]").next().unwrap();
    let app = app.replace("[dependencies]", "[features]\nsim = [\"queue/sim\"]\n\n[dependencies]");
    let crates = crates(Flags::None, WORKSPACE, &app, APP_MAIN);
    crates.prints("run -q -p app", &["program: false 2\n"]);
    let (_, tree) = crates.cargo("tree -p app --features sim -e features,no-dev -i unpause");
    assert!(tree.contains("feature \"sim\""), "{tree}");
    crates.prints("run -q -p app --features sim", &["program: true 2\n"]);
}

#[test]
fn the_first_resolver_lets_dev_dependencies_into_a_release_and_the_guard_sees_it() {
    if is_left_out() {
        return;
    }
    let old = WORKSPACE.replace("resolver = \"3\"", "resolver = \"1\"");
    let crates = crates(Flags::None, &old, APP, &main_with_guard());
    let (success, text) = crates.cargo("check --release -p app");
    assert!(!success && text.contains("this release simulates"), "{text}");
}

#[test]
fn a_member_that_depends_on_the_feature_switches_it_on_for_all_built_with_it() {
    let workspace = WORKSPACE.replace("\"app\"]", "\"app\", \"checks\"]");
    let crates = crates(Flags::None, &workspace, APP, APP_MAIN);
    let checks = crates.folder.join("checks");
    fs::create_dir_all(checks.join("src")).unwrap();
    let manifest = APP
        .replace("\"app\"", "\"checks\"")
        .replace("../queue\" }", "../queue\", features = [\"sim\"] }");
    let here = format!("path = {:?}", Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    fs::write(checks.join("Cargo.toml"), manifest.replace("version = \"0.1\"", &here)).unwrap();
    fs::write(checks.join("src/lib.rs"), "").unwrap();
    // If the program is built alone, it is real. If it is built together with the member, it is simulated.
    crates.prints("run -q -p app", &["program: false 2\n"]);
    if !is_left_out() {
        fs::write(crates.folder.join("app/src/main.rs"), main_that_is(true)).unwrap();
        crates.prints("build -q --workspace", &[]);
    }
    let (_, tree) = crates.cargo("tree --workspace -e features,no-dev -i unpause");
    assert!(tree.contains("feature \"sim\""), "{tree}");
}
