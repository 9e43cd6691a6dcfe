//! Failing replays: of a changed program, of a file that is not a trace, and of a fixed bug.

use std::fs;

use crate::child::{Ended, child, files, folder, root};

/// The trace of the lost update, as text, and where it was put for this test.
fn trace(name: &str) -> (String, std::path::PathBuf) {
    let out = folder(name);
    child("lost_update").env("SIM_OUT", &out).fails();
    let file = out.join("test-shell.fixture.lost_update/6.simtrace");
    (fs::read_to_string(&file).unwrap(), file)
}

#[cfg_attr(feature = "sim", test)]
fn a_stale_trace_is_said_to_be_stale_step_by_step() {
    let (_, file) = trace("stale");
    for (variant, step, expected, found) in [
        ("other operation", 5, "0.1: store of object 0 at", "0.1: swap of object 0 at"),
        ("other object", 2, "0.0: load of object 0 at", "0.0: load of object 1 at"),
        ("more steps", 5, "0.1: store of object 0 at", "0.1: load of object 1 at"),
        ("fewer steps", 5, "a step of 0.1", "tasks that can step: main"),
        ("task missing", 0, "main: spawn at", "main: spawn at"),
        ("fixed", 2, "0.0: load of object 0 at", "0.0: fetch_add of object 0 at"),
    ] {
        let ended = child("lost_update").env("SIM_REPLAY", &file);
        let ended = ended.env("UNPAUSE_VARIANT", variant).fails();
        let words: Vec<&str> = ended.stderr.split_whitespace().collect();
        let headline = format!("the run diverged from its trace at step {step}");
        assert!(words.join(" ").contains(&headline), "{variant} {ended}");
        ended.says(&[
            &format!("  expected    {expected}"),
            &format!("  found       {found}"),
            "The code has changed since the trace was written.",
        ]);
        let record = ended.after("record:");
        let command = "cargo test -p sim-tests --test shell fixture::lost_update -- --exact";
        assert_eq!(record, format!("SIM_STRATEGY=random {command}"));
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_stale_trace_on_the_line_is_said_to_be_stale() {
    let inline = child("lost_update").fails().after("replay:");
    let inline = inline.strip_prefix("SIM_REPLAY=").unwrap().split(' ').next().unwrap().to_owned();
    for variant in ["more steps", "fewer steps", "task missing", "fixed"] {
        let ended = child("lost_update").env("SIM_REPLAY", &inline);
        let ended = ended.env("UNPAUSE_VARIANT", variant).fails();
        ended.says(&[
            "replay of a given trace: the run diverged from its trace at step",
            "record:  SIM_STRATEGY=random cargo",
        ]);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_trace_of_another_test_is_said_to_be_one() {
    let (_, file) = trace("another");
    let ended = child("deadlocks").env("SIM_REPLAY", &file).fails();
    ended
        .says(&["warning: the trace is of another test, shell::fixture::lost_update (test shell)"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_trace_of_a_fixed_bug_passes_and_says_so() {
    let (_, file) = trace("fixed");
    let replay = |source: &str| {
        let child = child("lost_update").env("SIM_REPLAY", source);
        child.env("UNPAUSE_VARIANT", "forgiving").passes()
    };
    let ended = replay(&file.display().to_string());
    ended.says(&["passed  shell::fixture::lost_update\n        the replay of "]);
    ended.says(&["6.simtrace, 10 steps\n"]);
    let ended = replay("sim2:0,0.0x2,0.1x3,0.0,0x3");
    ended.says(&["        the replay of a given trace, 10 steps\n"]);
}

#[cfg_attr(feature = "sim", test)]
fn what_is_no_trace_fails_the_test_with_file_and_line() {
    let (text, file) = trace("hostile");
    let folder = file.parent().unwrap();
    let lines = text.lines().count();
    let half: String = text.lines().take(lines / 2).map(|line| format!("{line}\n")).collect();
    for (name, bytes, says) in [
        ("truncated", half.into_bytes(), format!("line {}: ", lines / 2 + 1)),
        ("empty", Vec::new(), "line 1: ".to_owned()),
        ("of-bytes", vec![0xff; 100], "line 1: ".to_owned()),
        ("edited", text.replace("store", "stare").into_bytes(), "line ".to_owned()),
        (
            "huge",
            b"simtrace 2\ntask 0\nstep 99999999999999999999 0\nend 1\n".into(),
            "line ".to_owned(),
        ),
        (
            "version",
            text.replacen("simtrace 2", "simtrace 7", 1).into_bytes(),
            "line 1: ".to_owned(),
        ),
    ] {
        let path = folder.join(format!("{name}.simtrace"));
        fs::write(&path, bytes).unwrap();
        let ended = child("lost_update").env("SIM_REPLAY", &path).fails();
        unreadable(&ended, &[&format!("{name}.simtrace: {says}")]);
    }
    let ended = child("lost_update").env("SIM_REPLAY", folder).fails();
    unreadable(&ended, &["cannot read "]);
    let ended = child("lost_update").env("SIM_REPLAY", "sim-no/7.simtrace").fails();
    unreadable(&ended, &["cannot read sim-no/7.simtrace: no such file here, beside"]);
    for (inline, column) in [("sim2:0,zero", 8), ("sim9:0", 4), ("sim2:0x99999999999", 8)] {
        let ended = child("lost_update").env("SIM_REPLAY", inline).fails();
        unreadable(
            &ended,
            &["replay of a given trace: ", &format!("inline trace: column {column}: ")],
        );
    }
}

/// Checks that the screen of an unreadable trace contains these texts, regardless of line ends.
fn unreadable(ended: &Ended, parts: &[&str]) {
    let words: Vec<&str> = ended.stderr.split_whitespace().collect();
    let text = words.join(" ");
    for part in [&["FAILED shell::fixture::", "the trace cannot be read"], parts].concat() {
        let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&part), "{part:?} is not said: {ended}");
    }
    assert!(!text.contains("replay: SIM_REPLAY"), "{ended}");
}

#[cfg_attr(feature = "sim", test)]
fn a_failure_that_is_wanted_is_not_a_trace_that_cannot_be_replayed() {
    child("must_fail").env("SIM_REPLAY", "nowhere").fails().says(&["cannot be read"]);
    child("must_fail").env("SIM_REPLAY", "sim2:0x99").fails().says(&["diverged from its trace"]);
    let passes = child("must_fail").env("SIM_REPLAY", "sim2:0,0.0x2,0.1x3,0.0,0x3");
    let ended = passes.env("UNPAUSE_VARIANT", "forgiving").fails();
    ended.says(&["the test must fail (must_fail), but the replay passed"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_replay_writes_nothing() {
    let (_, file) = trace("writes-nothing");
    let out = folder("writes-nothing-out");
    child("lost_update").env("SIM_REPLAY", &file).env("SIM_OUT", &out).fails();
    assert_eq!(files(&out), [""; 0]);
}

#[cfg_attr(feature = "sim", test)]
fn a_file_of_the_attribute_stands_beside_the_manifest() {
    let (_, file) = trace("attribute");
    let package = folder("attribute-package");
    fs::create_dir_all(package.join("kept")).unwrap();
    fs::copy(&file, package.join("kept/one.simtrace")).unwrap();
    let run = |from: &std::path::Path| {
        let child = child("in_a_package").env("UNPAUSE_PACKAGE", &package);
        child.env("UNPAUSE_ATTRIBUTE", "kept/one.simtrace").in_folder(from, from)
    };
    for from in [&package, &root()] {
        run(from).fails().says(&["kept/one.simtrace: main panicked", "1 of 2"]);
    }
    // An explicit seed overrides the replay.
    run(&root()).env("SIM_SEED", "6").fails().says(&["seed 6: main panicked"]);
    fs::remove_file(package.join("kept/one.simtrace")).unwrap();
    run(&root()).fails().says(&["the trace cannot be read", "No such file"]);
}

#[cfg_attr(feature = "sim", test)]
fn calls_in_another_order_replay_in_another_process() {
    // In the natural order of the file names, they are correct.
    child("reads_a_copy").env("SIM_CLOSURE", "0").passes().says_not("orders");
    let out = folder("reordered");
    let ended = child("reads_a_copy").env("SIM_OUT", &out).env("SIM_JOBS", "2").fails();
    let schedule = |ended: &Ended| {
        let (from, to) = (ended.stderr.find("── history"), ended.stderr.find("\ntrace:"));
        let to = to.or_else(|| ended.stderr.find("\nreplay:"));
        ended.stderr[from.unwrap()..to.unwrap()].trim_end().to_owned()
    };
    ended.says(&["its calls in another order", "history is not linearizable", "fits nowhere"]);
    let inline = ended.after("replay:");
    let inline = inline.strip_prefix("SIM_REPLAY=").unwrap().split(' ').next().unwrap().to_owned();
    let again = child("reads_a_copy").env("SIM_REPLAY", &inline).fails();
    assert_eq!(schedule(&again), schedule(&ended));

    // The seed alone reproduces the failure, too.
    let written = files(&out);
    let trace = written.iter().find(|file| file.ends_with(".simtrace")).unwrap();
    let seed = trace.rsplit('/').next().unwrap().trim_end_matches(".simtrace").to_owned();
    let alone = child("reads_a_copy").env("SIM_OUT", folder("reordered-alone"));
    let alone = alone.env("SIM_SEED", &seed).fails();
    assert_eq!(schedule(&alone), schedule(&ended));
}

#[cfg_attr(feature = "sim", test)]
fn a_trace_that_is_longer_than_the_run_that_fails_is_said_to_be_of_another_failure() {
    let inline = child("awaits_nothing").fails().after("replay:");
    assert!(inline.starts_with("SIM_REPLAY=sim2:0 "), "{inline}");
    let replay = |trace| child("awaits_nothing").env("SIM_REPLAY", trace).fails();
    replay("sim2:0").says_not("warning:");
    for (trace, more) in [
        ("sim2:0x2", "1 more turn"),
        ("sim2:0x7", "6 more turns"),
        ("sim2:0=1/2", "1 more drawn value"),
        ("sim2:0=1/2=0/3,0x2", "2 more turns and 2 more drawn values"),
    ] {
        replay(trace).says(&[
            "nothing was awaited",
            &format!("warning: the trace has {more} than this run took before it failed"),
        ]);
    }
    // The failure occurs in the first step here, before the other steps of the trace file.
    let (text, file) = trace("longer");
    assert!(text.contains("end 10\n"), "{text}");
    let ended =
        child("lost_update").env("SIM_REPLAY", &file).env("UNPAUSE_VARIANT", "at once").fails();
    ended.says(&["more turns than this run took", "failed at once"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_run_that_is_not_to_be_shrunk_is_shown_as_it_was_found() {
    // This folder contains no traces of other tests of the same program.
    let out = folder("whole-trace");
    let test = || child("fails_after_long").env("SIM_OUT", &out);
    let shrunk = test().fails();
    shrunk.says(&["shrunk  "]);
    let whole = test().env("SIM_SHRINK", "0").env("SIM_PROVE", "100").fails();
    whole.says_not("shrunk  ");
    whole.says_not("proof  ");
    // The trace of the unshrunk run is replayed and written like any other trace.
    let again = test().env("SIM_REPLAY", whole.after("trace:")).fails();
    assert_eq!(again.schedule(), whole.schedule());
}
