//! The form of a file: its length, its first line, its place on the map.

use std::collections::BTreeSet;

use crate::source::ROOTS;
use crate::tree::{File, Offence};

/// The maximum length of a source file, in lines.
const LINES_MAX: usize = 500;

/// A source of more than [`LINES_MAX`] lines.
pub(crate) fn too_long(file: &File) -> Vec<Offence> {
    let lines = file.text.lines().count();
    if !file.is_rust() || lines <= LINES_MAX {
        return Vec::new();
    }
    let message = format!("{lines} lines, the limit is {LINES_MAX}: which two things live here?");
    vec![Offence::new(file, 0, message)]
}

/// The maximum width of a comment, in columns.
const COLUMNS_MAX: usize = 120;

/// Returns comments in the sources of a crate that are wider than [`COLUMNS_MAX`]. Rows of tables are exempt, because a
/// row has one line.
pub(crate) fn too_wide(file: &File) -> Vec<Offence> {
    if !file.is_rust() || !file.path.starts_with("src/") && !file.path.contains("/src/") {
        return Vec::new();
    }
    let is_row = |line: &str| line.trim_start_matches(['/', '!', ' ']).starts_with('|');
    let is_wide = |line: &str| line.chars().count() > COLUMNS_MAX;
    let lines = file.text.lines().enumerate();
    let comments = lines.filter(|(_, line)| line.trim_start().starts_with("//"));
    let wide = comments.filter(|(_, line)| is_wide(line) && !is_row(line));
    let message = format!("a comment has at most {COLUMNS_MAX} columns");
    wide.map(|(at, _)| Offence::new(file, at + 1, message.clone())).collect()
}

/// A source that does not open with `//!`.
///
/// Inputs of the compile-fail tests are left out: their compiler errors quote line numbers, and
/// their names describe their errors.
pub(crate) fn without_opening(file: &File) -> Vec<Offence> {
    let is_ui_input = file.path.contains("/tests/ui/");
    let opening = file.text.lines().next().and_then(|line| line.strip_prefix("//!"));
    if !file.is_rust() || is_ui_input || opening.is_some_and(|words| !words.trim().is_empty()) {
        return Vec::new();
    }
    vec![Offence::new(file, 1, "open with `//!`: what lives here, why, and what does not")]
}

/// A `#[test]` that the real build compiles and never runs.
pub(crate) fn compiled_for_nothing(file: &File) -> Vec<Offence> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let is_ignored = |line: &str| line.starts_with("#[cfg_attr(not(feature = \"sim\"), ignore");
    let tests = lines.iter().enumerate().filter(|(_, line)| **line == "#[test]");
    let above = |at: usize| lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
    let below = |at: usize| lines[at..].iter().take_while(|line| line.starts_with("#["));
    let offences =
        tests.filter(|(at, _)| above(*at).chain(below(*at)).any(|line| is_ignored(line)));
    let message = "the real build generates code for this test and ignores it: #[cfg_attr(feature = \"sim\", test)]";
    offences.map(|(at, _)| Offence::new(file, at + 1, message)).collect()
}

const MAP: &str = "ARCHITECTURE.md";

/// Returns top-level modules of the library and of its data crate that the architecture page does not name in
/// backticks, for example as `` `ids.rs` `` or `` `rt/` ``. A file that becomes a folder keeps its place on the page.
pub(crate) fn modules_off_the_map(files: &[File]) -> Vec<Offence> {
    let Some(map) = files.iter().find(|file| file.path == MAP) else {
        let message = "missing: the bird's eye, the code map, the invariants".to_owned();
        return vec![Offence { path: MAP.to_owned(), line: 0, message }];
    };
    let sources = files.iter().filter(|file| file.is_rust());
    let modules: BTreeSet<&str> = sources
        .filter_map(|file| ROOTS.iter().find_map(|root| file.path.strip_prefix(root)))
        .map(|path| path.split('/').next().unwrap_or(path).trim_end_matches(".rs"))
        .filter(|module| *module != "lib")
        .collect();
    let is_named = |module: &str| {
        let forms = [format!("`{module}.rs`"), format!("`{module}/`")];
        forms.iter().any(|form| map.text.contains(form.as_str()))
    };
    let lost = modules.into_iter().filter(|module| !is_named(module));
    lost.map(|module| Offence::new(map, 0, format!("the code map has no `{module}`"))).collect()
}

