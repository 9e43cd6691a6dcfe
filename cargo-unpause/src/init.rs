//! `cargo unpause init`: shows the manifest lines of the README, and then writes them into a manifest.
//!
//! This command only adds lines. All existing lines of the manifest stay unchanged.

use std::fs;
use std::io::{BufRead, IsTerminal, stdin};
use std::path::{Path, PathBuf};

use lexopt::prelude::*;
use sim::check::picture::screen::{Line, Paint, Screen};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value as Toml};

use crate::document::{self, AddedLine, Initialized, ManifestChange};
use crate::failures::Project;
use crate::replace::replace;
use crate::test::checkout;
use crate::{Exit, Terminal, Usage};

/// The name of the library's package.
const PACKAGE: &str = "unpause";

/// The kind of tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Door {
    /// Async code over `sim`: its binaries use the real primitives.
    Async,
    /// Tests with plain threads: only the tests depend on the library.
    Threads,
}

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut package, mut door, mut fast, mut yes) = (None, Door::Async, false, false);
    let mut as_json = false;
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Short('p') | Long("package") => {
                package = Some(parser.value()?.to_string_lossy().into_owned());
            }
            Long("threads") => door = Door::Threads,
            Long("fast") => fast = true,
            Long("yes") => yes = true,
            Long("json") => as_json = true,
            other => {
                let options = ["--package", "--threads", "--fast", "--yes", "--json", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause init --help"));
            }
        }
    }
    let folder = folder_of(package.as_deref())?;
    let manifest = folder.join("Cargo.toml");
    // Cargo reads profiles only from the manifest of the workspace.
    let root = root_of(&manifest)?.join("Cargo.toml");
    let mut changes = vec![Change::read(&manifest)?];
    let name = name_in(&changes[0].new, &Change::read(&root)?.new);
    add_dependencies(&mut changes[0].new, door, &name, &library())?;
    if fast || door == Door::Async {
        if !is_same(&root, &manifest) {
            changes.push(Change::read(&root)?);
        }
        let last = changes.len() - 1;
        add_profile(&mut changes[last].new, fast)?;
    }
    if as_json {
        if yes {
            write(&changes)?;
        }
        terminal.print(&document::line(&answer(&changes, yes)));
        return Ok(Exit::Good);
    }
    let shown: String = changes.iter().map(|change| change.shown(terminal)).collect();
    if shown.is_empty() {
        terminal.print(&format!("{}: nothing is missing\n", manifest.display()));
        return Ok(Exit::Good);
    }
    terminal.print(&shown);
    if !yes && !is_wanted(terminal) {
        terminal.error("nothing was written: --yes writes these lines");
        return Ok(Exit::Good);
    }
    write(&changes)?;
    let next = match door {
        Door::Async => "write `#[sim::test]` above an `async fn`, and run `cargo test`",
        Door::Threads => {
            "write `#[sim::test(native)]` above a function, and run `cargo unpause test`"
        }
    };
    terminal.print(&format!("written. Next: {next}\n"));
    Ok(Exit::Good)
}

/// Writes the changed manifests.
fn write(changes: &[Change]) -> Result<(), Usage> {
    for change in changes {
        replace(&change.path, &change.new.to_string()).map_err(|error| {
            Usage(format!("{} cannot be written: {error}", change.path.display()))
        })?;
    }
    Ok(())
}

/// Returns the added lines as JSON. Manifests without added lines are left out.
fn answer(changes: &[Change], yes: bool) -> Initialized {
    let change = |change: &Change| {
        let added = change.added().into_iter();
        let added = added.map(|Added { number, text, .. }| AddedLine { line: number, text });
        ManifestChange { path: change.path.display().to_string(), added: added.collect() }
    };
    let mut changes: Vec<ManifestChange> = changes.iter().map(change).collect();
    changes.retain(|change| !change.added.is_empty());
    let (format, version) = (Initialized::FORMAT.to_owned(), document::ANSWERS);
    Initialized { format, version, is_written: yes && !changes.is_empty(), changes }
}

/// Asks the user on a terminal. Returns `false` elsewhere, because no user can answer.
fn is_wanted(terminal: &mut Terminal) -> bool {
    if !stdin().is_terminal() || !terminal.is_watched() {
        return false;
    }
    terminal.error("write these lines? [y/N]");
    let mut line = String::new();
    stdin().lock().read_line(&mut line).is_ok() && ["y", "yes"].contains(&line.trim())
}

/// A manifest before and after the change.
struct Change {
    path: PathBuf,
    old: String,
    new: DocumentMut,
}

