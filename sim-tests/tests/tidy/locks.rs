//! Lock files of other workspaces in this repository. If such a file contains a crate of this workspace, it must also
//! contain the crate's dependencies.
//!
//! Cargo would add a missing crate silently, unless it is called with `--locked`.

use std::collections::BTreeSet;

use crate::tree::{File, Offence};

/// Returns lock files that lack a crate although a crate of this workspace needs it.
pub(crate) fn incomplete(files: &[File]) -> Vec<Offence> {
    let manifest = |package: &str| {
        let path = match package {
            "unpause" => "Cargo.toml".to_owned(),
            _ => format!("{package}/Cargo.toml"),
        };
        files.iter().find(|file| file.path == path)
    };
    let locks = files.iter().filter(|file| file.path.ends_with("Cargo.lock"));
    locks
        .flat_map(|lock| {
            let names: BTreeSet<&str> = names(lock).collect();
            let needed = names.iter().filter_map(|name| manifest(name)).flat_map(needed);
            let missing: BTreeSet<&str> = needed.filter(|name| !names.contains(name)).collect();
            missing.into_iter().map(|name| {
                let folder = lock.path.trim_end_matches("Cargo.lock");
                Offence::new(
                    lock,
                    0,
                    format!(
                        "has no `{name}`: run `cargo metadata --manifest-path {folder}Cargo.toml`"
                    ),
                )
            })
        })
        .collect()
}

/// The names of the packages in a lock file.
fn names(lock: &File) -> impl Iterator<Item = &str> {
    let values = lock.text.lines().filter_map(|line| line.strip_prefix("name = \""));
    values.map(|value| value.trim_end_matches('"'))
}

/// The crates of this workspace that a manifest always depends on, apart from its tests.
fn needed(manifest: &File) -> impl Iterator<Item = &str> {
    let text = manifest.text.split("[dev-dependencies]").next().unwrap_or_default();
    let lines =
        text.lines().filter(|line| line.contains("path = \"") && !line.contains("optional"));
    let lines = lines.filter(|line| line.starts_with("unpause"));
    lines.filter_map(|line| Some(line.split_once(" = ")?.0))
}

mod tests {
    use super::*;

    #[test]
    fn a_lock_file_without_a_needed_crate_is_found() {
        let check = "[package]\nname = \"unpause-check\"\n\n[dependencies]\n\
            unpause-ordered = { path = \"../unpause-ordered\" }\n\
            unpause-words = { path = \"../unpause-words\", optional = true }\n\n\
            [dev-dependencies]\nunpause = { path = \"..\" }\n";
        let of = |lock: &str| {
            let files =
                [File::new("unpause-check/Cargo.toml", check), File::new("a/Cargo.lock", lock)];
            incomplete(&files).into_iter().map(|offence| offence.message).collect::<Vec<_>>()
        };
        let found = of("[[package]]\nname = \"unpause-check\"\n");
        assert!(found.len() == 1 && found[0].contains("`unpause-ordered`"), "{found:?}");
        assert!(
            of(
                "[[package]]\nname = \"unpause-check\"\n\n[[package]]\nname = \"unpause-ordered\"\n"
            )
            .is_empty()
        );
        assert!(of("[[package]]\nname = \"serde\"\n").is_empty());
    }
}
