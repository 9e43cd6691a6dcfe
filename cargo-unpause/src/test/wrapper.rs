//! The compiler wrapper of an instrumented build: adds flags for each tested crate, and calls the compiler.
//!
//! The wrapper adds the flags, because `RUSTFLAGS` would make Cargo ignore the flags of its configuration. Cargo
//! compiles again if the flags change, because [`STAMP`] is a line of the compiler's version.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use super::flags::{self, FRAMES, SPEED};
use super::{conflicts, scan};

/// The environment variable that turns this program into the compiler wrapper. The value of the variable is the file
/// with the linker arguments: see [`stdlib`](super::stdlib).
pub(crate) const VARIABLE: &str = "UNPAUSE_NATIVE";

/// The environment variable with the file of linker arguments for libtest programs, if the runtime is linked into
/// programs that do not depend on it: see [`any`](super::any).
pub(super) const ANY: &str = "UNPAUSE_ANY";

/// The environment variable with a stamp of the flags added here, and of the files named by the flags.
pub(super) const STAMP: &str = "UNPAUSE_STAMP";

/// The environment variable with the user's own compiler wrapper, which is called with the compiler and all flags.
pub(super) const CHAINED: &str = "UNPAUSE_RUSTC_WRAPPER";

/// The environment variable with the program for documentation tests. Cargo calls this command in its place.
pub(super) const RUSTDOC: &str = "UNPAUSE_RUSTDOC";

/// The environment variable with the folder of std's libraries. A [search](super::scan) of a program skips the
/// functions of these libraries.
pub(super) const LIBRARIES: &str = "UNPAUSE_LIBRARIES";

/// The crate name in Cargo's compiler call that reads the `cfg`s of a target.
const PROBE: &str = "___";

/// A crate that makes system calls without libc (used by smol, async-io, async-std). With this `cfg` it calls libc
/// functions, which the runtime replaces. The crate's build script reads the `cfg`s of the target, and Cargo reads them
/// to choose the crate's dependencies.
const RUSTIX: &str = "rustix";
const BY_LIBC: [&str; 2] = ["--cfg", "rustix_use_libc"];

/// The crates that step the threads of other crates.
const NOT_INSTRUMENTED: &[&str] = &[
    "addr2line",
    "adler2",
    "crc32fast",
    "fallible_iterator",
    "flate2",
    "gimli",
    "libc",
    "miniz_oxide",
    "object",
    "rustc_demangle",
    "sim",
    "simd_adler32",
    "stable_deref_trait",
    "typed_arena",
    "unpause_check",
    "unpause_model",
    "unpause_native",
    "unpause_ordered",
    "unpause_orders",
    "unpause_run",
    "unpause_words",
];

/// The crate that is linked even into programs with a linked runtime. This crate stores the state of a run that a test
/// can read.
const MODEL: &str = "unpause_model";

/// Returns `true` for the name of a crate that is a part of unpause and is not instrumented.
pub(super) fn is_of_unpause(name: &str) -> bool {
    NOT_INSTRUMENTED.contains(&name) && (name == "sim" || name.starts_with("unpause_"))
}

/// The crates that run code at each step.
const OF_EACH_STEP: &[&str] = &["sim", "unpause_native", "unpause_orders", "unpause_run"];

/// The environment variable that is set if plain accesses are also instrumented. The attribute `#[sim::test]` reads it.
pub(crate) const RACES: &str = "UNPAUSE_RACES";

/// The environment variable that is set if the compiler accepts the flag [`SEPARATED`](flags::SEPARATED).
pub(super) const SEPARATE: &str = "UNPAUSE_SEPARATE";

/// Returns the value of [`STAMP`] for a build with linked `parts`. With `races`, plain accesses are also instrumented.
/// The target folders of the two builds differ, but the user may choose one folder for both.
pub(super) fn stamp(parts: &str, races: bool) -> String {
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), BY_LIBC, NOT_INSTRUMENTED, races).hash(&mut hasher);
    flags::hash(&mut hasher);
    format!("{parts} {:016x}", hasher.finish())
}

