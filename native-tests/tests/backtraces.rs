//! Backtraces of threads of the system beside runs, under a lock of std that both use. A program of its own, because runs of
//! other tests would wait for these threads.

use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use sim::Runner;

#[test]
fn backtraces_of_threads_of_the_system_are_whole_beside_runs() {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(SeqCst) {
                let text = Backtrace::force_capture().to_string();
                assert!(text.contains("backtraces_of_threads_of_the_system"), "{text}");
            }
        });
        // Each run has its own copy of the data that std has read about the program.
        let runner = Runner::new().hermetic().seeds(0..1_000_000).time(Duration::from_secs(2));
        let report = runner.run_native(|| thread::spawn(|| ()).join().unwrap());
        ended.store(true, SeqCst);
        assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
    });
}

/// Under a lock of std, which a thread of the system holds as long as it reads the program: longer than any other lock.
#[test]
fn a_run_waits_for_the_backtrace_of_a_thread_of_the_system() {
    fn names_itself(function: &str) {
        let text = Backtrace::force_capture().to_string();
        assert!(text.contains(function), "{text}");
    }
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !ended.load(SeqCst) {
                    names_itself("a_run_waits_for_the_backtrace");
                }
            });
        }
        let runner = Runner::new().hermetic().seeds(0..20).time(Duration::from_secs(20));
        let report = runner.run_native(|| {
            let thread = thread::spawn(|| names_itself("a_run_waits_for_the_backtrace"));
            names_itself("a_run_waits_for_the_backtrace");
            thread.join().unwrap();
        });
        ended.store(true, SeqCst);
        assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
    });
}
