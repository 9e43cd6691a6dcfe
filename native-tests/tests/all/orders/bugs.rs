//! Bugs of memory orders in plain threads: the runs until they are found, beside a prototype.

use std::hint::spin_loop;
use std::sync::atomic::fence;

use super::{alone, run, screen, silent_seeds};

/// Begins a program.
macro_rules! program {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        fn $name($($argument: $type),*) $body
    };
}

/// Does an operation of an atomic.
macro_rules! op {
    ($operation:expr) => {
        $operation
    };
}

/// Spawns a thread with clones of these owners.
macro_rules! task {
    (($($shared:ident),*) $body:block) => {{
        $(let $shared = $shared.clone();)*
        std::thread::spawn(move || $body)
    }};
}

/// Joins a thread.
macro_rules! end {
    ($task:expr) => {
        $task.join().unwrap()
    };
}

/// Waits for a condition.
macro_rules! until {
    ($condition:expr) => {
        while !$condition {
            super::super::spin_loop();
        }
    };
}

/// Does a fence, unless the order is `Relaxed`.
macro_rules! order_by {
    ($order:expr) => {
        if $order != Relaxed {
            super::super::fence($order);
        }
    };
}

/// A bug with the runs that a prototype needed: to a wrong value; or to a data race, which it finds without a stale
/// read; or to a wrong value whose order S is not the order of execution. A `quarter` of the runs has such orders.
macro_rules! bug {
    ($name:literal, race $runs:literal, $weak:expr, $mended:expr) => {
        bug!($name, Runs::ToRace($runs), $weak, $mended)
    };
    ($name:literal, quarter $runs:literal, $weak:expr, $mended:expr) => {
        bug!($name, Runs::ToValue(4.0 * $runs), $weak, $mended)
    };
    ($name:literal, $runs:literal, $weak:expr, $mended:expr) => {
        bug!($name, Runs::ToValue($runs), $weak, $mended)
    };
    ($name:literal, $runs:expr, $weak:expr, $mended:expr) => {
        Bug { name: $name, runs: $runs, weak: || $weak, mended: || $mended }
    };
}

mod names {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    /// The runs that a prototype needed, as a mean.
    pub(super) enum Runs {
        /// To a wrong value.
        ToValue(f64),
        /// To a data race.
        ToRace(f64),
    }

    /// A bug, and the fixed program.
    pub(super) struct Bug {
        pub(super) name: &'static str,
        pub(super) runs: Runs,
        pub(super) weak: super::super::Program,
        pub(super) mended: super::super::Program,
    }

    /// A shared word.
    pub(super) fn word(value: u64) -> Arc<AtomicU64> {
        Arc::new(AtomicU64::new(value))
    }
}

#[path = "programs/mod.rs"]
mod programs;

use self::names::{Bug, Runs};
use self::programs::{LOCKS, MESSAGES, QUEUES};

/// The mean number of runs to a failure, over this number of failures; `None` if a failure takes more runs than `most`.
fn mean(bug: &Bug, failures: u64, most: u64) -> Option<f64> {
    let mut from = 0;
    for _ in 0..failures {
        let runner = super::runner("c11", 0).seeds(from..from + most).prove(0).why(0);
        from = runner.run_native(bug.weak).finding?.run.seed.0 + 1;
    }
    Some(from as f64 / failures as f64)
}

#[test]
fn bugs_are_found_as_soon_as_by_the_prototype_and_mended_programs_are_silent() {
    let _alone = alone();
    let is_long = silent_seeds(0) > 0;
    // A mean over few failures may have an error of half.
    let (failures, times) = if is_long { (300, 1.5) } else { (4, 4.5) };
    let mut late = Vec::new();
    for bug in [MESSAGES, LOCKS, QUEUES].into_iter().flatten() {
        let name = bug.name;
        let report = run("sc", silent_seeds(10), bug.weak);
        assert!(report.passed(), "{name}: {}", screen(&report));
        let report = run("c11", silent_seeds(30), bug.mended);
        assert!(report.passed(), "{name}: {}", screen(&report));
        let mean = mean(bug, failures, 2000);
        let (known, is_late) = match bug.runs {
            Runs::ToValue(known) => (known, mean.is_none_or(|mean| mean > times * known)),
            Runs::ToRace(known) => (known, mean.is_none()),
        };
        println!("{name:<42} {:>6.1} {known:>6.1}", mean.unwrap_or(f64::INFINITY));
        if is_late {
            late.push((name, mean));
        }
    }
    assert!(late.is_empty(), "{late:?}");
}
