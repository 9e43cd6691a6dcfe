//! Runs tests for their reports: runs a cargo command, reads the reports of the tests, and keeps the output.

pub(crate) mod steps;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Usage;
use crate::document::Document;
use crate::failures::REPORT;
use crate::invocation::Invocation;

/// The result of a command.
pub(crate) struct Ended {
    /// The exit code; `None` if a signal ended the command.
    pub(crate) code: Option<i32>,
    /// One report per test, sorted by file name.
    pub(crate) reports: Vec<Document>,
    /// The output of the command on both streams.
    pub(crate) output: String,
}

/// Ends commands from another thread.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The process group of the running command.
    group: Option<u32>,
    is_stopped: bool,
}

impl Stop {
    /// Ends the running command. No further command is started.
    pub(crate) fn stop(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_stopped = true;
        if let Some(group) = state.group {
            end_group(group);
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_stopped
    }

    /// Starts a command in the given group. Without a group, the command gets a new group.
    fn start(&self, command: &mut Command, group: Option<u32>) -> Result<Child, Usage> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(
            command,
            group.and_then(|group| i32::try_from(group).ok()).unwrap_or(0),
        );
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_stopped {
            return Err(Usage("it was cancelled".to_owned()));
        }
        let started = command.spawn().map_err(|error| {
            Usage(format!("{} cannot be started: {error}", command.get_program().to_string_lossy()))
        })?;
        state.group = Some(group.unwrap_or(started.id()));
        Ok(started)
    }

    fn ended(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).group = None;
    }
}

/// Kills cargo and the processes that it has started. Cargo and these processes share a process group.
fn end_group(group: u32) {
    let group = format!("-{group}");
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
}

/// A process that kills a command if this program ends before the command does. Ctrl-C on a terminal does not reach
/// another group, so the tests would continue.
///
/// The command joins the group of the guard, so there is no moment at which the guard does not know the command.
struct Guard(Option<Child>);

impl Guard {
    /// Waits for the end of its input, which this program keeps open, and kills its group.
    const SCRIPT: &str = "read -r _; kill -s KILL 0";

    /// Starts a guard, which has a new group. Without a shell there is no guard.
    fn start() -> Guard {
        // Only Unix has process groups.
        if !cfg!(unix) {
            return Guard(None);
        }
        let mut command = Command::new("sh");
        command.args(["-c", Guard::SCRIPT]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Guard(command.spawn().ok())
    }

    fn group(&self) -> Option<u32> {
        self.0.as_ref().map(Child::id)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(guard) = &mut self.0 else { return };
        // `wait` closes the input, so the guard must end before.
        let _ = guard.kill();
        let _ = guard.wait();
    }
}

/// Runs the command, and reads the report of each test that it runs. If this program ends before the command, the
/// command is killed.
///
/// # Errors
/// If it cannot be started, or if it was stopped.
pub(crate) fn run(invocation: &Invocation, stop: &Stop) -> Result<Ended, Usage> {
    let folder = Folder::new()?;
    let output = folder.0.join("output");
    let cannot =
        |error: std::io::Error| Usage(format!("{} cannot be written: {error}", output.display()));
    let file = File::create(&output).map_err(cannot)?;
    let mut command = invocation.command();
    command.env("SIM_JSON", folder.0.join("reports")).env("CARGO_TERM_COLOR", "never");
    // Paths in reports are relative to the folder of the user's shell, which here is the current folder.
    if let Ok(here) = std::env::current_dir() {
        command.env("PWD", here);
    }
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(cannot)?).stderr(file);
    let guard = Guard::start();
    let mut started = stop.start(&mut command, guard.group())?;
    let status = started.wait();
    drop(guard);
    stop.ended();
    let status = status.map_err(|error| Usage(format!("the command was lost: {error}")))?;
    if stop.is_stopped() {
        return Err(Usage("it was cancelled".to_owned()));
    }
    let output = fs::read(&output).unwrap_or_default();
    Ok(Ended {
        code: status.code(),
        reports: reports_in(&folder.0.join("reports"))?,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

/// Returns the reports in a folder, sorted by file name.
pub(crate) fn reports_in(folder: &Path) -> Result<Vec<Document>, Usage> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == REPORT));
    files.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| error.to_string());
        let report = text.and_then(|text| Document::read(&text).map_err(|why| why.to_string()));
        report.map_err(|why| Usage(format!("the report {}: {why}", path.display())))
    };
    files.iter().map(read).collect()
}

/// A new folder, removed on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn new() -> Result<Folder, Usage> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("cargo-unpause-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Folder(folder)),
                // A process with this number was killed, for example by Ctrl-C.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Usage(format!("{} cannot be created: {error}", folder.display())));
                }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the end of a text: at most `bytes_max` bytes, starting at the beginning of a line.
pub(crate) fn tail(text: &str, bytes_max: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes_max);
    if from > 0 {
        from = text.as_bytes()[from..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(text.len(), |line| from + line + 1);
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_killed_process_is_left_alone() {
        let new = || Folder::new().unwrap_or_else(|Usage(text)| panic!("{text}"));
        let first = new();
        let path = first.path().display().to_string();
        let (begin, number) = path.rsplit_once('-').unwrap();
        let next = number.parse::<u32>().unwrap() + 1;
        let left = PathBuf::from(format!("{begin}-{next}"));
        fs::create_dir(&left).unwrap();
        let second = new();
        fs::remove_dir(&left).unwrap();
        assert_ne!(second.path(), left.as_path());
    }
}
