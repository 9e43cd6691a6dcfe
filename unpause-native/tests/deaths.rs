//! Threads that would end the process, or never return.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::time::Duration;

use unpause_native::{Death, Execution, Request, interrupt};

/// Recurses so deep that it overflows a stack of 2 MiB.
fn recur(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == 0 { 0 } else { recur(depth - 1) + frame[7] }
}

#[test]
fn a_thread_that_ends_the_process_has_died() {
    let died = |body: fn()| {
        let mut execution = Execution::begin(Box::new(body)).expect("there are symbols");
        match execution.resume(0, 0) {
            Request::Died(death) => (death, execution.stacks()),
            other => panic!("{other:?}"),
        }
    };
    let (death, stacks) = died(|| std::process::abort());
    assert_eq!((death, stacks.len()), (Death::Abort, 1));
    let (death, _) = died(|| std::process::exit(7));
    assert_eq!(death, Death::Exit { function: "exit", code: 7 });
    let (death, _) = died(|| _ = std::hint::black_box(recur(u64::MAX)));
    assert_eq!(death, Death::StackOverflow { size: 2 << 20 });
    // SAFETY: the access is invalid, because its fault is the subject of the test.
    let (death, _) =
        died(|| unsafe { _ = std::ptr::without_provenance::<u64>(4096).read_volatile() });
    assert!(matches!(death, Death::Signal { signal: 11, address: Some(4096), .. }), "{death:?}");
    // SAFETY: the argument is a number.
    let (death, _) = died(|| unsafe { _ = libc::raise(libc::SIGTERM) });
    assert_eq!(death, Death::Signal { signal: 15, address: None, raised: true });
}

#[test]
fn a_thread_that_does_not_come_back_is_interrupted() {
    let mut execution = Execution::begin(Box::new(|| {
        loop {
            std::hint::black_box(7);
        }
    }))
    .expect("there are symbols");
    let interrupted = std::thread::spawn(|| {
        // Retries until the thread runs.
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            interrupt(&|| true) == Some(true)
        })
    });
    assert!(matches!(execution.resume(0, 0), Request::Died(Death::Interrupted)));
    assert!(interrupted.join().unwrap());
    assert!(!execution.stacks().is_empty());
}
