//! Async tests in an instrumented program: random bytes, statics and thread-locals belong to the run. So a test that
//! depends on the order of a `HashMap` has the same runs in each process, without a change of its code.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use sim::{Mutex, Runner};

/// Set in the process whose runs are compared.
const CHILD: &str = "POLLED_CHILD";

/// A random number, from a generator that is seeded once for each thread, like the generator of tokio-stream.
fn random() -> u64 {
    static SEEDS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static STATE: Cell<u64> =
            Cell::new(RandomState::new().hash_one(SEEDS.fetch_add(1, Relaxed)));
    }
    STATE.replace(STATE.get().rotate_left(7).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A value of a thread-local, which the run drops at its end.
struct Kept(Cell<u32>);

impl Drop for Kept {
    fn drop(&mut self) {
        DROPPED.with(|dropped| dropped.0.set(self.0.get()));
    }
}

/// Created by the drop of another value.
struct Dropped(Cell<u32>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if std::env::var_os(CHILD).is_some() {
            println!("dropped after {} uses", self.0.get());
        }
    }
}

thread_local! {
    static KEPT: Kept = const { Kept(Cell::new(0)) };
    static DROPPED: Dropped = const { Dropped(Cell::new(0)) };
}

#[sim::test(seeds = 40)]
async fn the_order_of_a_map_is_of_the_run() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    assert_eq!(RUNS.fetch_add(1, Relaxed), 0, "each run has its own value of a static");
    let order = Arc::new(Mutex::new(Vec::new()));
    let names: HashMap<u32, Arc<Mutex<Vec<u32>>>> = (0..5).map(|n| (n, order.clone())).collect();
    let tasks: Vec<_> = names
        .into_iter()
        .map(|(name, order)| {
            sim::spawn(async move {
                KEPT.with(|kept| kept.0.set(kept.0.get() + 1));
                order.lock().await.push(name);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    KEPT.with(|kept| assert_eq!(kept.0.get(), 5, "each run has its own value of a thread-local"));
    if std::env::var_os(CHILD).is_some() {
        println!("run {:?} {:016x} {:016x}", order.lock().await, random(), random());
    }
}

/// Returns the output of the runs of the test above, in a process of their own.
fn printed() -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", "the_order_of_a_map_is_of_the_run", "--nocapture"]);
    let output = child.env(CHILD, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let of_runs = |line: &&str| line.starts_with("run ") || line.starts_with("dropped ");
    text.lines().filter(of_runs).map(str::to_owned).collect()
}

#[test]
fn two_processes_have_the_same_runs() {
    let [first, second] = [printed(), printed()];
    assert_eq!(first, second);
    let (runs, drops): (Vec<_>, Vec<_>) = first.iter().partition(|line| line.starts_with("run "));
    assert!(runs.len() > 40, "the first seed runs twice: {} runs", runs.len());
    let different: BTreeSet<_> = runs.iter().map(|run| run.split(']').next()).collect();
    assert!(different.len() > 20, "the seeds differ: {} orders", different.len());
    assert!(drops.iter().all(|line| *line == "dropped after 5 uses"), "{drops:?}");
    assert_eq!(drops.len(), runs.len());
}

/// The runs of a runner that is called by a program share the program's statics with it.
#[test]
fn a_runner_leaves_the_statics_of_its_caller_alone() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let report = Runner::new().hermetic().jobs(1).seeds(0..10).run(async || {
        RUNS.fetch_add(1, Relaxed);
    });
    assert!(report.passed() && RUNS.load(Relaxed) >= 10);
}

/// Set in the process whose task aborts.
const ABORTS: &str = "POLLED_ABORTS";

#[sim::test(seeds = 100)]
async fn a_task_aborts() {
    if std::env::var_os(ABORTS).is_some() && sim::rand::below(10) == 7 {
        std::process::abort();
    }
}

/// The process would end without a message. The seed fails before, with its screen and trace.
#[test]
fn an_abort_of_a_task_fails_its_seed() {
    let aborts = |replay: Option<&str>| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "a_task_aborts"]).env(ABORTS, "1");
        let ended = child.envs(replay.map(|replay| ("SIM_REPLAY", replay))).output().unwrap();
        let screen = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(101), "{screen}");
        for part in [
            ": abort in main\n",
            "The task called `abort`, which ends the process.",
            "at          tests/polled.rs:",
        ] {
            assert!(screen.contains(part), "no {part}: {screen}");
        }
        screen
    };
    let screen = aborts(None);
    let replay = screen.split("SIM_REPLAY=").nth(1).and_then(|line| line.split(' ').next());
    aborts(Some(replay.expect(&screen)));
}
