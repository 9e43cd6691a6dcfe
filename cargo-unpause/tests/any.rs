//! `cargo unpause test --any` on a crate that does not depend on unpause.
//!
//! Builds the runtime, so it is not run by itself: `cargo test -p cargo-unpause --test any -- --ignored`.

#![forbid(unsafe_code)]
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Lets one test at a time measure processor time, because it is the sum over all programs started here.
static ONE: Mutex<()> = Mutex::new(());

/// Returns the processor time in seconds of all ended programs that this program has started.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program, in parentheses, may have spaces.
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = [13, 14].map(|nth: usize| fields[nth].parse::<f64>().unwrap());
    ticks.iter().sum::<f64>() / 100.0
}

/// Exit code, standard output and standard error of the command in the folder, with these arguments and variables.
fn run(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    run_alone(folder, arguments, variables)
}

/// Runs the command, for a test that already has the lock.
fn run_alone(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-unpause"));
    command.current_dir(folder).args(["unpause", "test", "--any"]).args(arguments);
    // Cargo sets environment variables for this test that describe this package.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_")) {
        command.env_remove(name);
    }
    // Screens have the width that they have in a pipe.
    command.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_TARGET_DIR").env_remove("COLUMNS");
    // On CI, a failure is also written as a page, and the screen names the page.
    command.env_remove("CI");
    command.env("UNPAUSE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    let ended = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ended.status.code().unwrap_or(-1), text(&ended.stdout), text(&ended.stderr))
}

fn in_native_tests(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../native-tests").join(folder)
}

/// A new package with this library.
fn package(name: &str, library: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("second").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!("[workspace]\n[package]\nname = {name:?}\nedition = \"2024\"\n");
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("src/lib.rs"), library).unwrap();
    folder
}

/// The lines of libtest about single tests, sorted.
fn lines(output: &str) -> Vec<&str> {
    let is_line = |line: &&str| line.starts_with("test ") && line.contains(" ... ");
    let mut lines: Vec<&str> = output.lines().filter(is_line).collect();
    lines.sort_unstable();
    lines
}

