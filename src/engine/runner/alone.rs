//! Detection of failures of plain threads that earlier runs in the same process have caused, for example through a C
//! static.
//!
//! The failing run is repeated in a new process that executes no other run. If the run passes there, the whole test is
//! repeated in a third process, with one process for each run. Both repetitions use the harness of the program to
//! select the test, so a test without a harness is not repeated.
//!
//! The new process writes its verdict to a file, because its output is for people.
//!
//! If a run starts this program again as a child process, the child is a part of the tested program. If a run in the
//! child ends by a signal or an exit, the child process ends in the same way, because the program expects it.
//!
//! If an earlier process ended during a test, the test or its last runs are also first executed in a new process: see
//! [`end`].

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::site::{Site, runs_ignored};
use super::terminal::style;
use crate::report::{Finding, Report, text};
use crate::run::ids::Seed;
use crate::run::isolation::Isolation;
use crate::run::{Failure, Outcome};

/// The environment variable with the path of the verdict file, for a test with its own process.
const VERDICT: &str = "UNPAUSE_ALONE";
/// The environment variable that marks a process started by a run. `unpause-native` sets it.
const STARTED: &str = "UNPAUSE_STARTED_BY_RUN";
const PASSED: &str = "passed";
const FAILED: &str = "failed";

/// The time limit for a repeated run. The limit includes the time to load the program, which may be slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Variables that choose the runs of a test. These variables are removed for the repetition of a single run.
const OF_SEEDS: [&str; 4] = ["SIM_SEED", "SIM_SEEDS", "SIM_SHARD", "SIM_RESULTS"];

/// The verdict about a test that was repeated in separate processes.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) passed: bool,
    /// The text output of the test, if it failed.
    pub(super) screen: String,
    /// A note for the user with the reason for the repetition.
    pub(super) note: String,
}

/// The part of a test that a new process repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "seeds of runs on real threads mean no run")]
pub(crate) enum Repeated {
    /// All runs, within this time limit.
    All(Duration),
    /// The run of this seed, and the runs derived from it.
    One(Seed),
}

/// The end of a process that repeats a part of a test.
#[allow(dead_code, reason = "as for `Repeated`")]
pub(crate) enum ProcessEnd {
    /// A signal with this number ended the process during the test.
    Signal(i32),
    /// No signal has ended the process.
    Regular,
    /// The process exceeded the time limit, or could not be started.
    Unknown,
}

/// Returns `true` if this process repeats a test for another process.
pub(crate) fn is_repetition() -> bool {
    std::env::var_os(VERDICT).is_some()
}

/// Repeats a test with this failing report if its failing run passes in a separate process. Returns `None` if the
/// report is valid as it is.
pub(super) fn again(site: &Site, report: &Report) -> Option<Again> {
    let finding = report.finding.as_deref()?;
    if site.hermetic || is_repetition() || !can_be_caused(finding) {
        return None;
    }
    let test = site.filter.as_deref()?;
    let trace = finding.trace_file.as_deref()?;
    let repeated = |command: &mut Command| {
        OF_SEEDS.iter().for_each(|name| _ = command.env_remove(name));
        // The screen of this repetition is not shown, so it needs no explanation.
        command.env("SIM_REPLAY", trace).env("SIM_WHY", "0");
        // Without this variable, the report of the repetition would replace the report of the failure.
        command.env("SIM_JSON", "0");
    };
    match made(test, "replay", Some(PATIENCE), repeated)? {
        (true, _) => {}
        (false, _) => return None,
    }
    let isolated = |command: &mut Command| {
        command.env("SIM_ISOLATE", Isolation::Process.name());
    };
    let (passed, screen) = made(test, "test", None, isolated)?;
    let note = format!(
        "{}: a run failed after other runs of its process and does not fail alone, so the test was made again in a process of \
         its own, with a process for each run, as with SIM_ISOLATE=process",
        site.test
    );
    Some(Again { passed, screen, note })
}

/// Ends a process that a run has started in the same way as the failing run of the report has ended, after the output.
/// Returns in all other processes, and if the run has ended otherwise.
pub(super) fn end_like_the_run(report: &Report) {
    let failed = report.finding.as_deref().map(|finding| &finding.run.outcome);
    if std::env::var_os(STARTED).is_none()
        || !matches!(failed, Some(Outcome::Failed(Failure::Crash { .. })))
    {
        return;
    }
    let screen = text(report, &style());
    // This is not `eprint!`, because a test harness may capture it and would have no time to show the text.
    _ = std::io::stderr().lock().write_all(screen.as_bytes());
    crate::native::end_alike();
}

