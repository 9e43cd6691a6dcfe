//! Detects OS threads that the runs of a test have started: no run controls them.
//!
//! An instrumented program reports each such thread with its place ([`native::take_started`]). In other programs, the
//! kernel is the only source. A new thread has the name of the thread that creates it, until it gets its own. So the
//! threads of the engine have a unique name during a test, and a thread with this name that exists after the last run
//! was started by a run. Only waiting threads are counted. The threads of a pool wait.
//!
//! # Limits
//!
//! Without instrumentation, a thread that ends before the last run, or that has a name of its own, is not detected.
//! Joins of such threads are detected if they take long enough: see [`standstill`](super::standstill). Only Linux
//! provides the names.
//!
//! [`native::take_started`]: crate::native::take_started

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, thread};

use crate::run::place::in_text;

/// The file with the name of the current thread in the kernel.
const NAME: &str = "/proc/thread-self/comm";
/// The folder with a folder for each thread of the process.
const THREADS: &str = "/proc/self/task";
/// The number of samples in which a thread must wait. A thread of the engine may still exist after its last work. It
/// then runs, or waits for a processor, until it ends.
const SAMPLES: usize = 5;

/// Calls `act`, which executes all runs of a test. Also returns the number of threads that the runs have left, zero on
/// systems that do not provide thread names. Threads that the engine created before are not counted.
pub(super) fn counted<T>(act: impl FnOnce() -> T) -> (T, usize) {
    let Some(named) = Named::begin() else { return (act(), 0) };
    let done = act();
    let left = named.left();
    (done, left)
}

/// A guard under which the current thread has a unique name in the kernel.
struct Named {
    name: String,
    before: String,
}

impl Named {
    /// Returns `None` if the system does not provide names of threads.
    fn begin() -> Option<Named> {
        static TESTS: AtomicU32 = AtomicU32::new(0);
        let before = fs::read_to_string(NAME).ok()?;
        // Longer names are cut after 15 bytes.
        let name = format!("sim test {}", TESTS.fetch_add(1, Ordering::Relaxed) % 100_000);
        fs::write(NAME, &name).ok()?;
        Some(Named { name, before: before.trim_end().to_owned() })
    }

    /// Returns the number of other threads with this name that wait.
    fn left(&self) -> usize {
        let mut left = self.waiting();
        for _ in 1..SAMPLES {
            if left.is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(1));
            let waiting = self.waiting();
            left.retain(|thread| waiting.contains(thread));
        }
        left.len()
    }

    /// Returns the folders of the threads with this name that wait at this moment. The current thread runs.
    fn waiting(&self) -> Vec<PathBuf> {
        let waits = |folder: &PathBuf| {
            // A thread may end in the meantime.
            let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
            // The line is `number (name) state …`.
            let rest = stat.split_once(" (").and_then(|(_, rest)| rest.rsplit_once(") "));
            rest.is_some_and(|(name, rest)| name == self.name && rest.starts_with('S'))
        };
        let folders = fs::read_dir(THREADS).into_iter().flatten().flatten();
        folders.map(|entry| entry.path()).filter(waits).collect()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = fs::write(NAME, &self.before);
    }
}

/// Returns the note about a test whose runs have started a thread at this place.
pub(super) fn note_started(test: &str, place: &str) -> String {
    let place = if place.is_empty() { String::new() } else { format!(" ({})", in_text(place)) };
    format!(
        "{test}: a run started a thread{place}, and no decision orders the steps of that thread. Use sim::spawn, or \
         make the test a plain function with #[sim::test(native)]"
    )
}

/// Returns the note about a test whose runs have left this number of threads.
pub(super) fn note_left(test: &str, left: usize) -> String {
    let threads = if left == 1 { "a thread".to_owned() } else { format!("{left} threads") };
    format!(
        "{test}: its runs started {threads}, and no decision orders the steps of such threads. Use sim::spawn, or make \
         the test a plain function with #[sim::test(native)]. `cargo unpause test` shows the line"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn threads_that_the_runs_have_left_are_counted_and_others_are_not() {
        let (stop, stopped) = channel::<()>();
        let elsewhere = thread::spawn(move || stopped.recv());
        let (stops, left) = counted(|| {
            thread::spawn(|| ()).join().unwrap();
            let waiting = [0, 1].map(|_| {
                let (stop, stopped) = channel::<()>();
                (stop, thread::spawn(move || stopped.recv()))
            });
            // They begin to wait.
            thread::sleep(Duration::from_millis(50));
            waiting
        });
        assert_eq!(left, if cfg!(target_os = "linux") { 2 } else { 0 });
        for (stop, thread) in stops {
            drop(stop);
            let _ = thread.join().unwrap();
        }
        drop(stop);
        let _ = elsewhere.join().unwrap();
        assert_eq!(counted(|| ()).1, 0);
    }

    #[test]
    fn the_name_of_the_thread_is_the_same_afterwards() {
        let name = || fs::read_to_string(NAME).ok();
        let before = name();
        let (within, _) = counted(name);
        assert_eq!(name(), before);
        assert!(before.is_none() || within != before);
    }
}