/// Calls the compiler on behalf of cargo. `arguments` contains the compiler's path and its arguments, or only the
/// arguments of rustdoc.
pub(crate) fn compile(arguments: Vec<OsString>, linked: &OsStr) -> ExitCode {
    let build = Build::of_variables(linked);
    if arguments.first().is_some_and(|first| first.to_string_lossy().starts_with('-')) {
        let rustdoc = std::env::var_os(RUSTDOC).unwrap_or_else(|| "rustdoc".into());
        let mut command = Command::new(&rustdoc);
        let resolved = conflicts::resolve(&arguments);
        conflicts::note(&resolved.left_out);
        command.args(&resolved.arguments).args(build.flags_of_rustdoc());
        return ExitCode::from(ended(&mut command));
    }
    let Some((rustc, given)) = arguments.split_first() else {
        eprintln!("error: `{VARIABLE}` is set, but no compiler is given: unset it");
        return ExitCode::from(2);
    };
    let mut command = match std::env::var_os(CHAINED).filter(|wrapper| !wrapper.is_empty()) {
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(rustc);
            command
        }
        None => Command::new(rustc),
    };
    let flags = build.flags(given);
    let code = match is_tested(given) {
        true => {
            let resolved = conflicts::resolve(given);
            conflicts::note(&resolved.left_out);
            let is_linked = flags.iter().any(|flag| flag.to_string_lossy().starts_with(LINKED));
            command.args(&resolved.arguments).args(flags);
            let code = if is_linked { ended_with_note(&mut command) } else { ended(&mut command) };
            if is_linked && code == 0 {
                scan::search_linked(given, build.arguments(given));
            }
            code
        }
        false => ended(command.args(given)),
    };
    // Cargo compiles a crate again if the compiler version differs. Programs that read the version ignore unknown
    // lines.
    if code == 0 && given.last().is_some_and(|last| last == "-vV") {
        let stamp = std::env::var(STAMP).unwrap_or_default();
        let _ = writeln!(std::io::stdout(), "unpause: {stamp}");
    }
    ExitCode::from(code)
}

/// Runs a program and returns its exit code: 1 if it has no exit code, and 2 if it cannot be started.
fn ended(command: &mut Command) -> u8 {
    code(command.status(), command)
}

/// Runs the compiler like [`ended`], and prints a note below linker errors.
fn ended_with_note(command: &mut Command) -> u8 {
    let mut kept = Vec::new();
    let status = command.stderr(Stdio::piped()).spawn().and_then(|mut child| {
        let mut buffer = [0; 8192];
        while let Some(stream) = &mut child.stderr {
            let count = stream.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            kept.extend_from_slice(&buffer[..count]);
            std::io::stderr().write_all(&buffer[..count])?;
        }
        child.wait()
    });
    let code = code(status, command);
    if let Some(note) = conflicts::of_linker(&String::from_utf8_lossy(&kept)).filter(|_| code != 0)
    {
        eprintln!("{note}");
    }
    code
}

fn code(status: std::io::Result<ExitStatus>, command: &Command) -> u8 {
    match status {
        Ok(status) => u8::try_from(status.code().unwrap_or(1)).unwrap_or(1),
        Err(error) => {
            let name = command.get_program().to_string_lossy();
            eprintln!("error: {name} cannot be started: {error}");
            2
        }
    }
}

/// An instrumented build, described by the environment variables of its command.
struct Build {
    /// The file with linker arguments for programs.
    programs: OsString,
    /// The file with linker arguments for tests that do not depend on unpause (`--any`).
    tests: Option<OsString>,
    /// `true` if plain accesses are also instrumented.
    races: bool,
    /// The package being compiled.
    package: String,
    /// `true` if the compiler accepts the flag [`SEPARATED`](flags::SEPARATED).
    separates: bool,
}

impl Build {
    fn of_variables(programs: &OsStr) -> Build {
        let (tests, races) = (std::env::var_os(ANY), std::env::var_os(RACES).is_some());
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
        let separates = std::env::var_os(SEPARATE).is_some();
        Build { programs: programs.to_owned(), tests, races, separates, package }
    }

