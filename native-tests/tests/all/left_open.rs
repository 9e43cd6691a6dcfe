//! Files that a run leaves open: the run's own are closed at its end, those of others are not.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::sync::{Arc, Mutex};
use std::thread;

use sim::Runner;

/// The path of a file for a test.
fn path(name: &str) -> String {
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/left_open");
    fs::create_dir_all(folder).unwrap();
    format!("{folder}/{name}")
}

fn number_of_open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Leaves a file and a duplicate of it open, as a thread does that is blocked for ever.
fn leaves_open(name: &str) {
    let file = File::create(path(name)).unwrap();
    std::mem::forget(file.try_clone().unwrap());
    std::mem::forget(file);
}

/// Checks that runs of this body have left at most a few files open.
fn leaves_none_open(strategy: &str, body: fn()) {
    let before = number_of_open_files();
    let report = Runner::new().hermetic().strategy(strategy).seeds(0..500).jobs(1).run_native(body);
    assert!(report.finding.is_none(), "{:?}", report.finding);
    assert!(report.runs > 3, "{} runs", report.runs);
    let after = number_of_open_files();
    // Other tests of this process may have files open for a moment.
    assert!(after < before + 10, "{before} files before {} runs, then {after}", report.runs);
}

#[test]
fn files_that_threads_leave_open_are_closed() {
    for strategy in ["random", "exhaustive"] {
        leaves_none_open(strategy, || {
            leaves_open("first");
            let other = thread::spawn(|| leaves_open("second"));
            leaves_open("first");
            other.join().unwrap();
        });
    }
}

/// A search abandons runs in which a thread still has a file open.
#[test]
fn files_of_runs_that_are_cut_are_closed() {
    leaves_none_open("exhaustive", || {
        let count = Arc::new(Mutex::new(0));
        let threads = ["one", "two", "three"].map(|name| {
            let count = count.clone();
            thread::spawn(move || {
                let _file = File::create(path(name)).unwrap();
                *count.lock().unwrap() += 1;
                *count.lock().unwrap() += 1;
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A file that a closure has captured is open after its runs, and in each of them.
#[test]
fn a_captured_file_stays_open() {
    let path = path("captured");
    let mut file = File::options().create(true).truncate(true).read(true).write(true).open(path);
    let file = Arc::new(Mutex::new(file.as_mut().unwrap().try_clone().unwrap()));
    let of_runs = file.clone();
    let runner = Runner::new().hermetic().strategy("random").seeds(0..20).jobs(1);
    let report = runner.run_native(move || {
        let of_thread = of_runs.clone();
        let other = thread::spawn(move || of_thread.lock().unwrap().write_all(b"2").unwrap());
        of_runs.lock().unwrap().write_all(b"1").unwrap();
        other.join().unwrap();
    });
    assert!(report.passed(), "{:?}", report.finding);
    let (mut file, mut text) = (file.lock().unwrap(), String::new());
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    assert!(text.len() >= 40 && text.contains("12") && text.contains("21"), "{text}");
}
