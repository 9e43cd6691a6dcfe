//! Runs that change process state, and tests that detect if it is not restored. Each passes alone.

#![allow(unsafe_code, reason = "the environment is changed")]

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::Once;
use std::thread;

use leftover_tests::{add, add_in_two_steps, after};

/// As error reporters do it.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        let note = "noted".to_owned();
        std::panic::set_hook(Box::new(move |info| {
            assert_eq!(note, "noted");
            before(info);
        }));
    });
}

#[test]
fn a_hook_that_is_installed_once_changes_nothing() {
    install_hook();
    assert_eq!(after(add), 2);
    let caught = thread::spawn(|| panic!("on purpose")).join();
    assert!(caught.is_err());
}

#[test]
fn a_failure_beside_a_hook_is_shown() {
    install_hook();
    assert_eq!(after(add_in_two_steps), 2, "an update is lost");
}

#[test]
fn a_variable_that_a_run_sets_ends_with_it() {
    assert!(std::env::var_os("LEFT_BY_A_RUN").is_none(), "a variable is left");
    // SAFETY: no other thread uses the environment.
    unsafe { std::env::set_var("LEFT_BY_A_RUN", "1") };
    assert_eq!(after(add), 2);
}

#[test]
fn a_working_directory_of_a_run_ends_with_it() {
    assert!(std::path::Path::new("Cargo.toml").exists(), "the directory is another one");
    std::env::set_current_dir("/").unwrap();
    assert_eq!(after(add), 2);
}

#[test]
fn a_temporary_file_of_a_run_ends_with_it() {
    let folder = std::env::temp_dir();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "a file is left");
    std::fs::write(folder.join("file"), "left").unwrap();
    // SAFETY: no other thread uses the environment.
    unsafe { std::env::set_var("TMPDIR", "/chosen") };
    assert_eq!(std::env::temp_dir(), std::path::Path::new("/chosen"));
    assert_eq!(after(add), 2);
}

/// The first number of a generator whose seed is the id of its thread.
fn number_of_thread() -> u64 {
    let mut hasher = DefaultHasher::new();
    thread::current().id().hash(&mut hasher);
    hasher.finish()
}

#[test]
fn a_number_from_the_id_of_a_thread_is_the_same_in_each_run() {
    // A file outlives the run, but not in the temporary folder.
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("leftovers-{}", std::process::id()));
    let numbers = [number_of_thread(), thread::spawn(number_of_thread).join().unwrap()];
    let text = format!("{numbers:?}");
    match std::fs::read_to_string(&file) {
        Ok(before) => assert_eq!(before, text),
        Err(_) => std::fs::write(&file, text).unwrap(),
    }
    assert_eq!(after(add), 2);
}

/// Fails after earlier runs of its process, and passes alone.
#[test]
fn a_static_of_c_that_counts_runs_is_fresh_in_a_process() {
    assert!(planted::process::number_of_calls() < 3, "it counts the runs of its process");
    assert_eq!(after(add), 2);
}

struct PanicsAtDrop;

impl Drop for PanicsAtDrop {
    fn drop(&mut self) {
        panic!("the second panic");
    }
}

#[test]
fn a_panic_that_cannot_unwind_is_a_failure() {
    if after(add_in_two_steps) != 2 {
        let _panics = PanicsAtDrop;
        panic!("the first panic");
    }
}

/// Ends the process while it is shown.
struct Aborts;

impl fmt::Display for Aborts {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::process::abort()
    }
}

#[test]
fn a_thread_that_dies_while_it_prints_is_a_failure() {
    let _ = writeln!(std::io::stdout().lock(), "{Aborts}");
}

#[test]
fn the_output_is_free_for_the_last_test() {
    println!("printed");
    assert_eq!(after(add), 2);
}
