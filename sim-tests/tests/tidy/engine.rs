//! Lists of the engine's crates: the engine is not instrumented, and its statics are kept between runs.

use crate::tree::{File, Offence};

/// The files with a list, and whether the list has names of packages (or else of crates).
const LISTS: [(&str, bool); 3] = [
    ("cargo-unpause/src/test/wrapper.rs", false),
    ("cargo-unpause/src/test/any/engine.rs", true),
    ("unpause-native/src/linux/statics.rs", false),
];

/// Returns lists that lack a workspace crate although the library or the runtime needs it.
pub(crate) fn incomplete(files: &[File]) -> Vec<Offence> {
    let at = |path: &str| files.iter().find(|file| file.path == path);
    let mut packages: Vec<&str> = ["Cargo.toml", "unpause-native/Cargo.toml"]
        .into_iter()
        .filter_map(at)
        .flat_map(|manifest| manifest.text.split("[dev-dependencies]").next())
        .flat_map(str::lines)
        .filter(|line| line.starts_with("unpause-") && line.contains("path = \""))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        // The compiler loads `unpause-macros`.
        .filter(|name| *name != "unpause-macros")
        .collect();
    packages.sort_unstable();
    packages.dedup();
    let mut offences = Vec::new();
    for (path, is_of_packages) in LISTS {
        let Some(file) = at(path) else { continue };
        for package in &packages {
            let entry = match is_of_packages {
                true => format!("\"{package}/src\""),
                false => format!("\"{}\"", package.replace('-', "_")),
            };
            if !file.text.contains(&entry) {
                let message = format!("the engine has the crate `{package}`: add {entry}");
                offences.push(Offence::new(file, 0, message));
            }
        }
    }
    offences
}

mod tests {
    use super::*;

    #[test]
    fn a_list_without_a_crate_is_found() {
        let manifest =
            "[dependencies]\nunpause-check = { path = \"unpause-check\" }\nfutures = \"0.3\"\n";
        let of = |text: &str| {
            let files = [File::new("Cargo.toml", manifest), File::new(LISTS[0].0, text)];
            incomplete(&files).len()
        };
        assert_eq!((of("&[\"unpause_check\"]"), of("&[\"unpause_run\"]")), (0, 1));
    }
}
