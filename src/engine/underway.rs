//! Marks of tests in progress. The marks identify the seed of a run that ends its process.
//!
//! A stack overflow, `abort()` or a failed allocation ends the process immediately, so the process cannot report which
//! run caused it. Recording each run before it begins would cost more than many runs do. Therefore a test first creates
//! only a mark, which is a file, while it runs. If the process of a mark no longer exists, the process ended before the
//! test did. Only then, each run is noted in the mark before it begins, and the next start names the run.
//!
//! The runs that such a mark names are first executed alone, each in a new process (`simulate/ends.rs`). If the mark
//! names no run, the whole test is executed there for a limited time. If the new process ends, too, its mark names the
//! run, which is then reported as a failure of its seed. The mark remains, so that the next start does the same.
//!
//! A process that is killed from outside leaves its marks, too. The runs of such a process end normally when they are
//! executed alone, so none of them is reported. Hermetic runners and replays create no marks. Real threads create no
//! marks either, because their seeds do not determine a run.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unpause_ordered::Set;

use crate::engine::config::Config;
use crate::engine::persistence;
use crate::engine::runner::Site;
use crate::run::ids::Seed;

/// The length of a line of a mark, including the line feed.
const LINE: usize = 32;

/// The marks of this process.
static MARKS: Mutex<Set<PathBuf>> = Mutex::new(Set::new());

/// The mark of one test. The mark is removed on drop.
pub(crate) struct Mark {
    path: PathBuf,
    notes: Option<Arc<RunNotes>>,
}

/// The current runs of the workers of a test, as lines of the mark.
pub(crate) struct RunNotes {
    file: Mutex<File>,
    /// For each line, `true` if a test uses it.
    lines: Mutex<Vec<bool>>,
}

/// The current run of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Note {
    /// The run of a seed.
    Seed(Seed),
    /// A run that a strategy learns from, before all seeds.
    Rehearsal(u32),
    /// A run derived from the run of a seed, during confirmation or shrinking.
    From(Seed),
}

/// The mark that a dead process left of a test.
pub(crate) struct LeftMark {
    path: PathBuf,
    text: String,
    /// The runs of that process, if the process noted its runs.
    pub(crate) notes: Vec<Note>,
}

impl Mark {
    /// Returns the mark that a dead process left of a test; `None` if there is no such mark.
    pub(crate) fn left(config: &Config, site: &Site) -> Option<LeftMark> {
        let path = Mark::path(config, site)?;
        // A dead process may have had the number of this process. So the number does not show that the mark belongs to
        // another runner of this process.
        if marks().contains(&path) {
            return None;
        }
        let text = fs::read_to_string(&path).ok()?;
        let notes = left_in(&text)?;
        Some(LeftMark { path, text, notes })
    }

    /// Returns the path of the mark of a test; `None` if the test has no mark.
    fn path(config: &Config, site: &Site) -> Option<PathBuf> {
        if site.hermetic || config.replay.is_some() {
            return None;
        }
        let shard = format!("{}-of-{}", config.shard.number, config.shard.of);
        let name = format!("{}.{shard}", persistence::folder_name(&site.key()));
        Some(persistence::package_folder(site).join("underway").join(name))
    }

    /// Marks a test, unless another process or runner executes it or the mark cannot be written. If a dead process left
    /// a mark, the runs of this process are noted.
    pub(crate) fn begin(config: &Config, site: &Site) -> Option<Mark> {
        Some(Mark::of(Mark::path(config, site)?)?.0)
    }

    /// Marks a test that has no mark. Returns `None` if it may have one, for example of a dead process.
    pub(crate) fn first(config: &Config, site: &Site) -> Option<Mark> {
        let path = Mark::path(config, site)?;
        let mut marks = marks();
        if marks.contains(&path) {
            return None;
        }
        write(&mut create(&path).ok()?)?;
        marks.insert(path.clone());
        Some(Mark { path, notes: None })
    }

    /// Creates the mark in this file. Also returns the notes that a dead process left in it.
    fn of(path: PathBuf) -> Option<(Mark, Option<Vec<Note>>)> {
        let mut marks = marks();
        if marks.contains(&path) {
            return None;
        }
        let (mut file, left) = match create(&path) {
            Ok(file) => (file, None),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(path.parent()?).ok()?;
                (create(&path).ok()?, None)
            }
            Err(_) => {
                let left = take_left(&path)?;
                (create(&path).ok()?, left)
            }
        };
        write(&mut file)?;
        marks.insert(path.clone());
        let notes = left
            .is_some()
            .then(|| Arc::new(RunNotes { file: Mutex::new(file), lines: Mutex::new(Vec::new()) }));
        Some((Mark { path, notes }, left))
    }

    /// Returns the notes in which runs are recorded before they begin; `None` if they are not needed.
    pub(crate) fn notes(&self) -> Option<Arc<RunNotes>> {
        self.notes.clone()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let mut marks = marks();
        marks.remove(&self.path);
        // An error is ignored, because another process may have removed the file.
        let _ = fs::remove_file(&self.path);
    }
}

