//! Places that are the same on every machine: the crate and the file in it, without the folder of the crate.
//!
//! The compiler gives the file of a workspace crate relative to the workspace root. For any other crate it gives an
//! absolute path in the folder of a registry or a toolchain. This module shortens such a path to the crate:
//! `concurrent-queue-2.5.0/src/bounded.rs:112:37`, `core/src/array/mod.rs:3:5`, and `<sim>/rt/parts/timers.rs:32:56`
//! for this library, regardless of the folder in which it was compiled.

use std::borrow::Cow;
use std::fmt::Display;

/// The source folders of a package other than `src`.
const BESIDES: [&str; 3] = ["tests", "examples", "benches"];
/// The crates that come with the compiler.
const STD: [&str; 6] = ["core", "alloc", "std", "test", "proc_macro", "stdarch"];

/// The path of this file, as the compiler gives it.
const HERE: &str = file!();
/// The path of this file in the folder of its crate.
const HERE_IN_CRATE: &str = "/src/run/place.rs";
/// The folder name of this crate, without a version.
const CRATE: &str = "unpause-run";

/// Returns `true` if a place is in a crate that comes with the compiler.
pub fn is_std(place: &str) -> bool {
    let place = place.replace('\\', "/");
    let library = place.split_once("/library/");
    let from_compiler = place.starts_with("/rustc/") || place.contains("/rustlib/src/rust/");
    from_compiler && library.is_some_and(|(_, path)| STD.contains(&first(path)))
}

/// Returns `true` if a place is outside the user's workspace.
pub fn is_foreign(place: &str) -> bool {
    is_absolute(place)
}

/// Returns the place with a path relative to the crate instead of a path of the machine. Operations that the compiler
/// has merged have no line, so their place is only the file.
pub fn portable(place: &str) -> String {
    let place = &without_parents(place.strip_suffix(":0:0").unwrap_or(place))[..];
    if !is_absolute(place) {
        return place.to_owned();
    }
    let path = place.replace('\\', "/");
    if is_std(&path) {
        return path.split_once("/library/").map_or(path.clone(), |(_, path)| path.to_owned());
    }
    if let Some(file) = within_library(&path, HERE) {
        return format!("<sim>/{file}");
    }
    let parts: Vec<&str> = path.split('/').collect();
    match package(&parts) {
        Some(at) => [&name(&parts, at)[..], &parts[at + 1..].join("/")].join("/"),
        None => path,
    }
}

/// Returns the place in the form of screens, for a message that contains it: see [`portable`].
#[doc(hidden)]
pub fn in_text(place: impl Display) -> String {
    portable(&place.to_string())
}

/// Returns the path without each `..` that follows a folder: `tests/common/mod.rs` for `tests/web/../common/mod.rs`.
/// Such paths result from a `path` in the manifest or in the source.
fn without_parents(path: &str) -> Cow<'_, str> {
    if !path.contains("/../") {
        return Cow::Borrowed(path);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        let is_folder = parts.last().is_some_and(|last| !["", ".", ".."].contains(last));
        match part {
            ".." if is_folder => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    Cow::Owned(parts.join("/"))
}

/// Returns the path within the sources of the library or of this crate; `None` for a path elsewhere. `known` is the
/// path of this file. In a checkout, the folder of this crate is inside the folder of the library. In a registry, the
/// two folders are siblings with the same version.
fn within_library<'a>(path: &'a str, known: &str) -> Option<&'a str> {
    let known = known.replace('\\', "/");
    let (above, own) = known.strip_suffix(HERE_IN_CRATE)?.rsplit_once('/')?;
    let version = own.strip_prefix(CRATE)?;
    let path = path.strip_prefix(above)?;
    let beside = format!("/unpause{version}/src/");
    let below = if version.is_empty() { "/src/" } else { &beside };
    [&format!("/{own}/src/"), &beside, below]
        .into_iter()
        .find_map(|folder| path.strip_prefix(folder))
}

fn is_absolute(place: &str) -> bool {
    let drive = place.as_bytes().get(1) == Some(&b':') && place.as_bytes()[0].is_ascii_alphabetic();
    place.starts_with(['/', '\\']) || drive
}

