//! The smallest strengthening of memory orderings that prevents a failure.
//!
//! The cause of a stale read is a link that does not release or acquire (`unordered.rs` of the report). First, the
//! links of the failing run are strengthened, and the seeds that found the failure run again. If a seed still fails,
//! the links of its run are added. Then each link is removed again if the failure does not occur without it. Therefore
//! each reported strengthening has been tried.
//!
//! If the stale reads of a failure have another cause, no hint is given. `SeqCst` orderings are not judged exactly,
//! because this model uses the execution order as their order.

use super::confirm::signature;
use super::explore::SeedRunner;
use super::session::Session;
use crate::report::{Strengthening, WeakLink, weak_links};
use crate::run::Run;
use crate::run::ids::Seed;
use crate::run::isolation::Isolation;
use crate::run::memory_model::{MemoryModel, Raise};

/// The maximum number of rounds that add links.
const ROUNDS: usize = 4;
/// The maximum number of links.
const LINKS: usize = 6;
/// The minimum and the maximum number of seeds that judge a strengthening.
const SEEDS: (u64, u64) = (300, 3_000);
/// The number of judging seeds per run that was needed to find the failure.
const TIMES: u64 = 20;
/// The maximum number of steps for the whole search. They take less than a second.
const STEPS: u64 = 2_000_000;
/// The maximum number of steps for plain threads, whose steps are slower.
const STEPS_NATIVE: u64 = 1_000_000;
/// The cost of starting and ending a run of plain threads, in steps.
const BEGIN_NATIVE: u64 = 50;
/// The cost of starting and ending a run in its own process, in steps.
const BEGIN_APART: u64 = 500;

/// Returns the smallest strengthening that was found for a failing run. `runs` is the number of runs that were needed
/// to find the failure.
pub(super) fn strengthening(session: &Session<'_>, run: &Run, runs: u64) -> Option<Strengthening> {
    let config = session.config;
    if config.memory != MemoryModel::C11 || config.strategy.is_search() || !config.shrink {
        return None;
    }
    let seeds = (TIMES * runs).clamp(SEEDS.0, SEEDS.1);
    let (steps_max, begin) = match config.isolate {
        _ if !config.is_native() => (STEPS, 0),
        Isolation::Process => (STEPS_NATIVE, BEGIN_APART),
        Isolation::Run => (STEPS_NATIVE, BEGIN_NATIVE),
    };
    let runner = SeedRunner::new(session);
    let mut judge = Judge { runner, run, seeds, begin, steps: 0, steps_max };
    let mut links = weak_links(run);
    for _ in 0..ROUNDS {
        if links.is_empty() || links.len() > LINKS {
            return None;
        }
        match judge.fails_with(&links)? {
            None => return judge.smallest(links),
            Some(other) => {
                let more = weak_links(&other);
                let before = links.len();
                for link in more {
                    if !links.iter().any(|known| known.raise == link.raise) {
                        links.push(link);
                    }
                }
                if links.len() == before {
                    return None;
                }
            }
        }
    }
    None
}

/// The state of the search for a strengthening: judges links by runs of seeds.
struct Judge<'a, 'b> {
    runner: SeedRunner<'a, 'b>,
    /// The failing run.
    run: &'a Run,
    seeds: u64,
    /// The cost of starting and ending a run, in steps.
    begin: u64,
    /// The number of steps so far.
    steps: u64,
    steps_max: u64,
}

impl Judge<'_, '_> {
    /// Executes runs with these orderings. Returns the first run with the same failure, if any. `None` if all runs
    /// together took too many steps.
    fn fails_with(&mut self, links: &[WeakLink]) -> Option<Option<Run>> {
        let raises: Vec<Raise> = links.iter().map(|link| link.raise).collect();
        self.runner.worker.raise(raises);
        let wanted = signature(self.run);
        for seed in 0..self.seeds {
            // The seeds of the test are not used, because the test may have only one.
            let seed = Seed(self.run.seed.0.wrapping_add(seed));
            let failure = self.runner.make(seed);
            let fails = failure.map(|failure| failure.signature()) == wanted;
            let failing = fails.then(|| self.runner.extract(seed));
            self.steps += self.runner.worker.steps() + self.begin;
            self.runner.worker.forget_histories();
            if failing.is_some() {
                return Some(failing);
            }
            if self.steps > self.steps_max {
                return None;
            }
        }
        Some(None)
    }

    /// Removes each link without which the failure still does not occur.
    fn smallest(&mut self, mut links: Vec<WeakLink>) -> Option<Strengthening> {
        let mut at = 0;
        while links.len() > 1 && at < links.len() {
            let mut fewer = links.clone();
            fewer.remove(at);
            match self.fails_with(&fewer)? {
                None => links = fewer,
                Some(_) => at += 1,
            }
        }
        Some(Strengthening::by(&links, self.seeds))
    }
}
