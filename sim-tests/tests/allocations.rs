//! Allocations of the library: none for a step, one box for a spawned task, none for a run, and no
//! growth of memory over many runs.
//!
//! This test has a file of its own, because the allocator counts allocations of the whole process. The allocator counts
//! from the start of one run's body to the start of the next, so the work between the bodies is included.

use std::alloc::System;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use sim::Ordering::SeqCst;
use sim::Runner;
use sim::check::models::{Counter, CounterOp, CounterRet};
use sim::task::yield_now;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of runs in which tables may grow: the tables of the checks before the search, and the tables whose length
/// is the length of the longest run. Each member of the default strategy has such tables for each of its lessons.
const WARM_UP: usize = 770;

/// From this seed on strategies have seven lessons; the eighth begins after 1024 more.
const FEW_LESSONS: u64 = 1008;

/// From this seed on, strategies have all their lessons.
const ALL_LESSONS: u64 = 1 << 20;

/// The counters of the allocator at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reading {
    /// Calls of the allocator that gave memory: new or by moving.
    calls: usize,
    /// Bytes held.
    bytes: usize,
}

fn read() -> Reading {
    let stats = ALLOCATOR.stats();
    let calls = stats.allocations + stats.reallocations;
    Reading { calls, bytes: stats.bytes_allocated - stats.bytes_deallocated }
}

/// A reading at the start of each run but the last.
///
/// The first runs may be rehearsals.
fn readings<B: AsyncFn() + Sync>(strategy: &str, seeds: Range<u64>, body: B) -> Vec<Reading> {
    let runs = seeds.end - seeds.start;
    let readings = Mutex::new(Vec::with_capacity(runs as usize + 100));
    // The watchdog is a separate thread, and its allocations would be counted, too.
    let runner = Runner::new().hermetic().jobs(1).hang(Duration::ZERO).seeds(seeds);
    let runner = runner.strategy(strategy);
    let report = runner.run(async || {
        readings.lock().unwrap().push(read());
        body().await;
    });
    assert!(report.passed() && report.runs == runs, "{report:?}");
    readings.into_inner().unwrap()
}

/// Returns the number of allocations of a run after the first runs. Asserts that the number is the same for every run.
#[track_caller]
fn calls_of_a_run<B: AsyncFn() + Sync>(what: &str, body: B) -> usize {
    calls_under(sim::strategy::STRATEGIES[0].name, what, body)
}

/// Returns the same number for a run under a strategy.
#[track_caller]
fn calls_under<B: AsyncFn() + Sync>(strategy: &str, what: &str, body: B) -> usize {
    let readings = readings(strategy, FEW_LESSONS..FEW_LESSONS + WARM_UP as u64 + 250, body);
    let warm = &readings[WARM_UP..];
    let calls: Vec<usize> = warm.windows(2).map(|w| w[1].calls - w[0].calls).collect();
    assert!(calls.windows(2).all(|w| w[0] == w[1]), "{what}: {calls:?}");
    assert_eq!(warm[0].bytes, warm[warm.len() - 1].bytes, "{what}");
    println!("{what}: {} allocations for each run", calls[0]);
    calls[0]
}

async fn yields(rounds: u32) {
    let task = move || async move {
        for _ in 0..rounds {
            yield_now().await;
        }
    };
    let (one, two) = (sim::spawn(task()), sim::spawn(task()));
    one.await.unwrap();
    two.await.unwrap();
}

async fn atomics(rounds: u64) {
    let counter = Arc::new(sim::Atomic::new(0u64));
    let task = |counter: Arc<sim::Atomic<u64>>| async move {
        for _ in 0..rounds {
            let old = counter.load(SeqCst).await;
            counter.store(old + 1, SeqCst).await;
            let _ = counter.compare_exchange(old, 0, SeqCst, SeqCst).await;
            counter.fetch_add(1, SeqCst).await;
        }
    };
    let (one, two) = (sim::spawn(task(counter.clone())), sim::spawn(task(counter)));
    one.await.unwrap();
    two.await.unwrap();
}

async fn locks(rounds: u32) {
    let total = Arc::new(sim::Mutex::new(0));
    let task = |total: Arc<sim::Mutex<u32>>| async move {
        for _ in 0..rounds {
            *total.lock().await += 1;
            let held = total.lock().await;
            yield_now().await;
            drop(held);
        }
    };
    let (one, two) = (sim::spawn(task(total.clone())), sim::spawn(task(total)));
    one.await.unwrap();
    two.await.unwrap();
}

async fn locks_of_tokio(rounds: u32) {
    let total = Arc::new(sim::tokio::sync::Mutex::new(0));
    let task = |total: Arc<sim::tokio::sync::Mutex<u32>>| async move {
        for _ in 0..rounds {
            *total.lock().await += 1;
            let held = total.lock().await;
            yield_now().await;
            drop(held);
        }
    };
    let (one, two) = (sim::spawn(task(total.clone())), sim::spawn(task(total)));
    one.await.unwrap();
    two.await.unwrap();
}

