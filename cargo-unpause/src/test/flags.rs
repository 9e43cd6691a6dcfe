//! The compiler's flags for an instrumented build: for tested crates, and for the engine.

use std::ffi::OsString;
use std::hash::{Hash, Hasher};

/// Flags for the crates that run code at each step. These crates are compiled for speed, unless the profile sets a
/// lower level than the [command](super) does. There is one codegen unit, because functions of a crate are inlined only
/// within a unit, and calls between units would take half of the time of a step. Cargo's flags precede these flags, and
/// the last flag of a name counts.
pub(super) const SPEED: [&str; 3] =
    ["-Copt-level=3", "-Ccodegen-units=1", "-Cdebug-assertions=off"];

/// The flag for tested crates with a lower optimisation level. At such a level, the compiler would use some generic std
/// functions from std's binary, where they are not instrumented.
pub(super) const OPTIMIZED: &str = "-Copt-level=2";

/// Flags for tested crates below level 3. These flags replace the LLVM passes of level 2 by a short list. Level 2
/// itself is needed only for the reason given at [`OPTIMIZED`]. An instrumented crate compiles in about half of the
/// time with the short list. Small functions are inlined, and values are kept in registers. A branch on the result of a
/// `compare_exchange_weak` follows the operation, so that the runtime finds the code for a failure. The passes of later
/// flags run after these.
pub(super) const SHORT: [&str; 3] = [
    "-Cno-prepopulate-passes",
    "-Cpasses=cgscc(inline,function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,jump-threading,simplifycfg))",
    "-Clto=off",
];

/// Flags with the size limit for functions that the passes of [`SHORT`] inline. Omitted if the user has set a limit,
/// because LLVM accepts each of these flags only once.
const SMALL: [&str; 2] =
    ["-Cllvm-args=-inline-threshold=25", "-Cllvm-args=-inlinehint-threshold=50"];

/// The flag for tested crates without debug information, for example because of the user's own profile. Locks, channels
/// and other library code are recognised by the source lines of their operations.
pub(super) const WITH_LINES: &str = "-Cdebuginfo=line-tables-only";

/// Flag for all crates: keeps frame pointers, so that the stack can be walked.
pub(super) const FRAMES: &str = "-Cforce-frame-pointers=yes";

/// Flags for tested crates: LLVM's pass turns each atomic operation into a call.
///
/// The pass leaves `fetch_max` and `fetch_min` alone, because it has no functions for them. The passes of later flags
/// run after the passes of these flags. The second pass must not be the first: it would turn a `fetch_or` with a tested
/// bit into a plain instruction.
pub(super) const INSTRUMENTATION: [&str; 3] = [
    "-Cpasses=tsan,function(atomic-expand),tsan",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
    "-Cllvm-args=-tsan-instrument-memintrinsics=0",
];

/// Flags for crates tested for data races: the pass turns every access of every function into a call. Another pass
/// marks the functions for that. The remaining passes are the passes of [`INSTRUMENTATION`]. Both `tsan` passes
/// instrument plain accesses, and the second call for an access finds the record of the first call.
pub(super) const INSTRUMENTATION_OF_ALL: [&str; 3] = [
    "-Cpasses=module(function(tsan,atomic-expand),forceattrs,function(tsan))",
    "-Cllvm-args=-force-attribute=sanitize_thread",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
];

/// The flag for tested crates that keeps functions with equal code separate. Without this flag, an LLVM pass would
/// merge them, and the place of an operation would be a line of another function.
pub(super) const SEPARATED: &str = "-Cllvm-args=-opt-disable=mergefunc";

/// The first version of LLVM with the flag [`SEPARATED`]. An unknown flag is an error.
const SEPARATES_SINCE: u32 = 22;

/// Returns `true` if a compiler with this `-vV` text accepts the flag [`SEPARATED`].
pub(super) fn separates(version: &str) -> bool {
    let llvm = version.lines().find_map(|line| line.strip_prefix("LLVM version: "));
    let major = llvm.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= SEPARATES_SINCE)
}

