//! `cargo unpause test`: runs cargo's own `test` with a program that is compiled so that its plain threads can be
//! stepped.
//!
//! Cargo calls this program in place of the compiler, and the [`wrapper`] adds flags so that each atomic operation
//! calls the runtime. The build has its own target folder. Parts that do not depend on the program are compiled once
//! and kept in the user's [`cache`].

mod any;
mod cache;
mod conflicts;
mod controlled;
mod fallback;
mod flags;
mod scan;
mod stdlib;
mod tools;
mod unseen;
pub(crate) mod wrapper;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use sim::__private::invalid_setting;
use unpause_words::closest;

pub(crate) use self::any::checkout;
use self::cache::Cache;
use self::tools::Tools;
use crate::usage::Usage;
use crate::{Exit, Terminal};

const HELP: &str = "\
Runs tests with plain threads under the scheduler: cargo's `test`, or `nextest run`, of an instrumented
program.

usage: cargo unpause test [--any] [--races] [ARGUMENTS OF CARGO TEST]
       cargo unpause nextest run [--any] [--races] [ARGUMENTS OF CARGO NEXTEST RUN]

  --any    run the existing `#[test]`s of a crate that does not depend on unpause.
  --races  check each access to memory: data races, memory orders that are too weak, use after free and
           after return, accesses out of bounds. A slower program, built in target/unpause-races.

Without --any, the scheduler controls only tests with `#[sim::test(native)]`. Such a test is a plain
function. Its `std::thread`s, and the threads of the crates that it uses, are tasks of the run. Other
threads may run before each of their atomic operations, locks, waits and sleeps. At the end, the
command counts these tests, and names the other tests that have started threads.

With --any, each existing `#[test]` runs under 20 seeds (SIM_SEEDS), for at most 10 s (SIM_TIME). A run
of more than a million steps (SIM_STEPS) continues with few switches between threads, and a note says
so. A run has no result if it still does not end, or if it differs when it is repeated. A test is
UNDECIDED if none of its runs has a result. The exit code is then 3, unless a test failed.
Needs `ld` and `objcopy` of GNU binutils. Documentation tests and programs without libtest run as usual.

The program is built in target/unpause. Its crates are compiled like a debug build, but code of std
that they contain is instrumented with them. --release, or `opt-level = 3` for a package, optimises
them. Instrumented functions replace the compiled functions of std that synchronise threads. They fit
only certain toolchains, and other toolchains are refused. All `SIM_*` variables apply. Plain threads
need Linux with glibc on x86-64. On aarch64 they are untested, and a warning says so.

