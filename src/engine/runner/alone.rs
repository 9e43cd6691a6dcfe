//! Failures of plain threads that earlier runs of the process have caused, by a static of C for example.
//!
//! A failing run is repeated in a new process that makes no other run. If it does not fail there, the whole test is
//! made in a third process, with a process for each run. The harness of the program selects the test, so a test without
//! a harness is left as it is.
//!
//! The new process leaves its verdict in a file, because its output is for people.
//!
//! A process that a run has started is a part of the tested program, which starts itself. If a run ends there by a
//! signal or an exit, the process ends in the same way, because the program expects it.
//!
//! A test in which an earlier process has ended is made in a new process first, too: see [`end`].

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::site::Site;
use super::terminal::style;
use crate::report::{Finding, Report, text};
use crate::run::isolation::Isolation;
use crate::run::{Failure, Outcome};

/// The variable with the file for the verdict of a test that has a process for itself.
const VERDICT: &str = "UNPAUSE_ALONE";
/// The variable of a process that a run has started, which `unpause-native` sets.
const STARTED: &str = "UNPAUSE_STARTED_BY_RUN";
const PASSED: &str = "passed";
const FAILED: &str = "failed";

/// The time that a repeated run has, in a program that may be loaded slowly.
const PATIENCE: Duration = Duration::from_secs(60);

/// Settings of the runs of a test that a repeated run does not have.
const OF_SEEDS: [&str; 4] = ["SIM_SEED", "SIM_SEEDS", "SIM_SHARD", "SIM_RESULTS"];

/// The verdict about a test that was made again in processes of its own.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) passed: bool,
    /// The screen, if it failed.
    pub(super) screen: String,
    /// The reason for it, in a line.
    pub(super) note: String,
}

/// Makes a test with this failing report again, if its failing run passes in a process of its own. `None` if the report
/// counts.
pub(super) fn again(site: &Site, report: &Report) -> Option<Again> {
    let finding = report.finding.as_deref()?;
    if site.hermetic || std::env::var_os(VERDICT).is_some() || !can_be_caused(finding) {
        return None;
    }
    let test = site.filter.as_deref()?;
    let trace = finding.trace_file.as_deref()?;
    let repeated = |command: &mut Command| {
        OF_SEEDS.iter().for_each(|name| _ = command.env_remove(name));
        command.env("SIM_REPLAY", trace);
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

/// Ends a process that a run has started as the failing run of the report has ended, after the screen. Returns in all
/// other processes, and if the run has ended otherwise.
pub(super) fn end_like_the_run(report: &Report) {
    let failed = report.finding.as_deref().map(|finding| &finding.run.outcome);
    if std::env::var_os(STARTED).is_none()
        || !matches!(failed, Some(Outcome::Failed(Failure::Crash { .. })))
    {
        return;
    }
    let screen = text(report, &style());
    // Not `eprint!`: a test harness may have taken that, and will have no time to show it.
    _ = std::io::stderr().lock().write_all(screen.as_bytes());
    crate::native::end_alike();
}

/// Makes a test in a new process, on one thread. Returns the signal that ended the process before the test did; `None`
/// if nothing did, or if it took too long.
#[allow(dead_code, reason = "seeds of runs on real threads mean no run")]
pub(crate) fn end(test: &str) -> Option<i32> {
    if std::env::var_os(VERDICT).is_some() {
        return None;
    }
    let file = verdict_file("end");
    let mut command = program(test, &file)?;
    let ended = end_of(command.env("SIM_JOBS", "1").spawn().ok()?, Some(PATIENCE));
    _ = fs::remove_file(&file);
    signal(ended?)
}

#[cfg(unix)]
#[allow(dead_code, reason = "as for `end`")]
fn signal(ended: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&ended)
}

/// Returns `None`: an end by `abort` is an exit code like others.
#[cfg(not(unix))]
fn signal(_ended: ExitStatus) -> Option<i32> {
    None
}

/// Returns `true` for the failure of a run that other runs can have caused. A hang would last as long in each process.
fn can_be_caused(finding: &Finding) -> bool {
    !matches!(finding.run.outcome, Outcome::Failed(Failure::Hang { .. }))
}

/// Makes a test in a new process of this program, changed by `change`. Returns whether it passed, and its screen.
/// `None` if it has left no verdict.
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

/// This program, with one test, whose verdict is left in `file`.
fn program(test: &str, file: &Path) -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args([test, "--exact", "--include-ignored", "--test-threads=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env(VERDICT, file).env_remove(STARTED);
    Some(command)
}

/// A file that no other process has.
fn verdict_file(purpose: &str) -> PathBuf {
    std::env::temp_dir().join(format!("unpause-alone-{}-{purpose}", std::process::id()))
}

/// Waits for the end of a process. `None` if it is too late: the process is then ended.
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

/// Returns `true` if a replayed failure has not come again: the run continues where the failing run had ended.
pub(super) fn differs(report: &Report) -> bool {
    let finding = report.finding.as_deref().filter(|_| report.replayed.is_some());
    finding.is_some_and(|finding| {
        matches!(finding.run.outcome, Outcome::Failed(Failure::Diverged { .. }))
    })
}

/// Leaves the verdict about a test that has this process for itself.
pub(super) fn leave(passed: bool, screen: &str) {
    if let Some(file) = std::env::var_os(VERDICT) {
        let verdict = if passed { PASSED } else { FAILED };
        _ = fs::write(file, format!("{verdict}\n{screen}"));
    }
}
