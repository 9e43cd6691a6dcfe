//! Histories with the memory `c11`: a call precedes the calls that it happens before. `weak_histories` of `sim-tests`
//! tests the same with tasks.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use std::thread;

use sim::History;
use sim::check::models::{Register, RegisterOp, RegisterRet};
use sim::report::Report;
use sim::run::{Failure, Outcome};

use super::{Program, alone, run, screen};

/// A thread writes a register and then stores a flag, and another thread reads the register if it has seen the flag. A
/// wrong register has two words, so its reads miss all writes.
fn write_and_read(history: History<Register<u64>>, flags: [Ordering; 2], is_wrong: bool) {
    let (words, flag) = ([0, 0].map(AtomicU64::new), AtomicU64::new(0));
    thread::scope(|scope| {
        // The drop of the handle releases a reference count, which orders the two threads.
        let _writer = scope.spawn(|| {
            history.call_blocking(RegisterOp::Write(1), || {
                words[0].store(1, Relaxed);
                RegisterRet::Done
            });
            flag.store(1, flags[0]);
        });
        if flag.load(flags[1]) == 1 {
            let read = || RegisterRet::Value(words[usize::from(is_wrong)].load(Relaxed));
            history.call_blocking(RegisterOp::Read, read);
        }
    });
    history.assert_linearizable();
}

fn history() -> History<Register<u64>> {
    History::new(Register::new(0))
}

fn is_violated(report: &Report) -> bool {
    match report.finding.as_ref().map(|finding| &finding.run.outcome) {
        None => false,
        Some(Outcome::Failed(Failure::History { .. })) => true,
        Some(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_read_may_miss_a_write_that_does_not_happen_before_it() {
    let _alone = alone();
    let programs: [Program; 3] = [
        || write_and_read(history(), [Relaxed, Acquire], false),
        || write_and_read(history(), [Release, Acquire], false),
        || write_and_read(history(), [Relaxed, Acquire], true),
    ];
    for program in programs {
        let report = run("c11", 150, program);
        assert!(report.passed(), "{}", screen(&report));
    }
}

#[test]
fn a_read_must_not_miss_a_write_that_happens_before_it() {
    let _alone = alone();
    let programs: [Program; 2] = [
        || write_and_read(history(), [Release, Acquire], true),
        || write_and_read(history().real_time(), [Relaxed, Acquire], false),
    ];
    for program in programs {
        assert!(is_violated(&run("c11", 300, program)));
    }
}
