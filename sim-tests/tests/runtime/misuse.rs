//! Misuses of the library: each is reported, none hangs.

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock, Mutex as StdMutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures::FutureExt;
use sim::run::Failure;
use sim::{Mutex, Runner, SIMULATED};
use sim_tests::histories::long;
use sim_tests::seeds::{SEEDS, fails, runner};

#[cfg_attr(feature = "sim", test)]
fn a_runner_inside_a_run_panics_clearly() {
    let failure = fails("nested", async || {
        Runner::new().hermetic().run(async || ());
    });
    assert!(matches!(&failure, Failure::Panic { message, .. } if message.contains("inside a run")));
    let failure = fails("nested_seed", async || {
        Runner::new().hermetic().run_seed(0, async || ());
    });
    assert!(matches!(&failure, Failure::Panic { message, .. } if message.contains("inside a run")));
}

#[cfg_attr(feature = "sim", test)]
fn block_on_inside_a_run_panics_clearly() {
    let failure = fails("block_on", async || sim::block_on(async {}));
    assert!(
        matches!(&failure, Failure::Panic { message, .. } if message.contains("await the future"))
    );
}

/// Misuses that panic, by the name of the function.
const MISUSES: &[(&str, fn())] = &[
    ("block_on", || sim::block_on(async {})),
    ("LocalSet::block_on", || sim::task::LocalSet::new().block_on(async {})),
    ("task::id", || _ = sim::task::id()),
    ("rand::below", || _ = sim::rand::below(0)),
    ("rand::range", || _ = sim::rand::range(3..3)),
    ("interval", || drop(sim::time::interval(Duration::ZERO))),
    ("Instant::add", || _ = sim::time::Instant::now() + Duration::MAX),
    ("Instant::sub", || _ = sim::time::Instant::now() - Duration::MAX),
    ("Instant::add_assign", || {
        let mut now = sim::time::Instant::now();
        now += Duration::MAX;
    }),
    ("SystemTime::add", || _ = sim::time::SystemTime::now() + Duration::MAX),
    ("SystemTime::sub", || _ = sim::time::SystemTime::now() - Duration::MAX),
    ("Runner::run", || drop(Runner::new().run(async || ()))),
    ("Runner::try_run", || _ = Runner::new().try_run(async || ())),
    ("Runner::run_seed", || drop(Runner::new().run_seed(0, async || ()))),
    ("Runner::each_run", || drop(Runner::new().hermetic().each_run(async || (), drop))),
    ("Script::branch", || drop(sim::Script::new().branch(200_000, 0, ()))),
    ("Shape::max_suffix_length", || _ = sim::Shape::chunks().max_suffix_length(0)),
    ("Node::wipe", || sim::node("up").wipe()),
    ("Nemesis::faults", || _ = sim::nemesis::Nemesis::new().faults(RangeInclusive::new(3, 2))),
    ("Atomic::load", || drop(sim::Atomic::new(0).load(sim::Ordering::Release))),
    ("Schedule::from_trace", || drop(sim::run::schedule::Schedule::from_trace(&torn()))),
    ("format::inline", || drop(sim::run::trace::format::inline(&torn()))),
    ("format::write", || drop(sim::run::trace::format::write(&torn()))),
];

/// A trace with a step of a task that it does not have.
fn torn() -> sim::run::trace::Trace {
    let step = sim::run::trace::TraceStep { task: 3, ..Default::default() };
    sim::run::trace::Trace { steps: vec![step], ..Default::default() }
}

/// The location must be the location of the caller, because a location in the library would not help. `tidy` checks
/// that every function has the attribute.
#[cfg_attr(feature = "sim", test)]
fn a_panic_of_misuse_has_the_place_of_its_caller() {
    for (name, misuse) in MISUSES {
        let failure = fails("misuse_place", async || misuse());
        let Failure::Panic { place, .. } = &failure else { panic!("{name}: {failure:?}") };
        assert!(place.starts_with(file!()), "{name} panics at {place}");
    }
}

