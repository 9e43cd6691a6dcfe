//! smol as it is: its executor, timers, the thread pool for blocking calls, TCP.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};

#[test]
fn a_task_returns_its_value() {
    let value = smol::block_on(smol::spawn(async { 1 + 1 }));
    assert_eq!(value, 2);
}

#[test]
fn a_timer_of_an_hour_takes_no_time() {
    let begun = Instant::now();
    smol::block_on(async {
        smol::Timer::after(Duration::from_secs(3600)).await;
    });
    let hour = Duration::from_secs(3600);
    assert!(begun.elapsed() >= hour && begun.elapsed() < hour + Duration::from_secs(1));
}

#[test]
fn the_shorter_timer_wins() {
    let first = smol::block_on(async {
        let timer = |millis: u64| async move {
            smol::Timer::after(Duration::from_millis(millis)).await;
            millis
        };
        smol::future::or(smol::spawn(timer(20)), smol::spawn(timer(10))).await
    });
    assert_eq!(first, 10);
}

/// Adds to a counter in two threads of the pool for blocking calls.
fn counted(add: fn(&AtomicU32)) -> u32 {
    let counter = Arc::new(AtomicU32::new(0));
    let adds =
        [counter.clone(), counter.clone()].map(|counter| smol::unblock(move || add(&counter)));
    smol::block_on(async {
        for add in adds {
            add.await;
        }
    });
    counter.load(Ordering::SeqCst)
}

#[test]
fn two_steps_lose_an_update() {
    let sum = counted(|counter| {
        let value = counter.load(Ordering::SeqCst);
        counter.store(value + 1, Ordering::SeqCst);
    });
    assert_eq!(sum, 2);
}

#[test]
fn one_step_loses_none() {
    let sum = counted(|counter| {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(sum, 2);
}

#[test]
fn an_echo_comes_back() {
    smol::block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = smol::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
        });
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"ping").await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"ping");
        server.await;
    });
}