impl Change {
    fn read(path: &Path) -> Result<Change, Usage> {
        let name = path.display();
        let old = fs::read_to_string(path)
            .map_err(|error| Usage(format!("{name} cannot be read: {error}")))?;
        let new = old.parse().map_err(|error| {
            Usage(format!("{name} is no manifest: {}", format!("{error}").trim_end()))
        })?;
        Ok(Change { path: path.to_owned(), old, new })
    }

    /// Returns the added lines.
    fn added(&self) -> Vec<Added> {
        let new = self.new.to_string();
        let mut old = self.old.lines().peekable();
        let (mut before, mut added) = (None, Vec::new());
        for (number, line) in (1..).zip(new.lines()) {
            if old.peek() == Some(&line) {
                before = old.next();
                continue;
            }
            let before = before.take().filter(|line| !line.trim().is_empty());
            let (before, text) = (before.map(str::to_owned), line.to_owned());
            added.push(Added { number, before, text });
        }
        added
    }

    /// Returns the added lines as text, each with the line before it. Empty if no lines are added.
    fn shown(&self, terminal: &Terminal) -> String {
        let added = self.added();
        if added.is_empty() {
            return String::new();
        }
        let mut screen = Screen::new(terminal.style());
        screen.heading(&self.path.display().to_string(), "");
        for Added { before, text, .. } in added {
            if let Some(before) = before {
                screen.line(Line::of(Paint::Faint, &format!("  {before}")));
            }
            screen.line(Line::of(Paint::Good, &format!("+ {text}")));
        }
        screen.finish()
    }
}

/// An added line of a manifest.
struct Added {
    /// The number of the line in the new manifest, from 1.
    number: u64,
    /// The line before the added line, unless it is also an added line or blank.
    before: Option<String>,
    text: String,
}

/// Returns the manifest entry for the library: its version, or the folder of the checkout from which this command was
/// built.
fn library() -> InlineTable {
    let mut table = InlineTable::new();
    match checkout() {
        Some(folder) => table.insert("path", Toml::from(folder.display().to_string())),
        None => {
            let version = env!("CARGO_PKG_VERSION");
            let short = version.rsplit_once('.').map_or(version, |(short, _)| short);
            table.insert("version", Toml::from(short))
        }
    };
    table
}

/// Returns the name of the library in a manifest. The manifest may rename it, or inherit a renamed dependency of the
/// workspace. Cargo refuses a package under two names.
fn name_in(manifest: &DocumentMut, workspace: &DocumentMut) -> String {
    let inherited = workspace.as_item().get("workspace");
    let inherited = inherited.and_then(|workspace| workspace.get("dependencies"));
    let is_renamed = |item: &Item| item.get("package").and_then(Item::as_str) == Some(PACKAGE);
    let is_library = |name: &str, item: &Item| {
        let is_inherited = item.get("workspace").and_then(Item::as_bool) == Some(true);
        let of_workspace = inherited.and_then(|all| all.get(name)).filter(|_| is_inherited);
        is_renamed(of_workspace.unwrap_or(item))
    };
    let mut parts = vec![manifest.as_item()];
    if let Some(targets) = manifest.as_item().get("target").and_then(Item::as_table_like) {
        parts.extend(targets.iter().map(|(_, part)| part));
    }
    for part in parts {
        for kind in ["dependencies", "dev-dependencies"] {
            let Some(all) = part.get(kind).and_then(Item::as_table_like) else { continue };
            if let Some((name, _)) = all.iter().find(|(name, item)| is_library(name, item)) {
                return name.to_owned();
            }
        }
    }
    PACKAGE.to_owned()
}

/// Adds the dependency under this name, and, for async code, the feature.
fn add_dependencies(
    manifest: &mut DocumentMut,
    door: Door,
    name: &str,
    library: &InlineTable,
) -> Result<(), Usage> {
    let mut library = library.clone();
    if name != PACKAGE {
        library.insert("package", Toml::from(PACKAGE));
    }
    if door == Door::Async {
        let mut real = library.clone();
        real.insert("default-features", Toml::from(false));
        add(table(manifest, &["dependencies"])?, name, Toml::from(real));
        let feature = Array::from_iter([format!("{name}/sim")]);
        add(table(manifest, &["features"])?, "sim", Toml::from(feature));
    }
    library.insert("features", Toml::from(Array::from_iter(["sim"])));
    add(table(manifest, &["dev-dependencies"])?, name, Toml::from(library));
    Ok(())
}