mod tests {
    use super::*;

    #[test]
    fn a_source_of_501_lines_is_too_long() {
        let of = |path, lines: usize| too_long(&File::new(path, &"x\n".repeat(lines))).len();
        assert_eq!((of("a.rs", 501), of("a.rs", 500), of("a.md", 501)), (1, 0, 0));
    }

    #[test]
    fn a_comment_of_121_columns_is_too_wide() {
        let of = |path, line: String| too_wide(&File::new(path, &line)).len();
        let comment = |width: usize| format!("    /// {}", "x".repeat(width - 8));
        assert_eq!((of("src/a.rs", comment(121)), of("src/a.rs", comment(120))), (1, 0));
        assert_eq!(of("unpause-run/src/a.rs", comment(121)), 1);
        assert_eq!(of("examples/a.rs", comment(121)), 0, "an example shows what it prints");
        assert_eq!(of("src/a.rs", format!("//! | {} |", "x".repeat(130))), 0);
    }

    #[test]
    fn a_source_without_an_opening_is_found() {
        let lacks = |path, text| !without_opening(&File::new(path, text)).is_empty();
        for path in ["src/rt/mod.rs", "examples/a.rs", "sim-tests/tests/tidy.rs"] {
            assert!(lacks(path, "use std::fmt;\n"), "{path}");
            assert!(lacks(path, "// A bank.\n"), "{path}");
            assert!(lacks(path, "//!\nuse std::fmt;\n"), "{path}");
            assert!(lacks(path, ""), "{path}");
            assert!(!lacks(path, "//! A bank.\n"), "{path}");
        }
        assert!(!lacks("README.md", "# A bank\n"));
        assert!(!lacks("sim-tests/tests/ui/unknown_argument.rs", "fn main() {}\n"));
    }

    #[test]
    fn a_test_that_the_real_build_ignores_is_found() {
        let ignored = "#[cfg_attr(not(feature = \"sim\"), ignore = \"simulated runs only\")]";
        let of = |text: &str| compiled_for_nothing(&File::new("sim-tests/tests/a.rs", text)).len();
        assert_eq!(of(&format!("    #[test]\n    {ignored}\n    fn a() {{}}\n")), 1);
        assert_eq!(of(&format!("{ignored}\n#[cfg(unix)]\n#[test]\nfn a() {{}}\n")), 1);
        assert_eq!(of(&format!("#[test]\nfn a() {{}}\n\n{ignored}\n#[sim::test]\n")), 0);
        assert_eq!(of("#[cfg_attr(feature = \"sim\", test)]\nfn a() {}\n"), 0);
    }

    /// The files that the map with this text lacks.
    fn lost(map: &str) -> Vec<String> {
        let sources =
            ["src/lib.rs", "src/ids.rs", "src/trace.rs", "src/trace/format.rs", "src/rt/mod.rs"];
        let mut files: Vec<File> = sources.iter().map(|path| File::new(path, "//! x")).collect();
        files.push(File::new(MAP, map));
        modules_off_the_map(&files).into_iter().map(|offence| offence.message).collect()
    }

    #[test]
    fn a_module_off_the_map_is_found() {
        assert_eq!(lost("`ids.rs`, `trace.rs` and `rt/`"), [""; 0]);
        assert_eq!(lost("`ids.rs`, `trace/` and `rt.rs`"), [""; 0]);
        assert_eq!(lost("`ids.rs`, trace and `rt/`"), ["the code map has no `trace`"]);
        assert_eq!(lost("`trace.rs` and `rt/`"), ["the code map has no `ids`"]);
    }

    #[test]
    fn a_missing_map_is_found() {
        assert_eq!(modules_off_the_map(&[File::new("src/ids.rs", "")]).len(), 1);
    }
}
