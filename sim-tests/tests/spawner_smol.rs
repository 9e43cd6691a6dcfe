//! `set_spawner` and `set_timer` with smol: outside of runs, tasks are tasks of smol's executor, and timers are smol's
//! timers. This test has a file of its own, because a process has only one spawner.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Once};
use std::task::{Context, Wake, Waker};

use sim::Ordering::SeqCst;
use sim::time::{Duration, Instant, sleep, timeout};
use sim::{Atomic, Mutex};

/// The line that the documentation gives.
fn set_spawner() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| sim::task::set_spawner(|task| smol::spawn(task).detach()).unwrap());
}

#[test]
fn tasks_run_on_the_threads_of_smol() {
    set_spawner();
    let thread = || std::thread::current().name().map(str::to_owned);
    let name = smol::block_on(sim::spawn(async move { thread() })).unwrap().unwrap();
    assert!(name.starts_with("smol"), "{name}");
}

#[test]
fn tasks_share_memory_on_smol() {
    set_spawner();
    smol::block_on(async {
        let (atomic, mutex) = (Arc::new(Atomic::new(0)), Arc::new(Mutex::new(0)));
        sim::map_concurrently(0..8, |_| {
            let (atomic, mutex) = (atomic.clone(), mutex.clone());
            async move {
                for _ in 0..1000 {
                    atomic.fetch_add(1, SeqCst).await;
                    *mutex.lock().await += 1;
                }
            }
        })
        .await;
        assert_eq!((atomic.load(SeqCst).await, *mutex.lock().await), (8000, 8000));
    });
}

#[test]
fn a_task_can_be_aborted_on_smol() {
    set_spawner();
    smol::block_on(async {
        let task = sim::spawn(std::future::pending::<()>());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn a_panic_on_smol_is_in_the_join_error() {
    set_spawner();
    let task = sim::spawn(async { panic!("said to the joiner") });
    let result: Result<(), _> = smol::block_on(task);
    assert_eq!(result.unwrap_err().to_string(), "task panicked: said to the joiner");
}

#[sim::test(seeds = 20)]
async fn a_stress_test_works_on_smol() {
    set_spawner();
    let counter = Arc::new(Atomic::new(0));
    sim::map_concurrently(0..4, |_| {
        let counter = counter.clone();
        async move { counter.fetch_add(1, SeqCst).await }
    })
    .await;
    assert_eq!(counter.load(SeqCst).await, 4);
}

/// The number of timers that were made.
static TIMERS: AtomicU32 = AtomicU32::new(0);

fn set_timer() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let make = |after| -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
            TIMERS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Box::pin(async move {
                smol::Timer::after(after).await;
            })
        };
        sim::time::set_timer(make).unwrap();
        let again = sim::time::set_timer(|_| Box::pin(std::future::ready(())));
        assert!(again.unwrap_err().to_string().contains("already set"));
    });
}

#[test]
fn sleeps_are_timers_of_smol() {
    set_timer();
    let made = || TIMERS.load(std::sync::atomic::Ordering::SeqCst);
    let before = made();
    smol::block_on(async {
        let begin = Instant::now();
        sleep(Duration::from_millis(3)).await;
        assert!(begin.elapsed() >= Duration::from_millis(3));
        assert!(timeout(Duration::from_millis(2), std::future::pending::<()>()).await.is_err());
    });
    assert!(made() >= before + 2, "{before} {}", made());
}

#[test]
fn a_timer_of_smol_is_reset() {
    set_timer();
    smol::block_on(async {
        let mut timer = Box::pin(sleep(Duration::from_secs(3600)));
        assert!(futures::poll!(timer.as_mut()).is_pending());
        // The next poll is by the waker of the previous poll.
        let begin = Instant::now();
        timer.as_mut().reset(begin + Duration::from_millis(3));
        timer.await;
        assert!(begin.elapsed() >= Duration::from_millis(3));
    });
}

/// Sends a message to a thread for each wake.
struct Wakes(std::sync::Mutex<std::sync::mpsc::Sender<()>>);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        let _ = self.0.lock().unwrap().send(());
    }
}

#[test]
fn a_reset_timer_of_smol_wakes_a_task_that_does_not_poll_it_again() {
    set_timer();
    let mut timer = Box::pin(sleep(Duration::from_secs(3600)));
    let (wakes, woken) = std::sync::mpsc::channel();
    let waker = Waker::from(Arc::new(Wakes(std::sync::Mutex::new(wakes))));
    assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    timer.as_mut().reset(Instant::now() + Duration::from_millis(3));
    woken.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
}

#[test]
fn the_time_of_a_run_is_its_own() {
    set_timer();
    if sim::SIMULATED {
        let run = sim::Runner::new().hermetic().run_seed(0, async || {
            sleep(Duration::from_secs(3600)).await;
        });
        assert_eq!(run.outcome, sim::run::Outcome::Passed);
    }
}
