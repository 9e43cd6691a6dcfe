//! Memory orders of `sim::Atomic`, with the memory `c11`: how to order two tasks, textbook bugs, screens.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot as of_futures;
use sim::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use sim::report::{Report, Style, text};
use sim::task::{JoinSet, park, unparker, yield_now};
use sim::tokio::sync::{self, broadcast, mpsc, oneshot, watch};
use sim::{Atomic, Cell, Condvar, Mutex, Once, OnceLock, Runner, fence, spawn, spin_until};

type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A program, by name.
type Program = (&'static str, fn() -> Run);

fn runner(memory: &str, seeds: u64) -> Runner {
    Runner::new().hermetic().memory(memory).seeds(0..seeds)
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

/// The word that one task stores and the other task loads, each by a relaxed operation.
#[derive(Clone)]
struct Data(Arc<Atomic<u32>>);

impl Data {
    fn new() -> Data {
        Data(Arc::new(Atomic::new(0)))
    }

    async fn store(&self) {
        self.0.store(1, Relaxed).await;
    }

    /// Asserts that the store is visible.
    async fn load(&self) {
        assert_eq!(self.0.load(Relaxed).await, 1);
    }
}

/// A program of two tasks with clones of `$shared`. The first task stores data and does `$first`. The other task does
/// `$then`, which waits for the first task, and loads the data.
macro_rules! hand_over {
    ($name:literal, $shared:expr, |$a:ident| $first:expr, |$b:ident| $then:expr) => {
        ($name, || {
            Box::pin(async {
                let (data, shared) = (Data::new(), Arc::new($shared));
                let first = spawn({
                    let (data, $a) = (data.clone(), shared.clone());
                    async move {
                        data.store().await;
                        $first;
                    }
                });
                let $b = shared;
                $then;
                data.load().await;
                first.await.unwrap();
            })
        })
    };
}

/// A program of two tasks with the ends of a channel. The first task stores data and uses its end. The other task uses
/// its own end and loads the data.
macro_rules! message {
    ($name:literal, $ends:expr, |$a:ident| $first:expr, |$b:ident| $then:expr) => {
        ($name, || {
            Box::pin(async {
                let data = Data::new();
                #[allow(unused_mut)]
                let (mut $a, mut $b) = $ends;
                let first = spawn({
                    let data = data.clone();
                    async move {
                        data.store().await;
                        $first;
                    }
                });
                $then;
                data.load().await;
                first.await.unwrap();
            })
        })
    };
}

/// A load after a sleep, behind a store of another task.
async fn sleeps_behind(store: Ordering) {
    let data = Data::new();
    let first = spawn({
        let data = data.clone();
        async move { data.0.store(1, store).await }
    });
    sim::time::sleep(Duration::from_secs(1)).await;
    data.load().await;
    first.await.unwrap();
}

/// A relaxed flag, which is stored after the data and after `time` has passed.
async fn flag_behind_time(time: fn() -> Run) {
    let (data, flag) = (Data::new(), Arc::new(Atomic::new(false)));
    let first = spawn({
        let (data, flag) = (data.clone(), flag.clone());
        async move {
            data.store().await;
            time().await;
            flag.store(true, Relaxed).await;
        }
    });
    spin_until(|| flag.load(Relaxed)).await;
    data.load().await;
    first.await.unwrap();
}

/// What orders two tasks.
const ORDERED: &[Program] = &[
    hand_over!("release and acquire", Atomic::new(false), |a| a.store(true, Release).await, |b| {
        spin_until(|| b.load(Acquire)).await
    }),
    hand_over!(
        "fences",
        Atomic::new(false),
        |a| {
            fence(Release).await;
            a.store(true, Relaxed).await
        },
        |b| {
            spin_until(|| b.load(Relaxed)).await;
            fence(Acquire).await;
        }
    ),
    hand_over!("a lock", Mutex::new(false), |a| *a.lock().await = true, |b| {
        while !*b.lock().await {
            yield_now().await;
        }
    }),
    hand_over!("a lock that is tried", Mutex::new(false), |a| *a.lock().await = true, |b| loop {
        if b.try_lock().await.is_some_and(|is_set| *is_set) {
            break;
        }
        yield_now().await;
    }),
    hand_over!("a cell", Cell::new(false), |a| a.set(true).await, |b| spin_until(|| b.get()).await),
    hand_over!(
        "a condition",
        (Mutex::new(false), Condvar::new()),
        |a| {
            *a.0.lock().await = true;
            a.1.notify_one();
        },
        |b| {
            let mut is_set = b.0.lock().await;
            while !*is_set {
                is_set = b.1.wait(is_set).await;
            }
        }
    ),
    hand_over!("a value set once", OnceLock::new(), |a| a.set(1).await.unwrap(), |b| while b
        .get()
        .await
        .is_none()
    {
        yield_now().await;
    }),
    hand_over!("a call made once", Once::new(), |a| a.call_once(async || {}).await, |b| while !b
        .is_completed()
        .await
    {
        yield_now().await;
    }),
    hand_over!("a semaphore", sync::Semaphore::new(0), |a| a.add_permits(1), |b| drop(
        b.acquire().await
    )),
    hand_over!("a notification", sync::Notify::new(), |a| a.notify_one(), |b| b.notified().await),
    hand_over!("a barrier", sync::Barrier::new(2), |a| a.wait().await, |b| b.wait().await),
    hand_over!("a lock of readers", sync::RwLock::new(false), |a| *a.write().await = true, |b| {
        while !*b.read().await {
            yield_now().await;
        }
    }),
    message!("a message", mpsc::channel(1), |a| a.send(1).await.unwrap(), |b| b.recv().await),
    message!(
        "a message that is taken without a wait",
        mpsc::channel(1),
        |a| a.send(1).await.unwrap(),
        |b| while b.try_recv().is_err() {
            yield_now().await;
        }
    ),
    message!("the end of a channel", mpsc::channel::<u8>(1), |a| drop(a), |b| assert!(
        b.recv().await.is_none()
    )),
    message!("an answer", oneshot::channel(), |a| a.send(1).unwrap(), |b| b.await.unwrap()),
    message!("a broadcast", broadcast::channel(1), |a| drop(a.send(1)), |b| b
        .recv()
        .await
        .unwrap()),
    message!("a watched value", watch::channel(0), |a| a.send(1).unwrap(), |b| b
        .changed()
        .await
        .unwrap()),
    message!("a wake of another library", of_futures::channel(), |a| a.send(1).unwrap(), |b| b
        .await
        .unwrap()),
    ("a spawn", || {
        Box::pin(async {
            let data = Data::new();
            data.store().await;
            spawn(async move { data.load().await }).await.unwrap();
        })
    }),
    ("a join", || {
        Box::pin(async {
            let data = Data::new();
            spawn({
                let data = data.clone();
                async move { data.store().await }
            })
            .await
            .unwrap();
            data.load().await;
        })
    }),
    ("a look at a task that has ended", || {
        Box::pin(async {
            let data = Data::new();
            let first = spawn({
                let data = data.clone();
                async move { data.store().await }
            });
            while !first.is_finished() {
                yield_now().await;
            }
            data.load().await;
        })
    }),
    ("a set of tasks", || {
        Box::pin(async {
            let (data, mut tasks) = (Data::new(), JoinSet::new());
            tasks.spawn({
                let data = data.clone();
                async move { data.store().await }
            });
            while tasks.join_next().await.is_some() {}
            data.load().await;
        })
    }),
    ("tasks of a call", || {
        Box::pin(async {
            let data = Data::new();
            let of_task = data.clone();
            let store = move |_| {
                let data = of_task.clone();
                async move { data.store().await }
            };
            sim::map_concurrently(0..2, store).await;
            data.load().await;
        })
    }),
    ("a task that is unparked", || {
        Box::pin(async {
            let data = Data::new();
            let waiter = unparker();
            let first = spawn({
                let data = data.clone();
                async move {
                    data.store().await;
                    waiter.unpark();
                }
            });
            park().await;
            data.load().await;
            first.await.unwrap();
        })
    }),
    ("time", || Box::pin(sleeps_behind(Relaxed))),
    ("time behind a store that is SeqCst", || Box::pin(sleeps_behind(SeqCst))),
    ("time that a task advances", || {
        Box::pin(flag_behind_time(|| Box::pin(sim::time::advance(Duration::from_secs(1)))))
    }),
    ("a message between nodes", || {
        Box::pin(async {
            let data = Data(Arc::new(Atomic::new(0).shared()));
            let (a, b) = (sim::node("a"), sim::node("b"));
            let (sender, mut receiver) = sim::net::link::<u8>(&a, &b);
            let first = a.spawn({
                let data = data.clone();
                async move {
                    data.store().await;
                    let _ = sender.send(1).await;
                }
            });
            let then = b.spawn(async move {
                receiver.recv().await.unwrap();
                data.load().await;
            });
            first.await.unwrap();
            then.await.unwrap();
        })
    }),
];

#[cfg_attr(feature = "sim", test)]
fn what_orders_two_tasks_is_seen() {
    for (name, program) in ORDERED {
        let report = runner("c11", 150).run(*program);
        assert!(report.passed(), "{name}: {}", screen(&report));
    }
}

#[cfg_attr(feature = "sim", test)]
fn time_that_passes_at_any_moment_orders_two_tasks() {
    let sleeps = || flag_behind_time(|| Box::pin(sim::time::sleep(Duration::from_secs(1))));
    let report = runner("c11", 150).clock("any").run(sleeps);
    assert!(report.passed(), "{}", screen(&report));
}

/// A flag that does not order two tasks.
async fn message_passing(store: Ordering, load: Ordering) {
    let (data, flag) = (Data::new(), Arc::new(Atomic::new(false)));
    let first = spawn({
        let (data, flag) = (data.clone(), flag.clone());
        async move {
            data.store().await;
            flag.store(true, store).await;
        }
    });
    spin_until(|| flag.load(load)).await;
    data.load().await;
    first.await.unwrap();
}

/// The operation of a task between the stores and the loads of Peterson's lock.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    /// It stores the turn.
    Stores,
    /// It stores the turn, and then executes a fence. The order of the fences need not be the order of the stores.
    StoresBeforeFence,
    /// It swaps the turn, so that the second task sees the first.
    Swaps,
}

/// Peterson's lock.
async fn peterson((store, load): (Ordering, Ordering), by: Turn) {
    let shared = Arc::new(([Atomic::new(false), Atomic::new(false)], Atomic::new(0), Cell::new(0)));
    let of_tasks = shared.clone();
    sim::map_concurrently(0..2, move |own| {
        let shared = of_tasks.clone();
        async move {
            let (flags, turn, count) = &*shared;
            flags[own].store(true, store).await;
            match by {
                Turn::Swaps => _ = turn.swap(1 - own, AcqRel).await,
                Turn::Stores | Turn::StoresBeforeFence => turn.store(1 - own, store).await,
            }
            if by == Turn::StoresBeforeFence {
                fence(SeqCst).await;
            }
            spin_until(async || !flags[1 - own].load(load).await || turn.load(load).await == own)
                .await;
            let before = count.get().await;
            count.set(before + 1).await;
            flags[own].store(false, store).await;
        }
    })
    .await;
    assert_eq!(shared.2.get().await, 2);
}

/// Two owners of data. The last task must see the steps of the other task.
async fn last_owner(order: Ordering) {
    let shared = Arc::new((Data::new(), Atomic::new(2)));
    sim::map_concurrently([true, false], move |stores| {
        let shared = shared.clone();
        async move {
            if stores {
                shared.0.store().await;
            }
            if shared.1.fetch_sub(1, order).await == 1 {
                shared.0.load().await;
            }
        }
    })
    .await;
}

/// A program that fails with `c11` within this number of seeds, and passes with `sc`. The screen has the reason, and
/// the orders and fences that mend it.
struct Weak(&'static str, u64, &'static str, &'static [&'static str], fn() -> Run);

