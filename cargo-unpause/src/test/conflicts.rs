//! User flags that conflict with instrumentation: each is replaced by its opposite, and reported once.
//!
//! The program must link std and libc so that their functions can be replaced, and it must keep its symbols. With
//! conflicting flags, the linker would report errors.

use std::ffi::{OsStr, OsString};
use std::io::Write;

/// The environment variable with the path of the file that lists the flags that do not apply, one per line.
pub(super) const LEFT_OUT: &str = "UNPAUSE_LEFT_OUT";

/// A codegen option of the compiler that conflicts with instrumentation.
struct Conflict {
    /// The name of the option.
    option: &'static str,
    /// `true` for values that conflict.
    is_met: fn(&str) -> bool,
    /// The flag that turns the option off.
    opposite: &'static str,
    /// The reason for the conflict.
    why: &'static str,
}

/// The conflicting options. To add an option, add its row: the tests build a program with each option.
const CONFLICTS: &[Conflict] = &[
    Conflict {
        option: "lto",
        is_met: is_on,
        opposite: "-Clto=off",
        why: "functions of std are replaced when the program is linked, and must not be inlined before",
    },
    Conflict {
        option: "linker-plugin-lto",
        is_met: is_on,
        opposite: "-Clinker-plugin-lto=no",
        why: "functions of std are replaced when the program is linked, and must not be inlined before",
    },
    Conflict {
        option: "prefer-dynamic",
        is_met: is_on,
        opposite: "-Cprefer-dynamic=no",
        why: "functions of std are replaced when the program is linked, so std must be part of it",
    },
    Conflict {
        option: "strip",
        is_met: |value| value != "none",
        opposite: "-Cstrip=none",
        why: "the statics of a program are put back before each run, and are found by its symbols",
    },
    Conflict {
        option: "target-feature",
        is_met: |value| value.split(',').any(|feature| feature == "+crt-static"),
        opposite: "-Ctarget-feature=-crt-static",
        why: "functions of libc are replaced, which needs libc as a dynamic library",
    },
];

/// Linker arguments that do not apply. These arguments have no opposite, so they are removed.
const LINKED: &[(&str, &str)] = &[
    ("-s", STRIPPED),
    ("--strip-all", STRIPPED),
    ("-Wl,-s", STRIPPED),
    ("-Wl,--strip-all", STRIPPED),
    ("-static", STATIC),
    ("-static-pie", STATIC),
];
const STRIPPED: &str =
    "the statics of a program are put back before each run, and are found by its symbols";
const STATIC: &str = "functions of libc are replaced, which needs libc as a dynamic library";

/// The arguments of one compiler call, and the flags that do not apply.
pub(super) struct Resolved {
    /// The arguments without the flags that do not apply.
    pub(super) arguments: Vec<OsString>,
    /// The flags that do not apply, each with the reason.
    pub(super) left_out: Vec<String>,
}

/// Removes the flags that do not apply from the arguments of one compiler call, or adds their opposites.
pub(super) fn resolve(given: &[OsString]) -> Resolved {
    let (mut arguments, mut left_out) = (Vec::new(), Vec::new());
    let mut opposites = Vec::new();
    let mut rest = given.iter();
    // A `dylib` must link std as a dynamic library, because otherwise a program would have two copies of std. Programs
    // that use the `dylib` fail with a [note](of_linker).
    let is_dynamic = given.windows(2).any(|pair| pair[0] == "--crate-type" && pair[1] == "dylib");
    while let Some(argument) = rest.next() {
        // `-C name=value` is two arguments, but `-Cname=value` is one argument.
        let mut whole = argument.clone();
        if argument == "-C" || argument == "--codegen" {
            whole = OsString::from("-C");
            whole.push(rest.next().map_or(OsStr::new(""), OsString::as_os_str));
        }
        let text = whole.to_str().unwrap_or_default();
        let Some(option) = text.strip_prefix("-C").or_else(|| text.strip_prefix("--codegen="))
        else {
            arguments.push(whole);
            continue;
        };
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let name = name.replace('_', "-");
        let conflict = conflict(&name, value);
        if let Some(conflict) = conflict.filter(|_| !(is_dynamic && name == "prefer-dynamic")) {
            left_out.push(line(option, conflict.why));
            opposites.push(OsString::from(conflict.opposite));
        }
        let is_linked = name == "link-arg" || name == "link-args";
        let found = |word: &&str| is_linked && LINKED.iter().any(|(known, _)| known == word);
        let words: Vec<&str> = value.split(' ').collect();
        if words.iter().any(found) {
            for (known, why) in LINKED.iter().filter(|(known, _)| words.contains(known)) {
                left_out.push(line(&format!("{name}={known}"), why));
            }
            let kept: Vec<&str> = words.into_iter().filter(|word| !found(word)).collect();
            if !kept.is_empty() {
                arguments.push(format!("-C{name}={}", kept.join(" ")).into());
            }
            continue;
        }
        arguments.push(whole);
    }
    arguments.extend(opposites);
    Resolved { arguments, left_out }
}

