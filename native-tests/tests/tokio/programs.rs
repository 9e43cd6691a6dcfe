//! Right programs on the runtime of several threads, and timers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use tokio::time;

use super::{on_one_thread, on_workers};

#[sim::test(native, seeds = 30)]
fn tasks_return_their_results() {
    on_workers(async {
        let tasks = [1, 2, 3].map(|number| tokio::spawn(async move { number * 2 }));
        let mut sum = 0;
        for task in tasks {
            sum += task.await.unwrap();
        }
        assert_eq!(sum, 12);
    });
}

#[sim::test(native, seeds = 30)]
fn a_bounded_channel_loses_nothing() {
    on_workers(async {
        let (sender, mut receiver) = mpsc::channel(1);
        for first in [0, 10] {
            let sender = sender.clone();
            tokio::spawn(async move {
                sender.send(first).await.unwrap();
                sender.send(first + 1).await.unwrap();
            });
        }
        drop(sender);
        let mut got = Vec::new();
        while let Some(number) = receiver.recv().await {
            got.push(number);
        }
        got.sort();
        assert_eq!(got, [0, 1, 10, 11]);
    });
}

#[sim::test(native, seeds = 30)]
fn a_watcher_sees_the_last_value() {
    on_workers(async {
        let (sender, mut receiver) = watch::channel(0);
        let watcher = tokio::spawn(async move {
            while *receiver.borrow_and_update() < 2 {
                receiver.changed().await.unwrap();
            }
        });
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        watcher.await.unwrap();
    });
}

#[sim::test(native, seeds = 30)]
fn a_broadcast_comes_to_all() {
    on_workers(async {
        let (sender, receiver) = broadcast::channel(4);
        let receivers = [receiver, sender.subscribe()].map(|mut receiver| {
            tokio::spawn(async move { (receiver.recv().await, receiver.recv().await) })
        });
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        for receiver in receivers {
            assert_eq!(receiver.await.unwrap(), (Ok(1), Ok(2)));
        }
    });
}

#[sim::test(native, seeds = 30)]
fn a_barrier_has_one_leader() {
    on_workers(async {
        let barrier = Arc::new(Barrier::new(3));
        let tasks = [0; 3].map(|_| {
            let barrier = barrier.clone();
            tokio::spawn(async move { barrier.wait().await.is_leader() })
        });
        let mut leaders = 0;
        for task in tasks {
            leaders += u32::from(task.await.unwrap());
        }
        assert_eq!(leaders, 1);
    });
}

#[sim::test(native, seeds = 30)]
fn a_lock_of_readers_and_writers_excludes() {
    on_workers(async {
        let lock = Arc::new(RwLock::new((0, 0)));
        let writers = [0; 2].map(|_| {
            let lock = lock.clone();
            tokio::spawn(async move {
                let mut both = lock.write().await;
                both.0 += 1;
                tokio::task::yield_now().await;
                both.1 += 1;
            })
        });
        {
            let both = lock.read().await;
            assert_eq!(both.0, both.1);
        }
        for writer in writers {
            writer.await.unwrap();
        }
        assert_eq!(*lock.read().await, (2, 2));
    });
}

#[sim::test(native, seeds = 30)]
fn an_aborted_task_says_so() {
    on_workers(async {
        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    });
}

#[sim::test(native, seeds = 30)]
fn a_shutdown_drops_the_tasks() {
    struct Dropped(Arc<AtomicU32>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let count = Arc::new(AtomicU32::new(0));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for _ in 0..2 {
        let dropped = Dropped(count.clone());
        runtime.spawn(async move {
            let _dropped = dropped;
            std::future::pending::<()>().await;
        });
    }
    drop(runtime);
    assert_eq!(count.load(SeqCst), 2);
}

#[sim::test(native, seeds = 30)]
fn blocking_work_runs_beside_tasks() {
    on_workers(async {
        let (sender, receiver) = oneshot::channel();
        let blocking = tokio::task::spawn_blocking(move || receiver.blocking_recv().unwrap());
        tokio::spawn(async move { sender.send(7).unwrap() });
        assert_eq!(blocking.await.unwrap(), 7);
    });
}

#[sim::test(native, seeds = 30)]
fn timers_fire_in_order() {
    on_workers(async {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for seconds in [20, 10] {
            let sender = sender.clone();
            tokio::spawn(async move {
                time::sleep(Duration::from_secs(seconds)).await;
                sender.send(seconds).unwrap();
            });
        }
        assert_eq!(receiver.recv().await, Some(10));
        assert_eq!(receiver.recv().await, Some(20));
    });
}

#[sim::test(native, seeds = 30)]
fn permits_are_given_back() {
    on_workers(async {
        let permits = Arc::new(Semaphore::new(1));
        let inside = Arc::new(AtomicU32::new(0));
        let tasks = [0; 3].map(|_| {
            let (permits, inside) = (permits.clone(), inside.clone());
            tokio::spawn(async move {
                let _permit = permits.acquire().await.unwrap();
                assert_eq!(inside.fetch_add(1, SeqCst), 0);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, SeqCst);
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[sim::test(native, seeds = 30)]
fn a_permit_of_notify_one_is_kept() {
    on_workers(async {
        let notify = Arc::new(Notify::new());
        let notifier = notify.clone();
        tokio::spawn(async move { notifier.notify_one() });
        notify.notified().await;
    });
}

#[sim::test(native, seeds = 30)]
fn a_mutex_held_over_an_await_excludes() {
    on_workers(async {
        let counter = Arc::new(Mutex::new(0));
        let tasks = [0; 2].map(|_| {
            let counter = counter.clone();
            tokio::spawn(async move {
                let mut counter = counter.lock().await;
                let seen = *counter;
                tokio::task::yield_now().await;
                *counter = seen + 1;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*counter.lock().await, 2);
    });
}

async fn an_hour() {
    let begun = time::Instant::now();
    time::sleep(Duration::from_secs(3600)).await;
    assert!(begun.elapsed() >= Duration::from_secs(3600));
    let limit = Duration::from_millis(5);
    assert!(time::timeout(limit, std::future::pending::<()>()).await.is_err());
    assert_eq!(time::timeout(limit, async { 1 }).await, Ok(1));
    let mut ticks = time::interval(Duration::from_secs(60));
    for _ in 0..3 {
        ticks.tick().await;
    }
    assert!(begun.elapsed() >= Duration::from_secs(3720));
}

#[sim::test(native, seeds = 20)]
fn an_hour_takes_no_time_on_one_thread() {
    on_one_thread(an_hour());
}

#[sim::test(native, seeds = 20)]
fn an_hour_takes_no_time_on_workers() {
    on_workers(an_hour());
}

/// Each task reads the clock for its time limit when it begins. They wait for one permit, which is added when all of
/// them have begun.
#[sim::test(native, seeds = 2)]
fn a_thousand_tasks_keep_their_time_limits() {
    on_one_thread(async {
        let permits = Arc::new(Semaphore::new(0));
        let tasks: Vec<_> = (0..1_000)
            .map(|_| {
                let permits = permits.clone();
                tokio::spawn(async move {
                    let waits = permits.acquire_owned();
                    time::timeout(Duration::from_millis(300), waits).await.is_ok()
                })
            })
            .collect();
        tokio::task::yield_now().await;
        permits.add_permits(1);
        for task in tasks {
            assert!(task.await.unwrap());
        }
    });
}