const WEAK: &[Weak] = &[
    Weak(
        "flag relaxed",
        100,
        "is Relaxed and does not release it",
        &["Release for the store", "Acquire for the load"],
        || Box::pin(message_passing(Relaxed, Relaxed)),
    ),
    Weak(
        "store relaxed",
        100,
        "is Relaxed and does not release it",
        &["Release for the store"],
        || Box::pin(message_passing(Relaxed, Acquire)),
    ),
    Weak(
        "load relaxed",
        100,
        "is Relaxed and does not acquire it",
        &["Acquire for the load"],
        || Box::pin(message_passing(Release, Relaxed)),
    ),
    Weak(
        "Peterson, release and acquire",
        100,
        "no operation orders the two",
        &["SeqCst for the fence before the load", "SeqCst for the fence before the store"],
        || Box::pin(peterson((Release, Acquire), Turn::Stores)),
    ),
    Weak(
        "Peterson, with a fence",
        300,
        "no operation orders the two",
        &["SeqCst for the fence before the store"],
        || Box::pin(peterson((Release, Acquire), Turn::StoresBeforeFence)),
    ),
    Weak(
        "owners, relaxed",
        100,
        "is Relaxed and does not release it",
        &["AcqRel for the fetch_sub"],
        || Box::pin(last_owner(Relaxed)),
    ),
    Weak(
        "owners, release",
        100,
        "is Release and does not acquire it",
        &["AcqRel for the fetch_sub"],
        || Box::pin(last_owner(Release)),
    ),
];

