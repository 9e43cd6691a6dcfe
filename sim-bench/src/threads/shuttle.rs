//! shuttle's strategies, on the same files compiled over shuttle's primitives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cpu_time::ProcessTime;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};

use super::{Effort, Seen};

/// The primitives for the program files.
mod names {
    pub(super) use shuttle::{sync, thread};
}

#[allow(unreachable_pub, dead_code)]
#[path = "../../../native-tests/src/corpus/mod.rs"]
mod corpus;

#[allow(unreachable_pub, dead_code)]
#[path = "../../../native-tests/src/sizes.rs"]
pub(super) mod sizes;

pub(super) use self::corpus::Program;

/// A strategy of shuttle.
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// Creates the scheduler for this seed. It ends after this many runs.
    create: fn(u64, usize) -> Box<dyn Scheduler + Send>,
}

/// The strategies, the random walk first.
pub(super) const PEERS: &[Peer] = &[
    Peer {
        name: "shuttle rnd",
        create: |seed, runs| Box::new(RandomScheduler::new_from_seed(seed, runs)),
    },
    Peer {
        name: "pct 3",
        create: |seed, runs| Box::new(PctScheduler::new_from_seed(seed, 3, runs)),
    },
    Peer {
        name: "urw",
        create: |seed, runs| Box::new(UrwRandomScheduler::new_from_seed(seed, runs)),
    },
];

/// Returns the programs of the corpus.
pub(super) fn programs() -> impl Iterator<Item = &'static Program> {
    corpus::all()
}

impl Peer {
    /// Returns the number of runs to the first failure of the buggy twin, in each range of seeds.
    ///
    /// The run in which PCT or URW learns counts.
    pub(super) fn first_failures(&self, program: &Program, effort: Effort) -> Seen {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let first = |range| {
            // On a separate thread, because a run that fails while threads unwind leaves its thread unwinding.
            let (runs, buggy) = (Arc::new(AtomicU64::new(0)), program.buggy);
            let (count, scheduler) = (runs.clone(), (self.create)(range, effort.runs as usize));
            let look = std::thread::spawn(move || {
                runner(scheduler).run(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    buggy();
                })
            });
            look.join().is_err().then(|| runs.load(Ordering::Relaxed))
        };
        let first = (0..effort.ranges).map(first).collect();
        std::panic::set_hook(hook);
        Seen::new(first, effort)
    }

    /// Returns the processor time per run of a program without a bug, in microseconds.
    pub(super) fn cost(&self, program: fn(), seed: u64, runs: u64) -> f64 {
        let runner = runner((self.create)(seed, runs as usize));
        let began = ProcessTime::now();
        let done = runner.run(program);
        assert_eq!(done as u64, runs, "shuttle makes all runs");
        began.elapsed().as_secs_f64() * 1e6 / runs as f64
    }
}

fn runner(scheduler: Box<dyn Scheduler + Send>) -> Runner<Box<dyn Scheduler + Send>> {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    Runner::new(scheduler, config)
}