Your flags (RUSTFLAGS, `rustflags` and `rustdocflags` of Cargo's configuration) and your wrappers
(RUSTC_WRAPPER, `rustc-wrapper`) apply. The engine of --any and the replaced functions of std are
compiled once for each version, toolchain and profile. They are kept in ~/.cache/unpause
($XDG_CACHE_HOME/unpause; ~/Library/Caches/unpause on macOS). UNPAUSE_CACHE names another folder. You can
remove it at any time.
";

/// The warning on a processor type on which the runtime has never been run.
const UNTESTED: &str = "warning: plain threads on aarch64 are untested: the code for this processor is written, and was \
    not run. A failure may be one of unpause. x86-64 is tested.";

/// The folder of instrumented programs, in the target folder.
const FOLDER: &str = "unpause";

/// The folder of programs with instrumented plain accesses.
const FOLDER_RACES: &str = "unpause-races";

/// Runs `cargo test` with the remaining arguments.
pub(crate) fn test(parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    run(&["test"], parser, terminal)
}

/// Runs `cargo nextest` with the remaining arguments.
pub(crate) fn nextest(parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    run(&["nextest"], parser, terminal)
}

fn run(
    command: &[&str],
    mut parser: lexopt::Parser,
    terminal: &mut Terminal,
) -> Result<Exit, Usage> {
    let mut arguments: Vec<OsString> = parser.raw_args()?.collect();
    let takes_any = take(&mut arguments, "--any");
    let races = take(&mut arguments, "--races");
    if arguments.first().is_some_and(|first| first == "--help" || first == "-h") {
        terminal.print(HELP);
        return Ok(Exit::Good);
    }
    if let Some(error) = mistyped(&arguments) {
        return Err(error);
    }
    // Checked here, because otherwise each test would report it after the whole build.
    if let Some(invalid) = invalid_setting(std::env::vars_os()) {
        return Err(Usage(invalid));
    }
    let processor = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    if !cfg!(all(target_os = "linux", target_env = "gnu")) || !processor {
        return Err(Usage(
            "plain threads can be stepped on Linux with glibc, on x86-64 or aarch64, only: run the test there"
                .to_owned(),
        ));
    }
    if cfg!(target_arch = "aarch64") {
        terminal.error(UNTESTED);
    }
    let tools = Tools::find(&arguments);
    if let Some(warning) = &tools.warning {
        terminal.error(warning);
    }
    if takes_any {
        any::refuse_dependants(&tools, &arguments)?;
    }
    let target = target_folder(&tools.cargo, &arguments)?;
    let cache = Cache::of_the_user()?;
    cache.remove_unused();
    let fallback = fallback::build(&tools.rustc, &cache)?;
    let replaced = stdlib::build(&tools.rustc, &cache, &fallback)?;
    let own = std::env::current_exe()
        .map_err(|error| Usage(format!("the path of this program cannot be read: {error}")))?;

    let mut started = Command::new(&tools.cargo);
    started.args(command);
    // The word after `nextest` is a subcommand of nextest.
    let own_command = usize::from(command == ["nextest"]).min(arguments.len());
    started.args(&arguments[..own_command]).arg("--target").arg(host(&tools.rustc)?);
    started.args(&arguments[own_command..]);
    let folder = target.join(FOLDER);
    let undecided = empty_list(&folder, "undecided")?;
    let left_out = empty_list(&folder, "left-out")?;
    let not_seen = empty_list(&folder, "unseen")?;
    let threads = empty_list(&folder, "threads")?;
    started.env(conflicts::LEFT_OUT, &left_out).env(unseen::VARIABLE, &not_seen);
    started.env(controlled::VARIABLE, &threads);
    started.env(wrapper::LIBRARIES, &replaced.libraries);
    started.env_remove(wrapper::ANY).env_remove(wrapper::RACES).env_remove(wrapper::SEPARATE);
    if flags::separates(&output(Command::new(&tools.rustc).arg("-vV"))?) {
        started.env(wrapper::SEPARATE, "1");
    }
    let of_build = if races { target.join(FOLDER_RACES) } else { folder.clone() };
    if races {
        started.env(wrapper::RACES, "1");
    }
    let (target, linked_with, parts) = if takes_any {
        let linked = any::build(&tools, &cache, &replaced, races, terminal)?;
        started.env(wrapper::ANY, &linked.tests).env(any::UNDECIDED, &undecided);
        (of_build.join("any"), linked.programs, linked.hash)
    } else {
        (of_build, replaced.arguments, replaced.hash)
    };
    std::fs::create_dir_all(&folder)
        .map_err(|error| Usage(format!("{} cannot be created: {error}", folder.display())))?;
    started.env("CARGO_TARGET_DIR", &target);
    started.env("RUSTC_WRAPPER", &own).env(wrapper::VARIABLE, &linked_with);
    started.env(wrapper::CHAINED, tools.wrapper.unwrap_or_default());
    started.env("RUSTDOC", &own).env(wrapper::RUSTDOC, &tools.rustdoc);
    // The stamp is part of the compiler version, so a version cached by Cargo would contain an old stamp.
    started.env(wrapper::STAMP, wrapper::stamp(&parts, races)).env("CARGO_CACHE_RUSTC_INFO", "0");
    let own = own_profile(command, &arguments);
    for profile in PROFILES.into_iter().chain(own.as_deref()) {
        started.env(format!("CARGO_PROFILE_{profile}_DEBUG"), "line-tables-only");
        started.env(format!("CARGO_PROFILE_{profile}_STRIP"), "none");
        // LTO would inline std's compiled functions before they are replaced.
        started.env(format!("CARGO_PROFILE_{profile}_LTO"), "off");
    }
    for profile in ["DEV", "TEST"] {
        started.env(format!("CARGO_PROFILE_{profile}_OPT_LEVEL"), "2");
    }
    let status = started.status().map_err(|error| {
        Usage(format!("{} cannot be started: {error}", tools.cargo.to_string_lossy()))
    })?;
    let taken = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        text
    };
    let remarks = [conflicts::remark(&taken(&left_out)), unseen::remark(&taken(&not_seen))];
    remarks.into_iter().flatten().for_each(|remark| terminal.error(&remark));
    let on_threads = taken(&threads);
    if status.success() && controlled::runs_tests(&arguments) {
        terminal.error(&controlled::remark(&on_threads, takes_any));
    }
    let left = taken(&undecided);
    if !left.is_empty() {
        let lines: String = left.lines().map(|line| format!("  {line}\n")).collect();
        terminal.error(&format!("undecided, neither passed nor failed:\n{}", lines.trim_end()));
    }
    Ok(match (status.success(), left.is_empty()) {
        (true, true) => Exit::Good,
        (true, false) => Exit::Undecided,
        (false, _) => Exit::Bad,
    })
}