    /// Returns the flags to add after Cargo's flags. If a flag is repeated, the last value counts.
    fn flags(&self, given: &[OsString]) -> Vec<OsString> {
        let Some(name) = after(given, "--crate-name").filter(|_| is_tested(given)) else {
            return Vec::new();
        };
        let mut flags: Vec<OsString> = self.cfgs().into_iter().map(OsString::from).collect();
        if name == PROBE || name == RUSTIX {
            flags.extend(BY_LIBC.map(OsString::from));
        }
        if name == PROBE {
            return flags;
        }
        flags.push(FRAMES.into());
        // A linked runtime (`--any`) has its own copies of these crates, except the crate that programs call.
        let is_linked = self.tests.is_some() && name != MODEL;
        if is_linked || !steps_others(name, &self.package) {
            let of_tested = flags::of_tested(given, self.races, self.separates);
            flags.extend(of_tested.into_iter().map(OsString::from));
        }
        let is_test = given.iter().any(|flag| flag == "--test");
        if !is_test && flags::is_optimized(given) && OF_EACH_STEP.contains(&name) {
            flags.extend(SPEED.map(OsString::from));
        }
        // A test without libtest (`harness = false`) has neither `--test` nor a crate type: the default is a binary.
        if is_test || after(given, "--crate-type").is_none_or(|kind| kind == "bin") {
            flags.push(linked_with(self.arguments(given)));
        }
        flags
    }

    /// Returns the file with linker arguments for a program.
    fn arguments(&self, given: &[OsString]) -> &OsStr {
        let is_test = given.iter().any(|flag| flag == "--test");
        self.tests.as_ref().filter(|_| is_test).unwrap_or(&self.programs)
    }

    /// Returns the `cfg`s for tested crates. Cargo also reads them, because they choose dependencies.
    fn cfgs(&self) -> Vec<&'static str> {
        match (&self.tests, self.races) {
            // No crate of the program depends on the runtime, so nothing is linked.
            (Some(_), _) => Vec::new(),
            (None, false) => vec!["--cfg", "unpause_native"],
            (None, true) => vec!["--cfg", "unpause_native", "--cfg", "unpause_races"],
        }
    }

    /// Returns the flags for documentation tests.
    fn flags_of_rustdoc(&self) -> Vec<OsString> {
        let mut flags: Vec<OsString> = self.cfgs().into_iter().map(OsString::from).collect();
        flags.push(linked_with(&self.programs));
        flags
    }
}

/// Returns the argument that follows the argument `name`.
pub(super) fn after<'a>(given: &'a [OsString], name: &str) -> Option<&'a str> {
    let at = given.iter().position(|argument| argument == name)?;
    given.get(at + 1)?.to_str()
}

/// Returns `true` for a tested crate. Build scripts and procedural macros are compiled for the host, without
/// `--target`.
fn is_tested(given: &[OsString]) -> bool {
    after(given, "--crate-name").is_some() && after(given, "--target").is_some()
}

/// The prefix of the flag that links a program with the arguments in a file.
const LINKED: &str = "-Clink-arg=@";

/// Returns `true` for a crate that steps the threads of other crates. The crate name alone is not enough, because a
/// test program of any package may be called `object` or `sim`.
fn steps_others(name: &str, package: &str) -> bool {
    let is_its_library = package.replace('-', "_") == name || (package, name) == ("unpause", "sim");
    NOT_INSTRUMENTED.contains(&name) && is_its_library
}