#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn tests_of_a_crate_without_unpause_are_stepped() {
    let folder = in_native_tests("any");
    // With a low step limit, runs beyond it are shorter. A run that does not end takes the whole time of a test.
    let variables = [("SIM_STEPS", "1000"), ("SIM_TIME", "4s")];
    let (exit, output, errors) = run(&folder, &["--no-fail-fast"], &variables);
    assert_eq!(
        lines(&output),
        [
            "test a_thread_panics ... FAILED",
            "test another_test_changes_the_same_static ... ok",
            "test awaits_without_a_task ... ok",
            "test enters_code_of_c ... ok",
            "test has_another_run_each_time ... ok",
            "test has_code_of_c ... ok",
            "test has_the_name_of_its_test ... ok",
            "test is_ignored ... ignored, to be ignored",
            "test locks_in_two_orders ... FAILED",
            "test one_test_changes_a_static ... ok",
            "test panics_as_it_should - should panic ... ok",
            "test panics_with_another_text - should panic ... FAILED",
            "test publishes_before_it_writes ... ok",
            "test returns_a_result ... ok",
            "test returns_an_error ... FAILED",
            "test returns_before_its_variable_is_written ... ok",
            "test should_panic_and_does_only_after_a_lost_update - should panic ... FAILED",
            "test sleeps_for_an_hour ... ok",
            "test spawns_two_tasks_on_one_thread ... ok",
            "test src/lib.rs - add (line 16) ... ok",
            "test takes_steps_for_ever ... ok",
            "test takes_very_many_steps ... ok",
            "test takes_very_many_steps_and_loses_the_last ... FAILED",
            "test tests::one_step_loses_none ... ok",
            "test tests::two_steps_lose_an_update ... FAILED",
            "test waits_for_the_writer_of_its_variable ... ok",
            "test writes_before_it_publishes ... ok",
        ],
        "{output}{errors}"
    );
    assert_eq!(exit, 1);
    assert!(!output.contains("printed by a test"), "{output}");
    for part in [
        "UNDECIDED  suite::takes_steps_for_ever: ",
        "a run takes more than 1000 steps and does not end beyond them",
        "runs were explored for 1000 steps and then ran on",
        "UNDECIDED  suite::has_another_run_each_time: ",
        "its runs are not repeatable",
    ] {
        assert!(errors.contains(part), "{errors}");
    }
    for part in [
        "load AtomicU64 = 0                                                  src/lib.rs:10:23",
        "waits to lock Mutex#0",
        "seen by the thread",
        "the test returned an error \"wrong\"",
        "panicked with \"not this\"",
        "cargo unpause test --any -p any-tests --test suite locks_in_two_orders -- --exact",
    ] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&output).contains(&words(part)), "{part}\n{output}");
    }

    // Tasks on one thread have only one order. A line of the output says so.
    let of_tasks: Vec<_> = errors.lines().filter(|line| line.contains("unpause-tokio")).collect();
    assert_eq!(of_tasks.len(), 1, "{errors}");
    let said = "note: suite::spawns_two_tasks_on_one_thread: its tasks on a current-thread runtime of tokio had one order";
    assert!(of_tasks[0].contains(said), "{errors}");
    let alone = ["--test", "suite", "spawns_two_tasks_on_one_thread", "--", "--exact"];
    let (_, _, errors) = run(&folder, &alone, &[("SIM_STRATEGY", "exhaustive")]);
    assert!(errors.contains("NOT A PROOF") && errors.contains("unpause-tokio"), "{errors}");

    // The test is run alone, replayed, and searched.
    let alone = ["--lib", "tests::two_steps_lose_an_update", "--", "--exact"];
    let replay = output.split("SIM_REPLAY=").nth(1).and_then(|rest| rest.split(' ').next());
    let (exit, again, _) = run(&folder, &alone, &[("SIM_REPLAY", replay.unwrap())]);
    assert!(exit == 1 && again.contains("replay of a given trace"), "{again}");
    let proof = [("SIM_STRATEGY", "exhaustive"), ("SIM_MUST_PROVE", "1")];
    let (exit, proven, errors) = run(&folder, &["--lib", "one_step_loses_none"], &proof);
    assert!(exit == 0 && errors.contains("explored all"), "{proven}{errors}");
    // A proof states its assumption.
    let queue = ["--test", "queue", "writes_before_it_publishes", "--", "--exact"];
    let (exit, proven, errors) = run(&folder, &queue, &proof);
    let stated = " steps (assumes that orders weaker than SeqCst act as SeqCst)";
    assert!(exit == 0 && errors.contains(stated), "{proven}{errors}");
    let coverage = [("SIM_COVERAGE", "1")];
    let (exit, seen, errors) = run(&folder, &["--lib", "one_step_loses_none"], &coverage);
    assert!(exit == 0 && errors.contains("\nseen    "), "{seen}{errors}");

    // If a test enters code that is not instrumented, only the search of this test is not a proof.
    let suite = |test| ["--test", "suite", test, "--", "--exact", "--nocapture"];
    let (exit, proven, errors) = run(&folder, &suite("has_code_of_c"), &proof);
    assert!(exit == 0 && errors.contains("explored all"), "{proven}{errors}");
    assert!(!errors.contains("planted_add (") || !errors.contains(": entered"), "{errors}");
    let (exit, shown, errors) = run(&folder, &suite("enters_code_of_c"), &proof);
    assert!(exit == 1 && !errors.contains("explored all"), "{shown}{errors}");
    assert!(errors.contains("NOT A PROOF") && errors.contains("planted_add ("), "{errors}");
    let list = errors.split("unpause does not see it").nth(1).unwrap_or_default();
    let lines = list.lines().filter(|line| line.contains("planted_add (")).collect::<Vec<_>>();
    assert!(lines.len() == 1 && lines[0].ends_with("`lock xadd`): entered"), "{errors}");

    // The only test is undecided, which is not a pass.
    let long = ["--test", "suite", "takes_steps_for_ever"];
    let (exit, _, errors) = run(&folder, &long, &[("SIM_STEPS", "1000"), ("SIM_TIME", "1")]);
    assert!(exit == 3 && errors.contains("neither passed nor failed"), "{exit} {errors}");
}