#[test]
fn a_waker_kept_beyond_its_run_wakes_nobody() {
    static KEPT: StdMutex<Vec<Waker>> = StdMutex::new(Vec::new());
    // Only one worker is used. With several, the waker of a current run on another worker might be woken from this
    // thread.
    let one_worker = runner("kept_waker").jobs(1).seeds(0..SEEDS);
    let report = one_worker.run(async || {
        for waker in KEPT.lock().unwrap().drain(..) {
            waker.wake();
        }
        let task = sim::spawn(async {
            let mut polled = 0;
            std::future::poll_fn(|cx| {
                polled += 1;
                KEPT.lock().unwrap().push(cx.waker().clone());
                if polled == 2 {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        });
        task.await.unwrap();
    });
    assert!(report.passed(), "{:?}", report.finding);
    KEPT.lock().unwrap().drain(..).for_each(Waker::wake);
}

#[cfg_attr(feature = "sim", test)]
fn a_task_woken_by_another_thread_is_told_where_that_comes_from() {
    for _ in 0..if long() { 5 } else { 2 } {
        let failure = fails("thread", async || {
            let (send, mut receive) = futures::channel::oneshot::channel();
            let (waits, waiting) = std::sync::mpsc::channel();
            let busy = sim::spawn(async {
                for _ in 0..if long() { 200_000 } else { 50_000 } {
                    sim::task::yield_now().await;
                }
            });
            std::thread::spawn(move || {
                // A message that arrives before the task waits wakes no task.
                let _ = waiting.recv();
                std::thread::sleep(Duration::from_millis(1));
                let _ = send.send(());
            });
            std::future::poll_fn(|context| {
                let polled = receive.poll_unpin(context);
                let _ = waits.send(());
                polled
            })
            .await
            .unwrap();
            busy.await.unwrap();
        });
        // The thread decides if the wake or the end of all other work comes first.
        let told = matches!(
            failure,
            Failure::Misuse { .. } | Failure::Deadlock { .. } | Failure::NonDeterminism { .. }
        );
        assert!(told, "{failure:?}");
    }
}

#[test]
fn a_mutex_used_by_two_runs_is_told_with_the_remedy() {
    static SHARED: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(0));
    if !SIMULATED {
        return;
    }
    let failure = fails("static_mutex", async || *SHARED.lock().await += 1);
    let Failure::Misuse { message, place } = failure else { panic!("{failure:?}") };
    assert!(message.contains("create it inside the test body"), "{message}");
    assert!(place.starts_with(file!()), "{place}");
}

#[cfg_attr(feature = "sim", test)]
fn a_mutex_held_outside_is_a_deadlock_and_no_hang() {
    let lock = Mutex::new(0);
    let _guard = sim::block_on(lock.lock());
    let failure = fails("held_outside", async || *lock.lock().await += 1);
    assert!(matches!(failure, Failure::Deadlock { .. } | Failure::Misuse { .. }), "{failure:?}");
}

#[test]
fn a_handle_of_another_run_gives_an_error() {
    static KEPT: StdMutex<Option<sim::JoinHandle<()>>> = StdMutex::new(None);
    if !SIMULATED {
        return;
    }
    let run = async || {
        let before = KEPT.lock().unwrap().take();
        if let Some(handle) = before {
            assert!(handle.is_finished());
            handle.abort();
            assert!(handle.await.unwrap_err().is_cancelled());
        }
        *KEPT.lock().unwrap() = Some(sim::spawn(std::future::pending()));
        sim::task::yield_now().await;
    };
    for seed in 0..20 {
        let run = Runner::new().hermetic().run_seed(seed, run);
        assert_eq!(run.outcome, sim::run::Outcome::Passed);
    }
    let handle = KEPT.lock().unwrap().take().unwrap();
    assert!(sim::block_on(handle).is_err());
}

#[test]
fn a_point_begun_in_one_run_can_be_finished_in_none() {
    let flag = Arc::new(sim::Atomic::new(0u8));
    if !SIMULATED {
        return;
    }
    static KEPT: StdMutex<Option<futures::future::BoxFuture<'static, u8>>> = StdMutex::new(None);
    let run = Runner::new().hermetic().run_seed(0, async || {
        let flag = flag.clone();
        let mut load: futures::future::BoxFuture<'static, u8> =
            Box::pin(async move { flag.fetch_add(1, sim::Ordering::SeqCst).await });
        assert!(futures::poll!(&mut load).is_pending());
        *KEPT.lock().unwrap() = Some(load);
        sim::task::yield_now().await;
    });
    assert_eq!(run.outcome, sim::run::Outcome::Passed);
    let left = KEPT.lock().unwrap().take().unwrap();
    assert_eq!(sim::block_on(left), 0);
    assert_eq!(sim::block_on(flag.load(sim::Ordering::SeqCst)), 1);
}
