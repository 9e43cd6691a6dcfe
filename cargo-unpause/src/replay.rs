//! `cargo unpause replay`: runs the test of a failure again, with its trace, or a test with a seed.
//!
//! The trace contains the cargo command of its test: package, target, profile, features and test. A trace of an earlier
//! version does not, and then the report contains the command from its screen. This program runs only commands of that
//! form, without a shell, because the files may come from another machine.

use std::path::{Path, PathBuf};

use lexopt::prelude::*;

use crate::document::{self, Document, Failure, Replayed, ReplayedTest};
use crate::failures::Loaded;
use crate::invocation::{Invocation, Tests, name_of, quoted};
use crate::rerun::{self, Folder, Stop, reports_in};
use crate::show::which;
use crate::{Exit, Terminal, Usage};

/// The setting that names the folder of reports.
const REPORTS: &str = "SIM_JSON";

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut path, mut last, mut dry, mut tests) = (None, false, false, Tests::default());
    let mut as_json = false;
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("last") => last = true,
            Long("dry-run") => dry = true,
            Long("json") => as_json = true,
            Value(value) if path.is_none() => path = Some(PathBuf::from(value)),
            Value(value) => {
                let value = value.to_string_lossy().into_owned();
                return Err(Usage(format!("one failure at a time: what is {value:?}?")));
            }
            other => {
                let options =
                    [&["--last", "--dry-run", "--json", "--help"], &Tests::OPTIONS[..]].concat();
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
    let (invocation, loaded) = if let Some((seed, test)) = of_seed.filter(|_| !last) {
        tests.test = Some(test);
        (tests.invocation(true, vec![("SIM_SEED".to_owned(), seed.to_string())])?, None)
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
        (invocation, Some(loaded))
    };
    if as_json {
        return in_json(&invocation, loaded.as_ref(), dry, terminal);
    }
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
        Some(reports) if reports.is_empty() => Err(Usage(NOTHING.to_owned())),
        _ => Ok(Exit::Good),
    }
}

/// The error if the command was successful, but ran no test.
const NOTHING: &str = "no test has written a report, so nothing was replayed. The path of a test is without the name of \
    its crate, and a test with plain threads needs --plain-threads or --any. A hermetic Runner reads no variables";