#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn each_access_of_a_crate_without_unpause_is_checked() {
    let arguments = ["--races", "--test", "queue"];
    let (exit, output, errors) = run(&in_native_tests("any"), &arguments, &[]);
    assert_eq!(
        lines(&output),
        [
            "test publishes_before_it_writes ... FAILED",
            "test returns_before_its_variable_is_written ... FAILED",
            "test waits_for_the_writer_of_its_variable ... ok",
            "test writes_before_it_publishes ... ok",
        ],
        "{output}{errors}"
    );
    assert_eq!(exit, 1);
    let replay = "cargo unpause test --any --races -p any-tests --test queue";
    for part in ["data race", "use after return", replay] {
        assert!(output.contains(part), "{part}\n{output}{errors}");
    }
}

#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn tests_over_smol_are_stepped() {
    let all = [&["--test", "programs"][..], &["--test", "programs", "--features", "pwait2"]];
    let tried = if std::env::var_os("UNPAUSE_LONG").is_some() { 2 } else { 1 };
    for arguments in &all[..tried] {
        let (exit, output, errors) = run(&in_native_tests("smol"), arguments, &[]);
        assert_eq!(
            lines(&output),
            [
                "test a_task_returns_its_value ... ok",
                "test a_timer_of_an_hour_takes_no_time ... ok",
                "test an_echo_comes_back ... ok",
                "test one_step_loses_none ... ok",
                "test the_shorter_timer_wins ... ok",
                "test two_steps_lose_an_update ... FAILED",
            ],
            "{output}{errors}"
        );
        assert!(exit == 1 && output.contains("left: 1"), "{output}{errors}");
        assert!(!errors.contains("UNDECIDED"), "{errors}");
    }
}

#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn models_of_loom_are_searched() {
    let (exit, output, errors) = run(&in_native_tests("loom"), &["--no-fail-fast"], &[]);
    let failing = ["a_test_without_a_model_is_stepped", "an_increment_in_two_steps_is_lost"];
    let summary = "test result: FAILED. 28 passed; 2 failed; 0 ignored";
    assert!(exit == 1 && output.contains(summary), "{output}{errors}");
    assert!(output.contains("test a_run_begins_with_the_first_values_and_not"), "{output}{errors}");
    assert!(output.contains("test result: ok. 1 passed; 0 failed"), "{output}{errors}");
    assert!(!output.contains("FAILED  statics::"), "{output}{errors}");
    for test in failing {
        assert!(output.contains(&format!("FAILED  models::{test}")), "{output}{errors}");
    }
    for said in [
        "increments_are_counted: explored all 2 interleavings (assumes that orders weaker than SeqCst act as SeqCst); \
         1000 runs with c11 passed",
        "statics_and_thread_locals_are_new_in_each_run: explored all",
        "reads_of_a_cell_commute: explored the one interleaving",
        "two_threads_need_a_lazy_value: explored all 4 interleavings",
    ] {
        assert!(errors.contains(said), "{said}\n{errors}");
    }
    // The screen must show no function of the crates between the test and std.
    assert!(
        !output.contains("unpause-loom/src") && !output.contains("unpause-model/src"),
        "{output}"
    );
    let screen = output.split("FAILED  models::an_increment").nth(1).unwrap();
    let replay = screen.split("SIM_REPLAY=").nth(1).unwrap().split(' ').next().unwrap();
    let one = ["an_increment_in_two_steps_is_lost", "--", "--exact"];
    let (exit, output, errors) =
        run(&in_native_tests("loom"), &one, &[("SIM_REPLAY", replay.trim_matches('\''))]);
    assert!(exit == 1 && output.contains("an increment is lost"), "{output}{errors}");

    let results = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loom-results");
    let _ = std::fs::remove_dir_all(&results);
    let variables = [("SIM_RESULTS", results.to_str().unwrap()), ("SIM_MUST_PROVE", "1")];
    let one = ["increments_are_counted", "--", "--exact"];
    let (exit, output, errors) = run(&in_native_tests("loom"), &one, &variables);
    assert!(exit == 0 && errors.contains("1000 runs with c11 passed"), "{output}{errors}");
}