async fn sleeps(rounds: u32) {
    for _ in 0..rounds {
        sim::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn draws(rounds: u32) {
    let mut sum = 0;
    for _ in 0..rounds {
        sum += sim::rand::below(6);
        yield_now().await;
    }
    assert!(sum <= 5 * u64::from(rounds));
}

async fn cells(rounds: u32) {
    let cell = sim::Cell::new(0);
    for _ in 0..rounds {
        cell.set(cell.get().await + 1).await;
    }
    assert_eq!(cell.into_inner(), rounds);
}

/// Spawned and joined by turns, so that the body keeps no table of handles.
async fn spawns(tasks: u32) {
    for n in 0..tasks {
        assert_eq!(sim::spawn(async move { n }).await.unwrap(), n);
    }
}

/// Spawns tasks that are all alive at the same time.
async fn crowd(tasks: usize) {
    let mut handles = Vec::with_capacity(tasks);
    handles.extend((0..tasks).map(|n| sim::spawn(async move { n })));
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.await.unwrap(), n);
    }
}

/// Calls of one client, recorded.
async fn calls(count: u32) {
    let history = sim::History::new(Counter::default());
    let counter = sim::Atomic::new(0);
    for _ in 0..count {
        let add = async { CounterRet::Value(counter.fetch_add(1, SeqCst).await) };
        history.call(CounterOp::FetchAdd(1), add).await;
    }
}

/// A body that allocates `count` boxes.
async fn boxes(count: u32) {
    for n in 0..count {
        std::hint::black_box(Box::new(n));
        yield_now().await;
    }
}

#[test]
fn a_run_allocates_a_box_for_each_task_and_what_its_body_does() {
    if !sim::SIMULATED {
        println!("SKIPPED: tasks are threads in this build, and threads allocate");
        return;
    }

    // After it has started this thread, the thread of the harness allocates, and then waits for this thread.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(calls_of_a_run("nothing", async || {}), 0);
    // There are two boxes: one for each of two tasks.
    assert_eq!(calls_of_a_run("20 yields", async || yields(10).await), 2);
    assert_eq!(calls_of_a_run("200 yields", async || yields(100).await), 2);
    // A further box for their shared state.
    assert_eq!(calls_of_a_run("80 on an atomic", async || atomics(10).await), 3);
    assert_eq!(calls_of_a_run("800 on an atomic", async || atomics(100).await), 3);
    // A further box for the lock below, when it is first released.
    assert_eq!(calls_of_a_run("40 locks", async || locks(10).await), 4);
    assert_eq!(calls_of_a_run("400 locks", async || locks(100).await), 4);
    // tokio's lock itself is shared with owned guards.
    assert_eq!(calls_of_a_run("40 locks of tokio", async || locks_of_tokio(10).await), 4);
    assert_eq!(calls_of_a_run("400 locks of tokio", async || locks_of_tokio(100).await), 4);
    assert_eq!(calls_of_a_run("10 sleeps", async || sleeps(10).await), 0);
    assert_eq!(calls_of_a_run("100 sleeps", async || sleeps(100).await), 0);
    assert_eq!(calls_of_a_run("10 draws", async || draws(10).await), 0);
    assert_eq!(calls_of_a_run("100 draws", async || draws(100).await), 0);
    assert_eq!(calls_of_a_run("20 on a cell", async || cells(10).await), 0);
    assert_eq!(calls_of_a_run("200 on a cell", async || cells(100).await), 0);
    assert_eq!(calls_of_a_run("10 tasks", async || spawns(10).await), 10);
    assert_eq!(calls_of_a_run("100 tasks", async || spawns(100).await), 100);
    // A further box for the handles.
    assert_eq!(calls_of_a_run("10 tasks at once", async || crowd(10).await), 11);
    assert_eq!(calls_of_a_run("300 tasks at once", async || crowd(300).await), 301);
    // The caller owns a history and may keep it. The table of the history grows 3 times from 10 calls to 100.
    let few = calls_of_a_run("10 recorded calls", async || calls(10).await);
    assert_eq!(calls_of_a_run("100 recorded calls", async || calls(100).await), few + 3);
    // These numbers hold under every strategy. A strategy that fails here must keep its tables between runs, and clear
    // them for each run.
    for row in sim::strategy::STRATEGIES {
        let name = |what: &str| format!("{}: {what}", row.name);
        let calls = calls_under(row.name, &name("200 yields"), async || yields(100).await);
        assert_eq!(calls, 2);
        let calls = calls_under(row.name, &name("800 on an atomic"), async || atomics(100).await);
        assert_eq!(calls, 3);
        assert_eq!(calls_under(row.name, &name("400 locks"), async || locks(100).await), 4);
        assert_eq!(calls_under(row.name, &name("100 tasks"), async || spawns(100).await), 100);
        assert_eq!(calls_under(row.name, &name("tasks at once"), async || crowd(100).await), 101);
    }
    // The counter does count.
    assert_eq!(calls_of_a_run("10 boxes", async || boxes(10).await), 10);

    // Many more runs must not allocate more memory than these 10^4 runs.
    let name = sim::strategy::STRATEGIES[0].name;
    let runs = if sim_tests::histories::long() { 100_000 } else { 12_000 };
    let seeds = ALL_LESSONS..ALL_LESSONS + runs as u64 + 10;
    let readings = readings(name, seeds, async || atomics(1).await);
    assert_eq!(readings[runs].bytes, readings[10_000].bytes);
    let calls = readings[runs].calls - readings[10_000].calls;
    assert_eq!(calls, 3 * (runs - 10_000), "allocations of the runs after 10^4");
}