fn first(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// Returns the index of the package folder in a path, which is the parent of the source folder.
pub fn package(parts: &[&str]) -> Option<usize> {
    let before = |is_source: &dyn Fn(&str) -> bool| {
        // The last part is the file.
        let mut folders = (0..parts.len().saturating_sub(2)).rev();
        folders.find(|at| is_source(parts[at + 1]) && !parts[*at].is_empty())
    };
    // `src` has precedence, because a module may be called `tests`.
    before(&|part| part == "src").or_else(|| before(&|part| BESIDES.contains(&part)))
}

/// Returns the name of a package folder. For a package that Cargo has checked out, returns the name of its repository.
fn name(parts: &[&str], at: usize) -> String {
    let checkout = parts.iter().position(|part| *part == "checkouts");
    match checkout.filter(|checkout| checkout + 2 == at) {
        Some(checkout) => {
            let repository = parts[checkout + 1];
            repository.rsplit_once('-').map_or(repository, |(name, _)| name).to_owned()
        }
        None => parts[at].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "/u/.cargo/registry/src/index.example-1949cf8c6b5b557f/concurrent-queue-2.5.0/src/bounded.rs:112:37";

    #[test]
    fn a_place_in_another_crate_says_which() {
        for (place, expected) in [
            ("src/counter.rs:9:22", "src/counter.rs:9:22"),
            ("crates/pool/src/lib.rs:9:22", "crates/pool/src/lib.rs:9:22"),
            (REGISTRY, "concurrent-queue-2.5.0/src/bounded.rs:112:37"),
            ("/u/src/pool/src/imp/tests/lib.rs:1:2", "pool/src/imp/tests/lib.rs:1:2"),
            (
                "/u/.cargo/git/checkouts/tokio-0123456789abcdef/abc1234/src/lib.rs:1:2",
                "tokio/src/lib.rs:1:2",
            ),
            (
                "/u/.cargo/git/checkouts/tokio-0123456789abcdef/abc1234/tokio-util/src/lib.rs:1:2",
                "tokio-util/src/lib.rs:1:2",
            ),
            (
                "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/array/mod.rs:3:5",
                "core/src/array/mod.rs:3:5",
            ),
            ("pool-tests/../examples/kv.rs:1:2", "examples/kv.rs:1:2"),
            ("tests/web/page/../../common/mod.rs:1:2", "tests/common/mod.rs:1:2"),
            ("../shared/../../lib.rs:1:2", "../../lib.rs:1:2"),
            ("/u/src/pool/src/../../queue/src/lib.rs:1:2", "queue/src/lib.rs:1:2"),
            ("/../lib.rs:1:2", "/../lib.rs:1:2"),
            ("C:\\Users\\me\\pool\\src\\lib.rs:1:2", "pool/src/lib.rs:1:2"),
            ("/tmp/one.rs:1:2", "/tmp/one.rs:1:2"),
            ("", ""),
        ] {
            assert_eq!(portable(place), expected);
        }
    }

    #[test]
    fn a_place_without_a_line_is_a_file() {
        assert_eq!(portable("src/lib.rs:0:0"), "src/lib.rs");
        assert_eq!(portable("src/lib.rs:10:0"), "src/lib.rs:10:0");
    }

    #[test]
    fn a_place_in_std_is_told_from_others() {
        assert!(is_std("/rustc/5980/library/alloc/src/raw_vec/mod.rs:28:5"));
        assert!(is_std("/u/.rustup/toolchains/x/lib/rustlib/src/rust/library/core/src/a.rs:1:1"));
        assert!(!is_std("/u/library/core/src/a.rs:1:1"));
        assert!(!is_std("src/library/core/src/a.rs:1:1"));
    }

    #[test]
    fn a_place_of_this_library_is_the_same_from_every_folder() {
        let registry = "/u/.cargo/registry/src/index.example-19";
        for (library, own) in [
            (format!("{registry}/unpause-0.1.0"), format!("{registry}/unpause-run-0.1.0")),
            ("/w/checkout".to_owned(), "/w/checkout/unpause-run".to_owned()),
            ("/w/vendor/unpause".to_owned(), "/w/vendor/unpause-run".to_owned()),
        ] {
            let known = format!("{own}/src/run/place.rs");
            let path = format!("{library}/src/rt/parts/timers.rs:32:56");
            assert_eq!(within_library(&path, &known), Some("rt/parts/timers.rs:32:56"));
            let path = format!("{own}/src/run/mod.rs:3:5");
            assert_eq!(within_library(&path, &known), Some("run/mod.rs:3:5"));
            assert_eq!(within_library("/w/other/src/rt/parts/timers.rs:32:56", &known), None);
        }
        let path = "/r/unpause-0.2.0/src/rt/parts/timers.rs:32:56";
        assert_eq!(within_library(path, "/r/unpause-run-0.1.0/src/run/place.rs"), None);
        let here = HERE.replace('\\', "/");
        assert!(here.ends_with(&format!("{CRATE}{HERE_IN_CRATE}")), "the file has moved: {HERE}");
    }
}
