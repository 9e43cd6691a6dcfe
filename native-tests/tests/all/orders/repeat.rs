//! Equal seeds are equal runs with the memory `c11`: with more jobs, and in a process for each run.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::thread;

use sim::Runner;

use super::{alone, runner};

/// Threads store, exchange and load. Each run fails, so that its report has the whole run.
fn program() {
    let (words, count) = ([0, 0].map(AtomicU64::new), AtomicU64::new(0));
    let seen = thread::scope(|scope| {
        let threads = [0, 1, 2].map(|own| {
            let (words, count) = (&words, &count);
            scope.spawn(move || {
                words[own % 2].store(own as u64 + 1, Release);
                let first = words[1 - own % 2].load(Relaxed);
                _ = count.compare_exchange(own as u64, own as u64 + 1, SeqCst, Relaxed);
                [first, words[own % 2].load(Acquire), count.load(Relaxed)]
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    panic!("{seen:?}");
}

/// The message, the steps, the draws and the values of the runs of these seeds, each as text.
fn runs(with: fn(Runner) -> Runner, seeds: u64) -> Vec<String> {
    let of_seed = |seed| {
        let runner = with(runner("c11", 0).seeds(seed..seed + 1));
        let report = runner.run_native(program);
        let run = &report.finding.as_ref().expect("each run fails").run;
        let values: Vec<_> = run.events.iter().map(|event| (event.op.name, event.values)).collect();
        format!("{:?} {:?} {:?} {values:?}", run.outcome, run.steps, run.draws)
    };
    (0..seeds).map(of_seed).collect()
}

#[test]
fn equal_seeds_are_equal_runs() {
    let _alone = alone();
    let first = runs(|runner| runner.jobs(1), 40);
    let stale = first.iter().filter(|run| run.contains("misses_the_newest_value_of")).count();
    assert!(stale > 5, "{stale} runs have a stale read");
    assert_eq!(runs(|runner| runner.jobs(1), 40), first, "again");
    assert_eq!(runs(|runner| runner.jobs(3), 40), first, "three jobs");
    assert_eq!(runs(|runner| runner.isolate("process"), 15), first[..15], "isolated");
}

/// Copies of the process make some of the runs. The failing seed that is reported is the same.
#[test]
fn the_first_failing_seed_is_the_same_with_more_jobs() {
    let _alone = alone();
    // Message passing by a relaxed flag: some seeds fail.
    fn relaxed_flag() {
        let (data, flag) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                data.store(1, Relaxed);
                flag.store(1, Relaxed);
            });
            if flag.load(Acquire) == 1 {
                assert_eq!(data.load(Relaxed), 1);
            }
        });
    }
    let found = |jobs: usize| {
        let report = runner("c11", 400).jobs(jobs).run_native(relaxed_flag);
        let run = report.finding.expect("some seed fails").run;
        (run.seed, format!("{:?} {:?}", run.steps, run.draws))
    };
    assert_eq!(found(1), found(3));
}
