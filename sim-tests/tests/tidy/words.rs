//! Words that no file contains: personal folders, hosts of package registries, and the short name of the command.
//!
//! A path of one machine is wrong on all other machines, and each machine chooses its own registry. The words are put
//! together from parts here, because this file would otherwise be an offender.

use crate::tree::{File, Offence};

/// Beginnings of absolute paths.
const FOLDERS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("C:", "\\Us", "ers\\"),
];

const HOSTS: &[&str] = &[
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("registry.", "npmjs.org"),
    concat!("py", "pi.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("deb.", "debian.org"),
];

/// The short name of the command, which texts do not use: a reader should not meet two names.
const SHORT_NAME: &str = concat!("cargo", " sim");

/// The files that mention the short name.
const OF_SHORT_NAME: &[&str] =
    &["CHANGELOG.md", "cargo-unpause/README.md", "cargo-unpause/src/bin/cargo-sim.rs"];

/// Lines that name a folder of some machine, a host of a registry or the short name of the command.
pub(crate) fn check(file: &File) -> Vec<Offence> {
    // Cargo writes where each package comes from into its lock file.
    if file.path.ends_with("Cargo.lock") {
        return Vec::new();
    }
    let mut offences = Vec::new();
    for (i, line) in file.text.lines().enumerate() {
        let mut say = |message: String| offences.push(Offence::new(file, i + 1, message));
        if let Some(folder) = FOLDERS.iter().find(|folder| begins_a_path(line, folder)) {
            say(format!("`{folder}` is a folder of one machine: use a relative path"));
        }
        if let Some(host) = HOSTS.iter().find(|host| line.contains(*host)) {
            say(format!("`{host}` is a host of a registry: say \"crates.io\" or the like"));
        }
        let is_named = line.match_indices(SHORT_NAME).any(|(at, name)| {
            !line[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || "-_".contains(c))
        });
        if is_named && !OF_SHORT_NAME.iter().any(|path| file.path == *path) {
            say("the command is `cargo unpause` in all texts".to_owned());
        }
    }
    offences
}

/// Returns `true` if `line` contains `folder` at the beginning of a path, not in the middle of a path.
fn begins_a_path(line: &str, folder: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || "._-*{}$)>/".contains(c);
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(is_inner))
}

mod tests {
    use super::*;

    fn is_found(path: &str, line: &str) -> bool {
        !check(&File::new(path, &format!("first\n{line}\n"))).is_empty()
    }

    #[test]
    fn a_folder_of_a_machine_is_found() {
        for folder in FOLDERS {
            assert!(is_found("notes.md", &format!("see {folder}x/y")), "{folder}");
            assert!(is_found(".ci/run", &format!("\"{folder}x\"")), "{folder}");
            assert!(!is_found("notes.md", &format!("see src{folder}x")), "{folder}");
        }
    }

    #[test]
    fn a_host_of_a_registry_is_found() {
        for host in HOSTS {
            assert!(is_found("deny.toml", &format!("allow = [\"https://{host}/\"]")), "{host}");
            assert!(!is_found("Cargo.lock", &format!("source = \"{host}\"")), "{host}");
        }
        assert!(!is_found("README.md", "published on crates.io"));
    }

    #[test]
    fn the_short_name_of_the_command_is_found() {
        assert!(is_found("README.md", &format!("`{SHORT_NAME} merge FOLDER`")));
        assert!(is_found("README.md", SHORT_NAME));
        assert!(!is_found("CHANGELOG.md", SHORT_NAME));
        assert!(!is_found("README.md", &format!("{SHORT_NAME}ulates, {SHORT_NAME}-tests")));
    }

    #[test]
    fn the_line_is_told() {
        let text = format!("first\nsecond {}x\n", FOLDERS[0]);
        assert_eq!(check(&File::new("a", &text))[0].line, 2);
    }
}
