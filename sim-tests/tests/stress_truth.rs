//! The verdicts of stress tests are right: correct objects raise no alarm, failures are not lost, races are found.
//!
//! Most bodies run in both builds. The numbers of runs are chosen for real threads, but a false alarm would fail in
//! either build.

use std::sync::Arc;

use futures::FutureExt;
use sim::Ordering::SeqCst;
use sim::check::models::{Counter, CounterOp, CounterRet, Register, RegisterOp, RegisterRet};
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Atomic, Cell, History, Mutex, Runner};

#[path = "stress_truth/correct.rs"]
mod correct;

fn runner(seeds: u64) -> Runner {
    Runner::new().hermetic().seeds(0..seeds)
}

fn failure(report: &Report) -> &Failure {
    match report.finding.as_ref().map(|finding| &finding.run.outcome) {
        Some(Outcome::Failed(failure)) => failure,
        _ => panic!("the test should have failed: {report:?}"),
    }
}

fn passes(report: &Report) {
    assert!(report.passed(), "{}", text(report, &Style::default()));
}

// ---- races

/// Returns the number of runs, out of 400, in which the body fails.
fn found(body: impl AsyncFn() + Sync) -> usize {
    let fails = |seed: &u64| runner(1).run_seed(*seed, &body).outcome != Outcome::Passed;
    (0..400).filter(fails).count()
}

/// True if points are disturbed. If they are not, only chance finds a race.
const SHAKES: bool = sim::SIMULATED || cfg!(debug_assertions);

async fn add(counter: &Atomic<u64>) {
    let value = counter.load(SeqCst).await;
    counter.store(value + 1, SeqCst).await;
}

#[test]
fn a_body_races_with_the_task_that_it_spawned() {
    let races = found(async || {
        let counter = Arc::new(Atomic::new(0u64));
        let other = counter.clone();
        let task = sim::spawn(async move { add(&other).await });
        add(&counter).await;
        task.await.unwrap();
        assert_eq!(counter.load(SeqCst).await, 2);
    });
    println!("a body and its task: {races} of 400");
    assert!(races >= 8 || !SHAKES, "{races} of 400: less than one in 50 runs");
}

#[test]
fn a_task_races_with_the_task_that_it_spawned() {
    let races = found(async || {
        let counter = Arc::new(Atomic::new(0u64));
        let other = counter.clone();
        let parent = sim::spawn(async move {
            let counter = other.clone();
            let child = sim::spawn(async move { add(&counter).await });
            add(&other).await;
            child.await.unwrap();
        });
        parent.await.unwrap();
        assert_eq!(counter.load(SeqCst).await, 2);
    });
    println!("a task and its child: {races} of 400");
    assert!(races >= 8 || !SHAKES, "{races} of 400: less than one in 50 runs");
}

#[test]
fn tasks_race_with_each_other() {
    let races = found(async || {
        let counter = Arc::new(Atomic::new(0u64));
        sim::map_concurrently(0..2, |_| {
            let counter = counter.clone();
            async move { add(&counter).await }
        })
        .await;
        assert_eq!(counter.load(SeqCst).await, 2);
    });
    println!("two tasks: {races} of 400");
    assert!(races >= 8 || !SHAKES, "{races} of 400: less than one in 50 runs");
}

#[test]
fn the_first_use_of_a_static_is_raced_in_each_run() {
    static READY: Atomic<bool> = Atomic::<bool>::const_new(false);
    static MADE: Atomic<u64> = Atomic::<u64>::const_new(0);
    async fn init() {
        if !READY.load(SeqCst).await {
            MADE.fetch_add(1, SeqCst).await;
            READY.store(true, SeqCst).await;
        }
    }
    let races = found(async || {
        sim::map_concurrently(0..2, |_| init()).await;
        assert_eq!(MADE.load(SeqCst).await, 1, "initialised twice");
    });
    println!("a static initialised by two tasks: {races} of 400");
    assert!(races >= 8 || !SHAKES, "{races} of 400: less than one in 50 runs");
}

// ---- statics

