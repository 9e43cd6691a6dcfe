//! Generated programs from the shell: their files, replayed by other processes; their statistics.

use std::fs;
use std::path::PathBuf;

use crate::child::{Ended, child, files, folder, root};

/// Runs the failing test with `jobs` jobs, and returns the only trace that was written.
fn found(name: &str, jobs: &str) -> (Ended, PathBuf) {
    let out = folder(name);
    let ended = child("generated").env("SIM_OUT", &out).env("SIM_JOBS", jobs).fails();
    let written = files(&out);
    let trace = written.iter().find(|file| file.ends_with(".simtrace")).unwrap();
    (ended, out.join(trace))
}

/// The part of a screen about the run, which begins with the program.
fn run(ended: &Ended) -> &str {
    let from = ended.stderr.find("── program").unwrap_or_else(|| panic!("no program {ended}"));
    let to = ended.stderr.find("\ntrace:").or_else(|| ended.stderr.find("\nreplay:"));
    &ended.stderr[from..to.unwrap()]
}

#[cfg_attr(feature = "sim", test)]
fn a_program_and_its_schedule_replay_in_another_process() {
    let (ended, trace) = found("program-replay", "1");
    ended.says(&["── program ── Counter, 3 commands", "history is not linearizable"]);
    let again = child("generated").env("SIM_REPLAY", &trace).fails();
    assert_eq!(run(&again), run(&ended));
    // The decisions alone, on one line, replay the same program.
    let command = ended.after("replay:");
    let inline = command.strip_prefix("SIM_REPLAY=").unwrap().split(' ').next().unwrap();
    assert!(inline.starts_with("sim2:"), "{inline}");
    let again = child("generated").env("SIM_REPLAY", inline).fails();
    assert_eq!(run(&again), run(&ended));
}

#[cfg_attr(feature = "sim", test)]
fn a_process_with_other_workers_writes_the_same_program() {
    let read = |trace: PathBuf| fs::read(trace).unwrap();
    let (_, one) = found("program-jobs-1", "1");
    let one = read(one);
    for jobs in ["2", "4"] {
        let (_, other) = found(&format!("program-jobs-{jobs}"), jobs);
        assert_eq!(read(other), one, "{jobs} workers");
    }
}

#[cfg_attr(feature = "sim", test)]
fn beside_the_trace_stand_the_program_as_source_and_the_history() {
    let (ended, trace) = found("program-files", "2");
    let source = fs::read_to_string(trace.with_extension("rs")).unwrap();
    assert!(source.contains("sim::Script::new()\n        .branch("), "{source}");
    ended.says(&["source:  ", "history: "]);
    let history = fs::read_to_string(trace.with_extension("jsonl")).unwrap();
    // Two for the state of the counter, and two for each command.
    assert_eq!(history.lines().count(), 8, "{history}");
    let file = trace.with_extension("jsonl");
    unpause_histories::assert_violated!(file.to_str().unwrap(), "counter");
}

#[test]
fn on_real_threads_a_failing_run_leaves_the_program_as_source_and_the_history() {
    if sim::SIMULATED {
        return;
    }
    let kept = |variant: &str| {
        let out = folder(&format!("program-threads-{variant}"));
        let test = child("generated_with_time").env("UNPAUSE_VARIANT", variant);
        (test.env("SIM_OUT", &out), out)
    };
    for (variant, says) in [
        ("loses", "history is not linearizable"),
        ("panics", "no room"),
        ("hangs", "no task has made progress for 1 s"),
    ] {
        let (test, out) = kept(variant);
        let ended = test.env("SIM_HANG", "1s").fails();
        ended.says(&["REAL THREADS: not replayable", says]);
        let written = files(&out);
        assert_eq!(written.len(), 2, "{written:?}");
        let file = |label| root().join(ended.after(label));
        let source = fs::read_to_string(file("source:")).unwrap();
        assert!(source.contains(" on real threads: "), "{source}");
        assert!(source.contains("sim::Script::new()\n        ."), "{source}");
        assert!(source.contains("Increment)"), "{source}");
        let history = file("history:");
        assert!(fs::read_to_string(&history).unwrap().lines().count() > 2, "{history:?}");
        if variant == "loses" {
            unpause_histories::assert_violated!(history.to_str().unwrap(), "counter");
        }
    }
    let (test, out) = kept("fixed");
    test.passes().says_not("source:");
    assert_eq!(files(&out), <[String; 0]>::default());
}

#[cfg_attr(feature = "sim", test)]
fn a_command_that_hangs_leaves_the_program_as_source() {
    let out = folder("program-hangs");
    let test = child("generated_with_time").env("UNPAUSE_VARIANT", "hangs").env("SIM_OUT", &out);
    let ended = test.env("SIM_HANG", "1s").fails();
    ended.says(&["has not yielded for 1 s", "trace:   "]);
    let source = fs::read_to_string(root().join(ended.after("source:"))).unwrap();
    assert!(source.contains("Increment)"), "{source}");
}

#[test]
fn what_real_threads_cannot_write_down_is_told() {
    if sim::SIMULATED {
        return;
    }
    let file = folder("program-threads-nowhere").join("file");
    fs::write(&file, "").unwrap();
    let ended = child("generated_with_time").env("SIM_OUT", &file).fails();
    ended.says(&["warning: ", ".rs of the failing run could not be written: folder"]);
    ended.says_not("source:");
}

#[test]
fn statistics_are_shown_if_asked_for() {
    let asked = child("counted").env("SIM_STATISTICS", "1").passes();
    asked.says(&["passed  shell::fixture::counted: ", "── programs ── ", "Increment", "at once"]);
    child("counted").passes().says_not("── programs");
}

#[test]
fn a_case_that_is_too_seldom_fails_the_test_and_shows_the_programs() {
    let ended = child("counted").env("UNPAUSE_VARIANT", "wants too much").fails();
    ended.says(&["held in too few runs", "wanted in 99 %", "── programs ── ", "Increment"]);
}
