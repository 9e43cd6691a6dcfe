//! There is no unsafe code outside of the crates for unmodified code. The sources do not contain the word `unsafe`, and
//! the lints make the compiler refuse it.
//!
//! The lint comes with `[lints]` of the manifest and holds for every target. The attribute at a
//! root repeats this for the reader of that file, and for a copied example.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tree::{File, Offence};

/// The only crates with unsafe code, all for unmodified code: the runtime, and the crates with the names of other
/// tools, whose signatures are unsafe. The lints of these crates require a reason at each block.
const UNSAFE: &[&str] = &["unpause-native/", "unpause-loom/", "unpause-model/", "unpause-shuttle/"];

/// Tests of what safe code cannot do: errors in the use of memory, changes of the environment, an allocator.
const PLANTED: &[&str] =
    &["native-tests/tests/memory", "native-tests/leftovers/tests", "native-tests/loom/tests"];

/// The manifests of tests that contain no unsafe code in their other files.
const OF_PLANTED: &[&str] = &[
    "native-tests/Cargo.toml",
    "native-tests/leftovers/Cargo.toml",
    "native-tests/loom/Cargo.toml",
];

fn is_exempt(path: &str) -> bool {
    let is_one = |folder: &&str| path.starts_with(folder);
    UNSAFE.iter().any(is_one) || PLANTED.iter().any(is_one)
}

/// Returns uses of `unsafe` as code: blocks, functions, impls and attributes, also inside macros.
///
/// Works on tokens. Tokens that a test quotes are left out, because the input of a macro may be anything. The sources
/// in `ui/` are left out, too, because the compiler must reject them.
pub(crate) fn unsafe_words(file: &File) -> Vec<Offence> {
    if !file.is_rust() || file.path.contains("/tests/ui/") || is_exempt(&file.path) {
        return Vec::new();
    }
    // Most files have the word in `unsafe_code` at most, and need not be made tokens.
    let is_in_word =
        |rest: &str| rest.starts_with(|next: char| next == '_' || next.is_alphanumeric());
    if file.text.split("unsafe").skip(1).all(is_in_word) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    match file.text.parse() {
        Ok(tokens) => collect_unsafe(tokens, false, &mut lines),
        Err(e) => return vec![Offence::new(file, 0, format!("no Rust tokens: {e}"))],
    }
    let message = "unsafe code: find a safe way; the invariants in ARCHITECTURE.md say what a measured need gets";
    lines.into_iter().map(|line| Offence::new(file, line, message)).collect()
}

fn collect_unsafe(tokens: TokenStream, in_test: bool, lines: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: Option<usize>, text: &str| at.is_some_and(|at| tokens[at].to_string() == text);
    let mut is_test_item = false;
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let is_quoted = is(i.checked_sub(1), "!") && is(i.checked_sub(2), "quote");
                if is(i.checked_sub(1), "#") && is_cfg_test(&group.stream()) {
                    is_test_item = true;
                } else if !(in_test && is_quoted) {
                    collect_unsafe(group.stream(), in_test || is_test_item, lines);
                }
                is_test_item &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Ident(word) if word == "unsafe" => lines.push(word.span().start().line),
            _ => {}
        }
    }
}

fn is_cfg_test(attribute: &TokenStream) -> bool {
    attribute.to_string().replace(' ', "") == "cfg(test)"
}

/// A library, program, build script or example without `#![forbid(unsafe_code)]`.
pub(crate) fn root_without_forbid(file: &File) -> Vec<Offence> {
    if !is_root(&file.path) || forbids(&file.text) || is_exempt(&file.path) {
        return Vec::new();
    }
    vec![Offence::new(file, 0, "a crate root: add `#![forbid(unsafe_code)]` below its `//!`")]
}

fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match &parts[..] {
        [.., "src", "lib.rs" | "main.rs"] | ["build.rs"] | [_, "build.rs"] => true,
        [.., "src", "bin", file] | [.., "examples", file] => file.ends_with(".rs"),
        [.., "examples" | "bin", _, "main.rs"] => true,
        _ => false,
    }
}

fn forbids(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "#![forbid(unsafe_code)]")
}

/// Returns a manifest whose package does not use the lints of the workspace.
///
/// A package with its own workspace forbids unsafe code itself.
pub(crate) fn manifest_without_lints(file: &File) -> Vec<Offence> {
    let is_manifest = file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml");
    if !is_manifest {
        return Vec::new();
    }
    let mut offences = Vec::new();
    let says = |section, key, value| has(&file.text, section, key, value);
    let begins_a_workspace = file.text.lines().any(|line| line.trim() == "[workspace]");
    // Allowed again in the files of `PLANTED` only: `unsafe_words`.
    let denies = OF_PLANTED.contains(&&*file.path) && says("lints.rust", "unsafe_code", "\"deny\"");
    let forbids = says("workspace.lints.rust", "unsafe_code", "\"forbid\"")
        || says("lints.rust", "unsafe_code", "\"forbid\"")
        || denies;
    let gives_reasons =
        is_exempt(&file.path) && says("lints.clippy", "undocumented_unsafe_blocks", "\"deny\"");
    if begins_a_workspace && !forbids && !gives_reasons {
        let message = "a workspace: add `unsafe_code = \"forbid\"` to its [workspace.lints.rust]";
        offences.push(Offence::new(file, 0, message));
    }
    let takes = says("lints", "workspace", "true")
        || says("lints.rust", "unsafe_code", "\"forbid\"")
        || denies
        || gives_reasons;
    let is_package = file.text.lines().any(|line| line.trim() == "[package]");
    if is_package && !takes {
        offences.push(Offence::new(file, 0, "a package: add `[lints]` and `workspace = true`"));
    }
    offences
}

