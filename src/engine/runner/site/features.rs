//! The features with which a test program was compiled, for the command that runs the test again.
//!
//! Cargo passes features only to the compiler, so a program cannot read the features of its package. But for each
//! program in `deps/`, Cargo also records them in a file of the folder `.fingerprint`. The format of this file is
//! internal to Cargo. If the file is missing or looks different, the command has no features.

use std::fs;
use std::path::Path;

use unpause_ordered::{Map, Set};

use super::without_hash;

/// The name of the feature list that is enabled unless the user disables it.
const DEFAULT: &str = "default";

/// Returns the arguments of Cargo for the features of a program. Empty if the program has the default features, or if
/// its features are unknown.
pub(super) fn arguments(program: &Path, package: &str, manifest_dir: Option<&Path>) -> Vec<String> {
    let Some(enabled) = enabled(program, package) else { return Vec::new() };
    let manifest = manifest_dir.map(|folder| fs::read_to_string(folder.join("Cargo.toml")));
    let declared = manifest.and_then(Result::ok).map(|text| declared(&text)).unwrap_or_default();
    arguments_of(&enabled, &declared)
}

/// Returns the enabled features of a program, as recorded by Cargo.
fn enabled(program: &Path, package: &str) -> Option<Vec<String>> {
    let stem = program.file_stem()?.to_str()?;
    let hash = stem.strip_prefix(without_hash(stem)?)?;
    let folder = program.parent()?.parent()?.join(".fingerprint").join(format!("{package}{hash}"));
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let record =
        files.into_iter().find(|file| file.extension().is_some_and(|end| end == "json"))?;
    in_record(&fs::read_to_string(record).ok()?)
}

/// Returns the features in a record, which is JSON. In the record, the features are a text with a list:
/// `"features":"[\"a\", \"b\"]"`.
fn in_record(record: &str) -> Option<Vec<String>> {
    let (_, rest) = record.split_once(r#""features":"["#)?;
    let (list, _) = rest.split_once(r#"]""#)?;
    Some(list.split(r#"\""#).skip(1).step_by(2).map(str::to_owned).collect())
}

/// Returns the table `[features]` of a manifest: each feature with the list of what it enables.
fn declared(manifest: &str) -> Map<String, Vec<String>> {
    let lines = manifest.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines = lines.skip_while(|line| *line != "[features]").skip(1);
    let table: Vec<&str> = lines.take_while(|line| !line.starts_with('[')).collect();
    let table = table.join(" ");
    let mut features = Map::new();
    let mut rest = &table[..];
    while let Some((name, after)) = rest.split_once('=') {
        let Some((list, left)) = after.split_once(']') else { break };
        let items = list.split(['"', '\'']).skip(1).step_by(2).map(str::to_owned).collect();
        features.insert(name.trim().trim_matches(['"', '\'']).to_owned(), items);
        rest = left;
    }
    features
}

/// Returns the arguments of Cargo that enable these features and no other features.
fn arguments_of(enabled: &[String], declared: &Map<String, Vec<String>>) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut implied = Set::new();
    if enabled.iter().any(|name| name == DEFAULT) {
        let mut left = vec![DEFAULT];
        while let Some(name) = left.pop() {
            if implied.insert(name) {
                let items = declared.get(name).into_iter().flatten();
                // `a/b` also enables the optional dependency `a`, and `a?/b` and `dep:a` enable no feature.
                let items =
                    items.map(|item| item.split_once('/').map_or(&item[..], |(name, _)| name));
                left.extend(items.filter(|name| !name.ends_with('?') && !name.contains(':')));
            }
        }
    } else if declared.contains_key(DEFAULT) {
        arguments.push("--no-default-features".to_owned());
    }
    let more = enabled.iter().filter(|name| !implied.contains(&name[..]));
    let more: Vec<&str> = more.map(String::as_str).collect();
    if !more.is_empty() {
        arguments.extend(["--features".to_owned(), more.join(",")]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
[package]
name = "demo"

[features] # of a user
default = ["std", "log/std"]
std = [
    "alloc", # and this
    "serde?/std",
]
alloc = []
"re-named" = ['alloc', "dep:log"]

[dependencies]
extra = "1"
"#;

    #[test]
    fn a_command_names_the_features_that_are_not_the_default() {
        let declared = declared(MANIFEST);
        assert_eq!(declared.keys().collect::<Vec<_>>(), ["alloc", "default", "re-named", "std"]);
        for (enabled, expected) in [
            ("default alloc log std", ""),
            ("default alloc log re-named std", "--features re-named"),
            ("default alloc log serde std x", "--features serde,x"),
            ("alloc re-named", "--no-default-features --features alloc,re-named"),
            ("", "--no-default-features"),
        ] {
            let enabled: Vec<String> = enabled.split_whitespace().map(str::to_owned).collect();
            assert_eq!(arguments_of(&enabled, &declared).join(" "), expected);
        }
        // The test covers two cases: a package without default features, and a manifest that no longer exists.
        let of = |enabled: &str| arguments_of(&[enabled.to_owned()], &Map::new()).join(" ");
        assert_eq!((&of("a")[..], &of(DEFAULT)[..]), ("--features a", ""));
    }

    #[test]
    fn the_record_of_cargo_lists_the_features_of_a_program() {
        let record = r#"{"rustc":7,"features":"[\"default\", \"sim\"]","declared_features":"[\"a\"]","target":1}"#;
        assert_eq!(in_record(record), Some(vec!["default".to_owned(), "sim".to_owned()]));
        assert_eq!(in_record(r#"{"features":"[]","target":1}"#), Some(Vec::new()));
        assert_eq!(in_record(r#"{"features":["a"]}"#), None);
        let root = std::env::temp_dir().join(format!("sim-features-{}", std::process::id()));
        let program = root.join("debug/deps/it_works-0123456789abcdef");
        let folder = root.join("debug/.fingerprint/my-demo-0123456789abcdef");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("test-lib-my_demo"), "").unwrap();
        fs::write(folder.join("test-lib-my_demo.json"), record).unwrap();
        assert_eq!(arguments(&program, "my-demo", None), ["--features", "sim"]);
        assert_eq!(arguments(&program, "other", None), [""; 0]);
        assert_eq!(arguments(&root.join("debug/examples/it_works"), "my-demo", None), [""; 0]);
        fs::remove_dir_all(root).unwrap();
    }

    /// Cargo has built this test, so the record is real.
    #[test]
    fn the_record_of_this_program_is_found() {
        let program = super::super::program();
        let in_deps = program.parent().is_some_and(|folder| folder.ends_with("deps"));
        let has_records = program.ancestors().any(|folder| folder.join(".fingerprint").is_dir());
        if !in_deps || !has_records {
            return;
        }
        let enabled = enabled(program, "unpause").expect("Cargo's record has another form");
        assert_eq!(enabled.iter().any(|name| name == "sim"), crate::SIMULATED, "{enabled:?}");
    }
}
