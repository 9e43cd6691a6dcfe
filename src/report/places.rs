//! Places as a person reads them: the crate and the file in it, not where it lies on the machine.
//!
//! The compiler gives the file of a crate of the workspace relative to its root, and of any other crate from the root
//! of the file system, behind a registry's folder or a toolchain's. This module shortens the latter to the crate:
//! `concurrent-queue-2.5.0/src/bounded.rs:112:37`, `core/src/array/mod.rs:3:5`.

use unpause_check::picture::screen::clean;

/// The folders of a package that have sources in them besides `src`.
const BESIDES: [&str; 3] = ["tests", "examples", "benches"];
/// The crates that come with the compiler.
const STD: [&str; 6] = ["core", "alloc", "std", "test", "proc_macro", "stdarch"];

/// Returns `true` if a place is in a crate that comes with the compiler.
pub(crate) fn is_std(place: &str) -> bool {
    let place = place.replace('\\', "/");
    let library = place.split_once("/library/");
    let from_compiler = place.starts_with("/rustc/") || place.contains("/rustlib/src/rust/");
    from_compiler && library.is_some_and(|(_, path)| STD.contains(&first(path)))
}

/// Returns `true` if a place is not in the workspace of the user.
pub(super) fn is_foreign(place: &str) -> bool {
    is_absolute(place)
}

/// The place with the path of the crate in the place of the machine's. Operations that the compiler has merged have no
/// line: their place is the file.
pub(super) fn shown(place: &str) -> String {
    let place = place.strip_suffix(":0:0").unwrap_or(place);
    if !is_absolute(place) {
        return place.to_owned();
    }
    let path = place.replace('\\', "/");
    if is_std(&path) {
        return path.split_once("/library/").map_or(path.clone(), |(_, path)| path.to_owned());
    }
    let parts: Vec<&str> = path.split('/').collect();
    match package(&parts) {
        Some(at) => [&name(&parts, at)[..], &parts[at + 1..].join("/")].join("/"),
        None => path,
    }
}

/// A place, or as much of it as fits. Escaped as all text is.
pub(super) fn cut_place(place: &str, width: usize) -> String {
    cut(&shown(&clean(place)), width)
}

/// A [shown] place, or as much of it as fits: without the version, then without the folders between
/// the crate and the file, then as much of its end as fits, beginning with a whole part of its path if
/// possible.
pub(super) fn cut(place: &str, width: usize) -> String {
    let fits = |place: &str| place.chars().count() <= width;
    if fits(place) {
        return place.to_owned();
    }
    let parts: Vec<&str> = place.split('/').collect();
    if let Some(at) = package(&parts) {
        let (name, rest) = (without_version(parts[at]), &parts[at + 1..]);
        let whole = format!("{name}/{}", rest.join("/"));
        let file = format!("{name}/…/{}", rest[rest.len() - 1]);
        if let Some(short) = [whole, file].into_iter().find(|place| fits(place)) {
            return short;
        }
    }
    let len = place.chars().count();
    let tail: String = place.chars().skip(len + 1 - width.max(1)).collect();
    match tail.find(['/', '\\']) {
        Some(at) => format!("…{}", &tail[at..]),
        None => format!("…{tail}"),
    }
}

fn is_absolute(place: &str) -> bool {
    let drive = place.as_bytes().get(1) == Some(&b':') && place.as_bytes()[0].is_ascii_alphabetic();
    place.starts_with(['/', '\\']) || drive
}

fn first(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// Returns the index of the folder of the package in a path: the one before the folder of the sources.
fn package(parts: &[&str]) -> Option<usize> {
    let before = |is_source: &dyn Fn(&str) -> bool| {
        // The last part is the file.
        let mut folders = (0..parts.len().saturating_sub(2)).rev();
        folders.find(|at| is_source(parts[at + 1]) && !parts[*at].is_empty())
    };
    // A module may be called `tests`.
    before(&|part| part == "src").or_else(|| before(&|part| BESIDES.contains(&part)))
}

/// Returns the name of a package's folder; for a package that Cargo has checked out, the name of its repository.
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

/// `bounded-2.5.0` without its version.
fn without_version(name: &str) -> &str {
    let is_version = |text: &str| {
        let digits = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        text.split('.').count() >= 3 && text.split('.').take(3).all(digits)
    };
    match name.match_indices('-').find(|(at, _)| is_version(&name[at + 1..])) {
        Some((at, _)) => &name[..at],
        None => name,
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
            ("C:\\Users\\me\\pool\\src\\lib.rs:1:2", "pool/src/lib.rs:1:2"),
            ("/tmp/one.rs:1:2", "/tmp/one.rs:1:2"),
            ("", ""),
        ] {
            assert_eq!(shown(place), expected);
        }
    }

    #[test]
    fn a_place_without_a_line_is_a_file() {
        assert_eq!(shown("src/lib.rs:0:0"), "src/lib.rs");
        assert_eq!(shown("src/lib.rs:10:0"), "src/lib.rs:10:0");
    }

    #[test]
    fn a_place_in_std_is_told_from_others() {
        assert!(is_std("/rustc/5980/library/alloc/src/raw_vec/mod.rs:28:5"));
        assert!(is_std("/u/.rustup/toolchains/x/lib/rustlib/src/rust/library/core/src/a.rs:1:1"));
        assert!(!is_std("/u/library/core/src/a.rs:1:1"));
        assert!(!is_std("src/library/core/src/a.rs:1:1"));
    }

    #[test]
    fn a_place_that_is_cut_keeps_its_crate() {
        let place = shown(REGISTRY);
        assert_eq!(cut(&place, 44), place);
        assert_eq!(cut(&place, 43), "concurrent-queue/src/bounded.rs:112:37");
        assert_eq!(cut(&place, 37), "concurrent-queue/…/bounded.rs:112:37");
        assert_eq!(cut(&place, 30), "…/src/bounded.rs:112:37");
        assert_eq!(cut("crates/pool/src/a/lib.rs:9:22", 26), "pool/src/a/lib.rs:9:22");
        assert_eq!(cut("crates/pool/src/a/lib.rs:9:22", 21), "pool/…/lib.rs:9:22");
    }

    #[test]
    fn a_place_is_cut_from_the_left_at_a_part_of_its_path() {
        assert_eq!(cut("src/a/lost_update.rs:12:20", 26), "src/a/lost_update.rs:12:20");
        assert_eq!(cut("src/a/lost_update.rs:12:20", 23), "…/lost_update.rs:12:20");
        assert_eq!(cut("src/a/lost_update.rs:12:20", 10), "….rs:12:20");
    }
}
