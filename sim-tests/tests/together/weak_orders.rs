//! Bugs of memory orders in tasks. The number of runs until a bug is found is compared with a prototype. The programs
//! are the same as for plain threads.

use sim::report::{Report, Style, text};
use sim::{Runner, fence, spawn, spin_until};
use sim_tests::fingerprint::Fingerprint;
use sim_tests::histories::long;

/// Begins a program.
macro_rules! program {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        async fn $name($($argument: $type),*) $body
    };
}

/// Does an operation of an atomic.
macro_rules! op {
    ($operation:expr) => {
        $operation.await
    };
}

/// Spawns a task with clones of these owners.
macro_rules! task {
    (($($shared:ident),*) $body:block) => {{
        $(let $shared = $shared.clone();)*
        super::super::spawn(async move $body)
    }};
}

/// Joins a task.
macro_rules! end {
    ($task:expr) => {
        $task.await.unwrap()
    };
}

/// Waits for a condition.
macro_rules! until {
    ($condition:expr) => {
        super::super::spin_until(async || $condition).await
    };
}

/// Does a fence, unless the order is `Relaxed`.
macro_rules! order_by {
    ($order:expr) => {
        if $order != Relaxed {
            super::super::fence($order).await;
        }
    };
}

/// A bug, with the number of runs that a prototype needed. The number is either for a wrong value, or for a data race
/// without a stale read. With `quarter`, it is for a wrong value whose order S differs from the order of execution; a
/// quarter of the runs has such orders.
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
        Bug { name: $name, runs: $runs, weak: || Box::pin($weak), mended: || Box::pin($mended) }
    };
}

mod names {
    use std::pin::Pin;
    use std::sync::Arc;

    use sim::Atomic;

    /// A program.
    pub(super) type Program = fn() -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// The mean number of runs that a prototype needed.
    pub(super) enum Runs {
        /// The number of runs to a wrong value.
        ToValue(f64),
        /// The number of runs to a data race.
        ToRace(f64),
    }

    /// A bug, and the fixed program.
    pub(super) struct Bug {
        pub(super) name: &'static str,
        pub(super) runs: Runs,
        pub(super) weak: Program,
        pub(super) mended: Program,
    }

    /// A shared word.
    pub(super) fn word(value: u64) -> Arc<Atomic<u64>> {
        Arc::new(Atomic::new(value))
    }
}

#[path = "../../../native-tests/tests/all/orders/programs/mod.rs"]
mod programs;

use self::names::{Bug, Program, Runs};
use self::programs::{LOCKS, MESSAGES, QUEUES};

fn run(memory: &str, seeds: std::ops::Range<u64>, program: Program) -> Report {
    Runner::new().hermetic().memory(memory).shrink(false).seeds(seeds).run(program)
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

/// The mean number of runs to a failure, over this number of failures; `None` if a failure takes more runs than `most`.
fn mean(bug: &Bug, failures: u64, most: u64) -> Option<f64> {
    let mut from = 0;
    for _ in 0..failures {
        from = run("c11", from..from + most, bug.weak).finding?.run.seed.0 + 1;
    }
    Some(from as f64 / failures as f64)
}

#[cfg_attr(feature = "sim", test)]
fn bugs_are_found_as_soon_as_by_the_prototype_and_mended_programs_are_silent() {
    // A mean over few failures has an error of a fifth in one of three cases. If a program needs as many runs as the
    // prototype, it exceeds `times` with a probability below one in 10,000.
    let (failures, times, silent) = if long() { (300, 1.5, 20_000) } else { (8, 3.5, 60) };
    let mut late = Vec::new();
    for bug in [MESSAGES, LOCKS, QUEUES].into_iter().flatten() {
        let name = bug.name;
        let report = run("sc", 0..silent, bug.weak);
        assert!(report.passed(), "{name}: {}", screen(&report));
        let report = run("c11", 0..silent, bug.mended);
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

/// The first failing seed of a program with this number of jobs, and its run.
fn first_failure(program: Program, jobs: usize) -> Option<(u64, Fingerprint)> {
    let runner = Runner::new().hermetic().memory("c11").shrink(false).seeds(0..400).jobs(jobs);
    let finding = runner.run(program).finding?;
    Some((finding.run.seed.0, Fingerprint::of(&finding.run)))
}

#[cfg_attr(feature = "sim", test)]
fn equal_seeds_are_equal_runs() {
    for bug in [MESSAGES, LOCKS, QUEUES].into_iter().flatten() {
        let alone = first_failure(bug.weak, 1);
        assert_eq!(first_failure(bug.weak, 3), alone, "{}", bug.name);
        for seed in 0..20 {
            let run = || Runner::new().hermetic().memory("c11").run_seed(seed, bug.weak);
            let (one, other) = (run(), run());
            assert_eq!(Fingerprint::of(&one), Fingerprint::of(&other), "{} {seed}", bug.name);
            assert_eq!(one.orders, other.orders, "{} {seed}", bug.name);
        }
    }
}
