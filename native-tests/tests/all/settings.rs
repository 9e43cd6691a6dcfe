//! Settings that only plain threads have: each finds a failure that runs without it do not have, and the trace file alone
//! replays the failure. The list of all settings, and the failures of the others, are in `src/engine/runner/walk.rs`.

use std::fs;
use std::os::unix::process::parent_id;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread;

use sim::Runner;
use sim::report::Report;

/// The name of a setting, a runner with the setting, and a test that fails under this runner only.
type Plant = (&'static str, fn(Runner) -> Runner, fn());

const PLANTS: &[Plant] = &[
    ("points: all", |runner| runner.points("all"), expects_the_thread_to_have_ended),
    ("arc: 1", |runner| runner.arc(true), expects_to_have_the_last_reference),
    ("isolate: process", |runner| runner.isolate("process"), needs_a_process),
    ("memory: c11", |runner| runner.memory("c11"), passes_a_message_without_orders),
];

/// The end of a thread is part of its last step, unless all operations are points.
fn expects_the_thread_to_have_ended() {
    let set = Arc::new(AtomicBool::new(false));
    let other = set.clone();
    let thread = thread::spawn(move || other.store(true, SeqCst));
    while !set.load(SeqCst) {}
    assert!(thread.is_finished(), "not ended");
    thread.join().unwrap();
}

/// The other thread has the last reference between two changes of the count.
fn expects_to_have_the_last_reference() {
    let value = Arc::new(AtomicU32::new(0));
    let weak = Arc::downgrade(&value);
    let thread = thread::spawn(move || drop(weak.upgrade()));
    assert!(Arc::try_unwrap(value).is_ok(), "another reference");
    thread.join().unwrap();
}

/// Fails in a process that this test program made.
fn needs_a_process() {
    let program = |process: &str| fs::read_link(format!("/proc/{process}/exe")).unwrap();
    let is_made = program(&parent_id().to_string()) == program("self");
    assert!(!is_made, "a process of its own");
}

/// The two stores have no order, and neither have the two loads.
fn passes_a_message_without_orders() {
    let message = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let other = message.clone();
    let thread = thread::spawn(move || {
        other.0.store(1, Relaxed);
        other.1.store(true, Relaxed);
    });
    let is_ready = message.1.load(Relaxed);
    assert!(!is_ready || message.0.load(Relaxed) == 1, "no message");
    thread.join().unwrap();
}

fn runner(name: &str) -> Runner {
    let out = std::env::temp_dir().join(format!("unpause-settings-{}", std::process::id()));
    let runner = Runner::new().name(name.replace([':', ' '], "")).hermetic().seeds(0..200).out(out);
    // By default some runs have these points.
    runner.arc(false).shrink(false)
}

fn message(report: &Report) -> Option<String> {
    report.finding.as_ref().map(|finding| format!("{:?}", finding.run.outcome))
}

#[test]
fn a_trace_file_alone_replays_what_a_setting_of_plain_threads_finds() {
    for (setting, with, body) in PLANTS {
        let without = runner(setting).run_native(*body);
        assert_eq!(message(&without), None, "{setting}");
        let found = with(runner(setting)).run_native(*body);
        let file = found.finding.as_ref().unwrap_or_else(|| panic!("{setting}: nothing is found"));
        let file = file.trace_file.as_ref().expect("the trace is written");
        let again = runner(setting).replay(file).run_native(*body);
        assert_eq!(message(&again), message(&found), "{setting}");
    }
}