/// Creates the file of a mark. Fails if it exists.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Writes the first line of a mark. Returns `None` if it cannot be written.
fn write(file: &mut File) -> Option<()> {
    file.write_all(line(&std::process::id()).as_bytes()).ok()
}

/// Removes the mark of a dead process, and returns its notes. Returns `None` if the process of the mark exists.
fn take_left(path: &Path) -> Option<Option<Vec<Note>>> {
    let Ok(text) = fs::read_to_string(path) else { return Some(None) };
    let left = left_in(&text)?;
    // A process removes its mark before it ends. So if the mark still exists after the check, the process did not
    // remove it.
    if fs::read_to_string(path).ok()? != text {
        return None;
    }
    fs::remove_file(path).ok()?;
    Some(Some(left))
}

/// Removes all marks of this process, because the process is about to be ended deliberately.
pub(crate) fn unmark_all() {
    for path in &*marks() {
        let _ = fs::remove_file(path);
    }
}

fn marks() -> MutexGuard<'static, Set<PathBuf>> {
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunNotes {
    /// Reserves a line for a worker, and returns its index.
    pub(crate) fn open(&self) -> usize {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let free = lines.iter().position(|used| !used).unwrap_or(lines.len());
        match lines.get_mut(free) {
            Some(used) => *used = true,
            None => lines.push(true),
        }
        free
    }

    /// Records the run that the worker of this line begins.
    // Few tests have notes, but every run calls this function, so it is not inlined.
    #[cold]
    #[inline(never)]
    pub(crate) fn note(&self, at: usize, note: Note) {
        self.write(at, &note);
    }

    /// Clears the line of a worker that has finished.
    pub(crate) fn close(&self, at: usize) {
        self.write(at, &"");
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)[at] = false;
    }

    fn write(&self, at: usize, text: &dyn fmt::Display) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // The first line contains the process. If a run cannot be noted, it is later reported as unknown.
        let at = SeekFrom::Start((at as u64 + 1) * LINE as u64);
        let _ = file.seek(at).and_then(|_| file.write_all(line(text).as_bytes()));
    }
}

impl Note {
    fn parse(line: &str) -> Option<Note> {
        let (kind, number) = line.trim_end().split_once(' ')?;
        match kind {
            "seed" => Some(Note::Seed(Seed(number.parse().ok()?))),
            "rehearsal" => Some(Note::Rehearsal(number.parse().ok()?)),
            "from" => Some(Note::From(Seed(number.parse().ok()?))),
            _ => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Seed(seed) => write!(f, "seed {seed}"),
            Note::Rehearsal(n) => write!(f, "rehearsal {n}"),
            Note::From(seed) => write!(f, "from {seed}"),
        }
    }
}

/// Formats a line of a mark. All lines have the same length, so that each can be overwritten.
fn line(text: &dyn fmt::Display) -> String {
    format!("{:<width$}\n", text.to_string(), width = LINE - 1)
}

/// Returns the notes of the process of a mark, if the process no longer exists.
fn left_in(mark: &str) -> Option<Vec<Note>> {
    process_of(mark).filter(|process| !is_alive(*process))?;
    Some(mark.lines().skip(1).filter_map(Note::parse).collect())
}

/// Returns the process to which a mark belongs.
fn process_of(mark: &str) -> Option<u32> {
    mark.lines().next()?.trim_end().parse().ok()
}

/// Returns `true` if another process with this number exists; `false` on systems without a `/proc` folder.
fn is_alive(process: u32) -> bool {
    process != std::process::id() && Path::new("/proc").join(process.to_string()).exists()
}

impl LeftMark {
    /// Writes the mark again, as the dead process left it.
    pub(crate) fn restore(&self) {
        // If the mark cannot be written, runs are not noted.
        let _ = fs::write(&self.path, &self.text);
    }

    /// Writes a note that says how the dead process ended. The note ends with the text `then`.
    pub(crate) fn tell(&self, site: &Site, then: &str) {
        let within = match (self.notes.first(), self.notes.len()) {
            (None, _) => "before the test did".to_owned(),
            (Some(Note::Seed(seed)), 1) => format!("within seed {seed}"),
            (Some(Note::Rehearsal(n)), 1) => format!("within rehearsal {n} of the strategy"),
            (Some(Note::From(seed)), 1) => {
                format!("within a run derived from seed {seed}, while that was replayed or shrunk")
            }
            (_, several) => format!("within one of {several} concurrent runs"),
        };
        write_note(&format!(
            "the last process that ran {} ended {within}. A stack overflow, abort() or a failed allocation ends a \
             process like that; so does a kill from outside. {then}",
            site.test
        ));
    }

