//! tokio's public names. The list for the locked version is generated from tokio's sources. A test compares the list
//! with the names in `sim::tokio` and `unpause-tokio`.
//!
//! A missing name needs a row in the table of `docs/tokio.md`, with the reason. After a change of the locked version
//! `UPDATE_EXPECT=1 cargo test -p sim-tests --test tokio_names` writes the list again.

#![forbid(unsafe_code)]

#[path = "compiled/mod.rs"]
mod compiled;
#[path = "tokio_names/source.rs"]
mod source;
#[path = "tokio_names/there.rs"]
mod there;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect_file;
use there::{Name, missing};

/// The list, one name a line, each as a kind and a path.
const LIST: &str = include_str!("tokio_names/names.txt");

/// The page with the table of the missing names.
const PAGE: &str = include_str!("../../docs/tokio.md");

#[test]
fn the_list_is_made_from_the_sources_of_the_locked_version() {
    let (version, sources) = locked();
    let names: Vec<String> = source::Source::names(&sources).into_iter().collect();
    let list = format!("tokio {version}\n{}\n", names.join("\n"));
    expect_file!["tokio_names/names.txt"].assert_eq(&list);
}

#[test]
fn each_name_is_there_or_has_a_row_with_the_reason() {
    let libraries = compiled::build_the_library("tokio_names");
    let names: Vec<Name<'_>> =
        LIST.lines().skip(1).map(|line| line.split_once(' ').unwrap()).collect();
    let rows = rows();
    for (library, root) in [("sim", "sim::tokio"), ("unpause-tokio", "tokio")] {
        let rows = rows.iter().filter(|row| row.library == library || row.library == "both");
        let wanted = names.iter().copied().filter(|name| is_wanted(library, *name));
        let missing = missing(root, &wanted.collect::<Vec<_>>(), &libraries);
        let paths: BTreeSet<&str> = rows.map(|row| row.path).collect();
        assert_eq!(differences(&missing, &paths), Vec::<String>::new(), "of {library}");
    }
}

#[test]
fn each_feature_of_tokio_can_be_named() {
    let (_, sources) = locked();
    let theirs = features(&sources.with_file_name("Cargo.toml"));
    assert!(theirs.contains("io-uring") && theirs.contains("full"), "{theirs:?}");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for manifest in ["unpause-tokio/Cargo.toml", "unpause-tokio/patch/Cargo.toml"] {
        let mut ours = features(&workspace.join(manifest));
        // Each package has this feature, even if its manifest does not name it.
        ours.insert("default".to_owned());
        let missing: Vec<&String> = theirs.difference(&ours).collect();
        assert!(missing.is_empty(), "{manifest}: {missing:?}");
    }
}

/// Returns the features that a manifest lists.
fn features(manifest: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(manifest).unwrap();
    let lines = text.lines().skip_while(|line| *line != "[features]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines
        .filter(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Returns the errors of the rows: names without a row, and rows for existing names.
fn differences(missing: &BTreeSet<&str>, rows: &BTreeSet<&str>) -> Vec<String> {
    let has_row = |path: &&&str| {
        rows.iter().any(|row| {
            path.strip_prefix(*row).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
    };
    let without = missing.iter().filter(|path| !has_row(path));
    let without =
        without.map(|path| format!("{path} is not there and has no row in docs/tokio.md"));
    // The real build has more names: tokio's own.
    let stale = rows.iter().filter(|row| sim::SIMULATED && !missing.contains(*row));
    without
        .chain(stale.map(|row| format!("{row} has a row in docs/tokio.md and is there")))
        .collect()
}

#[test]
fn a_name_without_a_row_and_a_row_without_need_are_found() {
    let missing = BTreeSet::from(["net::unix", "net::unix::UCred", "net::uni"]);
    let told = differences(&missing, &BTreeSet::from(["net::unix", "net::tcp"]));
    assert_eq!(told[0], "net::uni is not there and has no row in docs/tokio.md");
    assert_eq!(told.len(), 1 + usize::from(sim::SIMULATED));
}

/// `unpause-tokio` forwards tokio's features, but this build does not enable all of them.
fn is_wanted(library: &str, (_, path): Name<'_>) -> bool {
    library == "sim" || !["process", "signal", "main", "test"].contains(&path)
}

/// A name that is missing.
struct Row {
    /// `sim`, `unpause-tokio` or `both`.
    library: &'static str,
    path: &'static str,
}

/// Returns the rows of the table below the heading "Names that are not there".
fn rows() -> Vec<Row> {
    let (_, after) = PAGE.split_once("## Names that are not there").expect("a heading of the page");
    let mut rows = Vec::new();
    for line in after.lines().skip_while(|line| !line.starts_with("|---")).skip(1) {
        let Some(line) = line.strip_prefix("| ") else { break };
        let cells: Vec<&str> = line.trim_end_matches('|').split(" | ").map(str::trim).collect();
        let [names, library, reason] = cells[..] else { panic!("a row has three cells: {line}") };
        assert!(["sim", "unpause-tokio", "both"].contains(&library), "{line}");
        assert!(!reason.is_empty(), "no reason: {line}");
        let paths = names.split('`').skip(1).step_by(2);
        rows.extend(paths.map(|path| Row { library, path }));
    }
    rows
}

/// Returns the version of tokio in the lock file, and the folder of its sources.
fn locked() -> (String, PathBuf) {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let lock = std::fs::read_to_string(workspace.join("Cargo.lock")).unwrap();
    let (_, after) = lock.split_once("name = \"tokio\"\nversion = \"").unwrap();
    let version = after.split('"').next().unwrap().to_owned();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiler = output(Command::new(rustc).arg("-vV"));
    let (_, host) = compiler.split_once("host: ").unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace).args(["metadata", "--format-version", "1", "--offline"]);
    // Crates of other platforms are not there.
    let metadata = output(cargo.arg("--filter-platform").arg(host.lines().next().unwrap()));
    let (before, _) = metadata.split_once(&format!("/tokio-{version}/Cargo.toml")).unwrap();
    let folder = before.rsplit('"').next().unwrap();
    (version.clone(), PathBuf::from(format!("{folder}/tokio-{version}/src")))
}

/// Returns the output of a command.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
