//! `cargo unpause keep`: copies the trace of a failure into the kept traces of its package.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use lexopt::prelude::*;
use sim::__private::folder_name;

use crate::document::{self, Kept, Word};
use crate::failures::{KEPT, Loaded, Project, TRACE};
use crate::show::which;
use crate::{Exit, Terminal, Usage};

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut path, mut last, mut name, mut as_json) = (None, false, None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("last") => last = true,
            Long("json") => as_json = true,
            Long("name") => name = Some(parser.value()?.to_string_lossy().into_owned()),
            Value(value) if path.is_none() => path = Some(PathBuf::from(value)),
            Value(value) => {
                let value = value.to_string_lossy().into_owned();
                return Err(Usage(format!("one failure at a time: what is {value:?}?")));
            }
            other => {
                let options = ["--last", "--name", "--json", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause keep --help"));
            }
        }
    }
    let loaded = Loaded::read(&which(path, last, "keep")?)?;
    let kept = keep(&loaded, name)?;
    if as_json {
        let (file, is_new) = kept.into_parts();
        let answer = Kept {
            format: Kept::FORMAT.to_owned(),
            version: document::ANSWERS,
            path: file.display().to_string(),
            is_new,
            test: loaded.test().to_owned(),
            package: loaded.package().to_owned(),
            seed: loaded.seed().map(Word),
            kind: loaded.kind(),
            failure: loaded.text(),
        };
        terminal.print(&document::line(&answer));
        return Ok(Exit::Good);
    }
    match kept {
        Placed::New(file) => {
            terminal.print(&format!("kept: {}\n", file.display()));
            terminal.error(
                "it is replayed before any seed, each time the test runs. Add it to the repository",
            );
        }
        Placed::There(file) => terminal.print(&format!("already kept: {}\n", file.display())),
    }
    Ok(Exit::Good)
}

/// Keeps the trace of a failure, under the given name, or else under a name that describes the
/// failure.
///
/// # Errors
/// If the failure has no trace, its package is not in this project, or the file cannot be written.
pub(crate) fn keep(loaded: &Loaded, name: Option<String>) -> Result<Placed, Usage> {
    let Some(trace) = loaded.trace_file() else {
        return Err(Usage(format!(
            "{} has no trace beside it, and only a trace can be replayed",
            loaded.path.display()
        )));
    };
    let name = name.unwrap_or_else(|| name_of(loaded));
    if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(Usage(format!(
            "--name is {name:?}, but should be the name of a file, without folders"
        )));
    }
    let folder = folder_of(loaded, &trace)?;
    place(&trace, &folder, &name)
}

/// The place of a kept trace.
pub(crate) enum Placed {
    New(PathBuf),
    /// The folder already contained the same trace.
    There(PathBuf),
}

impl Placed {
    /// Returns the file, and `true` if it is new.
    pub(crate) fn into_parts(self) -> (PathBuf, bool) {
        match self {
            Placed::New(file) => (file, true),
            Placed::There(file) => (file, false),
        }
    }
}

/// Copies the trace, under this name or, if the name is taken, under the name with a number.
fn place(trace: &Path, folder: &Path, name: &str) -> Result<Placed, Usage> {
    let cannot =
        |path: &Path, error| Usage(format!("{} cannot be written: {error}", path.display()));
    let bytes = fs::read(trace).map_err(|error| Usage(format!("{}: {error}", trace.display())))?;
    let same = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let same = same.filter(|path| path.extension().is_some_and(|ending| ending == TRACE));
    if let Some(path) =
        same.into_iter().find(|path| fs::read(path).is_ok_and(|known| known == bytes))
    {
        return Ok(Placed::There(path));
    }
    fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let (mut file, mut number) = (folder.join(format!("{name}.{TRACE}")), 1u64);
    loop {
        // Another command may keep a trace under this name at the same time, and only one of them creates the file.
        match File::create_new(&file) {
            Ok(mut created) => {
                if let Err(error) = created.write_all(&bytes) {
                    let _ = fs::remove_file(&file);
                    return Err(cannot(&file, error));
                }
                return Ok(Placed::New(file));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                number += 1;
                file = folder.join(format!("{name}-{number}.{TRACE}"));
            }
            Err(error) => return Err(cannot(&file, error)),
        }
    }
}

/// Returns a name that describes the failure: `deadlock-17`.
fn name_of(loaded: &Loaded) -> String {
    let kind: String =
        loaded.kind().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    loaded.seed().map_or_else(|| kind.clone(), |seed| format!("{kind}-{seed}"))
}

