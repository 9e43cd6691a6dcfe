//! Libraries without tests. The gate lints a library together with its tests, so `.ci/lint` must name libraries without
//! tests.

use crate::tree::{File, Offence};

/// Manifests of such libraries that the script does not name.
pub(crate) fn forgotten(files: &[File]) -> Vec<Offence> {
    let script = files.iter().find(|file| file.path == ".ci/lint").expect("the script is there");
    let members = files.iter().find(|file| file.path == "Cargo.toml").expect("a workspace");
    files
        .iter()
        .filter_map(|manifest| {
            let package = manifest.path.strip_suffix("/Cargo.toml")?;
            members.text.contains(&format!("\"{package}\"")).then_some(())?;
            let library = manifest.text.split("\n[").find(|table| table.starts_with("lib]"))?;
            library.contains("\ntest = false").then_some(())?;
            let name = library.lines().find_map(|line| line.strip_prefix("name = \""))?;
            let name = name.trim_end_matches('"');
            let named = format!("lib:{name}");
            let is_named = script.text.split([' ', ')']).any(|word| word == named);
            let text = format!("nothing lints this library: add `{named}` to `.ci/lint`");
            (!is_named).then(|| Offence::new(manifest, 0, text))
        })
        .collect()
}

mod tests {
    use super::*;

    #[test]
    fn a_library_that_nothing_lints_is_found() {
        let manifest =
            |test: &str| format!("[package]\nname = \"a\"\n\n[lib]\nname = \"b\"\n{test}");
        let found = |script: &str, manifest: String| {
            let files = [
                File::new(".ci/lint", script),
                File::new("Cargo.toml", "members = [\"a\", \"c\"]"),
                File::new("a/Cargo.toml", &manifest),
            ];
            forgotten(&files).len()
        };
        assert_eq!(found("    lib:bb | lib:c) linted=yes ;;", manifest("test = false\n")), 1);
        assert_eq!(found("    lib:c | lib:b) linted=yes ;;", manifest("test = false\n")), 0);
        assert_eq!(found("    lib:c) linted=yes ;;", manifest("")), 0);
    }
}