/// Returns the error for an argument that is probably an option of this command with slips, because cargo would report
/// the argument without a suggestion.
fn mistyped(arguments: &[OsString]) -> Option<Usage> {
    let mut words = arguments.iter().map_while(|word| word.to_str().filter(|word| *word != "--"));
    words.find_map(|word| {
        let meant = closest(word.strip_prefix("--")?, ["any", "races"])?;
        Some(Usage(format!(
            "there is no option `{word}`; did you mean `--{meant}`? See `cargo unpause test --help`."
        )))
    })
}

/// Returns the path of a file to which the programs of this command append lines. Removes the file of an earlier
/// command with the same process id, which was ended before it read the file.
///
/// # Errors
/// If there is such a file and it cannot be removed.
fn empty_list(folder: &Path, name: &str) -> Result<PathBuf, Usage> {
    let path = folder.join(format!("{name}.{}", std::process::id()));
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Usage(format!("{} cannot be removed: {error}", path.display())))
        }
        _ => Ok(path),
    }
}

/// Cargo's own profiles for tests, as spelled in environment variables.
const PROFILES: [&str; 4] = ["DEV", "TEST", "RELEASE", "BENCH"];

/// Returns the user's own profile among the arguments of cargo, as spelled in environment variables; `None` if there is
/// no such profile.
fn own_profile(command: &[&str], arguments: &[OsString]) -> Option<String> {
    // nextest has its own profiles under `--profile`.
    let option = if command == ["nextest"] { "--cargo-profile" } else { "--profile" };
    let mut words = arguments.iter().map_while(|word| word.to_str().filter(|word| *word != "--"));
    let name = words.find_map(|word| match word.strip_prefix(option)? {
        "" => Some(None),
        rest => rest.strip_prefix('=').map(Some),
    })?;
    let name = name.or_else(|| words.next())?;
    Some(name.to_uppercase().replace('-', "_"))
}

/// Removes `option` from the cargo arguments, if present. The arguments after `--` belong to the test program.
fn take(arguments: &mut Vec<OsString>, option: &str) -> bool {
    let of_cargo = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let found = arguments[..of_cargo].iter().position(|word| word == option);
    if let Some(at) = found {
        arguments.remove(at);
    }
    found.is_some()
}