    /// Returns the advice if the reason for the end is not known.
    pub(crate) fn advice(&self, site: &Site) -> String {
        if self.notes.is_empty() {
            return "From now on each run is noted before it begins: if it happens again, the next start names that run."
                .to_owned();
        }
        let command = |note: &Note| match note {
            Note::Seed(seed) | Note::From(seed) => site.seed_command(seed.0),
            Note::Rehearsal(_) => site.search_command(),
        };
        let commands = self.notes.iter().map(|note| format!("\n  {}", command(note)));
        format!("To run it again:{}", commands.collect::<String>())
    }
}

/// Writes a note to standard error.
pub(crate) fn write_note(text: &str) {
    // This is not `eprint!`, because a test harness captures that, and the process may end like the previous one.
    let _ = std::io::stderr().lock().write_all(format!("note: {text}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::config::Settings;

    fn path(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sim-underway-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    /// Writes a mark as a dead process leaves it. No process has the number `u32::MAX`, and the number of this process
    /// may be reused.
    fn leave(path: &Path, process: u32, notes: &[&str]) {
        let lines: String = notes.iter().map(|note| line(note)).collect();
        fs::write(path, line(&process) + &lines).unwrap();
    }

    #[test]
    fn a_mark_goes_with_its_test_and_says_nothing_of_itself() {
        let path = path("ordinary");
        let (mark, left) = Mark::of(path.clone()).unwrap();
        assert!(left.is_none() && mark.notes().is_none() && path.exists());
        assert!(Mark::of(path.clone()).is_none(), "another runner of the name has it");
        drop(mark);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_process_that_is_gone_had_noted_is_known() {
        let path = path("gone");
        for (notes, expected) in [
            (&[][..], vec![]),
            (&["seed 17"], vec![Note::Seed(Seed(17))]),
            (
                &["", "rehearsal 3", "from 18446744073709551615"],
                vec![Note::Rehearsal(3), Note::From(Seed(u64::MAX))],
            ),
            (&["seed x", "sea 3"], vec![]),
        ] {
            leave(&path, u32::MAX, notes);
            let (mark, left) = Mark::of(path.clone()).unwrap();
            assert_eq!(left, Some(expected));
            assert!(mark.notes().is_some());
        }
        assert!(!path.exists());
        // A container may give its only process the same number each time.
        leave(&path, std::process::id(), &["seed 1"]);
        assert_eq!(Mark::of(path.clone()).unwrap().1, Some(vec![Note::Seed(Seed(1))]));
    }

    #[test]
    fn a_mark_of_this_process_is_not_left() {
        let site = Site::of_program(std::panic::Location::caller());
        let site = Site { test: "underway::a_mark_of_this_process".to_owned(), ..site };
        let config = Settings::default().resolve().expect("the defaults are valid");
        let mark = Mark::begin(&config, &site).expect("no other process has this mark");
        assert!(Mark::first(&config, &site).is_none());
        assert!(Mark::left(&config, &site).is_none());
        leave(&mark.path, u32::MAX, &["seed 1"]);
        assert!(Mark::left(&config, &site).is_none());
        drop(mark);
        // The first mark is created without a look at an earlier one, so it leaves a mark of a dead process alone.
        let mark = Mark::first(&config, &site).expect("the file is gone");
        let path = mark.path.clone();
        assert!(mark.notes().is_none() && path.exists());
        drop(mark);
        leave(&path, u32::MAX, &["seed 1"]);
        assert!(Mark::first(&config, &site).is_none());
        assert_eq!(Mark::left(&config, &site).unwrap().notes, [Note::Seed(Seed(1))]);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_mark_can_be_restored() {
        let path = path("restored");
        leave(&path, u32::MAX, &["seed 1"]);
        let text = fs::read_to_string(&path).unwrap();
        let left = LeftMark { path: path.clone(), text: text.clone(), notes: Vec::new() };
        fs::remove_file(&path).unwrap();
        left.restore();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_process_that_is_there_keeps_its_mark() {
        if !Path::new("/proc/1").exists() {
            return;
        }
        let path = path("alive");
        leave(&path, 1, &["seed 1"]);
        assert!(Mark::of(path.clone()).is_none());
        assert!(path.exists());
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn runs_are_noted_until_they_are_through() {
        let path = path("noted");
        leave(&path, u32::MAX, &[]);
        let (mark, _) = Mark::of(path.clone()).unwrap();
        let notes = mark.notes().unwrap();
        let read = || {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.lines().all(|line| line.len() == LINE - 1), "{text}");
            text.lines().skip(1).filter_map(Note::parse).collect::<Vec<_>>()
        };
        let (one, two) = (notes.open(), notes.open());
        notes.note(one, Note::Seed(Seed(123_456_789)));
        notes.note(two, Note::Rehearsal(1));
        notes.note(one, Note::Seed(Seed(7)));
        assert_eq!(read(), [Note::Seed(Seed(7)), Note::Rehearsal(1)]);
        notes.close(one);
        assert_eq!(read(), [Note::Rehearsal(1)]);
        assert_eq!(notes.open(), one);
        notes.note(one, Note::From(Seed(u64::MAX)));
        assert_eq!(read(), [Note::From(Seed(u64::MAX)), Note::Rehearsal(1)]);
    }
}
