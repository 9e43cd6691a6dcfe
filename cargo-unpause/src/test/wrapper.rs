//! The compiler's place in an instrumented build: adds flags to each crate that is tested, and calls the compiler.

use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitCode};

/// The variable that makes this program the compiler's wrapper. Its value is the file with the
/// linker's arguments: see [`stdlib`](super::stdlib).
pub(crate) const VARIABLE: &str = "UNPAUSE_NATIVE";

/// The variable with the same for programs of libtest, if the runtime is linked into programs that do not depend on it:
/// see [`any`](super::any).
pub(super) const ANY: &str = "UNPAUSE_ANY";

/// The crates that step the threads of the others.
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
    "unpause_native",
];

/// The crates that do something at each step of a run.
const OF_EACH_STEP: &[&str] = &["sim", "unpause_native"];

/// Flags of the [crates](OF_EACH_STEP) that do something at each step of a run: they are compiled for speed, unless the
/// profile gives them a lower level than the [command](super) does. One unit, because functions of a crate are inlined within a unit only, and half of the time of a step
/// would be calls between units. Cargo's flags come first, and the last one of a name counts.
const SPEED: [&str; 3] = ["-Copt-level=3", "-Ccodegen-units=1", "-Cdebug-assertions=off"];

/// Flags of all crates: frames can be followed.
pub(super) const FRAMES: &str = "-Cforce-frame-pointers=yes";

/// Flags of the crates that are tested: LLVM's pass makes each atomic operation a call.
///
/// The pass leaves `fetch_max` and `fetch_min` alone, because it has no functions for them. The second pass turns each of
/// them into a loop with a compare-exchange, and the third pass turns the compare-exchange into a call. The second pass must
/// not be the first: it would turn a `fetch_or` whose bit is tested into an instruction.
pub(super) const INSTRUMENTATION: [&str; 3] = [
    "-Cpasses=tsan,function(atomic-expand),tsan",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
    "-Cllvm-args=-tsan-instrument-memintrinsics=0",
];

/// The variable that is set if plain accesses are instrumented too. The attribute `#[sim::test]` reads it.
pub(crate) const RACES: &str = "UNPAUSE_RACES";

/// Flags of the crates that are tested for data races: the pass makes each access a call, of all functions, which
/// another pass marks. The passes are otherwise the passes of [`INSTRUMENTATION`]. Plain accesses are instrumented by both, and
/// the second call of an access finds what the first call has recorded.
pub(super) const INSTRUMENTATION_OF_ALL: [&str; 3] = [
    "-Cpasses=module(function(tsan,atomic-expand),forceattrs,function(tsan))",
    "-Cllvm-args=-force-attribute=sanitize_thread",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
];

/// Calls the compiler for cargo: `arguments` are the compiler's path and its arguments.
pub(crate) fn compile(arguments: Vec<OsString>, linked: &OsStr) -> ExitCode {
    let Some((rustc, given)) = arguments.split_first() else {
        eprintln!("error: `{VARIABLE}` is set, but no compiler is given: unset it");
        return ExitCode::from(2);
    };
    let mut command = Command::new(rustc);
    let (any, races) = (std::env::var_os(ANY), std::env::var_os(RACES).is_some());
    command.args(given).args(flags(given, linked, any.as_deref(), races));
    let code = match command.status() {
        Ok(status) => status.code().unwrap_or(1),
        Err(error) => {
            eprintln!("error: {} cannot be started: {error}", rustc.to_string_lossy());
            2
        }
    };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The flags to add to those that cargo has given.
///
/// `any` is the file with the linker's arguments of tests that run as they are; `races` has plain accesses
/// instrumented, too.
fn flags(given: &[OsString], arguments: &OsStr, any: Option<&OsStr>, races: bool) -> Vec<OsString> {
    let after = |name: &str| {
        let at = given.iter().position(|argument| argument == name)?;
        given.get(at + 1)?.to_str()
    };
    // Build scripts and procedural macros are compiled for the machine itself, without a target.
    let (Some(name), Some(_)) = (after("--crate-name"), after("--target")) else {
        return Vec::new();
    };
    let mut flags = vec![OsString::from(FRAMES)];
    // The runtime that is linked has copies of its own.
    if any.is_some() || !NOT_INSTRUMENTED.contains(&name) {
        let instrumentation = if races { INSTRUMENTATION_OF_ALL } else { INSTRUMENTATION };
        flags.extend(instrumentation.map(OsString::from));
    }
    let is_test = given.iter().any(|flag| flag == "--test");
    let is_optimized = given.iter().any(|flag| flag == "opt-level=2" || flag == "opt-level=3");
    if !is_test && is_optimized && OF_EACH_STEP.contains(&name) {
        flags.extend(SPEED.map(OsString::from));
    }
    let arguments = any.filter(|_| is_test).unwrap_or(arguments);
    // A test without libtest (`harness = false`) has neither `--test` nor a type: a binary, which is the compiler's default.
    if is_test || after("--crate-type").is_none_or(|kind| kind == "bin") {
        let mut link = OsString::from("-Clink-arg=@");
        link.push(arguments);
        flags.push(link);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(given: &str) -> String {
        flags_with(given, None, false)
    }

    fn flags_with(given: &str, any: Option<&str>, races: bool) -> String {
        let given: Vec<OsString> = given.split(' ').map(OsString::from).collect();
        let flags = flags(&given, OsStr::new("/arguments"), any.map(OsStr::new), races);
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
        assert_eq!(flags_of("--crate-name unpause_check --crate-type lib --target x"), FRAMES);
        assert_eq!(flags_of("--crate-name build_script_build --crate-type bin"), "");
        assert_eq!(flags_of("-vV"), "");
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
    fn the_engine_is_compiled_for_speed_and_its_own_tests_are_not() {
        let engine = flags_of("--crate-name sim --crate-type lib -C opt-level=2 --target x");
        assert!(engine.starts_with(FRAMES) && engine.ends_with(&SPEED.join(" ")), "{engine}");
        assert!(!engine.contains("tsan"), "{engine}");
        let with = |given: &str| flags_of(&format!("{given} -C opt-level=2 --target x"));
        for other in ["--crate-name unpause_native --test", "--crate-name demo --crate-type lib"] {
            assert!(!with(other).contains("opt-level"), "{}", with(other));
        }
        let lower = flags_of("--crate-name sim --crate-type lib -C opt-level=1 --target x");
        assert!(!lower.contains("opt-level"), "{lower}");
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
