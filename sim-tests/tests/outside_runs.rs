//! Outside of runs, every primitive is real in both builds. Even if the dependency graph enables `sim`, a program works
//! on its threads.

use std::sync::Arc;
use std::thread;

use sim::Ordering::{Relaxed, SeqCst};
use sim::{Atomic, Cell, Mutex};

const THREADS: u64 = 8;
const ROUNDS: u64 = 2000;

/// Executes `work` on several threads at once.
fn hammer<F: Future<Output = ()>>(work: impl Fn(u64) -> F + Sync) {
    let start = std::sync::Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (work, start) = (&work, &start);
            scope.spawn(move || {
                start.wait();
                sim::block_on(work(number));
            });
        }
    });
}

static HITS: Atomic<u64> = Atomic::<u64>::const_new(0);

#[test]
fn increments_of_atomics_are_not_lost_on_threads() {
    let (added, updated, exchanged) = (Atomic::new(0u64), Atomic::new(0u64), Atomic::new(0u64));
    hammer(async |_| {
        for _ in 0..ROUNDS {
            HITS.fetch_add(1, Relaxed).await;
            added.fetch_add(1, Relaxed).await;
            updated.fetch_update(SeqCst, SeqCst, |old| Some(old + 1)).await.unwrap();
            let mut old = exchanged.load(SeqCst).await;
            while let Err(other) =
                exchanged.compare_exchange_weak(old, old + 1, SeqCst, SeqCst).await
            {
                old = other;
            }
        }
    });
    let sum = THREADS * ROUNDS;
    assert_eq!(sim::block_on(HITS.load(SeqCst)), sum);
    assert_eq!([added.into_inner(), updated.into_inner(), exchanged.into_inner()], [sum; 3]);
}

#[test]
fn load_then_store_on_threads_is_as_racy_as_std() {
    // This is only a necessary condition: some task must have stored the value.
    let racy = Atomic::new(0u64);
    hammer(async |_| {
        for _ in 0..ROUNDS {
            let value = racy.load(SeqCst).await;
            racy.store(value + 1, SeqCst).await;
        }
    });
    let value = racy.into_inner();
    assert!((1..=THREADS * ROUNDS).contains(&value), "{value}");
}

#[test]
fn a_mutex_lets_one_thread_in_at_a_time() {
    let (mutex, inside) = (Mutex::new(0u64), Atomic::new(0u64));
    hammer(async |_| {
        for round in 0..ROUNDS {
            let mut guard = match mutex.try_lock().await {
                Some(guard) => guard,
                None => mutex.lock().await,
            };
            assert_eq!(inside.fetch_add(1, SeqCst).await, 0);
            *guard += 1;
            if round % 64 == 0 {
                thread::yield_now();
            }
            inside.fetch_sub(1, SeqCst).await;
        }
    });
    assert_eq!(mutex.into_inner(), THREADS * ROUNDS);
}

#[test]
fn what_a_cell_replaces_is_never_torn_nor_doubled() {
    let cell = Cell::new(vec![u64::MAX; 4]);
    let taken = std::sync::Mutex::new(Vec::new());
    hammer(async |number| {
        let mut mine = Vec::new();
        for round in 0..ROUNDS {
            let old = cell.replace(vec![number * ROUNDS + round; 4]).await;
            assert!(old.iter().all(|part| *part == old[0]), "{old:?}");
            mine.push(old[0]);
        }
        taken.lock().unwrap().extend(mine);
    });
    let mut all = taken.into_inner().unwrap();
    all.push(cell.into_inner()[0]);
    all.sort_unstable();
    let expected: Vec<u64> = (0..THREADS * ROUNDS).chain([u64::MAX]).collect();
    assert_eq!(all, expected);
}

#[test]
fn tasks_are_threads_and_their_panics_join_errors() {
    let here = thread::current().id();
    sim::block_on(async {
        let tasks: Vec<_> =
            (0..20u64).map(|n| sim::spawn(async move { (n, thread::current().id()) })).collect();
        for (n, task) in (0..).zip(tasks) {
            let (result, thread) = task.await.unwrap();
            assert_eq!(result, n);
            assert_ne!(thread, here);
        }
        let named = sim::task::Builder::new()
            .name("writer")
            .spawn(async { thread::current().name().map(str::to_owned) });
        assert_eq!(named.await.unwrap().as_deref(), Some("writer"));
        let panics: Result<(), _> = sim::spawn(async { panic!("for the joiner") }).await;
        assert_eq!(panics.unwrap_err().to_string(), "task panicked: for the joiner");
        let endless = sim::spawn(async {
            loop {
                sim::task::yield_now().await;
            }
        });
        endless.abort();
        let result: Result<(), _> = endless.await;
        assert!(result.unwrap_err().is_cancelled());
    });
}

#[test]
fn threads_and_runs_use_one_atomic_without_seeing_each_other() {
    static SHARED: Atomic<u64> = Atomic::<u64>::const_new(0);
    let in_run = async || {
        let before = SHARED.load(SeqCst).await;
        SHARED.fetch_add(1, SeqCst).await;
        if sim::SIMULATED {
            assert_eq!((before, SHARED.load(SeqCst).await), (0, 1));
        }
    };
    let report = thread::scope(|scope| {
        let runs = scope.spawn(|| sim::Runner::new().hermetic().seeds(0..50).run(in_run));
        runs.join().unwrap()
    });
    assert!(report.passed());
    let after = sim::block_on(SHARED.load(SeqCst));
    // On real threads a static is created again for each run in builds that shake.
    assert_eq!(after, if sim::SIMULATED || cfg!(debug_assertions) { 0 } else { 50 });
    let other = Arc::new(Atomic::new(0u64));
    hammer(async |_| {
        other.fetch_add(1, SeqCst).await;
    });
    assert_eq!(sim::block_on(other.load(SeqCst)), THREADS);
}

/// Tokio's `join!` also polls first in source order; only later polls may begin with another branch.
#[test]
fn the_first_poll_of_a_join_is_in_source_order() {
    for _ in 0..64 {
        let order = std::cell::RefCell::new(Vec::new());
        let note = async |number| order.borrow_mut().push(number);
        sim::block_on(async { sim::join!(note(0), note(1), note(2)) });
        assert_eq!(order.into_inner(), [0, 1, 2]);
        let order = std::cell::RefCell::new(Vec::new());
        let note = async |number| {
            order.borrow_mut().push(number);
            Ok::<(), ()>(())
        };
        sim::block_on(async { sim::try_join!(note(0), note(1), note(2)) }).unwrap();
        assert_eq!(order.into_inner(), [0, 1, 2]);
    }
}