/// Returns the row of an option with this value.
fn conflict(name: &str, value: &str) -> Option<&'static Conflict> {
    CONFLICTS.iter().find(|conflict| conflict.option == name && (conflict.is_met)(value))
}

/// Returns `true` for values that switch an option on.
fn is_on(value: &str) -> bool {
    !matches!(value, "off" | "no" | "n" | "false")
}

fn line(option: &str, why: &str) -> String {
    format!("-C{option}: {why}")
}

/// Appends the flags that do not apply to the command's file.
pub(super) fn note(left_out: &[String]) {
    let Some(file) = std::env::var_os(LEFT_OUT).filter(|_| !left_out.is_empty()) else { return };
    let lines: String = left_out.iter().map(|line| format!("{line}\n")).collect();
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
    // A single write, because other compiler calls write to the file at the same time.
    let _ = opened.and_then(|mut file| file.write_all(lines.as_bytes()));
}

/// Returns the command's remark about flags that do not apply, from the lines of all calls. `None` if there are no
/// lines.
pub(super) fn remark(lines: &str) -> Option<String> {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    let list: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    (!lines.is_empty())
        .then(|| format!("note: flags that do not apply to this build:\n{}", list.trim_end()))
}

/// Returns the note for linker errors, if the compiler's output contains linker errors.
pub(super) fn of_linker(output: &str) -> Option<&'static str> {
    let is_met = output.contains("linking with `")
        || output.contains("cannot satisfy dependencies so `std`");
    is_met.then_some(
        "\nnote: the program could not be linked with the functions of unpause in the place of functions of std. std must be \
         a part of the program, so no dependency can have the crate type `dylib`; and the linker must have `--wrap` and \
         `--defsym`, as GNU ld, lld and mold have. docs/native.md has more on flags.\n",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(given: &str) -> (String, usize) {
        let given: Vec<OsString> = given.split('|').map(OsString::from).collect();
        let Resolved { arguments, left_out } = resolve(&given);
        let texts: Vec<&str> = arguments.iter().map(|text| text.to_str().unwrap()).collect();
        (texts.join("|"), left_out.len())
    }

    #[test]
    fn flags_that_can_be_stay() {
        for given in [
            "--crate-name|a|-Copt-level=3|--target|x",
            "-Ctarget-feature=+avx2,-crt-static",
            "-Clto=off|-Cstrip=none|-Cprefer-dynamic=no",
            "-Clink-arg=-fuse-ld=mold|-Clink-args=-L a -la",
            "-Ccodegen-units=1|-|--print=cfg",
        ] {
            assert_eq!(resolved(given), (given.to_owned(), 0));
        }
        assert_eq!(resolved("-C|opt-level=3|a"), ("-Copt-level=3|a".to_owned(), 0));
    }

    #[test]
    fn opposites_come_last_and_arguments_of_the_linker_are_taken_out() {
        for (given, expected) in [
            ("-C|lto=fat|a", "-Clto=fat|a|-Clto=off"),
            ("-Clto|a", "-Clto|a|-Clto=off"),
            ("--codegen=strip=symbols|a", "--codegen=strip=symbols|a|-Cstrip=none"),
            ("-Cprefer_dynamic|a", "-Cprefer_dynamic|a|-Cprefer-dynamic=no"),
            ("-Clink-arg=-s|a", "a"),
            ("-C|link-args=-s -L b|a", "-Clink-args=-L b|a"),
        ] {
            assert_eq!(resolved(given), (expected.to_owned(), 1), "{given}");
        }
    }

    #[test]
    fn each_flag_is_named_once() {
        assert_eq!(remark(""), None);
        let remark = remark("-Clto=fat: why\n-Clink-arg=-s: why\n-Clto=fat: why\n").unwrap();
        assert_eq!(
            remark,
            "note: flags that do not apply to this build:\n  -Clink-arg=-s: why\n  -Clto=fat: why"
        );
    }
}