/// Returns the flag that links a program with the arguments in a file.
fn linked_with(file: &OsStr) -> OsString {
    let mut flag = OsString::from(LINKED);
    flag.push(file);
    flag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(given: &str) -> String {
        flags_with(given, None, false)
    }

    fn flags_with(given: &str, any: Option<&str>, races: bool) -> String {
        let given: Vec<OsString> = given.split(' ').map(OsString::from).collect();
        let name = given.iter().skip_while(|word| *word != "--crate-name").nth(1);
        let name = name.and_then(|name| name.to_str()).unwrap_or_default();
        let package = if name == "sim" { "unpause" } else { name }.to_owned();
        let tests = any.map(OsString::from);
        let build = Build { programs: "/arguments".into(), tests, races, separates: true, package };
        let flags = build.flags(&given);
        flags.iter().map(|flag| flag.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tested_crates_are_instrumented_and_programs_are_linked_with_the_replacements() {
        let tested = flags_of("--crate-name dashmap --crate-type lib --target x");
        assert!(tested.contains("-Cpasses=tsan") && !tested.contains("link-arg"), "{tested}");
        let program = flags_of("--crate-name demo --test --target x");
        assert!(
            program.contains("-Cpasses=tsan") && program.contains("-Clink-arg=@/arguments"),
            "{program}"
        );
        let without_libtest = flags_of("--crate-name demo --cfg test --target x");
        assert!(without_libtest.contains("-Clink-arg=@/arguments"), "{without_libtest}");
        let runtime = flags_of("--crate-name unpause_check --crate-type lib --target x");
        assert_eq!(runtime, format!("--cfg unpause_native {FRAMES}"));
        let probe = flags_of("- --crate-name ___ --print=cfg --target x");
        assert_eq!(probe, "--cfg unpause_native --cfg rustix_use_libc");
        assert!(flags_of("--crate-name rustix --target x").contains("--cfg rustix_use_libc"));
        assert!(!flags_of("--crate-name polling --target x").contains("rustix_use_libc"));
        assert_eq!(flags_of("--crate-name build_script_build --crate-type bin"), "");
        assert_eq!(flags_of("-vV"), "");
    }

    #[test]
    fn a_program_with_the_name_of_a_crate_of_the_engine_is_instrumented() {
        for name in NOT_INSTRUMENTED {
            let package = if *name == "sim" { "unpause" } else { name };
            assert!(steps_others(name, &package.replace('_', "-")) && steps_others(name, package));
            assert!(!steps_others(name, "demo"), "{name}");
        }
    }

    #[test]
    fn plain_accesses_are_instrumented_for_races_only() {
        let of = |given: &str| flags_with(given, None, true);
        let given = "--crate-name dashmap --crate-type lib --target x";
        let marks = "-force-attribute=sanitize_thread";
        assert!(of(given).contains(marks), "{}", of(given));
        assert!(!flags_of(given).contains(marks), "{}", flags_of(given));
        assert!(!of("--crate-name sim --crate-type lib --target x").contains(marks));
    }

    #[test]
    fn a_build_for_races_uses_no_crate_of_another_build() {
        assert_eq!(stamp("parts", true), stamp("parts", true));
        assert_ne!(stamp("parts", true), stamp("parts", false));
    }

    #[test]
    fn the_engine_is_compiled_for_speed_and_its_own_tests_are_not() {
        let engine = flags_of("--crate-name sim --crate-type lib -C opt-level=2 --target x");
        assert!(engine.contains(FRAMES) && engine.ends_with(&SPEED.join(" ")), "{engine}");
        assert!(!engine.contains("tsan"), "{engine}");
        let with = |given: &str| flags_of(&format!("{given} -C opt-level=2 --target x"));
        for other in ["--crate-name unpause_native --test", "--crate-name demo --crate-type lib"] {
            assert!(!with(other).contains("opt-level"), "{}", with(other));
        }
        let lower = flags_of("--crate-name sim --crate-type lib -C opt-level=1 --target x");
        assert!(!lower.contains("opt-level"), "{lower}");
        assert!(!flags_of("--crate-name sim -C debuginfo=0 --target x").contains("debuginfo"));
    }

    #[test]
    fn a_linked_runtime_leaves_no_crate_out_and_is_handed_the_tests_of_libtest() {
        let of = |given: &str| flags_with(given, Some("/tests"), false);
        let tested = of("--crate-name libc --crate-type lib --target x");
        assert!(tested.contains("-Cpasses=tsan"), "{tested}");
        assert!(of("--crate-name demo --test --target x").contains("-Clink-arg=@/tests"));
        assert!(of("--crate-name demo --crate-type bin --target x").contains("=@/arguments"));
        assert_eq!(of("--crate-name build_script_build --crate-type bin"), "");
    }
}
