//! The real build from the view of a user: `Runner` and `#[sim::test]` on real threads.
//!
//! In a simulated build, other tests check the same bodies, so these tests return at once. If a test needs its own
//! process, it starts the test program again with `UNPAUSE_CHILD` set. Without debug assertions, no jitter disturbs the
//! threads, so tests that need jitter are skipped.

use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use std::time::{Duration, Instant};

use sim::Ordering::SeqCst;
use sim::check::models::{Counter, CounterOp, CounterRet};
use sim::check::verdict::Verdict;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Atomic, History, Mutex, Runner};

const TASKS: i64 = 4;
const INCREMENTS: i64 = 50;

/// Loses updates unless it is `fixed`.
async fn increment(counter: &Atomic<i64>, fixed: bool) {
    if fixed {
        counter.fetch_add(1, SeqCst).await;
    } else {
        let value = counter.load(SeqCst).await;
        counter.store(value + 1, SeqCst).await;
    }
}

async fn counted(fixed: bool) {
    let counter = Arc::new(Atomic::new(0));
    sim::map_concurrently(0..TASKS, |_| {
        let counter = counter.clone();
        async move {
            for _ in 0..INCREMENTS {
                increment(&counter, fixed).await;
            }
        }
    })
    .await;
    assert_eq!(counter.load(SeqCst).await, TASKS * INCREMENTS);
}

