//! The ends of stress tests and their screens: hangs and limits, settings that mean nothing, panics in destructors.
//!
//! If a test needs its own process, it starts the test program again with `UNPAUSE_CHILD` set. The test harness
//! captures the output of the process, like for users. In a simulated build the tests return at once, unless they
//! concern both builds.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sim::Ordering::SeqCst;
use sim::run::{Failure, Outcome};
use sim::{Atomic, Runner};

fn is_child() -> bool {
    !sim::SIMULATED && std::env::var_os("UNPAUSE_CHILD").is_some()
}

/// Runs the tests of this file whose names begin with `test`, in a separate process. Returns the exit code and standard
/// error. The exit code is `None` if a signal ended the process.
fn child(test: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--test-threads=1"]);
    command.env("UNPAUSE_CHILD", "1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    println!("{said}");
    (output.status.code(), said)
}

fn contains(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
}

// ---- hangs and limits

#[sim::test(seeds = 1)]
async fn child_slow_but_alive() {
    if is_child() {
        let began = Instant::now();
        let word = Atomic::new(0);
        while began.elapsed() < Duration::from_secs(3) {
            word.fetch_add(1, SeqCst).await;
            sim::task::yield_now().await;
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_run_that_goes_on_is_no_hang() {
    if sim::SIMULATED {
        return;
    }
    assert_eq!(child("child_slow_but_alive", &[("SIM_HANG", "1s")]).0, Some(0));
    let (code, said) = child("child_slow_but_alive", &[("SIM_LIMIT", "1s")]);
    assert_eq!(code, Some(101));
    contains(
        &said,
        &["seed 0: the run has not ended after 1 s", "not ended   main", "SIM_LIMIT=5m"],
    );
}

#[sim::test(seeds = 1, hang = "1s", limit = "2s")]
async fn child_limits_of_the_attribute() {
    if is_child() {
        match std::env::var("UNPAUSE_CHILD_SPINS") {
            Ok(_) => {
                let word = Atomic::new(0);
                sim::spin_until(|| async { word.load(SeqCst).await == 1 }).await;
            }
            Err(_) => std::future::pending::<()>().await,
        }
    }
}

#[test]
fn the_attribute_has_a_limit_for_a_step_and_one_for_a_run() {
    if sim::SIMULATED {
        return;
    }
    let (code, said) = child("child_limits_of_the_attribute", &[]);
    assert_eq!(code, Some(101));
    contains(&said, &["no task has made progress for 1 s", "SIM_HANG=60s"]);
    if cfg!(debug_assertions) {
        let (code, said) = child("child_limits_of_the_attribute", &[("UNPAUSE_CHILD_SPINS", "1")]);
        assert_eq!(code, Some(101));
        contains(&said, &["the run has not ended after 2 s"]);
    }
}

#[sim::test(seeds = 1)]
async fn child_pair_a_fails() {
    assert!(!is_child(), "the reason of the first test");
}

#[sim::test(seeds = 1)]
async fn child_pair_b_hangs() {
    if is_child() {
        std::future::pending::<()>().await;
    }
}

#[test]
fn a_hang_does_not_lose_the_screens_of_tests_that_failed_before() {
    if sim::SIMULATED {
        return;
    }
    let (code, said) = child("child_pair", &[("SIM_HANG", "1s")]);
    assert_eq!(code, Some(101));
    let failed = "FAILED  stress_ends::child_pair_a_fails  seed 0: main panicked";
    let hung = "FAILED  stress_ends::child_pair_b_hangs  seed 0: no task has made progress for 1 s";
    contains(
        &said,
        &["These tests had failed before", failed, "the reason of the first test", hung],
    );
}

// ---- settings that mean nothing

#[sim::test(seeds = 1)]
async fn child_passes() {}

#[sim::test(seeds = 1, strategy = "exhaustive", must_prove)]
async fn child_would_prove() {}

#[test]
fn what_means_nothing_to_real_threads_is_said_of_a_test_that_passes() {
    if sim::SIMULATED {
        return;
    }
    let rest = "no effect on real threads; build with the feature `sim`\n";
    let set = [("SIM_STRATEGY", "exhaustive"), ("SIM_JOBS", "1"), ("SIM_COVERAGE", "1")];
    let (code, said) = child("child_passes", &set);
    assert_eq!(code, Some(0));
    contains(&said, &[&format!("note: SIM_STRATEGY, SIM_JOBS and SIM_COVERAGE have {rest}")]);
    let (code, said) = child("child_would_prove", &[]);
    assert_eq!(code, Some(0));
    contains(
        &said,
        &[&format!("note: stress_ends::child_would_prove: strategy and must_prove have {rest}")],
    );
    let (code, said) = child("child_passes", &[("SIM_SEEDS", "3")]);
    let shakes = if cfg!(debug_assertions) { "" } else { "note: built without debug assertions: " };
    assert!(
        code == Some(0) && said.starts_with(shakes) && said.is_empty() == shakes.is_empty(),
        "{said}"
    );
    assert_eq!(child("child_passes", &[("SIM_REPLAY", "sim2:0x2")]).0, Some(101));
}

// ---- runs of nothing

#[test]
fn conditions_are_judged_by_the_one_run_that_there_was_time_for() {
    let runner = || Runner::new().hermetic().jobs(1);
    let body = async || sim::sometimes!(std::hint::black_box(false), "never true");
    let report = runner().seeds(0..100).time(Duration::ZERO).run(body);
    let outcome = report.finding.map(|finding| finding.run.outcome);
    assert!(matches!(outcome, Some(Outcome::Failed(Failure::TooSeldom { .. }))), "{outcome:?}");
    // A single requested seed is run to inspect it.
    assert!(runner().seeds(0..1).run(body).passed());
}

#[test]
fn no_test_passes_without_a_run() {
    let runner = || Runner::new().hermetic();
    let fails = async || {
        if true {
            panic!("run");
        }
    };
    for range in [5..5, std::ops::Range { start: 9, end: 3 }] {
        assert_eq!(runner().seeds(range).try_run(async || ()).unwrap_err().name, "seeds");
    }
    let report = runner().time(Duration::ZERO).run(fails);
    assert!(!report.passed() && report.runs == 1);
    if sim::SIMULATED {
        return;
    }
    for set in [("SIM_TIME", "0s"), ("SIM_SHARD", "6/6"), ("SIM_SHARD", "1000/1000")] {
        assert_eq!(child("child_pair_a_fails", &[set]).0, Some(101), "{set:?}");
    }
    let (code, said) = child("child_passes", &[("SIM_SHARD", "6/6")]);
    assert_eq!(code, Some(0));
    contains(
        &said,
        &["child_passes has no seed of its own in this shard, because there are 1 in all"],
    );
}

// ---- panics

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the second panic");
    }
}

#[sim::test(seeds = 1)]
async fn child_panics_twice() {
    if is_child() {
        let task = sim::task::Builder::new().name("clumsy").spawn(async {
            let _bomb = Bomb;
            sim::task::yield_now().await;
            panic!("the first panic");
        });
        let _: Result<(), _> = task.await;
    }
}

#[test]
fn both_panics_of_an_abort_are_on_the_screen() {
    if sim::SIMULATED {
        return;
    }
    let (code, said) = child("child_panics_twice", &[]);
    assert_eq!(code, None, "a signal");
    contains(
        &said,
        &[
            "first:  \"the first panic\" at sim-tests/tests/stress_ends.rs:",
            "second: \"the second panic\" at sim-tests/tests/stress_ends.rs:",
            "task 0.0 clumsy in the run of seed 0 of stress_ends::child_panics_twice",
        ],
    );
}

#[test]
fn panics_that_are_caught_are_no_abort() {
    let report = Runner::new().hermetic().seeds(0..3).run(async || {
        struct Catches;
        impl Drop for Catches {
            fn drop(&mut self) {
                assert!(std::panic::catch_unwind(|| panic!("caught")).is_err());
            }
        }
        let twice = || {
            let _catches = Catches;
            panic!("caught too");
        };
        assert!(std::panic::catch_unwind(twice).is_err());
    });
    assert!(report.passed(), "{report:?}");
}

#[sim::test(seeds = 1)]
async fn child_leaves_a_task_that_panics_late() {
    if is_child() {
        let started = Arc::new(Atomic::new(false));
        let starts = started.clone();
        let task = sim::spawn(async move {
            starts.store(true, SeqCst).await;
            // A second after the end of its run, and a second before the end of the process: a machine may be busy.
            std::thread::sleep(Duration::from_millis(2000));
            panic!("late");
        });
        task.detach();
        sim::spin_until(|| started.load(SeqCst)).await;
    }
}

#[sim::test(seeds = 1)]
async fn child_leaves_b_waits() {
    if is_child() {
        std::thread::sleep(Duration::from_millis(2000));
    }
}

#[test]
fn a_panic_after_the_end_of_its_run_is_shown() {
    if sim::SIMULATED {
        return;
    }
    // The panic belongs to no run any more, so it is shown like any other panic.
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child_leaves", "--test-threads=1", "--nocapture"]).env("UNPAUSE_CHILD", "1");
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    contains(
        &said,
        &["panicked at sim-tests/tests/stress_ends.rs:", "\nlate\n", "did not end within 1 s"],
    );
}

// ---- threads

#[test]
fn a_name_with_a_zero_in_it_is_a_name() {
    let report = Runner::new().hermetic().seeds(0..2).run(async || {
        let task = sim::task::Builder::new().name("a\0b").spawn(async { 1 });
        assert_eq!(task.await.unwrap(), 1);
    });
    assert!(report.passed(), "{report:?}");
}

#[test]
fn a_runner_may_be_called_within_block_on() {
    let report = sim::block_on(async {
        Runner::new().hermetic().seeds(0..2).run(async || {
            assert_eq!(sim::spawn(async { 1 }).await.unwrap(), 1);
        })
    });
    assert!(report.passed(), "{report:?}");
}

// ---- checks that take long

mod undecided {
    use std::collections::BTreeSet;

    use sim::History;
    use sim::check::Model;
    use sim::check::verdict::Verdict;
    use sim::run::{Failure, Outcome};

    use super::*;

    /// Takes a millisecond for a thousand steps and more.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    struct Bag(BTreeSet<u32>);

    impl Model for Bag {
        type Op = (u32, bool);
        type Ret = usize;

        fn step(&mut self, op: &(u32, bool)) -> usize {
            if op.1 {
                self.0.insert(op.0);
                return 0;
            }
            self.0.len() * 1000 + self.0.iter().take(3).sum::<u32>() as usize
        }
    }

    #[sim::test(seeds = 1, hang = "500ms")]
    async fn child_undecided() {
        if std::env::var_os("UNPAUSE_CHILD").is_some() {
            undecided().await;
        }
    }

    /// A history that no check decides within its budget.
    async fn undecided() {
        let history = History::new(Bag::default());
        let open: Vec<_> = (0..26).map(|n| history.invoke((n, true))).collect();
        let word = Atomic::new(0);
        word.store(1, SeqCst).await;
        open.into_iter().for_each(|call| call.ok(0));
        let read = async {
            word.load(SeqCst).await;
            999_999
        };
        history.call((0, false), read).await;
        history.assert_linearizable();
    }

    #[test]
    fn a_check_that_takes_longer_than_a_hang_ends_undecided() {
        let (code, said) = child("child_undecided", &[]);
        assert_eq!(code, Some(101));
        assert!(!said.contains("FAILED"), "the process was ended");
        let hang = Duration::from_millis(500);
        let report = Runner::new().hermetic().hang(hang).seeds(0..1).run(undecided);
        let outcome = report.finding.unwrap().run.outcome;
        let Outcome::Failed(Failure::History { verdict, .. }) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(matches!(verdict, Verdict::Unknown(_)));
    }
}

#[test]
fn a_future_gives_its_result_once() {
    use std::future::Future;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use sim::{Cell, Mutex};

    /// Returns the panic of a future that is polled again after it was ready.
    async fn again<F: Future>(future: F) -> String {
        let mut future = std::pin::pin!(future);
        drop(future.as_mut().await);
        let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
        let poll = || future.as_mut().poll(context).is_ready();
        let payload = catch_unwind(AssertUnwindSafe(poll)).expect_err("it gave another result");
        payload.downcast_ref::<String>().cloned().unwrap_or_else(|| {
            payload.downcast_ref::<&str>().map_or_else(String::new, |text| (*text).to_owned())
        })
    }

    async fn body() {
        let (word, cell, lock) = (Atomic::new(1), Cell::new(vec![1]), Mutex::new(1));
        let said = [
            again(word.load(SeqCst)).await,
            again(word.store(2, SeqCst)).await,
            again(word.fetch_add(1, SeqCst)).await,
            again(word.compare_exchange(3, 4, SeqCst, SeqCst)).await,
            again(cell.get()).await,
            again(cell.set(vec![2])).await,
            again(lock.lock()).await,
        ];
        for said in said {
            assert!(said.contains("polled after it was ready: it gives its result once"), "{said}");
        }
        // Each operation takes effect once, and the task continues.
        assert_eq!((word.load(SeqCst).await, cell.get().await), (4, vec![2]));
        *lock.lock().await += 1;
    }

    sim::block_on(body());
    let report = Runner::new().hermetic().seeds(0..20).run(body);
    assert!(report.passed(), "{report:?}");
}

#[test]
fn a_result_is_given_once() {
    let body = async || {
        let mut task = sim::spawn(async { 1 });
        assert_eq!((&mut task).await.unwrap(), 1);
        let _ = task.await;
    };
    let report = Runner::new().hermetic().seeds(0..1).run(body);
    let outcome = report.finding.expect("it is awaited again").run.outcome;
    let text = format!("{outcome:?}");
    assert!(text.contains("a task gives its result once"), "{text}");
}
