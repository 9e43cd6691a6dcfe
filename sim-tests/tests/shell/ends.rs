//! Ends of a process that a test harness cannot report: a hang and an abort.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::child::{captured, child, folder, root};

#[cfg_attr(feature = "sim", test)]
fn a_real_lock_across_a_point_is_a_hang_that_names_the_task() {
    // The message also appears if the harness captures the output, although the process ends before the harness would
    // show it.
    let ended = captured("holds_a_real_lock").env("SIM_HANG", "1s").fails();
    ended.says(&[
        "FAILED  shell::fixture::holds_a_real_lock  seed ",
        ": 0.0 has not yielded for 1 s\n",
        "- a lock of std or parking_lot held across an await: use sim::Mutex\n",
        "does not yield\n",
    ]);
    // A process that ends on purpose leaves no mark of another end.
    let mark = "target/sim/sim-tests/underway/test-shell.fixture.holds_a_real_lock.1-of-1";
    assert!(!root().join(mark).exists());
    let again = ended.after("trace:");
    // The file has the limit.
    let replay = captured("holds_a_real_lock").env("SIM_REPLAY", &again).fails();
    replay.says(&["settings    hang = 1s"]);
    // Two threads execute runs that hang, and either may be the first. The file name is long, so the line may be
    // wrapped in any place.
    let words: Vec<&str> = replay.stderr.split_whitespace().collect();
    let (_, file) = again.rsplit_once('/').unwrap();
    assert!(words.join(" ").contains(&format!("{file}: 0.0 has not yielded for 1 s")), "{replay}");
    assert_eq!(replay.schedule(), ended.schedule());
}

/// In both builds.
#[cfg(unix)]
#[test]
fn a_process_that_stood_still_as_a_whole_does_not_hang() {
    let mark = folder("stands-still").join("began");
    let test = child("takes_a_while").env("UNPAUSE_MARK", &mark).env("SIM_HANG", "2s");
    let mut test = test.start();
    let began = Instant::now();
    while !mark.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the run has not begun");
        std::thread::sleep(Duration::from_millis(5));
    }
    let signal = |name: &str| {
        let kill = format!("kill -{name} {}", test.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    };
    signal("STOP");
    std::thread::sleep(Duration::from_millis(2500));
    signal("CONT");
    assert!(test.wait().unwrap().success(), "it was ended as a hang");
}

#[cfg_attr(feature = "sim", test)]
fn a_test_without_end_is_told_of_with_its_circle() {
    child("never_ends").fails().says(&[
        "seed 0: step limit reached after 200 steps",
        "The run repeats a cycle of 1 step.",
        "spins       main repeated `load atomic = false` at sim-tests/tests/shell/fixture.rs:",
        "199 times in",
        "Await `sim::spin_until(condition)` instead of such a loop.",
    ]);
}

/// std would abort the process. The seed fails before, with its screen and trace.
#[cfg_attr(feature = "sim", test)]
fn a_destructor_that_panics_while_a_panic_unwinds_fails_its_seed() {
    let failed = |variables: &[(&str, &str)]| {
        let child = captured("panics_twice").env("SIM_JOBS", "1");
        let child = variables.iter().fold(child, |child, (name, value)| child.env(name, value));
        let ended = child.fails();
        ended.says(&[
            "FAILED  shell::fixture::panics_twice  seed ",
            ": abort in main\n",
            "The thread panicked where unwinding is impossible: panic in a destructor during cleanup.",
            "panic at sim-tests/tests/shell/fixture.rs:",
            "  the first panic\n",
            "  the destructor failed as well\n",
            "at          sim-tests/tests/shell/fixture.rs:",
            "\nreplay:",
        ]);
        ended
    };
    let ended = failed(&[]);
    let again = ended.after("trace:");
    // The decisions of the step that panics are in the trace.
    let replay = captured("panics_twice").env("SIM_REPLAY", &again).fails();
    replay.says(&[": abort in main\n", "  the destructor failed as well\n"]);
    assert_eq!(replay.schedule(), ended.schedule());
    // The named seed is the seed that aborts.
    let title = ended.stderr.lines().find(|line| line.starts_with("FAILED")).unwrap();
    let seed = title.split("seed ").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
    failed(&[("SIM_SEED", seed)]);
    let before = format!("0..{seed}");
    captured("panics_twice").env("SIM_SEEDS", before).passes();
    // Without a watchdog, the process aborts after it has printed the reason.
    let aborted = captured("panics_twice").env("SIM_HANG", "0s").run();
    assert_eq!(aborted.code, None, "{aborted}");
    aborted.says(&[": abort, panic in a destructor during cleanup\n", "\n  SIM_SEED="]);
}

#[cfg_attr(feature = "sim", test)]
#[cfg(target_os = "linux")]
fn a_run_that_blocks_its_thread_is_noted() {
    // A system may forbid reading the file.
    let is_shown = fs::read_to_string("/proc/self/syscall").is_ok();
    let thread =
        "ms in a wait for another thread: the join of a std::thread, or a lock, channel, Condvar";
    for (variant, call, remedy) in [
        ("sleep", "ms in thread::sleep (", "Use sim::time::sleep, which takes no real time"),
        ("join", thread, "Use sim::spawn, and the locks and channels of sim"),
        ("lock", thread, "Use sim::spawn, and the locks and channels of sim"),
        ("channel", thread, "Use sim::spawn, and the locks and channels of sim"),
        ("park", thread, "Use sim::spawn, and the locks and channels of sim"),
        ("process", "ms in a wait for a process (", "Run the process outside"),
        ("accept", "ms in a call of a socket (", "Use sim::net"),
        ("pipe", "ms in a read or write of a file, a pipe", "Use sim::fs or sim::net"),
    ] {
        let test = captured("threads::sleeps_on_the_thread");
        let ended = test.env("UNPAUSE_VARIANT", variant).passes();
        ended
            .says(&["note: shell::fixture::threads::sleeps_on_the_thread: a run stood still for "]);
        if is_shown {
            let source = include_str!("threads.rs");
            let line = source.lines().position(|line| line.contains("here: the step that blocks"));
            let place = format!(
                "(0.0, after the operation at sim-tests/tests/shell/threads.rs:{}:",
                line.unwrap() + 1
            );
            ended.says(&[call, remedy, &place]);
        }
    }
    let fixed = captured("threads::sleeps_on_the_thread").env("UNPAUSE_VARIANT", "fixed").passes();
    assert_eq!(fixed.stderr, "");
}

