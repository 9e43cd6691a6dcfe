//! OS threads that a test starts and that no run controls: threads of plain tests, and threads of async tests.
//!
//! The engine calls [`exempt`] on the threads that execute runs, so its own threads do not count. All other OS threads
//! that a program creates are started by a test or by the test harness. The stack of the harness contains only
//! functions of std.
//!
//! `cargo unpause test` sets a variable with the path of a file. Each program appends a line for each controlled test,
//! for each test that the harness starts on a thread of its own, and for the first thread that a test starts without
//! control. The command counts them (`cargo-unpause/src/test/controlled.rs`).
//!
//! # Limits
//!
//! A thread that code in assembly creates by the system call `clone` is not noticed; libc's function `clone` is.
//! Threads that an uncontrolled thread creates are not noted again.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::death::walk;
use super::places::{self, Frame};

/// The environment variable with the file of the command.
const VARIABLE: &str = "UNPAUSE_THREADS";

/// A function that receives the place at which a run creates an OS thread. Returns `false` outside of runs.
pub type Created = fn(&dyn Fn() -> String) -> bool;

thread_local! {
    /// Set on threads of the engine, and on the threads that they create.
    static EXEMPT: Cell<Option<Created>> = const { Cell::new(None) };
    /// True on threads that a noted test has created, and on the threads that they create.
    static NOTED: Cell<bool> = const { Cell::new(false) };
}

/// A guard of a thread that executes the engine.
#[must_use]
pub struct Exempt(Option<Created>);

/// Makes threads that this thread creates from now on threads of the engine, unless it creates them in a run. Threads
/// that a run creates are passed to `created`.
pub fn exempt(created: Created) -> Exempt {
    Exempt(EXEMPT.replace(Some(created)))
}

impl Drop for Exempt {
    fn drop(&mut self) {
        EXEMPT.set(self.0);
    }
}

/// The state that a new thread inherits from its creator.
#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    exempt: Option<Created>,
    noted: bool,
}

impl Inherited {
    /// Returns `true` for a thread of the engine.
    pub(crate) fn is_of_engine(self) -> bool {
        self.exempt.is_some()
    }

    /// Sets the state of the current thread, which is new.
    pub(crate) fn set(self) {
        EXEMPT.set(self.exempt);
        NOTED.set(self.noted);
    }
}

/// Notes that the current thread, which is not simulated, creates an OS thread. `belongs` is true on threads of a test
/// that executes runs. Returns the state of the new thread.
pub(crate) fn created(belongs: bool) -> Inherited {
    // A thread that ends has no thread-locals any more.
    let (exempt, noted) = match (EXEMPT.try_with(Cell::get), NOTED.try_with(Cell::get)) {
        (Ok(exempt), Ok(noted)) => (exempt, noted),
        _ => (None, true),
    };
    // The place is searched only for the first thread of a test.
    let in_run = exempt.is_some_and(|created| created(&|| place(&callers())));
    if exempt.is_some() && !in_run {
        return Inherited { exempt, noted };
    }
    let noted = noted || !belongs && file().is_some() && note();
    Inherited { exempt: None, noted: noted || in_run }
}

/// Notes the test that creates a thread on the current thread, or that the harness creates the thread of a test.
/// Returns `false` for the harness.
fn note() -> bool {
    static NAMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let names = || NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let current = std::thread::current();
    // Looked up before the stack, because a test may start many threads.
    if current.name().is_some_and(|name| names().contains(name)) {
        return true;
    }
    let callers = callers();
    let Some(test) = of_test(current.name(), &callers) else {
        write("test", "", "");
        return false;
    };
    // Several tests may run on the same thread.
    if names().insert(test.clone()) {
        write("started", &test, &place(&callers));
    }
    true
}

/// Notes that a test runs under the scheduler. `name` is the test's path. The default is the name of its thread.
pub(crate) fn note_controlled(name: Option<&str>) {
    let current = std::thread::current();
    if let Some(name) = name.or(current.name()) {
        write("controlled", name, "");
    }
}

/// A part of the paths of the harness's files.
const HARNESS: &str = "/library/test/src/";

/// The beginning of the functions that call a test with `--any`.
const SHIM: &str = "unpause_any::";

