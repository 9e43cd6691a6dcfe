//! A task that does not return from its step ends the process. The trace must lead to the same step.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sim::Ordering::SeqCst;
use sim::run::trace::format;
use sim::{Atomic, Runner, SIMULATED};

/// Runs one of the programs below in a separate process, which must hang.
fn child(program: &str, replay: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "hang::child_hangs", "--nocapture"])
        .env("UNPAUSE_CHILD", program)
        // On CI, a failure is also written as a page.
        .env_remove("CI")
        .env("SIM_HANG", "1s")
        .env("SIM_SEDE", "1")
        .env("SIM_OUT", folder(program));
    if let Some(replay) = replay {
        command.env("SIM_REPLAY", replay).env("SIM_CANCEL", "*").env("SIM_JSON", "1");
    }
    let began = Instant::now();
    let output = command.output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(300), "it was not ended");
    output
}

fn folder(program: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hang_{program}"))
}

fn check(program: &str, last: &str) {
    if !SIMULATED {
        return;
    }
    let _ = std::fs::remove_dir_all(folder(program));
    let output = child(program, None);
    let screen = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(101), "{screen}");
    assert!(screen.contains("0.0 stuck") && screen.contains(last), "{screen}");
    assert!(screen.contains("unknown environment variable SIM_SEDE"), "{screen}");
    // There is one folder for the test. The folder contains one trace, and the report beside it.
    let only = |folder: PathBuf| {
        let paths = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let found: Vec<_> =
            paths.filter(|path| path.extension().is_none_or(|kind| kind != "json")).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };
    let path = only(only(folder(program)));
    let trace = format::parse(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(trace.tasks[trace.steps.last().unwrap().task].name.as_deref(), Some("stuck"));

    let again = child(program, Some(path.to_str().unwrap()));
    let screen = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(again.status.code(), Some(101), "{screen}");
    let replayed = format::parse(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(replayed.steps, trace.steps);
}

#[test]
fn a_task_that_loops_without_an_await_is_caught() {
    check("loop", "load");
}

#[test]
fn a_real_lock_held_across_a_point_is_caught() {
    check("lock", "load");
}

/// The explanation of a replay may hang. The reported failure must then have the warnings and the number of steps of
/// the replay.
#[test]
fn a_replay_whose_explanation_hangs_keeps_its_warnings() {
    if !SIMULATED {
        return;
    }
    let (program, folder) = ("explained", folder("explained"));
    let _ = std::fs::remove_dir_all(&folder);
    let found = child(program, None);
    let screen = String::from_utf8_lossy(&found.stderr).into_owned();
    let is_unexplained = "the failure has no explanation, because another run of the test failed";
    assert!(screen.contains(is_unexplained) && screen.contains("the load came first"), "{screen}");
    let ending = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "simtrace");
    let list = |folder: PathBuf| {
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>()
    };
    let files: Vec<PathBuf> = list(folder).into_iter().flat_map(list).collect();
    let path = files.into_iter().find(ending).expect("a trace");
    // The trace has a further step, which the run does not need to fail.
    let mut trace = format::parse(&std::fs::read(&path).unwrap()).unwrap();
    let steps = trace.steps.len();
    trace.steps.extend(trace.steps.last().cloned());
    std::fs::write(&path, format::write(&trace)).unwrap();

    let again = child(program, path.to_str());
    let screen = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(screen.contains(is_unexplained), "{screen}");
    assert!(screen.contains("the trace has 1 more turn than this run took"), "{screen}");
    assert!(screen.contains("SIM_CANCEL=* has no effect on this replay"), "{screen}");
    let report = std::fs::read_to_string(path.with_extension("json")).unwrap();
    assert!(report.contains(&format!("\"steps\":{steps},")), "{report}");
}

#[test]
fn child_hangs() {
    let Some(program) = std::env::var_os("UNPAUSE_CHILD") else { return };
    match program.to_str() {
        Some("loop") => {
            Runner::new().run(async || {
                let value = Arc::new(Atomic::new(0u8));
                let other = value.clone();
                let stuck = sim::task::Builder::new().name("stuck").spawn(async move {
                    while other.load(SeqCst).await == 0 {}
                    loop {
                        std::hint::spin_loop();
                    }
                });
                value.store(1, SeqCst).await;
                stuck.await.unwrap();
            });
        }
        Some("lock") => {
            Runner::new().run(async || {
                let lock = Arc::new(std::sync::Mutex::new(()));
                let value = Arc::new(Atomic::new(0u8));
                let (his, other) = (lock.clone(), value.clone());
                let stuck = sim::task::Builder::new().name("stuck").spawn(async move {
                    other.load(SeqCst).await;
                    drop(his.lock().unwrap());
                });
                #[expect(clippy::await_holding_lock, reason = "the bug that is to be caught")]
                let holder = async move {
                    let _held = lock.lock().unwrap();
                    value.load(SeqCst).await;
                };
                holder.await;
                stuck.await.unwrap();
            });
        }
        Some("explained") => {
            Runner::new().run(async || {
                let value = Arc::new(Atomic::new(0u8));
                let other = value.clone();
                let reader = sim::spawn(async move {
                    let mut seen = [0; 3];
                    for seen in &mut seen {
                        *seen = other.load(SeqCst).await;
                    }
                    if seen == [1, 2, 3] {
                        loop {
                            std::hint::spin_loop();
                        }
                    }
                    seen[0]
                });
                for number in 1..=3 {
                    value.store(number, SeqCst).await;
                }
                assert!(reader.await.unwrap() > 0, "the load came first");
            });
        }
        _ => {}
    }
}
