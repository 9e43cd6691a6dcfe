//! tokio's locks and channels in runs.
#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::Runner;
use sim::tokio::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, oneshot};

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

#[test]
#[cfg_attr(not(feature = "sim"), ignore = "simulated runs only")]
fn a_failed_acquisition_gives_back_what_it_had_got() {
    let (looked, mut seen) = (std::sync::Mutex::new(None), std::collections::BTreeSet::new());
    let body = async || {
        *looked.lock().unwrap() = None;
        let semaphore = Arc::new(Semaphore::new(1));
        let acquiring = sim::spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire_many(2).await.is_err() }
        });
        sim::task::yield_now().await;
        sim::task::yield_now().await;
        if semaphore.available_permits() == 0 {
            // It has the permit, and waits for another one.
            semaphore.close();
            let looking = sim::spawn({
                let semaphore = semaphore.clone();
                async move { semaphore.available_permits() }
            });
            let seen = looking.await.unwrap();
            *looked.lock().unwrap() = Some(seen);
        } else {
            semaphore.close();
        }
        assert!(acquiring.await.unwrap());
    };
    // Only runs of the search: those that are sampled to check it would see both, too.
    let visit = |_| seen.extend(looked.lock().unwrap().take());
    let report = Runner::new().hermetic().strategy("exhaustive").each_run(body, visit);
    assert!(report.searched.unwrap().is_proof());
    assert_eq!(seen, [0, 1].into_iter().collect());
}
