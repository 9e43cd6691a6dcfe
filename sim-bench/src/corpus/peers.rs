//! shuttle's strategies, on the same programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shuttle::future::block_on;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};

use super::{Effort, Seen};
use crate::programs::{FAMILIES, Program, Spawning};

/// A strategy of shuttle.
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// Creates the scheduler for this seed. It ends after this many runs.
    create: fn(u64, usize) -> Box<dyn Scheduler + Send>,
}

/// The strategies.
pub(super) const PEERS: &[Peer] = &[
    Peer {
        name: "shuttle rnd",
        create: |seed, runs| Box::new(RandomScheduler::new_from_seed(seed, runs)),
    },
    Peer {
        name: "shuttle pct",
        create: |seed, runs| Box::new(PctScheduler::new_from_seed(seed, 3, runs)),
    },
];

impl Peer {
    /// Searches for the bug repeatedly, with one seed after another. The first run of PCT, in which it learns, counts
    /// like any run. Returns `None` if the program needs a primitive that shuttle does not have.
    pub(super) fn measure(&self, name: &str, effort: Effort) -> Option<Seen> {
        let program = FAMILIES.iter().copied().flatten().find(|program| program.name == name)?;
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let mut seen = Seen::default();
        for seed in 0.. {
            if seen.enough(effort) {
                break;
            }
            let (runs, found) = self.look(program, seed, effort.runs - seen.runs);
            seen.runs += runs;
            seen.bugs += u64::from(found);
        }
        std::panic::set_hook(hook);
        Some(seen)
    }

    /// Returns the number of runs until a run failed or the limit was reached, and `true` if a run failed.
    fn look(&self, program: &'static Program, seed: u64, runs_max: u64) -> (u64, bool) {
        let runs = Arc::new(AtomicU64::new(0));
        let (count, create) = (runs.clone(), self.create);
        // On a separate thread, because a run that fails while tasks unwind leaves its thread unwinding.
        let look = std::thread::spawn(move || {
            let mut config = shuttle::Config::new();
            config.failure_persistence = shuttle::FailurePersistence::None;
            let runner = shuttle::Runner::new(create(seed, runs_max as usize), config);
            runner.run(move || {
                count.fetch_add(1, Ordering::Relaxed);
                block_on((program.buggy)(Spawning::Together));
            })
        });
        let found = look.join().is_err();
        (runs.load(Ordering::Relaxed), found)
    }
}