/// Repeats a part of a test in a new process, with one worker thread. Returns the end of the process.
#[allow(dead_code, reason = "as for `Repeated`")]
pub(crate) fn end(test: &str, part: Repeated) -> ProcessEnd {
    let file = verdict_file("end");
    let Some(mut command) = program(test, &file) else { return ProcessEnd::Unknown };
    command.env("SIM_JOBS", "1");
    let limit = match part {
        Repeated::All(limit) => limit,
        Repeated::One(seed) => {
            command.env("SIM_SEED", seed.to_string());
            PATIENCE
        }
    };
    let ended = command.spawn().ok().and_then(|child| end_of(child, Some(limit)));
    _ = fs::remove_file(&file);
    match ended {
        Some(ended) => signal(ended).map_or(ProcessEnd::Regular, ProcessEnd::Signal),
        None => ProcessEnd::Unknown,
    }
}

#[cfg(unix)]
#[allow(dead_code, reason = "as for `Repeated`")]
fn signal(ended: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&ended)
}

/// Returns `None`, because on these systems `abort` ends a process with an ordinary exit code.
#[cfg(not(unix))]
fn signal(_ended: ExitStatus) -> Option<i32> {
    None
}

/// Returns `true` if other runs can have caused the failure. A hang is excluded, because its repetition would take as
/// long again.
fn can_be_caused(finding: &Finding) -> bool {
    !matches!(finding.run.outcome, Outcome::Failed(Failure::Hang { .. }))
}

/// Runs a test in a new process of this program, after `change` has modified the command. Returns `true` if the test
/// passed, and its text output. `None` if the process has written no verdict.
fn made(
    test: &str,
    purpose: &str,
    limit: Option<Duration>,
    change: impl FnOnce(&mut Command),
) -> Option<(bool, String)> {
    let file = verdict_file(purpose);
    let mut command = program(test, &file)?;
    change(&mut command);
    let ended = command.spawn().ok().and_then(|child| end_of(child, limit));
    let left = fs::read_to_string(&file).ok();
    _ = fs::remove_file(&file);
    ended?;
    let left = left?;
    let (verdict, screen) = left.split_once('\n')?;
    [PASSED, FAILED].contains(&verdict).then(|| (verdict == PASSED, screen.to_owned()))
}

/// Returns a command that runs one test of this program and writes the verdict to `file`.
fn program(test: &str, file: &Path) -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args([test, "--exact", "--test-threads=1"]);
    // The new process writes its arguments into its replay line, so it gets this one only if this process has it.
    command.args(runs_ignored(std::env::args()).then_some("--include-ignored"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env(VERDICT, file).env_remove(STARTED);
    Some(command)
}

/// Returns the path of a verdict file that no other process uses.
fn verdict_file(purpose: &str) -> PathBuf {
    std::env::temp_dir().join(format!("unpause-alone-{}-{purpose}", std::process::id()))
}

/// Waits for the end of a process. Kills the process and returns `None` if it exceeds the time limit.
fn end_of(mut child: Child, limit: Option<Duration>) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(ended)) => return Some(ended),
            Ok(None) if limit.is_none_or(|limit| begun.elapsed() < limit) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => {
                _ = child.kill();
                _ = child.wait();
                return None;
            }
        }
    }
}

/// Returns `true` if the replay did not reproduce a failure: the run continued after the point at which the failing run
/// had ended.
pub(super) fn differs(report: &Report) -> bool {
    let finding = report.finding.as_deref().filter(|_| report.replayed.is_some());
    finding.is_some_and(|finding| {
        matches!(finding.run.outcome, Outcome::Failed(Failure::Diverged { .. }))
    })
}

/// Writes the verdict about a test that has its own process.
pub(super) fn leave(passed: bool, screen: &str) {
    if let Some(file) = std::env::var_os(VERDICT) {
        let verdict = if passed { PASSED } else { FAILED };
        _ = fs::write(file, format!("{verdict}\n{screen}"));
    }
}