/// Returns `true` if `[section]` of a manifest has `key = value`.
fn has(manifest: &str, section: &str, key: &str, value: &str) -> bool {
    let header = format!("[{section}]");
    let inside = manifest.lines().map(str::trim).skip_while(|line| *line != header).skip(1);
    let mut entries =
        inside.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    entries.any(|(k, v)| k.trim() == key && v.split('#').next().unwrap_or("").trim() == value)
}

mod tests {
    use super::*;

    fn unsafe_lines(text: &str) -> Vec<usize> {
        let offences = unsafe_words(&File::new("src/rt/mod.rs", text));
        offences.iter().map(|offence| offence.line).collect()
    }

    #[test]
    fn the_crate_for_unmodified_code_must_ask_for_reasons() {
        let unsafe_text = "fn f() { unsafe { g() } }";
        assert!(
            unsafe_words(&File::new("unpause-native/src/linux/heap.rs", unsafe_text)).is_empty()
        );
        assert!(!unsafe_words(&File::new("unpause-check/src/lib.rs", unsafe_text)).is_empty());
        let lints = "[package]\n[lints.clippy]\nundocumented_unsafe_blocks = \"deny\"\n";
        let offences = |text| manifest_without_lints(&File::new("unpause-native/Cargo.toml", text));
        assert!(offences(lints).is_empty());
        assert!(!offences("[package]\n").is_empty());
        assert!(!manifest_without_lints(&File::new("unpause-check/Cargo.toml", lints)).is_empty());
    }

    #[test]
    fn unsafe_code_is_found_wherever_it_stands() {
        assert_eq!(unsafe_lines("fn f() {\n unsafe { g() }\n}"), [2]);
        assert_eq!(unsafe_lines("unsafe impl Send for S {}"), [1]);
        assert_eq!(unsafe_lines("macro_rules! m { () => { unsafe { g() } } }"), [1]);
        assert_eq!(unsafe_lines("#[unsafe(no_mangle)] fn f() {}"), [1]);
    }

    #[test]
    fn a_test_may_quote_unsafe_and_a_macro_must_not() {
        let quoting = "fn f() { g(quote!(\n unsafe {})) }";
        assert_eq!(unsafe_lines(quoting), [2]);
        assert_eq!(unsafe_lines(&format!("#[cfg(test)] mod tests {{ {quoting} }}")), [0; 0]);
        assert_eq!(unsafe_lines(&format!("#[cfg(test)] mod tests {{}} {quoting}")), [2]);
        assert_eq!(unsafe_lines("#[cfg(test)] mod tests { fn f() { unsafe {} } }"), [1]);
    }

    #[test]
    fn speaking_of_unsafe_is_not_unsafe() {
        let text = "//! No unsafe.\n#![forbid(unsafe_code)]\nconst S: &str = \"unsafe\";";
        assert_eq!(unsafe_lines(text), [0; 0]);
        assert_eq!(unsafe_words(&File::new("notes.md", "unsafe { }")), []);
    }

    fn lacks_forbid(path: &str, text: &str) -> bool {
        !root_without_forbid(&File::new(path, text)).is_empty()
    }

    #[test]
    fn a_root_without_the_attribute_is_found() {
        let roots =
            ["src/lib.rs", "unpause-macros/src/lib.rs", "cargo-unpause/src/main.rs", "build.rs"];
        for path in roots.iter().chain(&["examples/a.rs", "examples/a/main.rs", "x/src/bin/b.rs"]) {
            assert!(lacks_forbid(path, "//! x\n// #![forbid(unsafe_code)]\n"), "{path}");
            assert!(!lacks_forbid(path, "//! x\n\n#![forbid(unsafe_code)]\n"), "{path}");
        }
        assert!(!lacks_forbid("src/rt/mod.rs", "//! x\n"));
        assert!(!lacks_forbid("sim-tests/tests/tidy.rs", "//! x\n"));
    }

    fn lacks_lints(text: &str) -> usize {
        manifest_without_lints(&File::new("x/Cargo.toml", text)).len()
    }

    #[test]
    fn a_package_without_the_lints_is_found() {
        assert_eq!(lacks_lints("[package]\nname = \"x\"\n"), 1);
        assert_eq!(lacks_lints("[package]\nname = \"x\"\n\n[lints]\nworkspace = false\n"), 1);
        assert_eq!(lacks_lints("[package]\n[dependencies]\nworkspace = true\n[lints]\n"), 1);
        assert_eq!(lacks_lints("[package]\nname = \"x\"\n\n[lints]\nworkspace = true # all\n"), 0);
    }

    #[test]
    fn a_workspace_that_does_not_forbid_is_found() {
        let package = "[package]\n[lints]\nworkspace = true\n";
        let workspace =
            |lints| format!("[workspace]\n\n[workspace.lints.rust]\n{lints}\n{package}");
        assert_eq!(lacks_lints(&workspace("unsafe_code = \"warn\"")), 1);
        assert_eq!(lacks_lints(&workspace("unsafe_code = \"forbid\"")), 0);
        assert_eq!(
            lacks_lints("[workspace]\n[package]\n[lints.rust]\nunsafe_code = \"forbid\""),
            0
        );
    }
}
