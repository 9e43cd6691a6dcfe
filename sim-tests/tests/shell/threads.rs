//! Tests about the thread of a run: code that blocks it, threads that it starts, and calls of its panic hook.

use sim::Cell;

use super::{off, variant};

/// Blocks the thread of the run by a call of std, in a task that has made a step before.
#[sim::test(seeds = 2)]
async fn sleeps_on_the_thread() {
    if off() || variant("fixed") {
        return;
    }
    let task = sim::spawn(async {
        Cell::new(0).set(1).await; // here: the step that blocks
        blocks();
        Cell::new(0).set(2).await;
    });
    task.await.unwrap();
}

/// The call of the variant.
fn blocks() {
    use std::io::Read;
    let (other, nap) = (std::sync::Arc::new(std::sync::Barrier::new(2)), nap);
    match () {
        () if variant("join") => std::thread::spawn(nap).join().unwrap(),
        () if variant("lock") => {
            let lock = std::sync::Arc::new(std::sync::Mutex::new(()));
            let held = lock.clone();
            let holds = other.clone();
            let thread = std::thread::spawn(move || {
                let _held = held.lock();
                holds.wait();
                nap();
            });
            other.wait();
            drop(lock.lock());
            thread.join().unwrap();
        }
        () if variant("channel") => {
            let (send, receive) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                nap();
                send.send(()).unwrap();
            });
            receive.recv().unwrap();
        }
        () if variant("park") => std::thread::park_timeout(NAP),
        () if variant("process") => {
            std::process::Command::new("sleep").arg("0.06").status().unwrap();
        }
        () if variant("accept") => {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let thread = std::thread::spawn(move || {
                nap();
                drop(std::net::TcpStream::connect(address));
            });
            listener.accept().unwrap();
            thread.join().unwrap();
        }
        () if variant("pipe") => {
            let mut sleep = std::process::Command::new("sleep");
            let mut sleep = sleep.arg("0.06").stdout(std::process::Stdio::piped()).spawn().unwrap();
            sleep.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
            sleep.wait().unwrap();
        }
        () => nap(),
    }
}

const NAP: std::time::Duration = std::time::Duration::from_millis(60);

fn nap() {
    std::thread::sleep(NAP);
}

/// Starts a thread as a pool does, once for all runs. The run does not wait for it.
#[sim::test(seeds = 20)]
async fn starts_a_pool() {
    static POOL: std::sync::Once = std::sync::Once::new();
    if !off() && !variant("fixed") {
        Cell::new(0).set(1).await;
        POOL.call_once(|| {
            std::thread::spawn(|| {
                loop {
                    std::thread::park();
                }
            });
            nap();
        });
    }
}

/// A separate program that executes one run after another. Each run catches one panic, always in the same step.
#[test]
fn catches_a_panic_in_each_run() {
    if off() {
        return;
    }
    std::panic::set_hook(Box::new(|_| ()));
    for seed in 0..20 {
        let run = sim::Runner::new().run_seed(seed, async || {
            Cell::new(0).set(1).await;
            let caught = std::panic::catch_unwind(|| panic!("caught"));
            assert!(caught.is_err());
            assert!(!variant("twice") || std::panic::catch_unwind(|| panic!("again")).is_err());
        });
        assert_eq!(run.outcome, sim::run::Outcome::Passed);
    }
}