/// Returns the name of the test that creates a thread, `None` for the harness. `thread` is the name of the current
/// thread: the harness gives each test a thread with the name of the test. Other harnesses may run tests on the main
/// thread.
fn of_test(thread: Option<&str>, callers: &[Frame]) -> Option<String> {
    let of_user = |frame: &&Frame| {
        !frame.is_of_std() && !frame.file.is_empty() && !frame.function.starts_with(SHIM)
    };
    match thread {
        Some(name) if name != "main" => Some(name.to_owned()),
        _ => {
            // The harness calls the test, and the program calls the harness.
            let within = callers.iter().position(|frame| frame.file.contains(HARNESS));
            let outermost = callers[..within.unwrap_or(callers.len())].iter().rfind(of_user)?;
            let closures = outermost.function.find("::{");
            let path = &outermost.function[..closures.unwrap_or(outermost.function.len())];
            // The harness omits the crate name.
            Some(path.split_once("::").map_or(path, |(_, path)| path).to_owned())
        }
    }
}

/// Returns the line that creates a thread: the innermost line outside of std, preferably outside of other packages.
fn place(callers: &[Frame]) -> String {
    let is_possible =
        |frame: &&Frame| !frame.is_of_std() && !frame.is_of_facade() && !frame.file.is_empty();
    let is_own = |frame: &&Frame| is_possible(frame) && !frame.file.contains("/registry/src/");
    let found = callers.iter().find(is_own).or_else(|| callers.iter().find(is_possible));
    found.map_or_else(String::new, |frame| {
        format!("{}:{}", places::in_package(&frame.file), frame.line)
    })
}

/// Returns the functions on the stack of the current thread, innermost first, without the functions of this crate.
fn callers() -> Vec<Frame> {
    let mut callers = Vec::new();
    walk(&mut |_, return_address| {
        callers.extend(places::frames(return_address));
        true
    });
    // Without debug information of this crate, there are no frames of it.
    let own = callers.iter().position(|frame| CREATES.contains(&&*frame.function));
    callers.split_off(own.map_or(0, |own| own + 1))
}

/// The functions of this crate that a program calls.
const CREATES: [&str; 3] = ["pthread_create", "clone", "syscall"];

/// Returns the file of the command, if any.
fn file() -> Option<&'static OsString> {
    static FILE: OnceLock<Option<OsString>> = OnceLock::new();
    FILE.get_or_init(|| std::env::var_os(VARIABLE)).as_ref()
}

/// Appends a line to the file of the command, if any. The line begins with the process and its parent, because a test
/// may start other programs of the command.
fn write(kind: &str, test: &str, place: &str) {
    let Some(file) = file() else { return };
    let (process, parent) = (std::process::id(), std::os::unix::process::parent_id());
    let line = format!("{process}\t{parent}\t{kind}\t{test}\t{place}\n");
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
    let _ = opened.and_then(|mut file| file.write_all(line.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str) -> Frame {
        Frame { function: function.to_owned(), file: file.to_owned(), line: 7, column: 1 }
    }

    #[test]
    fn the_thread_of_the_harness_is_of_no_test() {
        let harness = [
            frame("std::thread::Builder::spawn", "/rustc/1/library/std/src/thread/mod.rs"),
            frame("test::run_test", "/rustc/1/library/test/src/lib.rs"),
            frame("pool::main", "src/lib.rs"),
        ];
        assert_eq!(of_test(Some("main"), &harness), None);
        assert_eq!(of_test(Some("a::test"), &harness).as_deref(), Some("a::test"));
        let mut test = harness.to_vec();
        test.insert(1, frame("unpause_any::run", "/c/unpause/shim.rs"));
        assert_eq!(of_test(Some("main"), &test), None);
        test.insert(1, frame("pool::tests::drains::{closure#0}", "src/pool.rs"));
        test.insert(1, frame("pool::Pool::new", "src/pool.rs"));
        assert_eq!(of_test(Some("main"), &test).as_deref(), Some("tests::drains"));
    }

    #[test]
    fn the_line_of_a_thread_is_in_the_users_own_package_if_possible() {
        let std = frame("std::thread::spawn", "/rustc/1/library/std/src/thread/mod.rs");
        let pool = frame("rayon_core::spawn", "/c/registry/src/index/rayon-core-1.0.0/src/lib.rs");
        let own = frame("own::test", "tests/own.rs");
        assert_eq!(place(&[std.clone(), pool.clone(), own]), "tests/own.rs:7");
        assert_eq!(place(&[std.clone(), pool]), "rayon-core-1.0.0/src/lib.rs:7");
        assert_eq!(place(&[std]), "");
    }
}