async fn recorded(fixed: bool) {
    let counter = Arc::new(Atomic::new(0));
    let history = History::new(Counter::default());
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (counter, history) = (counter.clone(), history.clone());
            sim::spawn(async move {
                for _ in 0..8 {
                    let work = async {
                        increment(&counter, fixed).await;
                        CounterRet::Done
                    };
                    history.call(CounterOp::Increment, work).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    history.call(CounterOp::Get, async { CounterRet::Value(counter.load(SeqCst).await) }).await;
    history.assert_linearizable();
}

fn runner(seeds: u64) -> Runner {
    Runner::new().hermetic().seeds(0..seeds)
}

fn failure(report: &Report) -> &Failure {
    match report.finding.as_ref().map(|finding| &finding.run.outcome) {
        Some(Outcome::Failed(failure)) => failure,
        _ => panic!("the test should have failed: {report:?}"),
    }
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

/// Runs one test of this file in a separate process.
fn child(test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env("UNPAUSE_CHILD", "1").envs(variables.iter().copied());
    command.output().unwrap()
}

fn is_child() -> bool {
    std::env::var_os("UNPAUSE_CHILD").is_some()
}

// ---- planted bugs and their fixed twins

#[test]
fn a_lost_update_is_found_on_real_threads() {
    if sim::SIMULATED || !cfg!(debug_assertions) {
        return;
    }
    let report = runner(1000).run(async || counted(false).await);
    assert!(report.real);
    let finding = report.finding.as_ref().expect("a lost update within a thousand runs");
    assert_eq!((&finding.trace_file, &finding.replay), (&None, &None));
    let Failure::Panic { task, message, place } = failure(&report) else {
        panic!("{report:?}");
    };
    assert_eq!(task.0, 0);
    assert!(message.starts_with("assertion `left == right` failed\n  left: "), "{message}");
    assert!(place.starts_with(file!()), "{place}");
    let screen = screen(&report);
    assert!(screen.contains("REAL THREADS: not replayable"), "{screen}");
    assert!(!screen.contains("step"), "{screen}");
}

#[test]
fn an_atomic_increment_loses_nothing_on_real_threads() {
    let report = runner(100).run(async || counted(true).await);
    assert!(report.passed(), "{}", screen(&report));
    assert_eq!((report.runs, report.real), (100, !sim::SIMULATED));
}

#[test]
fn a_history_that_no_order_explains_is_kept() {
    if sim::SIMULATED || !cfg!(debug_assertions) {
        return;
    }
    let report = runner(2000).run(async || recorded(false).await);
    let Failure::History { history: 0, condition, verdict, place } = failure(&report) else {
        panic!("{report:?}");
    };
    assert_eq!((condition.as_str(), place.file()), ("linearizability", file!()));
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    let history = &report.finding.as_ref().unwrap().run.histories[0];
    assert_eq!(history.model, "counter");
    assert_eq!(history.clients.len(), 5);
    let tasks = ["0.0", "0.1", "0.2", "0.3", "main"];
    let mut clients = history.clients.clone();
    clients.sort();
    assert_eq!(clients, tasks);
    assert_eq!(history.operations.len(), 4 * 8 + 1);
    assert_eq!(history.verdict, Some(Verdict::Violated(evidence.clone())));
    let screen = screen(&report);
    assert!(screen.contains("history is not linearizable (counter)"), "{screen}");
}

#[test]
fn the_history_of_atomic_increments_is_linearizable_on_real_threads() {
    let report = runner(50).run(async || recorded(true).await);
    assert!(report.passed(), "{}", screen(&report));
}

// ---- ways to fail

#[test]
fn a_panic_of_a_task_has_its_name_and_place() {
    if sim::SIMULATED {
        return;
    }
    let line = AtomicU32::new(0);
    let report = runner(10).run(async || {
        line.store(line!() + 2, SeqCst);
        let task = sim::task::Builder::new().name("writer").spawn(async {
            panic!("no paper");
        });
        // Like in a simulated run, the panic fails the run even if the body handles it.
        let _: Result<(), _> = task.await;
    });
    let Failure::Panic { task, message, place } = failure(&report) else {
        panic!("{report:?}");
    };
    let run = &report.finding.as_ref().unwrap().run;
    assert_eq!(run.tasks[task.index()].to_string(), "0.0 writer");
    assert_eq!(message, "no paper");
    assert!(place.starts_with(&format!("{}:{}:", file!(), line.load(SeqCst))), "{place}");
    let screen = screen(&report);
    assert!(screen.contains("seed 0: 0.0 writer panicked"), "{screen}");
    assert_eq!(report.runs, 1);
}

#[test]
fn a_panic_of_a_task_ends_a_body_that_waits_for_something_else() {
    if sim::SIMULATED {
        return;
    }
    let began = Instant::now();
    let report = runner(10).run(async || {
        let task = sim::spawn(async { panic!("gone") });
        std::future::pending::<()>().await;
        let _: Result<(), _> = task.await;
    });
    assert!(matches!(failure(&report), Failure::Panic { message, .. } if message == "gone"));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_failed_check_in_a_task_ends_the_run() {
    if sim::SIMULATED {
        return;
    }
    let report = runner(10).run(async || {
        let history = History::new(Counter::default());
        let task = sim::spawn(async move {
            history.call(CounterOp::Get, async { CounterRet::Value(7) }).await;
            history.assert_linearizable();
        });
        std::future::pending::<()>().await;
        drop(task);
    });
    assert!(matches!(failure(&report), Failure::History { history: 0, .. }), "{report:?}");
}

#[test]
fn an_error_of_the_body_fails_the_run_on_real_threads() {
    let report = runner(10).run(async || {
        let wrong: Result<(), &str> = Err("wrong on purpose");
        wrong
    });
    let message = "\"wrong on purpose\"".to_owned();
    assert_eq!(failure(&report), &Failure::Error { message });
}

// ---- tasks that are left over

#[test]
fn tasks_that_are_left_over_end_with_their_run() {
    if sim::SIMULATED || !cfg!(debug_assertions) {
        return;
    }
    struct Living(Arc<AtomicUsize>);
    impl Drop for Living {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    let living = Arc::new(AtomicUsize::new(0));
    let report = runner(20).run(async || {
        assert_eq!(living.load(SeqCst), 0, "a task of an earlier run is still there");
        let flag = Arc::new(Atomic::new(false));
        let waits = Living(living.clone());
        let spins = Living(living.clone());
        living.fetch_add(2, SeqCst);
        sim::spawn(async move {
            let _waits = waits;
            std::future::pending::<()>().await;
        })
        .detach();
        // All its points are ready at once, so the task notices the end of the run only because each point checks for
        // it.
        sim::spawn(async move {
            let _spins = spins;
            while !flag.load(SeqCst).await {}
        })
        .detach();
    });
    assert!(report.passed(), "{}", screen(&report));
    assert_eq!(report.warnings, <[String; 0]>::default());
    assert_eq!(living.load(SeqCst), 0);
}

#[test]
fn a_task_that_does_not_end_is_told_of() {
    if sim::SIMULATED {
        return;
    }
    let release = Arc::new(AtomicBool::new(false));
    let report = runner(3).run(async || {
        let (release, started) = (release.clone(), Arc::new(AtomicBool::new(false)));
        let starts = started.clone();
        let builder = sim::task::Builder::new().name("deaf");
        builder
            .spawn(async move {
                starts.store(true, SeqCst);
                while !release.load(SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            })
            .detach();
        while !started.load(SeqCst) {
            sim::task::yield_now().await;
        }
    });
    release.store(true, SeqCst);
    assert_eq!((report.passed(), report.runs), (true, 3));
    let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
    assert!(warning.starts_with("task 0.0 deaf of the run of seed 0 did not end"), "{warning}");
}

// ---- what shakes the threads

#[test]
fn tasks_start_when_the_first_is_waited_for() {
    if sim::SIMULATED || !cfg!(debug_assertions) {
        return;
    }
    let (together, early) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let report = runner(40).run(async || {
        let started = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let started = started.clone();
                sim::spawn(async move { started.fetch_add(1, SeqCst) })
            })
            .collect();
        // Long enough for threads to start, if they are not held.
        std::thread::sleep(Duration::from_millis(1));
        let held = started.load(SeqCst) == 0;
        if held { &together } else { &early }.fetch_add(1, SeqCst);
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert!(report.passed(), "{}", screen(&report));
    // On a busy machine, the millisecond may last longer than the hold of a task.
    let (together, early) = (together.into_inner(), early.into_inner());
    assert!(together > early, "{together} times together, {early} times early");
}

#[test]
fn tasks_start_although_the_body_only_spins() {
    let report = runner(3).run(async || {
        let flag = Arc::new(Atomic::new(false));
        let set = flag.clone();
        sim::spawn(async move { set.store(true, SeqCst).await }).detach();
        while !flag.load(SeqCst).await {}
    });
    assert!(report.passed(), "{}", screen(&report));
}

#[test]
fn points_are_disturbed_in_a_stress_test_and_not_outside() {
    if sim::SIMULATED || !cfg!(debug_assertions) {
        return;
    }
    // The shortest of some attempts, which no other process has slowed down.
    async fn points() -> Duration {
        let counter = Atomic::new(0u64);
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            for _ in 0..2000 {
                counter.fetch_add(1, SeqCst).await;
            }
            best = best.min(began.elapsed());
        }
        best
    }
    let outside = sim::block_on(points());
    let inside = std::sync::Mutex::new(Duration::ZERO);
    let report = runner(1).run(async || *inside.lock().unwrap() = points().await);
    assert!(report.passed());
    // 2000 points draw some 30 sleeps of 20 microseconds at least.
    let inside = inside.into_inner().unwrap();
    assert!(inside > outside + Duration::from_micros(400), "{inside:?} and {outside:?}");
}

#[test]
fn random_values_of_a_task_come_from_the_seed_on_real_threads() {
    let draw = |seed: u64| {
        let drawn = std::sync::Mutex::new(Vec::new());
        let report = Runner::new().hermetic().seed(seed).run(async || {
            let numbers = sim::spawn(async { (0..4).map(|_| sim::rand::below(1 << 40)).collect() });
            let numbers: Vec<u64> = numbers.await.unwrap();
            *drawn.lock().unwrap() = numbers;
        });
        assert!(report.passed());
        drawn.into_inner().unwrap()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

// ---- in a process of its own

#[sim::test(seeds = 1)]
async fn child_two_locks() {
    if sim::SIMULATED || !is_child() {
        return;
    }
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let met = Arc::new(std::sync::Barrier::new(2));
    let hold_both = |name, first: Arc<Mutex<()>>, second: Arc<Mutex<()>>| {
        let met = met.clone();
        sim::task::Builder::new().name(name).spawn(async move {
            let _first = first.lock().await;
            met.wait();
            let _second = second.lock().await;
        })
    };
    let tasks = [hold_both("left", a.clone(), b.clone()), hold_both("right", b, a)];
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn a_deadlock_on_real_threads_ends_the_process() {
    if sim::SIMULATED {
        return;
    }
    let output = child("child_two_locks", &[("SIM_HANG", "1s")]);
    assert_eq!(output.status.code(), Some(101));
    let screen = String::from_utf8(output.stderr).unwrap();
    for part in [
        "FAILED  real_threads::child_two_locks  seed 0: no task has made progress for 1 s\n",
        "REAL THREADS: not replayable\n",
        "not ended   main, 0.0 left, 0.1 right\n",
        "a deadlock, which the build with the feature `sim` finds",
    ] {
        assert!(screen.contains(part), "{part:?} is not in\n{screen}");
    }
}

#[sim::test(seeds = 5)]
async fn child_panics() {
    if sim::SIMULATED || !is_child() {
        return;
    }
    let task = sim::spawn(async { panic!("heard once") });
    let () = task.await.unwrap();
}

#[test]
fn a_panic_in_a_stress_test_is_on_the_screen_once() {
    if sim::SIMULATED {
        return;
    }
    let output = child("child_panics", &[]);
    assert_eq!(output.status.code(), Some(101));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("FAILED  real_threads::child_panics  seed 0: 0.0 panicked"),
        "{errors}"
    );
    assert_eq!(errors.matches("heard once").count(), 1, "{errors}");
    assert!(!errors.contains("panicked at"), "{errors}");
    // With `SIM_LOG=replay`, the output also has the panic that the hook of the program shows.
    let output = child("child_panics", &[("SIM_LOG", "replay")]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("panicked at"), "{errors}");
}

#[sim::test(seeds = 2)]
async fn child_passes() {}

#[test]
fn a_replay_is_refused_on_real_threads() {
    if sim::SIMULATED {
        return;
    }
    let output = child("child_passes", &[("SIM_REPLAY", "some.simtrace")]);
    assert_eq!(output.status.code(), Some(101));
    let errors = String::from_utf8(output.stderr).unwrap();
    let said = "FAILED  real_threads::child_passes: replay is \"some.simtrace\", but should be left out in this build";
    assert!(errors.contains(said), "{errors}");
    let replay = runner(1).replay("sim2:0").try_run(async || ());
    assert_eq!(replay.unwrap_err().name, "replay");
}

#[sim::test(seeds = 2, must_fail)]
async fn child_must_fail() {
    if sim::SIMULATED {
        panic!("real threads do not show this");
    }
}

#[test]
fn a_failure_that_real_threads_do_not_show_is_not_demanded() {
    if sim::SIMULATED {
        return;
    }
    let output = child("child_must_fail", &[]);
    assert_eq!(output.status.code(), Some(0));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("note: real threads did not show the failure"), "{errors}");
}
