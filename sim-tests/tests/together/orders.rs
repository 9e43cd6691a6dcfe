//! Memory orders of `sim::Atomic`, with the memory `c11`: how to order two tasks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot as of_futures;
use sim::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use sim::report::{Report, Style, text};
use sim::task::{JoinSet, park, unparker, yield_now};
use sim::tokio::sync::{self, broadcast, mpsc, oneshot, watch};
use sim::{
    Atomic, Cell, Condvar, Mutex, Once, OnceLock, RaceCell, Runner, fence, spawn, spin_until,
};

pub(super) type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A program, by name.
pub(super) type Program = (&'static str, fn() -> Run);

pub(super) fn runner(memory: &str, seeds: u64) -> Runner {
    Runner::new().hermetic().memory(memory).seeds(0..seeds)
}

pub(super) fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

/// A word that one task stores and another task loads, both by relaxed operations. Optionally, a cell with the same
/// accesses.
#[derive(Clone)]
pub(super) struct Data(Arc<Atomic<u32>>, Option<Arc<RaceCell<u32>>>);

impl Data {
    fn new() -> Data {
        Data(Arc::new(Atomic::new(0)), Some(Arc::new(RaceCell::new(0))))
    }

    /// Data without a cell: it may be visible although nothing orders the two tasks.
    pub(super) fn word() -> Data {
        Data(Arc::new(Atomic::new(0)), None)
    }

    pub(super) async fn store(&self) {
        self.0.store(1, Relaxed).await;
        if let Some(cell) = &self.1 {
            cell.set(1);
        }
    }

    /// Asserts that the store is visible, and that the accesses to the cell are no race.
    pub(super) async fn load(&self) {
        assert_eq!(self.0.load(Relaxed).await, 1);
        if let Some(cell) = &self.1 {
            assert_eq!(cell.get(), 1);
        }
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
pub(super) async fn sleeps_behind(store: Ordering) {
    let data = Data::word();
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
    let (data, flag) = (Data::word(), Arc::new(Atomic::new(false)));
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
            let store = move |nth| {
                let data = of_task.clone();
                async move {
                    if nth == 0 {
                        data.store().await;
                    }
                }
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
            let cell = RaceCell::new(0).shared();
            let data = Data(Arc::new(Atomic::new(0).shared()), Some(Arc::new(cell)));
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
        for memory in ["c11", "sc"] {
            let report = runner(memory, 150).run(*program);
            assert!(report.passed(), "{name} with {memory}: {}", screen(&report));
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn time_that_passes_at_any_moment_orders_two_tasks() {
    let sleeps = || flag_behind_time(|| Box::pin(sim::time::sleep(Duration::from_secs(1))));
    let report = runner("c11", 150).clock("any").run(sleeps);
    assert!(report.passed(), "{}", screen(&report));
}