/// The same, mended.
const MENDED: &[Program] = &[
    ("message passing", || Box::pin(message_passing(Release, Acquire))),
    ("Peterson, all SeqCst", || Box::pin(peterson((SeqCst, SeqCst), Turn::Stores))),
    ("Peterson, with a swap", || Box::pin(peterson((Release, Acquire), Turn::Swaps))),
    ("owners", || Box::pin(last_owner(AcqRel))),
];

#[cfg_attr(feature = "sim", test)]
fn weak_orders_are_found_and_the_mended_programs_are_silent() {
    for Weak(name, seeds, why, mends, program) in WEAK {
        let report = runner("sc", 100).run(*program);
        assert!(report.passed(), "{name}: {}", screen(&report));
        let report = runner("c11", *seeds).run(*program);
        assert!(!report.passed(), "{name} is not found");
        let screen = screen(&report);
        let words: Vec<&str> = screen.split_whitespace().filter(|word| *word != "│").collect();
        let words = words.join(" ");
        assert!(words.contains("stale read") && words.contains(why), "{name}: {screen}");
        let strengthening = report.finding.and_then(|finding| finding.strengthening);
        let links = strengthening.map_or_else(Vec::new, |hint| hint.operations);
        let links = links.iter().map(|link| format!("{:?} for the {}", link.order, link.op));
        let mut links: Vec<String> = links.collect();
        // The order of two changes depends on the failing run.
        links.sort_unstable_by_key(|link| mends.iter().position(|mend| mend == link));
        assert_eq!(links, *mends, "{name}: {screen}");
        assert_eq!(words.contains("not found again in"), !mends.is_empty(), "{name}: {screen}");
    }
    for (name, program) in MENDED {
        let report = runner("c11", 300).run(*program);
        assert!(report.passed(), "{name}: {}", screen(&report));
    }
}

/// A search states its assumption about orders.
#[cfg_attr(feature = "sim", test)]
fn a_proof_says_which_orders_it_has_taken_for_another() {
    let search = |memory: &str, program: fn() -> Run| {
        let search = Runner::new().hermetic().memory(memory).strategy("exhaustive");
        let screen = screen(&search.run(program));
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let assumes = "orders weaker than SeqCst act as SeqCst";
    let strong = search("sc", || Box::pin(message_passing(SeqCst, SeqCst)));
    assert!(strong.contains("explored all 2") && strong.contains(assumes), "{strong}");
    let strong = search("sc", || Box::pin(peterson((SeqCst, SeqCst), Turn::Stores)));
    assert!(!strong.contains(assumes), "{strong}");
    let weak = search("c11", || Box::pin(message_passing(Release, Acquire)));
    assert!(weak.contains("NOT A PROOF: older stores are tried within limits"), "{weak}");
}