#[test]
fn a_static_starts_each_run_with_the_value_it_was_made_with() {
    static WORD: Atomic<u64> = Atomic::<u64>::const_new(7);
    static LIST: Cell<Vec<u8>> = Cell::const_new(Vec::new());
    if !SHAKES {
        return;
    }
    // Operations outside of runs do not change their values, and the other way round.
    sim::block_on(async {
        WORD.fetch_add(100, SeqCst).await;
        LIST.set(vec![9]).await;
    });
    let body = async || {
        assert_eq!(WORD.fetch_add(1, SeqCst).await, 7);
        assert_eq!(LIST.replace(vec![1]).await, []);
        let task = sim::spawn(async {
            assert_eq!(WORD.compare_exchange(8, 9, SeqCst, SeqCst).await, Ok(8));
            assert_eq!(LIST.get().await, [1]);
        });
        task.await.unwrap();
        assert_eq!(WORD.load(SeqCst).await, 9);
    };
    // The same holds if two tests run at the same time.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| passes(&runner(100).run(body)));
        }
    });
    sim::block_on(async {
        assert_eq!(WORD.load(SeqCst).await, 107);
        assert_eq!(LIST.take().await, [9]);
        assert_eq!(LIST.get().await, []);
    });
}

#[test]
fn what_was_made_as_a_static_and_is_none_keeps_its_value() {
    if !SHAKES {
        return;
    }
    passes(&runner(20).run(async || {
        let mut word = Atomic::<u64>::const_new(1);
        word.store(2, SeqCst).await;
        assert_eq!(*word.get_mut(), 2);
        *word.get_mut() = 3;
        assert_eq!(word.fetch_add(1, SeqCst).await, 3);
        assert_eq!(word.into_inner(), 4);
        let mut cell = Cell::const_new(vec![1]);
        cell.set(vec![2]).await;
        cell.get_mut().push(3);
        assert_eq!(cell.get().await, [2, 3]);
        assert_eq!(cell.into_inner(), [2, 3]);
    }));
    sim::block_on(async {
        let mut word = Atomic::<u64>::const_new(1);
        word.store(2, SeqCst).await;
        *word.get_mut() += 1;
        assert_eq!(word.into_inner(), 3);
        let mut cell = Cell::const_new(vec![1]);
        cell.get_mut().push(2);
        cell.set(cell.get().await).await;
        assert_eq!(cell.into_inner(), [1, 2]);
    });
}

// ---- cells

#[test]
fn what_was_taken_out_of_a_cell_is_gone() {
    use futures::StreamExt;
    passes(&runner(20).run(async || {
        let (sender, mut receiver) = futures::channel::mpsc::unbounded::<u8>();
        let cell = Cell::new(Some(sender));
        drop(cell.take().await);
        assert_eq!(receiver.next().await, None);

        let value = Arc::new(1);
        let left = Arc::downgrade(&value);
        let cell = Cell::new(Some(value));
        cell.set(None).await;
        assert!(left.upgrade().is_none());

        let cell = Cell::new(Arc::new(1));
        assert_eq!(Arc::strong_count(&cell.into_inner()), 1);
    }));
}

#[test]
fn a_cell_made_in_a_run_is_of_no_use_to_another() {
    static LEFT: std::sync::OnceLock<Cell<u64>> = std::sync::OnceLock::new();
    let report = runner(2).run(async || {
        LEFT.get_or_init(|| Cell::new(1)).set(2).await;
    });
    if !sim::SIMULATED {
        return passes(&report);
    }
    let Failure::Misuse { message, .. } = failure(&report) else { panic!("{report:?}") };
    assert!(message.contains("used by an earlier run"), "{message}");
    assert_eq!(sim::block_on(LEFT.get().unwrap().get()), 2);
}

// ---- failures

/// Panics when dropped.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

#[test]
fn a_panic_in_the_destructor_of_a_result_that_nobody_takes_fails_the_run() {
    for joined in [false, true] {
        let report = runner(5).run(async || {
            let ran = Arc::new(Atomic::new(false));
            let runs = ran.clone();
            let task = sim::spawn(async move {
                runs.store(true, SeqCst).await;
                Bomb
            });
            if joined {
                let other = sim::spawn(async { drop(task.await) });
                let _ = other.await;
            } else {
                drop(task);
                sim::spin_until(|| ran.load(SeqCst)).await;
            }
        });
        let Failure::Panic { message, .. } = failure(&report) else { panic!("{report:?}") };
        assert_eq!((message.as_str(), report.runs), ("dropped", 1));
    }
}

