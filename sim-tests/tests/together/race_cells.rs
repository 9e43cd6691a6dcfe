//! Data races on `sim::RaceCell`. `orders` has the programs in which something orders two tasks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sim::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use sim::report::{OrdersTaken, Report, Style, text};
use sim::run::{Failure, MemoryError, Outcome};
use sim::{Atomic, Mutex, RaceCell, Runner, fence, spawn, spin_until};

type Run = Pin<Box<dyn Future<Output = ()> + Send>>;
type Program = fn() -> Run;

fn runner(memory: &str, seeds: u64) -> Runner {
    let out = format!("{}/race_cells", env!("CARGO_TARGET_TMPDIR"));
    Runner::new().hermetic().memory(memory).seeds(0..seeds).out(out)
}

fn search() -> Runner {
    Runner::new().hermetic().shrink(false).strategy("exhaustive")
}

fn screen(report: &Report) -> String {
    let screen = text(report, &Style { width: 120, ..Style::default() });
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn race(report: &Report) -> &MemoryError {
    let finding = report.finding.as_ref().unwrap_or_else(|| panic!("{}", screen(report)));
    match &finding.run.outcome {
        Outcome::Failed(Failure::Memory(error)) => error,
        other => panic!("{other:?}"),
    }
}

type Flagged = Arc<(RaceCell<u32>, Atomic<u32>)>;

fn flagged() -> Flagged {
    Arc::new((RaceCell::new(0), Atomic::new(0)))
}

/// Two tasks: the first does `first`, the body does `then`.
async fn two<A, B>(
    shared: Flagged,
    first: impl FnOnce(Flagged) -> A,
    then: impl FnOnce(Flagged) -> B,
) where
    A: Future<Output = ()> + Send + 'static,
    B: Future<Output = ()>,
{
    let first = spawn(first(shared.clone()));
    then(shared).await;
    first.await.unwrap();
}

/// Data behind a flag, with these orders and fences.
async fn behind_a_flag([store, load]: [Ordering; 2], fences: [Option<Ordering>; 2]) {
    two(
        flagged(),
        |shared| async move {
            shared.0.set(1);
            if let Some(order) = fences[0] {
                fence(order).await;
            }
            shared.1.store(1, store).await;
        },
        |shared| async move {
            if shared.1.load(load).await == 1 {
                if let Some(order) = fences[1] {
                    fence(order).await;
                }
                assert_eq!(shared.0.get(), 1);
            }
        },
    )
    .await;
}

/// A third task or the writer stores again between the release and the load. The load sees the last value.
async fn release_sequence(again: fn(Flagged) -> Run, by_writer: bool) {
    let shared = flagged();
    let other = (!by_writer).then(|| {
        let shared = shared.clone();
        spawn(async move {
            spin_until(async || shared.1.load(Relaxed).await == 1).await;
            again(shared).await;
        })
    });
    two(
        shared,
        move |shared| async move {
            shared.0.set(1);
            shared.1.store(1, Release).await;
            if by_writer {
                again(shared).await;
            }
        },
        |shared| async move {
            if shared.1.load(Acquire).await == 2 {
                assert_eq!(shared.0.get(), 1);
            }
        },
    )
    .await;
    if let Some(other) = other {
        other.await.unwrap();
    }
}

/// Two tasks increment data under a lock that they implement themselves.
async fn own_lock([acquire, release]: [Ordering; 2]) {
    let shared = flagged();
    sim::map_concurrently([shared.clone(), shared.clone()], move |shared| async move {
        spin_until(async || shared.1.compare_exchange(0, 1, acquire, Relaxed).await.is_ok()).await;
        shared.0.with_mut(|count| *count += 1);
        shared.1.store(0, release).await;
    })
    .await;
    assert_eq!(shared.0.get(), 2);
}

/// The last of two owners drops the data.
async fn owners([release, acquire]: [Ordering; 2]) {
    let shared = flagged();
    shared.1.store(2, Relaxed).await;
    sim::map_concurrently([shared.clone(), shared], move |shared| async move {
        assert_eq!(shared.0.get(), 0);
        if shared.1.fetch_sub(1, release).await == 1 {
            if acquire != Relaxed {
                fence(acquire).await;
            }
            shared.0.set(7);
        }
    })
    .await;
}

async fn under_a_lock(is_held: bool) {
    let shared = Arc::new((Mutex::new(()), RaceCell::new(0)));
    sim::map_concurrently([shared.clone(), shared], move |shared| async move {
        let guard = shared.0.lock().await;
        if is_held {
            shared.1.with_mut(|count| *count += 1);
        }
        drop(guard);
        if !is_held {
            shared.1.with_mut(|count| *count += 1);
        }
    })
    .await;
}

/// Programs with a race, which runs with both memories find, and their fixed twins.
const PROGRAMS: &[(&str, Program, Program)] = &[
    (
        "store relaxed",
        || Box::pin(behind_a_flag([Relaxed, Acquire], [None; 2])),
        || Box::pin(behind_a_flag([Release, Acquire], [None; 2])),
    ),
    (
        "load relaxed",
        || Box::pin(behind_a_flag([Release, Relaxed], [None; 2])),
        || Box::pin(behind_a_flag([SeqCst, SeqCst], [None; 2])),
    ),
    (
        "one fence",
        || Box::pin(behind_a_flag([Relaxed, Relaxed], [Some(Release), None])),
        || Box::pin(behind_a_flag([Relaxed, Relaxed], [Some(Release), Some(Acquire)])),
    ),
    (
        "release sequence",
        || {
            Box::pin(release_sequence(
                |shared| Box::pin(async move { shared.1.store(2, Relaxed).await }),
                true,
            ))
        },
        || {
            Box::pin(release_sequence(
                |shared| Box::pin(async move { _ = shared.1.fetch_add(1, Relaxed).await }),
                false,
            ))
        },
    ),
    (
        "unlock relaxed",
        || Box::pin(own_lock([Acquire, Relaxed])),
        || Box::pin(own_lock([Acquire, Release])),
    ),
    (
        "lock relaxed",
        || Box::pin(own_lock([Relaxed, Release])),
        || Box::pin(own_lock([AcqRel, Release])),
    ),
    (
        "owners relaxed",
        || Box::pin(owners([Relaxed, Acquire])),
        || Box::pin(owners([Release, Acquire])),
    ),
    (
        "owners without a fence",
        || Box::pin(owners([Release, Relaxed])),
        || Box::pin(owners([AcqRel, Relaxed])),
    ),
    ("beside a lock", || Box::pin(under_a_lock(false)), || Box::pin(under_a_lock(true))),
];

#[cfg_attr(feature = "sim", test)]
fn races_are_found_with_both_memories_and_fixed_programs_are_silent() {
    for (name, wrong, right) in PROGRAMS {
        for memory in ["sc", "c11"] {
            let report = runner(memory, 200).run(*wrong);
            assert_eq!(race(&report).problem, "data race", "{name}");
            let report = runner(memory, 200).run(*right);
            assert!(report.passed(), "{name}: {}", screen(&report));
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_each_race_and_proves_that_fixed_programs_have_none() {
    for (name, wrong, right) in PROGRAMS {
        let report = search().run(*wrong);
        assert_eq!(race(&report).problem, "data race", "{name}");
        let report = search().run(*right);
        let searched = report.searched.as_ref().expect("it is a search");
        // The tasks that wait for a lock are woken, and a wake can hide races.
        let may_hide = *name == "beside a lock";
        let is_proof = searched.is_proof() || searched.orders == OrdersTaken::AsSeqCst || may_hide;
        assert!(report.passed() && searched.complete && is_proof, "{name}: {}", screen(&report));
    }
}

/// A search tries one order of two reads of a cell. Only the other order has a race.
#[cfg_attr(feature = "sim", test)]
fn a_search_is_no_proof_if_equivalent_orders_may_have_a_race() {
    let report = search().run(async || {
        let shared = Arc::new((RaceCell::new(0), sim::Cell::new(0)));
        let other = shared.clone();
        let writer = spawn(async move {
            other.0.set(1);
            other.1.get().await;
        });
        shared.1.get().await;
        _ = shared.0.get();
        writer.await.unwrap();
    });
    assert!(!report.passed() || !report.searched.unwrap().is_proof());
}

/// An operation that leaves the value unchanged orders tasks, too. Only a few orders have the race, so no sampled run
/// finds it.
#[cfg_attr(feature = "sim", test)]
fn a_search_finds_races_that_stores_of_the_same_value_hide() {
    type Shared = Arc<(RaceCell<u32>, Atomic<u32>, sim::Cell<u32>, [Atomic<usize>; 12])>;
    async fn touch(shared: &Shared, is_cell: bool) {
        match is_cell {
            true => _ = shared.2.replace(0).await,
            false => _ = shared.1.swap(0, SeqCst).await,
        }
    }
    for (memory, is_cell) in [("sc", false), ("sc", true), ("c11", false), ("c11", true)] {
        let report = search().memory(memory).run(move || async move {
            let words = [0; 12].map(Atomic::new);
            let shared: Shared =
                Arc::new((RaceCell::new(0), Atomic::new(0), sim::Cell::new(0), words));
            let mut tasks = vec![spawn({
                let shared = shared.clone();
                async move {
                    shared.0.set(1);
                    touch(&shared, is_cell).await;
                }
            })];
            for nth in 0..12 {
                let shared = shared.clone();
                tasks.push(spawn(async move { shared.3[nth].store(1, SeqCst).await }));
            }
            tasks.push(spawn(async move {
                for nth in 0..12 {
                    if shared.3[nth].load(SeqCst).await != nth % 2 {
                        return;
                    }
                }
                touch(&shared, is_cell).await;
                _ = shared.0.get();
            }));
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(race(&report).problem, "data race", "{memory} {is_cell}");
    }
}

/// The load acquires from the store that it has seen. With `sc`, a load always sees the newest store.
async fn behind_an_old_store() {
    let done = Arc::new(Atomic::new(false));
    two(
        flagged(),
        |shared| {
            let done = done.clone();
            async move {
                shared.1.store(1, Release).await;
                shared.0.set(1);
                shared.1.store(2, Release).await;
                done.store(true, Relaxed).await;
            }
        },
        |shared| {
            let done = done.clone();
            async move {
                spin_until(|| done.load(Relaxed)).await;
                _ = shared.1.load(Acquire).await;
                _ = shared.0.get();
            }
        },
    )
    .await;
}

#[cfg_attr(feature = "sim", test)]
fn a_load_acquires_from_the_store_that_it_has_seen() {
    assert!(runner("sc", 200).run(behind_an_old_store).passed());
    let report = runner("c11", 200).run(behind_an_old_store);
    assert_eq!(race(&report).problem, "data race");
    let shown = screen(&report);
    assert!(shown.contains("misses the newest value of"), "{shown}");
    assert!(shown.contains("needs 1 stale read"), "{shown}");
}

#[cfg_attr(feature = "sim", test)]
fn the_screen_names_both_places_and_the_weak_link() {
    let report = runner("sc", 100).run(|| behind_a_flag([Relaxed, Acquire], [None; 2]));
    let error = race(&report);
    let labels: Vec<&str> = error.steps.iter().map(|step| &*step.label).collect();
    assert_eq!(labels, ["read", "write", "created"]);
    assert!(error.steps.iter().all(|step| step.place.contains("race_cells.rs:")), "{error:?}");
    let shown = screen(&report);
    assert!(shown.contains("nothing orders the two accesses"), "{shown}");
    assert!(shown.contains("is Relaxed and does not release it"), "{shown}");
    let hint = report.finding.unwrap().strengthening.expect("a release mends it");
    let [operation] = &hint.operations[..] else { panic!("{hint:?}") };
    assert_eq!((operation.op, operation.order), ("store", Release));
}

#[cfg_attr(feature = "sim", test)]
fn a_race_replays_from_its_trace() {
    let name = "a_race_replays_from_its_trace";
    let program = || behind_a_flag([Relaxed, Acquire], [None; 2]);
    let report = runner("c11", 100).name(name).run(program);
    let file = report.finding.as_ref().unwrap().trace_file.clone().expect("a trace is written");
    let again = runner("c11", 100).name(name).replay(file).run(program);
    assert_eq!(race(&again), race(&report));
}

/// A cell in a static starts each run with its initial value, and its first accesses are no race.
async fn uses_a_static() {
    static COUNT: RaceCell<u32> = RaceCell::const_new(3).named("count");
    assert_eq!(COUNT.get(), 3);
    COUNT.with_mut(|count| *count += 1);
    spawn(async { assert_eq!(COUNT.replace(5), 4) }).await.unwrap();
    assert_eq!(COUNT.with(|count| *count), 5);
}

#[test]
fn a_static_starts_each_run_with_its_value() {
    let report = Runner::new().hermetic().seeds(0..20).jobs(2).run(uses_a_static);
    assert!(report.passed() || !cfg!(debug_assertions), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn the_report_names_the_cell() {
    let report = runner("sc", 20).run(async || {
        let cell = Arc::new(RaceCell::new(0).named("data"));
        let other = cell.clone();
        let writer = spawn(async move { other.set(1) });
        sim::task::yield_now().await;
        cell.set(2);
        writer.await.unwrap();
    });
    assert_eq!(race(&report).message, "nothing orders the two accesses to data");
    assert!(screen(&report).contains("no operation orders the two"), "{}", screen(&report));
}

#[test]
fn an_access_within_a_write_panics() {
    let cell = RaceCell::new(1);
    assert_eq!(cell.with(|one| cell.with(|other| one + other)), 2);
    let nested = std::panic::AssertUnwindSafe(|| cell.with_mut(|_| cell.get()));
    let message = std::panic::catch_unwind(nested).unwrap_err();
    let message = message.downcast_ref::<&str>().unwrap();
    assert!(message.contains("overlap"), "{message}");
    assert_eq!(cell.into_inner(), 1);
}
