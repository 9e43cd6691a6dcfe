//! `cargo unpause replay`: runs the test of a failure again, with its trace, or a test with a seed.
//!
//! The report contains the command from its screen: package, target, profile and test. This program runs only commands
//! of that form, without a shell, because a report may come from another machine.

use std::path::{Path, PathBuf};

use lexopt::prelude::*;

use crate::failures::Loaded;
use crate::invocation::{Invocation, Tests, name_of, quoted};
use crate::rerun::{Folder, reports_in};
use crate::show::which;
use crate::{Exit, Terminal, Usage};

/// The setting that names the folder of reports.
const REPORTS: &str = "SIM_JSON";

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut path, mut last, mut dry, mut tests) = (None, false, false, Tests::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("last") => last = true,
            Long("dry-run") => dry = true,
            Value(value) if path.is_none() => path = Some(PathBuf::from(value)),
            Value(value) => {
                let value = value.to_string_lossy().into_owned();
                return Err(Usage(format!("one failure at a time: what is {value:?}?")));
            }
            other => {
                let options = [&["--last", "--dry-run", "--help"], &Tests::OPTIONS[..]].concat();
                let unknown =
                    Usage::unknown_option(&other, &options, "cargo unpause replay --help");
                let name = name_of(&other);
                if !tests.option(&name, &mut parser)? {
                    return Err(unknown);
                }
            }
        }
    }
    let of_seed = path.as_ref().filter(|path| !path.exists()).and_then(|path| seed_of(path));
    let invocation = if let Some((seed, test)) = of_seed.filter(|_| !last) {
        tests.test = Some(test);
        tests.invocation(true, vec![("SIM_SEED".to_owned(), seed.to_string())])?
    } else {
        if tests.names_a_test() {
            let text = "a failure in a file has its own command: --package, --lib, --test, --any and --plain-threads \
                        are for SEED@TEST";
            return Err(Usage(text.to_owned()));
        }
        let loaded = Loaded::read(&which(path, last, "replay")?)?;
        let mut invocation = invocation_of(&loaded)?;
        if let Some(features) = tests.features {
            invocation.add(["--features".to_owned(), features]);
        }
        invocation
    };
    terminal.error(&format!("running: {}", invocation.text()));
    if dry {
        return Ok(Exit::Good);
    }
    let mut command = invocation.command();
    // Cargo succeeds if no test has the name, or if the test is ignored. Only a test that has run writes a report. The
    // user's own folder of reports stays.
    let folder = match std::env::var_os(REPORTS) {
        Some(_) => None,
        None => Some(Folder::new()?),
    };
    if let Some(folder) = &folder {
        command.env(REPORTS, folder.path());
    }
    let ended = command.status();
    let ended = ended.map_err(|error| {
        Usage(format!("{} cannot be started: {error}", command.get_program().to_string_lossy()))
    })?;
    let reports = folder.map(|folder| reports_in(folder.path()));
    if !ended.success() {
        return Ok(Exit::Bad);
    }
    match reports.transpose()? {
        Some(reports) if reports.is_empty() => Err(Usage(
            "no test has written a report, so nothing was replayed. The path of a test is without the name of its crate, \
             and a test with plain threads needs --plain-threads or --any. A hermetic Runner reads no variables"
                .to_owned(),
        )),
        _ => Ok(Exit::Good),
    }
}

/// Parses a seed and the path of a test: `17@tests::transfers`.
fn seed_of(given: &Path) -> Option<(u64, String)> {
    let (seed, test) = given.to_str()?.split_once('@')?;
    Some((seed.parse().ok()?, test.to_owned()))
}

/// Returns the command that replays a failure, with the trace beside its report.
///
/// # Errors
/// If the failure has no such command, or the command does not have the form of a command on screens.
pub(crate) fn invocation_of(loaded: &Loaded) -> Result<Invocation, Usage> {
    let called = loaded.path.display();
    let remark = loaded.remark.as_deref().map_or_else(String::new, |remark| format!(": {remark}"));
    let Some(report) = &loaded.report else {
        return Err(Usage(format!(
            "the report of {called} has the command, and is not known{remark}{}",
            by_hand(loaded)
        )));
    };
    let replay = report.finding.as_ref().and_then(|finding| finding.replay.as_ref());
    let Some(replay) = replay else {
        return Err(Usage(format!(
            "{called} cannot be replayed: its report has no command for that"
        )));
    };
    let mut invocation = Invocation::parse(replay).map_err(|why| {
        Usage(format!("the command in the report of {called} is not run, because {why}: {replay}"))
    })?;
    if let Some(trace) = loaded.trace_file() {
        let trace = std::path::absolute(&trace).unwrap_or(trace);
        invocation.set("SIM_REPLAY", &trace.display().to_string());
    }
    Ok(invocation)
}

/// Returns a sentence about the replay of a trace without its report.
fn by_hand(loaded: &Loaded) -> String {
    let Some(trace) = loaded.trace_file() else { return String::new() };
    let trace = quoted(&std::path::absolute(&trace).unwrap_or(trace).display().to_string());
    let title = loaded.trace.as_ref().map(|trace| &trace.header.test[..]);
    let test = title.unwrap_or(loaded.test());
    // The name of a test contains its crate, and the name of a `Runner` in a `main` does not.
    let is_runner = |(runner, _): &(&str, &str)| !runner.contains("::");
    let example = test.strip_suffix(')').and_then(|test| test.split_once(" (example "));
    match example.filter(is_runner) {
        Some((_, name)) => format!(
            ". The example replays it with: SIM_REPLAY={trace} cargo run -p {} --example {}",
            loaded.package(),
            quoted(name)
        ),
        None => format!(". With SIM_REPLAY={trace} its test replays it: {test}"),
    }
}

const HELP: &str = "\
Replays a failure: runs its test or its example with its trace, by the command in its report. The trace
has the settings of the run. The exit code is the test's: a failure that comes again is 1.

usage: cargo unpause replay FILE [--features F] [--dry-run]
       cargo unpause replay --last …
       cargo unpause replay SEED@TEST [-p PACKAGE] [--lib | --test NAME] [--any | --plain-threads] …

FILE is a report, or a trace with the report beside it. Only commands of screens are run: variables that
begin with SIM_, and cargo with one test or one example. SEED@TEST runs one seed of a test, by its
whole path.

  --last         the newest failure in target/sim
  --features F   features of the package that the test needs
  --dry-run      says what would be run, and runs nothing

examples:
  cargo unpause replay --last
  cargo unpause replay 17@tests::transfers
  cargo unpause replay target/sim/demo/bank.transfers/17.simtrace --features extra

exit codes: 0 the test passed, 1 it failed or could not be built, 2 the file or an argument is invalid, or no
test has run.
";