#[cfg_attr(feature = "sim", test)]
#[cfg(target_os = "linux")]
fn a_run_that_starts_a_thread_is_noted() {
    let ended = captured("threads::starts_a_pool").passes();
    let note = "note: shell::fixture::threads::starts_a_pool: its runs started a thread, and no decision orders the \
                steps of such threads. ";
    assert!(ended.stderr.starts_with(note) && ended.stderr.lines().count() == 1, "{ended}");
    let fixed = captured("threads::starts_a_pool").env("UNPAUSE_VARIANT", "fixed").passes();
    assert_eq!(fixed.stderr, "");
}

/// The workers of two runners both count their runs from one. So the position of a panic in a run does not identify the
/// run.
#[cfg_attr(feature = "sim", test)]
fn one_caught_panic_in_each_of_many_runs_is_no_second_panic() {
    assert_eq!(captured("threads::catches_a_panic_in_each_run").passes().stderr, "");
    let twice =
        captured("threads::catches_a_panic_in_each_run").env("UNPAUSE_VARIANT", "twice").passes();
    twice.says(&["a second panic in one step", "first:  \"caught\"", "second: \"again\""]);
}

/// The first process ends. From the next start on the seed fails, and the process continues.
#[cfg(unix)]
#[cfg_attr(feature = "sim", test)]
fn a_run_that_ends_its_process_without_a_word_is_a_failure_of_its_seed_at_the_next_start() {
    let runs = || captured("aborts").env("SIM_JOBS", "1");
    let fixed = || runs().env("UNPAUSE_VARIANT", "fixed").passes().stderr;
    // At its end, a test removes the marks of an earlier process that was killed.
    fixed();
    assert_eq!(fixed(), "");
    let first = runs().run();
    assert_eq!(first.code, None, "{first}");
    let fails = |variables: &[(&str, &str)]| {
        let runs = variables.iter().fold(runs(), |runs, (name, value)| runs.env(name, value));
        let screen = runs.fails().stdout;
        for part in [
            "FAILED  shell::fixture::aborts  seed ",
            ": process ended by SIGABRT\n",
            "The process of the test ended by SIGABRT in the run of this seed.",
            // libtest has the result.
            "test result: FAILED. 0 passed; 1 failed",
        ] {
            assert!(screen.contains(part), "no {part}: {screen}");
        }
        screen
    };
    let second = fails(&[]);
    let line = second.lines().find_map(|line| line.split_once("SIM_SEED=")).unwrap().1;
    let (seed, command) = line.split_once(' ').unwrap();
    let filter = "cargo test -p sim-tests --test shell fixture::aborts -- --exact";
    assert_eq!(command, format!("SIM_STRATEGY=random {filter}"));
    // The failure repeats with this seed and with each number of workers, and no lower seed fails.
    fails(&[("SIM_SEED", seed)]);
    let third = fails(&[("SIM_JOBS", "2")]);
    assert!(third.contains(&format!("  seed {seed}: ")), "{third}");
    runs().env("SIM_SEEDS", format!("0..{seed}")).passes();
    // Then there is no mark, and the process of the test ends again.
    assert_eq!(runs().run().code, None);
    fixed();
    assert_eq!(fixed(), "");
    // A reported failure does not count as such an end.
    runs().env("UNPAUSE_VARIANT", "exits").run();
    assert_eq!(fixed(), "");
}

/// A process that was killed leaves the same mark as a process that a run has ended.
#[cfg(unix)]
#[cfg_attr(feature = "sim", test)]
fn a_seed_that_does_not_end_its_process_again_is_not_blamed() {
    let runs = || captured("aborts_too").env("SIM_JOBS", "1");
    let fixed = || runs().env("UNPAUSE_VARIANT", "fixed");
    let last = "note: the last process that ran shell::fixture::aborts_too ended ";
    let again = "aborts_too: the process did not end again, so no seed is reported\n";
    fixed().passes();
    // The run is not known.
    assert_eq!(runs().run().code, None);
    let whole = fixed().passes();
    whole.says(&[last, "before the test did. ", ", for at most 10 s, because ", again]);
    assert_eq!(fixed().passes().stderr, "");
    // The new process notes it.
    assert_eq!(runs().run().code, None);
    runs().fails();
    let alone = fixed().passes();
    alone.says(&[last, "within seed ", "First, it is run alone, in a new process.\n", again]);
    assert_eq!(fixed().passes().stderr, "");
    // The new process is killed, and its notes do not count.
    assert_eq!(runs().run().code, None);
    let long = fixed().env("SIM_SEEDS", "1000000000").env("SIM_TIME", "300ms");
    let long = long.env("SIM_HANG", "100ms").passes();
    long.says(&[last, "before the test did. ", ", for at most 0.1 s, because "]);
    long.says(&["the new process did not show the reason. From now on each run is noted"]);
    long.says_not("within seed ");
    assert_eq!(fixed().passes().stderr, "");
}