/// Returns the flags for a tested crate, to follow the arguments `given` by Cargo.
pub(super) fn of_tested(given: &[OsString], races: bool, separates: bool) -> Vec<&'static str> {
    let mut flags = Vec::new();
    if level(given) != Some("3") {
        flags.extend(SHORT);
        let is_set =
            |option: &str| given.iter().any(|word| word.to_string_lossy().contains(option));
        if !is_set("-inline-threshold") && !is_set("-inlinehint-threshold") {
            flags.extend(SMALL);
        }
    }
    flags.extend(if races { INSTRUMENTATION_OF_ALL } else { INSTRUMENTATION });
    if separates {
        flags.push(SEPARATED);
    }
    if !is_optimized(given) {
        flags.push(OPTIMIZED);
    }
    if !has_lines(given) {
        flags.push(WITH_LINES);
    }
    flags
}

/// Hashes all flags, so that a crate is compiled again if a flag changes.
pub(super) fn hash(hasher: &mut impl Hasher) {
    (OPTIMIZED, SHORT, SMALL, WITH_LINES, FRAMES, INSTRUMENTATION).hash(hasher);
    (INSTRUMENTATION_OF_ALL, SEPARATED, SPEED).hash(hasher);
}

/// Returns `true` if the arguments request line information.
fn has_lines(given: &[OsString]) -> bool {
    let mut levels = given.iter().filter_map(|argument| {
        let text = argument.to_str()?;
        if text == "-g" {
            return Some("2");
        }
        text.strip_prefix("-C").unwrap_or(text).strip_prefix("debuginfo=")
    });
    levels.next_back().is_some_and(|level| !["0", "none", "line-directives-only"].contains(&level))
}

/// Returns `true` if the optimisation level is 2 or 3. At these levels, the compiler never uses generic std functions
/// from std's own binary.
pub(super) fn is_optimized(given: &[OsString]) -> bool {
    matches!(level(given), Some("2" | "3"))
}

/// Returns the last optimisation level among the arguments.
fn level(given: &[OsString]) -> Option<&str> {
    let mut levels = given.iter().filter_map(|argument| {
        let text = argument.to_str()?;
        text.strip_prefix("-C").unwrap_or(text).strip_prefix("opt-level=")
    });
    levels.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(given: &str, races: bool) -> String {
        let given: Vec<OsString> = given.split(' ').map(OsString::from).collect();
        of_tested(&given, races, true).join(" ")
    }

    #[test]
    fn only_level_3_has_all_passes_of_llvm() {
        for full in ["-C opt-level=3", "-C opt-level=0 -Copt-level=3"] {
            assert!(!flags_of(full, false).contains(SHORT[0]), "{full}");
            assert!(!flags_of(full, false).contains(OPTIMIZED), "{full}");
        }
        for lower in ["0", "1", "s", "z"] {
            let flags = flags_of(&format!("-C opt-level=3 -Copt-level={lower}"), true);
            assert!(flags.contains(SHORT[0]) && flags.contains(OPTIMIZED), "{flags}");
        }
        let of_the_command = flags_of("-C opt-level=2", false);
        assert!(of_the_command.contains(SHORT[0]) && !of_the_command.contains(OPTIMIZED));
        // Passes apply in the order of the flags.
        let at = |flag| of_the_command.find(flag).unwrap();
        assert!(at(SHORT[1]) < at(INSTRUMENTATION[0]));
    }

    #[test]
    fn limits_of_the_user_are_not_repeated() {
        assert!(flags_of("-C opt-level=2", false).contains(SMALL[0]));
        let own = flags_of("-Cllvm-args=-inline-threshold=100", false);
        assert!(!own.contains("threshold") && own.contains(SHORT[0]), "{own}");
        assert!(!flags_of("-C opt-level=3", false).contains("threshold"));
    }

    #[test]
    fn tested_crates_have_lines() {
        for without in ["-C opt-level=3", "-C debuginfo=0", "-C debuginfo=2 -Cdebuginfo=none"] {
            assert!(flags_of(without, false).contains(WITH_LINES), "{without}");
        }
        for level in ["-g", "-C debuginfo=1", "-Cdebuginfo=line-tables-only", "-Cdebuginfo=full"] {
            assert!(!flags_of(level, false).contains(WITH_LINES), "{level}");
        }
    }

    #[test]
    fn functions_with_the_same_code_are_kept_apart_if_the_compiler_can() {
        let given = [OsString::from("--test")];
        assert!(of_tested(&given, false, true).contains(&SEPARATED));
        assert!(!of_tested(&given, true, false).contains(&SEPARATED));
        assert!(separates("rustc 1.95.0\nhost: x\nLLVM version: 22.1.2"));
        assert!(!separates("rustc 1.85.0\nhost: x\nLLVM version: 19.1.7"));
        assert!(!separates("rustc 1.85.0\nhost: x"));
    }
}