/// Adds the lines that compile the library without debug information, and with `fast` also the lines for speed. A
/// package whose profile is one line in braces keeps that line.
fn add_profile(manifest: &mut DocumentMut, fast: bool) -> Result<(), Usage> {
    let packages = table(manifest, &["profile", "dev", "package"])?;
    for (name, runs) in [("unpause", true), ("unpause-run", true), ("unpause-check", false)] {
        let dotted = || {
            let mut profile = Table::new();
            profile.set_dotted(true);
            Item::Table(profile)
        };
        let Some(profile) = packages.entry(name).or_insert_with(dotted).as_table_mut() else {
            continue;
        };
        add(profile, "debug", Toml::from(false));
        if fast && runs {
            add(profile, "opt-level", Toml::from(1));
        }
    }
    Ok(())
}

fn add(table: &mut Table, name: &str, value: Toml) {
    if !table.contains_key(name) {
        table.insert(name, Item::Value(value));
    }
}

/// Returns the table at this path, and creates it if it is missing.
///
/// # Errors
/// If an item on the path is not a table.
fn table<'a>(manifest: &'a mut DocumentMut, path: &[&str]) -> Result<&'a mut Table, Usage> {
    let mut table = manifest.as_table_mut();
    for (at, name) in path.iter().enumerate() {
        let new = || {
            let mut new = Table::new();
            // A table that contains only tables needs no header line.
            new.set_implicit(at + 1 < path.len());
            Item::Table(new)
        };
        table = table.entry(name).or_insert_with(new).as_table_mut().ok_or_else(|| {
            let path = path.join(".");
            Usage(format!("`{path}` of the manifest is no table of its own: write it as [{path}]"))
        })?;
    }
    Ok(table)
}

