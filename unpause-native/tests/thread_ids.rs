//! Thread ids. A separate test program, because an OS thread that begins during a run takes an id of the run.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::sync::{Arc, Mutex};
use std::thread;

use unpause_native::{Execution, Request, outside, warm_up};

#[test]
fn threads_of_a_run_have_the_same_ids_in_each_run() {
    warm_up();
    let ids_of_run = || {
        let found = Arc::new(Mutex::new(String::new()));
        let slot = found.clone();
        let body = move || {
            let id = || thread::current().id();
            let ids = [id(), thread::spawn(id).join().unwrap(), thread::spawn(id).join().unwrap()];
            outside(|| *slot.lock().unwrap() = format!("{ids:?}"));
        };
        let mut execution = Execution::begin(Box::new(body)).expect("there are symbols");
        loop {
            match execution.resume(0, 0) {
                Request::Join { thread } => {
                    while !matches!(execution.resume(thread, 0), Request::End) {}
                }
                Request::End => break,
                _ => {}
            }
        }
        drop(execution);
        std::mem::take(&mut *found.lock().unwrap())
    };
    let first = ids_of_run();
    assert!(first.contains("ThreadId(1000001)"), "{first}");
    let mut of_system = Vec::new();
    for _ in 0..20 {
        of_system.push(thread::spawn(|| thread::current().id()).join().unwrap());
        assert_eq!(ids_of_run(), first);
    }
    // The ids of OS threads continue.
    let mut distinct = of_system.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), 20);
    assert!(!format!("{of_system:?}").contains("ThreadId(1000"), "{of_system:?}");
}
