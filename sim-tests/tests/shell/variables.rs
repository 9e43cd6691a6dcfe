//! Each `SIM_*` variable: its effect, the settings that it overrides, and the error for a bad
//! value.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use crate::child::{captured, child, folder};

/// Returns the values that the fixture drew, one for each run. A seed that ran twice counts once.
fn drawn(variables: &[(&str, &str)]) -> BTreeSet<String> {
    let draws = child("draws").env("UNPAUSE_VARIANT", "all");
    let draws = variables.iter().fold(draws, |child, (name, value)| child.env(name, value));
    let stdout = draws.passes().stdout;
    stdout.lines().filter(|line| line.starts_with("drew ")).map(str::to_owned).collect()
}

const SEEDS: &str =
    "should be a number of seeds from 1, like 1000, or a range like 500..1000 that is not empty";

#[cfg_attr(feature = "sim", test)]
fn a_bad_value_fails_the_test_and_says_what_it_should_be() {
    let time = "should be a time like 500ms, 5s, 2m or 1h; a number without a unit is seconds";
    for (name, value, grammar) in [
        ("SIM_SEED", "x", "should be a number like 17"),
        ("SIM_SEED", "", "should be a number like 17"),
        ("SIM_SEEDS", "0", SEEDS),
        ("SIM_SEEDS", "9..3", SEEDS),
        ("SIM_STRATEGY", "rnd", "should be the name of a strategy: portfolio"),
        ("SIM_STRATEGY", "exhaustve", "; did you mean exhaustive?"),
        ("SIM_TIME", "5sec", time),
        ("SIM_STEPS", "0", "should be a number of steps like 100000"),
        ("SIM_REPLAY", "", "should be the name of a trace file, or an inline trace sim2:…"),
        ("SIM_JOBS", "0", "should be a number of threads from 1 to 1024"),
        ("SIM_SHARD", "5/4", "should be k/n with k from 1 to n, like 2/4"),
        ("SIM_HANG", "-1s", time),
        (
            "SIM_PROGRESS",
            "wait-free:0",
            "should be `lock-free`, `obstruction-free`, `wait-free`, or `wait-free:` and a number from 1",
        ),
        ("SIM_LOG", "loud", "should be off, replay or all"),
        ("SIM_OUT", "", "should be the name of a folder"),
    ] {
        let ended = child("does_nothing").env(name, value).fails();
        let words =
            format!("FAILED  shell::fixture::does_nothing: {name} is {value:?}, but should be");
        ended.says(&[&words, grammar]);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_test_whose_time_is_over_says_how_many_seeds_ran() {
    let ended =
        captured("does_nothing").env("SIM_TIME", "0").env("SIM_SEEDS", "100000000").passes();
    ended.says(&["note: shell::fixture::does_nothing: the time was up after "]);
    ended.says(&[" of 100000000 seeds"]);
    captured("does_nothing").env("SIM_TIME", "1h").passes().says_not("was up");
}

/// Like on the command line of `cargo unpause check`.
#[cfg_attr(feature = "sim", test)]
fn a_time_without_a_unit_is_seconds() {
    child("does_nothing").env("SIM_TIME", "10").passes();
}

#[cfg_attr(feature = "sim", test)]
fn an_unknown_variable_is_noted_and_the_test_runs() {
    let ended = captured("does_nothing").env("SIM_SEDE", "1").passes();
    // The note is printed once, although the harness captures the output of the test, and several tests have the
    // variable.
    let line = "note: unknown environment variable SIM_SEDE: did you mean SIM_SEED?\n";
    assert_eq!(ended.stderr, line);
    let several =
        captured("does_nothing").arg("fixture::awaits_nothing").env("UNPAUSE_VARIANT", "");
    assert_eq!(several.env("SIM_SEDE", "1").run_several(2).stderr, line);
    child("lost_update").env("SIM_SEDE", "1").fails().says(&["did you mean SIM_SEED?", "1 of 2"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_test_that_passes_says_nothing() {
    assert_eq!(child("does_nothing").passes().stderr, "");
}

#[cfg_attr(feature = "sim", test)]
fn seeds_from_the_environment_override_the_attribute() {
    let all = drawn(&[]);
    assert_eq!(all.len(), 30);
    assert_eq!(drawn(&[("SIM_SEEDS", "7")]).len(), 7);
    let (low, high) = (drawn(&[("SIM_SEEDS", "12")]), drawn(&[("SIM_SEEDS", "12..30")]));
    assert_eq!((low.len(), high.len()), (12, 18));
    assert_eq!(&low | &high, all);
    let one = drawn(&[("SIM_SEED", "17")]);
    assert!(one.len() == 1 && one.is_subset(&high), "{one:?}");
    // The maximum seed plus 1 does not fit into a number of seeds.
    assert_eq!(drawn(&[("SIM_SEED", "18446744073709551615")]).len(), 1);
}

#[cfg_attr(feature = "sim", test)]
fn shards_run_every_seed_once() {
    let all = drawn(&[]);
    let shards: Vec<_> =
        ["1/4", "2/4", "3/4", "4/4"].iter().map(|shard| drawn(&[("SIM_SHARD", shard)])).collect();
    // The shards have as many seeds as the whole, and no seed is missing, so no seed occurs twice.
    assert_eq!(shards.iter().map(BTreeSet::len).collect::<Vec<_>>(), [8, 8, 7, 7]);
    assert_eq!(shards.into_iter().flatten().collect::<BTreeSet<_>>(), all);
    // If a shard has no seed, it runs a seed of another shard.
    let borrowed = drawn(&[("SIM_SHARD", "3/3"), ("SIM_SEEDS", "2")]);
    assert_eq!(borrowed, drawn(&[("SIM_SEED", "0")]));
}

#[cfg_attr(all(feature = "sim", unix), test)]
fn a_test_that_takes_long_says_on_a_terminal_how_far_it_is() {
    let long = || captured("does_nothing").env("SIM_SEEDS", "100000000").env("SIM_TIME", "2500ms");
    let screen = long().on_a_terminal();
    let begin = "::does_nothing: ";
    let (_, line) = screen.split_once(begin).unwrap_or_else(|| panic!("{screen:?}"));
    assert!(line.contains(" of 100,000,000 seeds, ") && line.contains(" s left\r"), "{line:?}");
    // The line is cleared before the harness reports the result.
    let (_, end) = screen.rsplit_once("\x1b[2K").unwrap();
    assert!(end.contains("test fixture::does_nothing ... "), "{screen:?}");
    long().passes().says_not("\x1b[2K");
}

#[cfg_attr(feature = "sim", test)]
fn time_stops_before_the_seeds_are_used_up() {
    let began = Instant::now();
    let many = [("SIM_SEEDS", "1000000000000"), ("SIM_TIME", "200ms")];
    let child =
        many.iter().fold(child("lost_update"), |child, (name, value)| child.env(name, value));
    let ended = child.env("UNPAUSE_VARIANT", "forgiving").passes();
    let took = began.elapsed();
    let note =
        ended.stderr.strip_prefix("note: shell::fixture::lost_update: the time was up after ");
    let (runs, rest) =
        note.and_then(|note| note.split_once(' ')).unwrap_or_else(|| panic!("{ended}"));
    assert!(runs.parse::<u64>().is_ok_and(|runs| runs > 0), "{ended}");
    assert_eq!(rest, "of 1000000000000 seeds (SIM_TIME=1m allows more)\n");
    assert!((Duration::from_millis(200)..Duration::from_secs(60)).contains(&took), "{took:?}");
}

#[cfg_attr(feature = "sim", test)]
fn steps_from_the_environment_override_the_attribute() {
    child("never_ends").fails().says(&["seed 0: step limit reached after 200 steps"]);
    child("never_ends")
        .env("SIM_STEPS", "90")
        .fails()
        .says(&["seed 0: step limit reached after 90 steps"]);
}

#[cfg_attr(feature = "sim", test)]
fn jobs_do_not_change_the_report() {
    let one = child("lost_update").env("SIM_JOBS", "1").fails();
    let many = child("lost_update").env("SIM_JOBS", "7").fails();
    assert_eq!(one.stderr, many.stderr);
}

#[cfg_attr(feature = "sim", test)]
fn a_strategy_from_the_environment_is_on_the_screen() {
    for row in sim::strategy::STRATEGIES {
        let ended = child("lost_update").env("SIM_STRATEGY", row.name).run();
        assert!(ended.code == Some(0) || ended.stderr.contains(&format!(", {}\n", row.name)));
    }
}

#[cfg_attr(feature = "sim", test)]
fn subscribers_hear_what_they_are_to_hear_and_change_nothing() {
    let package = folder("listens");
    let run = || child("in_a_package").env("UNPAUSE_PACKAGE", &package).env("SIM_JOBS", "1");
    let mut screens = Vec::new();
    let mut heard = Vec::new();
    for log in ["off", "replay", "all"] {
        let ended = run().env("UNPAUSE_TRACING", "1").env("SIM_LOG", log).run();
        assert_eq!(ended.code, Some(101), "{ended}");
        heard.push(ended.stdout.matches("heard an operation").count());
        let from = ended.stderr.find("FAILED").unwrap_or_else(|| panic!("{ended}"));
        screens.push(ended.stderr[from..].to_owned());
    }
    // Nine operations in the last replay, and the operations of hundreds of runs.
    assert_eq!(heard[..2], [0, 9]);
    assert!(heard[2] > 1000, "{heard:?}");
    let deaf = run().fails().stderr;
    assert!(screens.iter().all(|screen| *screen == deaf), "{screens:#?}");
}

#[cfg_attr(feature = "sim", test)]
fn a_log_that_is_asked_for_shows_the_panic_once_with_its_backtrace() {
    let ended = child("lost_update").env("SIM_LOG", "replay").env("RUST_BACKTRACE", "1").run();
    assert_eq!(ended.stderr.matches("panicked at").count(), 1, "{ended}");
    ended.says(&["stack backtrace"]);
    let ended = child("lost_update").env("SIM_LOG", "off").env("RUST_BACKTRACE", "1").fails();
    ended.says(&["an update was lost"]);
}

#[cfg_attr(feature = "sim", test)]
fn traces_go_where_they_are_asked_to_go() {
    let out = folder("out");
    let ended = child("lost_update").env("SIM_OUT", &out).fails();
    let trace = out.join("test-shell.fixture.lost_update/6.simtrace");
    assert!(fs::metadata(&trace).unwrap().is_file());
    ended.says(&["seed 6: main panicked"]);
    assert!(trace.ends_with(ended.after("trace:")), "{ended}");

    // A relative folder is relative to the folder in which Cargo was started, not to the folder of the package.
    let ended = child("lost_update").env("SIM_OUT", "target/tmp/shell/relative").fails();
    let file = "target/tmp/shell/relative/test-shell.fixture.lost_update/6.simtrace";
    assert_eq!(ended.after("trace:"), file);
}

#[cfg_attr(feature = "sim", test)]
fn a_folder_that_cannot_be_written_is_said_and_the_trace_stands_on_the_line() {
    let file = folder("no-folder").join("file");
    fs::write(&file, "").unwrap();
    let ended = child("lost_update").env("SIM_OUT", &file).fails();
    ended.says(&["trace:   could not be written: folder ", "replay:  SIM_REPLAY=sim2:"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_harness_that_takes_the_output_shows_the_same() {
    let shown = captured("lost_update").run();
    assert_eq!((shown.code, &*shown.stderr), (Some(101), ""));
    assert!(shown.stdout.contains(&child("lost_update").fails().stderr), "{shown}");
}

#[test]
fn a_history_that_nobody_checks_is_noted() {
    // On real threads, a note about the strategy appears, too.
    let notes = |variant: &str| {
        let test = captured("told::records_a_history").env("UNPAUSE_VARIANT", variant);
        let lines = test.passes().stderr;
        let lines = lines.lines().filter(|line| !line.starts_with("note: SIM_STRATEGY "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let [note] = &notes("")[..] else { panic!("{:?}", notes("")) };
    let begin = "note: shell::fixture::told::records_a_history: a history was recorded and never checked (created at \
                 sim-tests/tests/shell/told.rs:";
    assert!(note.starts_with(begin), "{note}");
    for variant in ["checked", "read", "fed", "empty"] {
        assert_eq!(notes(variant), [""; 0], "{variant}");
    }
    // The first seeds pass, and a later seed fails. Its report has the note, too.
    let test = child("told::records_a_history").env("UNPAUSE_VARIANT", "fails later");
    let ended = test.env("SIM_SEEDS", "200").fails();
    // On real threads, the numbers differ from process to process.
    if cfg!(feature = "sim") {
        assert!(!ended.stderr.contains("seed 0:"), "the first seed fails: {ended}");
    }
    ended.says(&["an unlucky number", "a history was recorded and never checked (created at"]);
}

#[cfg_attr(feature = "sim", test)]
fn what_was_requested_is_shown_although_the_harness_captures() {
    let lines = |name: &str, variable: &str, value: &str| {
        let ended = captured(name).env(variable, value).passes();
        assert!(!ended.stdout.contains("passed  "), "{ended}");
        ended.stderr
    };
    let coverage = lines("does_nothing", "SIM_COVERAGE", "1");
    assert!(coverage.starts_with("passed  shell::fixture::does_nothing: 5 runs"), "{coverage}");
    assert!(coverage.contains("\nseen    1 class"), "{coverage}");
    let statistics = lines("counted", "SIM_STATISTICS", "1");
    assert!(statistics.contains("── programs ── 30 runs"), "{statistics}");
    let replay = lines("does_nothing", "SIM_REPLAY", "sim2:0");
    assert!(replay.contains("the replay of a given trace, 1 step\n"), "{replay}");
    let proof = lines("attempts", "SIM_STRATEGY", "exhaustive");
    assert!(
        proof.starts_with("passed  shell::fixture::attempts: explored all 6 interleavings"),
        "{proof}"
    );
    assert!(proof.ends_with(" (assumes that tasks share memory through sim only)\n"), "{proof}");
    assert_eq!(proof.lines().count(), 1, "{proof}");
    // A line does not begin within a line of the harness.
    let quiet = captured("does_nothing").arg("-q").env("SIM_COVERAGE", "1").passes().stderr;
    assert_eq!(quiet, format!("\n{coverage}"));
    // If no harness captures the output, no line is shown twice.
    let shown = child("attempts").env("SIM_STRATEGY", "exhaustive").passes().stderr;
    assert_eq!(shown.matches("explored all").count(), 1, "{shown}");
}

/// The tests of the library try each setting within one process. This test uses separate processes.
#[cfg_attr(feature = "sim", test)]
fn a_failure_that_a_variable_finds_replays_without_it() {
    let (out, results) = (folder("settings-out"), folder("settings-results"));
    let test = || child("told::is_not_aborted").env("SIM_OUT", &out);
    test().env("SIM_RESULTS", &results).passes();
    let found = test().env("SIM_CANCEL", "t*").fails();
    found.says(&["it was aborted", "settings    cancel = t*"]);
    let line = found.after("replay:");
    let (variables, _) = line.split_once(" cargo ").unwrap();
    let words = variables.split(' ').map(|word| word.split_once('=').unwrap());
    let pasted =
        words.fold(child("told::is_not_aborted"), |child, (name, value)| child.env(name, value));
    let pasted = pasted.fails();
    assert_eq!(pasted.schedule(), found.schedule());
    assert_eq!(pasted.after("replay:"), line);
    let file = found.after("trace:");
    let by_file = child("told::is_not_aborted").env("SIM_REPLAY", &file).fails();
    assert_eq!(by_file.schedule(), found.schedule());
    let other =
        child("told::is_not_aborted").env("SIM_REPLAY", &file).env("SIM_CANCEL", "x").fails();
    other.says(&[
        "SIM_CANCEL=x has no effect on this replay: the trace was written with cancel = t*",
    ]);
    // The recorded seeds passed without this setting, so results with it are refused.
    let refused = test().env("SIM_RESULTS", &results).env("SIM_CANCEL", "t*").fails();
    refused.says(&["it is of another run (cancel: unset there, t* here)"]);
    test().env("SIM_RESULTS", &results).passes().says(&["300 seeds were not run"]);
}