/// Returns the folder of the package.
fn folder_of(package: Option<&str>) -> Result<PathBuf, Usage> {
    let project = Project::here();
    let names =
        || project.packages.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>().join(", ");
    match (package, &project.packages[..]) {
        (_, []) => Err(Usage(
            "there is no manifest here that Cargo can read: go to the folder of your Cargo.toml"
                .to_owned(),
        )),
        (None, [(_, folder)]) => Ok(folder.clone()),
        (None, many) => {
            let here = std::env::current_dir().unwrap_or_default();
            let found = many.iter().find(|(_, folder)| is_same(folder, &here));
            found.map(|(_, folder)| folder.clone()).ok_or_else(|| {
                Usage(format!(
                    "the workspace has several packages: name one by -p (there is: {})",
                    names()
                ))
            })
        }
        (Some(name), many) => {
            let found = many.iter().find(|(known, _)| known == name);
            found.map(|(_, folder)| folder.clone()).ok_or_else(|| {
                Usage(format!("there is no package {name:?} (there is: {})", names()))
            })
        }
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns the folder of the workspace.
fn root_of(manifest: &Path) -> Result<PathBuf, Usage> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(cargo);
    command.args(["locate-project", "--workspace", "--message-format=plain", "--manifest-path"]);
    let output = command.arg(manifest).output();
    let output = output.map_err(|error| Usage(format!("cargo cannot be started: {error}")))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    match (output.status.success(), path.parent()) {
        (true, Some(folder)) => Ok(folder.to_owned()),
        _ => Err(Usage(format!(
            "the workspace of {} is not found: {}",
            manifest.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

const HELP: &str = "\
Adds unpause to a package: shows the lines for its Cargo.toml, and writes them. Lines that are there stay.

usage: cargo unpause init [-p PACKAGE] [--threads] [--fast] [--yes] [--json]

  -p PACKAGE   the package, in a workspace with several
  --threads    for tests with plain threads only: one dev-dependency. Tests of a crate need no line at all under
               `cargo unpause test --any`
  --fast       also compiles the library for speed: three times as many seeds a second, and about 38 s more of
               processor time, once
  --yes        writes without a question. Without a terminal nothing is written otherwise
  --json       writes the lines as JSON (docs/json.md), without a question

Without --threads the lines are those for async code over `sim`: its binaries have the real primitives, and its
tests are simulated.

examples:
  cargo unpause init
  cargo unpause init -p queue --fast --yes

exit codes: 0 the lines were shown or written, 2 the manifest or an argument is invalid.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> InlineTable {
        let mut table = InlineTable::new();
        table.insert("version", Toml::from("0.1"));
        table
    }

    fn with_lines(manifest: &str, door: Door, fast: bool) -> Result<String, Usage> {
        let mut document: DocumentMut = manifest.parse().unwrap();
        let name = name_in(&document, &document);
        add_dependencies(&mut document, door, &name, &library())?;
        if fast || door == Door::Async {
            add_profile(&mut document, fast)?;
        }
        Ok(document.to_string())
    }

    /// Returns the manifest in the README, without its comment.
    fn of_the_readme() -> DocumentMut {
        let readme =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
        let from =
            readme.split_once("## In your crate").unwrap().1.split_once("```toml\n").unwrap().1;
        from.split_once("```").unwrap().0.parse().unwrap()
    }

    #[test]
    fn the_lines_are_those_of_the_readme() {
        let written = with_lines("", Door::Async, true).unwrap();
        let (written, known): (DocumentMut, _) = (written.parse().unwrap(), of_the_readme());
        let plain = |document: &DocumentMut| {
            let mut lines: Vec<String> = document
                .to_string()
                .lines()
                .map(|line| {
                    line.split('#')
                        .next()
                        .unwrap_or_default()
                        .split_whitespace()
                        .collect::<Vec<_>>()
                        .join(" ")
                })
                .filter(|line| !line.is_empty())
                .collect();
            lines.sort();
            lines
        };
        assert_eq!(plain(&written), plain(&known));
    }

    /// The lines for speed can come later, and existing lines of a profile stay.
    #[test]
    fn the_profile_only_gains_lines() {
        let plain = with_lines("", Door::Async, false).unwrap();
        assert!(plain.contains("\nunpause-check.debug = false\n"), "{plain}");
        assert!(!plain.contains("opt-level"), "{plain}");
        let fast = with_lines(&plain, Door::Async, true).unwrap();
        assert_eq!(fast.matches(".opt-level = 1\n").count(), 2, "{fast}");
        assert!(plain.lines().all(|line| fast.contains(line)), "{fast}");
        assert_eq!(fast.parse::<DocumentMut>().unwrap().to_string(), fast);

        let braces = "[profile.dev.package]\nunpause = { opt-level = 3 }\n";
        let table = "[profile.dev.package.unpause-run]\nopt-level = 3\n";
        let kept = with_lines(&format!("{braces}\n{table}"), Door::Async, true).unwrap();
        assert!(kept.contains("unpause = { opt-level = 3 }\n"), "{kept}");
        assert!(kept.contains(&format!("{table}debug = false\n")), "{kept}");
        assert!(!kept.contains("opt-level = 1"), "{kept}");
    }

    #[test]
    fn a_manifest_keeps_all_that_it_has() {
        let manifest = "# mine\n[package]\nname = \"a\"  # its name\n\n[dependencies]\nlog = \"0.4\"\n\n[features]\nsim = []\n";
        let written = with_lines(manifest, Door::Async, true).unwrap();
        let mut rest = written.lines();
        for line in manifest.lines() {
            assert!(rest.any(|written| written == line), "{line:?} is not in order in\n{written}");
        }
        assert!(written.contains("sim = []\n"), "{written}");
        assert_eq!(with_lines(&written, Door::Async, true).unwrap(), written, "twice is once");
        let threads = with_lines(manifest, Door::Threads, false).unwrap();
        assert_eq!(threads.matches("unpause").count(), 1, "{threads}");
    }

    #[test]
    fn a_renamed_library_keeps_its_name() {
        let line = "sim = { version = \"0.1\", package = \"unpause\" }\n";
        for manifest in [
            format!("[dependencies]\nlog = \"0.4\"\n{line}"),
            "[dev-dependencies.sim]\nversion = \"0.1\"\npackage = \"unpause\"\n".to_owned(),
            format!("[target.'cfg(unix)'.dependencies]\n{line}"),
            format!("[workspace.dependencies]\n{line}\n[dependencies]\nsim.workspace = true\n"),
        ] {
            let written = with_lines(&manifest, Door::Async, false).unwrap();
            assert!(written.contains("sim = [\"sim/sim\"]\n"), "{written}");
            let document: DocumentMut = written.parse().unwrap();
            for kind in ["dependencies", "dev-dependencies"] {
                let all = document.as_item().get(kind).unwrap();
                assert!(all.get("sim").is_some() && all.get("unpause").is_none(), "{written}");
            }
            assert_eq!(with_lines(&written, Door::Async, false).unwrap(), written, "twice is once");
        }
        let renamed = format!("[dependencies]\n{line}");
        let written = with_lines(&renamed, Door::Threads, false).unwrap();
        let added = line.replace(" }", ", features = [\"sim\"] }");
        assert!(written.ends_with(&format!("[dev-dependencies]\n{added}")), "{written}");
    }

    #[test]
    fn a_table_in_one_line_is_refused_with_a_remedy() {
        let error =
            with_lines("dependencies = { log = \"0.4\" }\n", Door::Async, false).unwrap_err();
        assert!(error.to_string().contains("write it as [dependencies]"), "{error}");
    }
}
