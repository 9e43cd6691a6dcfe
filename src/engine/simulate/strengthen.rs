//! The smallest strengthening of memory orders with which a failure does not come again.
//!
//! A stale read has a reason: a link that does not release or acquire (`unordered.rs` of the report). The links of the
//! failing run are strengthened, and the seeds that found the failure run again. If one of them still fails, its links
//! are added. Then each one is left out if the failure does not come without it. So nothing is reported that was not
//! tried.
//!
//! A failure whose stale reads have another reason gets no hint: orders `SeqCst` are not judged exactly, because their
//! order is the order of execution here.

use super::confirm::signature;
use super::explore::SeedRunner;
use super::session::Session;
use crate::report::{Strengthening, WeakLink, weak_links};
use crate::run::Run;
use crate::run::ids::Seed;
use crate::run::isolation::Isolation;
use crate::run::memory_model::{MemoryModel, Raise};

/// The number of rounds in which links are added.
const ROUNDS: usize = 4;
/// The largest number of links.
const LINKS: usize = 6;
/// The smallest and the largest number of seeds that judge a strengthening.
const SEEDS: (u64, u64) = (300, 3_000);
/// Seeds that judge, for each run that the failure took.
const TIMES: u64 = 20;
/// Steps that all of this may take: less than a second.
const STEPS: u64 = 2_000_000;
/// The same for plain threads, whose steps take longer.
const STEPS_NATIVE: u64 = 1_000_000;
/// The number of steps of a run of plain threads that take as long as its begin and its end.
const BEGIN_NATIVE: u64 = 50;
/// The same in a process of its own.
const BEGIN_APART: u64 = 500;

/// The smallest strengthening that was found for a failing run, which was found in so many runs.
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

/// Judges strengthenings.
struct Judge<'a, 'b> {
    runner: SeedRunner<'a, 'b>,
    /// The failing run.
    run: &'a Run,
    seeds: u64,
    /// The number of steps that the begin and the end of a run count as.
    begin: u64,
    /// Steps so far.
    steps: u64,
    steps_max: u64,
}

impl Judge<'_, '_> {
    /// Makes runs with these orders. Returns the first run with the same failure, if there is any. `None` if all runs
    /// together took too many steps.
    fn fails_with(&mut self, links: &[WeakLink]) -> Option<Option<Run>> {
        let raises: Vec<Raise> = links.iter().map(|link| link.raise).collect();
        self.runner.worker.raise(raises);
        let wanted = signature(self.run);
        for seed in 0..self.seeds {
            // Other seeds than the ones of the test, which may be one seed alone.
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

    /// Leaves out each link without which the failure does not come.
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