#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn tests_of_shuttle_are_run() {
    // The programs after the failing one run, too.
    let (exit, output, errors) = run(&in_native_tests("shuttle"), &["--no-fail-fast"], &[]);
    let summary = "test result: FAILED. 31 passed; 1 failed; 0 ignored";
    assert!(exit == 1 && output.contains(summary), "{output}{errors}");
    let screen = "FAILED  checks::an_increment_in_two_steps_is_lost";
    assert!(output.contains(screen) && output.contains("tests/checks.rs:16:"), "{output}{errors}");
    assert!(!output.contains("unpause-shuttle/src"), "{output}");

    // The behaviour that users of shuttle know, and subscribers of `tracing`.
    for passed in ["11", "6"] {
        let summary = format!("test result: ok. {passed} passed; 0 failed");
        assert!(output.contains(&summary), "{output}{errors}");
    }

    // The statics of the test's crate keep their values, whatever the name of the program's file is.
    let folder = in_native_tests("shuttle");
    let (exit, _, errors) = run(&folder, &["--test", "checks", "--no-run"], &[]);
    let program =
        errors.split("Executable tests/checks.rs (").nth(1).and_then(|t| t.split(')').next());
    let program = folder.join(program.unwrap_or_else(|| panic!("{exit} {errors}")));
    let renamed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("renamed");
    std::fs::copy(program, &renamed).unwrap();
    let test = ["statics_have_the_values_of_the_last_run", "--exact"];
    let ended = Command::new(&renamed).args(test).current_dir(&folder).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"), "{ended:?}");

    let variables = [("UNPAUSE_SHUTTLE_DFS", "all"), ("UNPAUSE_SHUTTLE_RANDOM", "walk")];
    let (exit, output, errors) = run(&in_native_tests("shuttle"), &["on_request"], &variables);
    assert!(exit == 0 && errors.contains("explored all 252 interleavings"), "{output}{errors}");
    assert!(output.contains("test result: ok. 4 passed; 0 failed"), "{output}{errors}");
}

#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn a_run_leaves_nothing_behind_for_the_next_one() {
    let folder = in_native_tests("leftovers");
    for more in [&[][..], &["--nocapture"]] {
        let arguments = [&["--no-fail-fast", "--"], more].concat();
        let (exit, output, errors) = run(&folder, &arguments, &[]);
        assert_eq!(exit, 1, "{output}{errors}");
        let passing = [
            "a_hook_that_is_installed_once_changes_nothing",
            "a_number_from_the_id_of_a_thread_is_the_same_in_each_run",
            "a_static::begins_each_run_with_its_first_value",
            "a_static_of_c_that_counts_runs_is_fresh_in_a_process",
            "a_temporary_file_of_a_run_ends_with_it",
            "a_variable_that_a_run_sets_ends_with_it",
            "a_working_directory_of_a_run_ends_with_it",
            "memory_is_counted",
            "the_output_is_free_for_the_last_test",
        ];
        for test in passing {
            assert!(output.contains(&format!("test {test} ... ok")), "{test}\n{output}{errors}");
            assert!(!output.contains(&format!("::{test} ")), "{output}");
        }
        // Two programs with names of crates of the toolchain.
        assert_eq!(
            output.matches("a_static::begins_each_run_with_its_first_value ... ok").count(),
            2
        );
        for (test, said) in [
            ("suite::a_failure_beside_a_hook_is_shown", "an update is lost"),
            ("suite::a_panic_that_cannot_unwind_is_a_failure", "the second panic"),
            ("suite::a_thread_that_dies_while_it_prints_is_a_failure", "called `abort`"),
            ("allocator::an_update_is_lost", "panicked"),
        ] {
            // The harness has the screen, or shows it at once.
            let screens = format!("{output}{errors}");
            assert!(screens.contains(&format!("FAILED  {test}")), "{test}\n{screens}");
            assert!(screens.contains(said), "{said}\n{screens}");
        }
        assert!(!errors.contains("UNDECIDED"), "{errors}");
        let again = |test: &str| errors.matches(&format!("{test}: a run failed after")).count();
        assert_eq!(again("suite::a_static_of_c_that_counts_runs_is_fresh_in_a_process"), 1);
        // In a new process an allocator with a counter has other operations, so its failure may be found again there.
        let notes = errors.matches("SIM_ISOLATE").count();
        assert_eq!(notes, 1 + again("allocator::an_update_is_lost"), "{errors}");
    }
}