#[test]
fn a_destructor_of_a_result_that_nobody_takes_is_a_part_of_the_run() {
    struct Spawns(Arc<Atomic<u64>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let word = self.0.clone();
            sim::spawn(async move { word.store(1 + sim::rand::below(1), SeqCst).await }).detach();
        }
    }
    passes(&runner(20).run(async || {
        let word = Arc::new(Atomic::new(0u64));
        let result = Spawns(word.clone());
        drop(sim::spawn(async { result }));
        sim::spin_until(|| async { word.load(SeqCst).await == 1 }).await;
    }));
}

// ---- commands that are dropped

mod dropped {
    use sim::check::Model;
    use sim::{Gen, Program, Script, Shape};

    use super::*;

    /// An object with two numbers that are always equal.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    struct Twins(u32);

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    enum Op {
        Add,
        Look,
    }

    impl Model for Twins {
        type Op = Op;
        type Ret = (u32, u32);

        fn step(&mut self, op: &Op) -> (u32, u32) {
            self.0 += u32::from(*op == Op::Add);
            (self.0, self.0)
        }
    }

    impl Program for Twins {
        fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
            if g.bool() { Op::Add } else { Op::Look }
        }
    }

    /// Has a point that never waits while the numbers differ, or before they do.
    async fn step(
        twins: &Mutex<(u32, u32)>,
        point: &Atomic<u32>,
        op: Op,
        torn: bool,
    ) -> (u32, u32) {
        let mut twins = twins.lock().await;
        if op == Op::Add && torn {
            twins.0 += 1;
            point.load(SeqCst).await;
            twins.1 += 1;
        } else if op == Op::Add {
            point.load(SeqCst).await;
            *twins = (twins.0 + 1, twins.1 + 1);
        }
        *twins
    }

    async fn generated(torn: bool) {
        let (twins, point) = (Mutex::new((0, 0)), Atomic::new(0));
        let run = async |op| step(&twins, &point, op, torn).await;
        sim::parallel(Shape::chunks().crash(0.3), Twins::default(), run).await;
    }

    #[test]
    fn a_command_that_never_waits_is_dropped_at_a_point() {
        passes(&runner(50).run(async || generated(false).await));
        if SHAKES {
            let report = runner(50).run(async || generated(true).await);
            assert!(!report.passed(), "no command was dropped between the two numbers");
        }
    }

    #[test]
    fn the_point_at_which_a_command_is_dropped_is_the_same_in_both_builds() {
        if !SHAKES {
            return;
        }
        // The first point is the lock and the second is the load: nothing is done before the third point.
        for (point, expected) in [(1, (0, 0)), (2, (1, 0)), (3, (1, 1))] {
            let (seen, run) = (std::sync::Mutex::new((9, 9)), runner(1));
            let outcome = run.run_seed(0, async || {
                let (twins, word) = (Mutex::new((0, 0)), Atomic::new(0));
                let script = Script::new().prefix(Op::Add).crash(point);
                sim::parallel::scripted(script, Twins::default(), async |op| {
                    step(&twins, &word, op, true).await
                })
                .await;
                *seen.lock().unwrap() = twins.into_inner();
            });
            assert_eq!(*seen.lock().unwrap(), expected, "point {point}: {:?}", outcome.outcome);
        }
    }
}

// ---- long histories

#[test]
fn calls_of_unknown_outcome_cost_the_same_however_many_there_are() {
    let began = std::time::Instant::now();
    let history = History::new(Counter::default());
    for _ in 0..100_000 {
        history.invoke(CounterOp::Increment).info();
    }
    history.invoke(CounterOp::Increment).fail();
    history.invoke(CounterOp::Increment).ok(CounterRet::Done);
    let operations = history.operations();
    assert_eq!((operations.len(), operations[100_000].client), (100_001, 100_000));
    // Two seconds in a debug build; minutes if each operation were compared with all others.
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
}

// ---- random values

#[test]
fn random_values_do_not_depend_on_which_of_two_spawners_is_first() {
    let draw = || {
        let drawn = std::sync::Mutex::new(Vec::new());
        runner(1).run_seed(3, async || {
            let parent = |n: u64| async move {
                for _ in 0..n * 7 {
                    sim::task::yield_now().await;
                }
                sim::spawn(async { sim::rand::below(1 << 40) }).await.unwrap()
            };
            let values = sim::map_concurrently(1..4, parent).await;
            *drawn.lock().unwrap() = values;
        });
        drawn.into_inner().unwrap()
    };
    let first = draw();
    assert_eq!(first.len(), 3);
    for _ in 0..30 {
        assert_eq!(draw(), first);
    }
}