/// Runs the command, and writes its result as JSON. The output of the command goes to standard error.
fn in_json(
    invocation: &Invocation,
    loaded: Option<&Loaded>,
    dry: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Usage> {
    let ended = match dry {
        true => None,
        false => Some(rerun::run(invocation, &Stop::default())?),
    };
    let code = ended.as_ref().and_then(|ended| ended.code);
    let tests = ended.iter().flat_map(|ended| &ended.reports).map(replayed);
    let tests: Vec<ReplayedTest> = tests.collect();
    if let Some(ended) = &ended {
        terminal.error(ended.output.trim_end());
        if code == Some(0) && tests.is_empty() {
            return Err(Usage(NOTHING.to_owned()));
        }
    }
    let failures = ended.iter().flat_map(|ended| &ended.reports).filter_map(failure_of);
    let is_same = |loaded| failures.clone().any(|failure| is_same_failure(loaded, failure));
    let answer = Replayed {
        format: Replayed::FORMAT.to_owned(),
        version: document::ANSWERS,
        command: invocation.text(),
        is_run: ended.is_some(),
        exit_code: code.and_then(|code| u64::try_from(code).ok()),
        same_failure: loaded.filter(|_| ended.is_some()).map(is_same),
        tests,
    };
    terminal.print(&document::line(&answer));
    Ok(if dry || code == Some(0) { Exit::Good } else { Exit::Bad })
}

fn replayed(report: &Document) -> ReplayedTest {
    let failure = failure_of(report);
    ReplayedTest {
        test: report.test.clone(),
        package: report.package.clone(),
        passed: report.finding.is_none(),
        kind: failure.map(|failure| failure.kind.clone()),
        failure: failure.map(|failure| failure.text.clone()),
        diverged: failure.is_some_and(|failure| failure.diverged.0.is_some()),
        screen: report.screen.text(false),
    }
}

/// Returns the failure of a report.
pub(crate) fn failure_of(report: &Document) -> Option<&Failure> {
    report.finding.as_ref()?.failure.as_ref()
}

/// Returns `true` if a replay failed like the run of this file.
pub(crate) fn is_same_failure(before: &Loaded, now: &Failure) -> bool {
    match before.report.as_ref().and_then(failure_of) {
        Some(failure) => failure.signature == now.signature,
        // A trace has no signature.
        None => before.text() == now.text,
    }
}

/// Parses a seed and the path of a test: `17@tests::transfers`.
fn seed_of(given: &Path) -> Option<(u64, String)> {
    let (seed, test) = given.to_str()?.split_once('@')?;
    Some((seed.parse().ok()?, test.to_owned()))
}

/// Returns the command that replays a failure with its trace.
///
/// # Errors
/// If the failure has no such command, or the command does not have the form of a command on screens.
pub(crate) fn invocation_of(loaded: &Loaded) -> Result<Invocation, Usage> {
    let called = loaded.path.display();
    let not_run = |of: &str, why: String, command: &str| {
        let command = command.replace(char::is_control, "\u{fffd}");
        Usage(format!("the command in {of} {called} is not run, because {why}: {command}"))
    };
    let of_trace = loaded.without_report();
    let header = of_trace.as_ref().and_then(|of_trace| of_trace.trace.as_ref());
    let header = header.map(|trace| &trace.header);
    let replay = loaded.report.as_ref().and_then(|report| report.finding.as_ref()?.replay.as_ref());
    // The report of an earlier version does not contain the features. A trace of an earlier version has no command, and
    // then its report is more exact than the usual command.
    let written = header.and_then(|header| header.cargo.as_ref()).filter(|words| !words.is_empty());
    let usual = header.filter(|_| replay.is_none()).and_then(|header| header.cargo_arguments());
    let mut invocation = match (written.cloned().or(usual), replay) {
        (Some(words), _) => {
            let text = words.join(" ");
            let checked = Invocation::checked(Vec::new(), words);
            checked.map_err(|why| not_run("the trace of", why, &format!("cargo {text}")))?
        }
        (None, Some(replay)) => {
            Invocation::parse(replay).map_err(|why| not_run("the report of", why, replay))?
        }
        (None, None) if loaded.report.is_some() => {
            return Err(Usage(format!(
                "{called} cannot be replayed: its report has no command for that"
            )));
        }
        (None, None) => {
            let remark = loaded.remark.as_deref();
            let remark = remark.map_or_else(String::new, |remark| format!(": {remark}"));
            return Err(Usage(format!(
                "{called} names no test that cargo runs, and the report of it is not known{remark}{}",
                by_hand(loaded)
            )));
        }
    };
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
Replays a failure: runs its test or its example with its trace. The trace has the settings of the run,
and names the test, its package and its features. The exit code is the test's: a failure that comes
again is 1.

usage: cargo unpause replay FILE [--features F] [--dry-run] [--json]
       cargo unpause replay --last …
       cargo unpause replay SEED@TEST [-p PACKAGE] [--lib | --test NAME] [--any | --plain-threads] …

FILE is a trace, or the report beside it. Only commands of screens are run: variables that begin with
SIM_, and cargo with one test or one example. SEED@TEST runs one seed of a test, by its whole path.

  --last         the newest failure in target/sim
  --features F   features of the package that the test needs, if the trace does not name them
  --dry-run      says what would be run, and runs nothing
  --json         writes the result as JSON (docs/json.md). The test's output goes to standard error

examples:
  cargo unpause replay --last
  cargo unpause replay 17@tests::transfers
  cargo unpause replay target/sim/demo/bank.transfers/17.simtrace --features extra

exit codes: 0 the test passed, 1 it failed or could not be built, 2 the file or an argument is invalid, or no
test has run.
";