#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn the_engine_is_compiled_for_the_first_package_and_not_for_the_second() {
    let said = "note: the engine is compiled, once for this version and toolchain";
    let package = |name: &str| package(name, "#[test]\nfn passes() {}\n");
    let (exit, output, errors) = run(&package("first"), &[], &[]);
    assert_eq!(exit, 0, "{output}{errors}");

    let folder = package("second");
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = processor_time();
    let (exit, output, errors) = run_alone(&folder, &[], &[]);
    let seconds = processor_time() - before;
    assert!(exit == 0 && output.contains("test passes ... ok"), "{output}{errors}");
    assert!(!errors.contains(said) && seconds < 10.0, "{seconds} s {errors}");

    // The same engine is used with `--races`, where it checks each access.
    let (exit, output, errors) = run_alone(&folder, &["--races", "--lib"], &[]);
    assert!(exit == 0 && !errors.contains(said), "{output}{errors}");

    // At the end, the command counts the tests.
    assert!(errors.contains("note: 1 test ran under the scheduler."), "{errors}");
    let none = run_alone(&folder, &["--lib", "no_such_test"], &[]);
    assert!(none.0 == 0 && none.2.contains("note: no test ran under the scheduler."), "{}", none.2);

    // The number of libtest's threads is the shim's: this variable stops libtest where it counts.
    let (exit, output, errors) = run_alone(&folder, &["--lib"], &[("RUST_TEST_THREADS", "0")]);
    assert_eq!(exit, 0, "{output}{errors}");

    // Another profile is another engine. The other engine is not compiled here: the compiler is refused.
    let other = [("UNPAUSE_PROFILE_OPT_LEVEL", "none")];
    let (exit, _, errors) = run_alone(&folder, &[], &other);
    assert!(exit == 2 && errors.contains(said), "{errors}");
}

#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn a_package_that_depends_on_unpause_is_refused() {
    let (exit, _, errors) = run(&in_native_tests("."), &[], &[]);
    assert_eq!(exit, 2, "{errors}");
    assert!(
        errors.contains("native-tests depends on unpause: run `cargo unpause test`"),
        "{errors}"
    );
}

/// The first screen of `docs/method.md` belongs to the program above it, and the change below it is a fix.
#[test]
#[ignore = "builds the runtime: run by .ci/run"]
fn the_method_shows_what_its_program_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/method.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let between = |text: &str, start: &str, end: &str| {
        let text = text.split_once(start).expect(start).1;
        text.split_once(end).expect(end).0.to_owned()
    };
    let program = between(&page, "```rust\n", "```");
    let screen = between(&page, "```text\n", "```");
    let (exit, output, errors) = run(&package("slots", &program), &[], &[]);
    assert_eq!(exit, 1, "{output}{errors}");
    let printed = format!("FAILED  slots{}\n", between(&output, "FAILED  slots", "\n\n\n"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, page.replace(&screen, &printed)).unwrap();
    } else {
        assert_eq!(printed, screen, "UPDATE_EXPECT=1 changes {path:?}");
    }

    let fix = between(&page, "the body of `take`:\n`", "`.");
    let body = between(&program, "-> bool {\n", "    }\n\n    pub fn give");
    let fixed = program.replace(&body, &format!("        {fix}\n"));
    let (exit, output, errors) = run(&package("slots", &fixed), &[], &[]);
    assert!(exit == 0 && output.contains("1 passed"), "{output}{errors}");
}