/// Returns the folder of the test's kept traces. The folder has the same name as the folder in which the test has
/// written the trace.
fn folder_of(loaded: &Loaded, trace: &Path) -> Result<PathBuf, Usage> {
    let package = loaded.package();
    let project = Project::here();
    let found = project.packages.iter().find(|(name, _)| name == package);
    let Some((_, folder)) = found else {
        let names: Vec<&str> = project.packages.iter().map(|(name, _)| &name[..]).collect();
        return Err(Usage(format!(
            "the failure is of package {package:?}, which is not in the project of this folder (there is: {}): go to the \
             folder of its workspace",
            names.join(", ")
        )));
    };
    // The trace may be a copy, for example from another machine. Traces in any other folder would not be replayed.
    let alone = loaded.without_report();
    let title = alone.as_ref().and_then(|alone| Some(&alone.trace.as_ref()?.header.test[..]));
    if let Some(named) = title.and_then(folder_named) {
        return Ok(folder.join(KEPT).join(named));
    }
    let absolute = std::path::absolute(trace).unwrap_or_else(|_| trace.to_owned());
    let here = absolute.parent().and_then(Path::file_name);
    let here = here.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let last = loaded.test().rsplit("::").next().unwrap_or_default();
    if !last.is_empty() && here.contains(last) {
        return Ok(folder.join(KEPT).join(here));
    }
    Err(Usage(format!(
        "{} is not in the folder of its test, {}, and does not name the target of the test, so the folder for it is not \
         known: leave traces where the test has written them, or copy it into {KEPT}/<test> yourself",
        trace.display(),
        loaded.test()
    )))
}

/// Returns the name of the folder of a test's kept traces, from the name of the test with its target:
/// `queue::pops (test queue)` is `test-queue.pops`.
fn folder_named(title: &str) -> Option<String> {
    let (path, target) = title.strip_suffix(')')?.rsplit_once(" (")?;
    let key = match target.split_once(' ') {
        None if target == "lib" => path.to_owned(),
        None => return None,
        Some((kind, name)) => {
            let of_target = |(first, _): &(&str, &str)| *first == name.replace('-', "_");
            let own = path.split_once("::").filter(of_target);
            format!("{kind}-{name}::{}", own.map_or(path, |(_, rest)| rest))
        }
    };
    Some(folder_name(&key))
}

const HELP: &str = "\
Keeps the trace of a failure: copies it into sim-regressions/<test> beside the Cargo.toml of its
package. Each run of the test then replays it before any seed. Nothing is built or run.

usage: cargo unpause keep FILE [--name NAME] [--json]
       cargo unpause keep --last [--name NAME] [--json]

FILE is a trace (target/sim/<package>/<test>/<seed>.simtrace) or the report beside it. The name is the
kind of the failure and the seed, such as deadlock-17.simtrace, if no other is given. A trace that is
there already is not copied again. --json writes the path and the failure as JSON (docs/json.md).

examples:
  cargo unpause keep --last
  cargo unpause keep target/sim/demo/bank.transfers/17.simtrace --name transfers-block

exit codes: 0 it is kept, 2 the file or an argument is invalid.
";

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn the_folder_of_a_test_follows_from_its_name_and_its_target() {
        for (title, expected) in [
            ("queue::tests::pops (lib)", Some("queue.tests.pops")),
            ("queue::pops (test queue)", Some("test-queue.pops")),
            ("my_test::pops (test my-test)", Some("test-my-test.pops")),
            ("both::a::b (bin tool)", Some("bin-tool.both.a.b")),
            ("queue_12 (example queue)", Some("example-queue.queue_12")),
            // The library adds a hash to a name that is not unique without it, or is too long.
            ("demo::r#match (lib)", Some("demo.r_match-HASH")),
            (".. (lib)", Some("_-HASH")),
            ("../../a::b (lib)", Some(".._.._a.b-HASH")),
            (
                &format!("demo::{} (lib)", "a".repeat(300)),
                Some(&format!("demo.{}-HASH", "a".repeat(175))),
            ),
            ("queue::pops (doc)", None),
            ("queue::pops", None),
        ] {
            let named = folder_named(title);
            let hashed = expected.and_then(|expected| expected.strip_suffix("HASH"));
            match (&named, hashed) {
                (Some(named), Some(begin)) => {
                    let hash = named.strip_prefix(begin).unwrap_or_else(|| panic!("{named}"));
                    assert!(hash.len() >= 8 && u64::from_str_radix(hash, 16).is_ok(), "{named}");
                }
                _ => assert_eq!(named.as_deref(), expected, "{title}"),
            }
        }
    }

    #[test]
    fn traces_that_are_kept_at_the_same_time_get_different_names() {
        let folder = std::env::temp_dir().join(format!("unpause-keep-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let traces = ["a", "b", "c", "d"];
        for text in traces {
            fs::write(folder.join(text), text).unwrap();
        }
        for round in 0..20 {
            let (kept, start) = (folder.join(format!("kept-{round}")), Barrier::new(traces.len()));
            std::thread::scope(|scope| {
                for text in traces {
                    let (trace, kept, start) = (folder.join(text), &kept, &start);
                    scope.spawn(move || {
                        start.wait();
                        place(&trace, kept, "panic-1").unwrap();
                    });
                }
            });
            let files = fs::read_dir(&kept).unwrap().flatten();
            let mut found: Vec<String> =
                files.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
            found.sort();
            assert_eq!(found, traces, "round {round}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
