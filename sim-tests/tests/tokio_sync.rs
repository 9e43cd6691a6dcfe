//! tokio's locks and channels in runs.
#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::Runner;
use sim::tokio::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, oneshot};

fn all(body: impl AsyncFn() + Send + Sync + 'static) -> sim::report::Report {
    Runner::new().strategy("exhaustive").run(body)
}

#[test]
fn smoke() {
    let report = Runner::new().strategy("exhaustive").run(async || {
        let mutex = Arc::new(Mutex::new(0));
        sim::map_concurrently(0..3, |_| {
            let mutex = mutex.clone();
            async move {
                let mut guard = mutex.lock().await;
                let old = *guard;
                sim::task::yield_now().await;
                *guard = old + 1;
            }
        })
        .await;
        assert_eq!(*mutex.lock().await, 3);
    });
    println!("{}", sim::report::text(&report, &Default::default()));
    assert!(report.passed());
    let report = Runner::new().strategy("exhaustive").run(async || {
        let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        sim::map_concurrently(0..2, |n| {
            let (a, b) = if n == 0 { (a.clone(), b.clone()) } else { (b.clone(), a.clone()) };
            async move {
                let _a = a.lock().await;
                let _b = b.lock().await;
            }
        })
        .await;
    });
    println!("{}", sim::report::text(&report, &Default::default()));
    assert!(!report.passed());
    let report = Runner::new().strategy("exhaustive").run(async || {
        let lock = Arc::new(RwLock::new(0));
        sim::map_concurrently(0..6, |n| {
            let lock = lock.clone();
            async move {
                if n == 0 {
                    *lock.write().await += 1;
                } else {
                    assert!(*lock.read().await < 2);
                }
            }
        })
        .await;
    });
    println!("{}", sim::report::text(&report, &Default::default()));
    assert!(report.passed());
    let report = Runner::new().strategy("exhaustive").run(async || {
        let notify = Arc::new(Notify::new());
        let barrier = Arc::new(Barrier::new(3));
        let (sender, receiver) = oneshot::channel();
        let first = sim::spawn({
            let (notify, barrier) = (notify.clone(), barrier.clone());
            async move {
                notify.notified().await;
                sender.send(1).unwrap();
                barrier.wait().await;
            }
        });
        let second = sim::spawn({
            let (notify, barrier) = (notify.clone(), barrier.clone());
            async move {
                notify.notify_one();
                assert_eq!(receiver.await, Ok(1));
                barrier.wait().await;
            }
        });
        barrier.wait().await;
        first.await.unwrap();
        second.await.unwrap();
    });
    println!("{}", sim::report::text(&report, &Default::default()));
    assert!(report.passed());
    let report = Runner::new().strategy("exhaustive").run(async || {
        let sem = Arc::new(Semaphore::new(2));
        sim::map_concurrently(0..3, |n| {
            let sem = sem.clone();
            async move {
                let _permit = sem.acquire_many(1 + n % 2).await.unwrap();
            }
        })
        .await;
        assert_eq!(sem.available_permits(), 2);
    });
    println!("{}", sim::report::text(&report, &Default::default()));
    assert!(report.passed());
}