/// Returns the target folder of the project that a Cargo command with these `arguments` chooses.
fn target_folder(cargo: &OsString, arguments: &[OsString]) -> Result<PathBuf, Usage> {
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version=1", "--no-deps"]);
    let text = output(command.args(tools::of_project(arguments)))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Usage(format!("`cargo metadata` cannot be read: {error}")))?;
    let folder = metadata["target_directory"].as_str();
    folder
        .map(PathBuf::from)
        .ok_or_else(|| Usage("`cargo metadata` names no target folder".to_owned()))
}

/// Returns the host platform of the compiler.
fn host(rustc: &OsString) -> Result<String, Usage> {
    let version = output(Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Usage("`rustc -vV` names no host".to_owned()))
}

/// Returns the text that a command writes to standard output.
///
/// # Errors
/// If the command cannot be started, or fails; the error then contains the command's error text.
fn output(command: &mut Command) -> Result<String, Usage> {
    let name = Path::new(command.get_program()).display().to_string();
    let ended =
        command.output().map_err(|error| Usage(format!("{name} cannot be started: {error}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match ended.status.success() {
        true => Ok(text(&ended.stdout)),
        false => Err(Usage(format!("{name} failed: {}", text(&ended.stderr)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_profile_is_named_as_in_variables() {
        let of = |command: &[&str], arguments: &str| {
            let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
            own_profile(command, &arguments)
        };
        assert_eq!(of(&["test"], "-p a --profile of-ci --lib").as_deref(), Some("OF_CI"));
        assert_eq!(of(&["test"], "--profile=ci").as_deref(), Some("CI"));
        assert_eq!(of(&["test"], "--release -- --profile ci"), None);
        assert_eq!(of(&["test"], "--profiles ci"), None);
        let nextest = of(&["nextest"], "run --profile slow --cargo-profile ci");
        assert_eq!(nextest.as_deref(), Some("CI"));
    }

    #[test]
    fn lines_of_an_earlier_command_with_the_same_process_id_are_removed() {
        let folder = std::env::temp_dir().join(format!("unpause-lists-{}", std::process::id()));
        let list = || empty_list(&folder, "undecided").unwrap();
        // The folder may be missing.
        let path = list();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, "a::test\n").unwrap();
        assert_eq!((list(), path.exists()), (path.clone(), false));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn any_is_an_argument_of_this_command_and_of_no_other() {
        let mut arguments: Vec<OsString> =
            ["run", "--any", "-p", "a", "--", "--any"].map(OsString::from).into();
        assert!(take(&mut arguments, "--any"));
        assert_eq!(arguments, ["run", "-p", "a", "--", "--any"]);
        assert!(!take(&mut arguments, "--any"));
    }

    #[test]
    fn a_mistyped_option_of_this_command_is_named_before_cargo_runs() {
        let mistyped = |words: &str| {
            let arguments: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            mistyped(&arguments).map(|error| error.0)
        };
        for (given, meant) in
            [("--ayn", "--any"), ("--an", "--any"), ("--race", "--races"), ("--raecs", "--races")]
        {
            let error = mistyped(&format!("-p a {given} name")).unwrap_or_default();
            assert!(error.contains(&format!("`{given}`; did you mean `{meant}`?")), "{error}");
        }
        let of_cargo = "run --lib --bins --bin --examples --tests --test --benches --all-targets --doc --no-run \
            --no-fail-fast -p --package --workspace --exclude --all -j --jobs --release -r --profile --features -F \
            --all-features --no-default-features --target --target-dir --manifest-path --locked --offline --frozen \
            --message-format --color --config --verbose -v --quiet -q --ignore-rust-version --future-incompat-report \
            --timings --unit-graph --lockfile-path --partition --run-ignored --retries --no-capture --test-threads \
            --cargo-profile --archive-file --failure-output --success-output --status-level --filterset -E \
            --features=races any --features=any -- --ayn --race";
        let words: Vec<&str> = of_cargo.split_whitespace().collect();
        assert_eq!(mistyped(&words.join(" ")), None);
    }
}
