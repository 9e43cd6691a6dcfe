//! The smallest strengthening of memory orderings that prevents a failure.
//!
//! The cause of a stale read is often a link that does not release or acquire (`unordered.rs` of the report). A data
//! race names such links, too. First, the links of the failing run are strengthened, and the seeds that found the
//! failure run again. If a seed still fails, the links of its run are added. The engine then removes each link again if
//! the failure does not occur without it.
//!
//! If release and acquire do not suffice, the operations around the stale reads are made `SeqCst`, with a fence before
//! each of them. If this prevents the failure, the smallest part that also prevents it is searched. One change is tried
//! first, then two changes. If neither suffices, changes are removed one by one as long as the failure is prevented.
//! Finally, each change is made as weak as possible.
//!
//! Each reported strengthening has been tried. The runs that judge it have the exact order S of `SeqCst` operations. At
//! the end, all runs with the strengthening are explored if they are few. If one of them fails, the strengthening is
//! not reported. Otherwise it is proved.

mod all_runs;

use self::all_runs::all_runs;
pub(super) use self::all_runs::{AllRuns, all_runs_with_sc};
use super::confirm::signature;
use super::explore::SeedRunner;
use super::runs::{Next, for_each_run};
use super::session::Session;
use crate::engine::config::Config;
use crate::report::{Candidate, Strengthening, candidates, weak_links};
use crate::run::Run;
use crate::run::ids::Seed;
use crate::run::isolation::Isolation;
use crate::run::memory_model::{MemoryModel, Raise, WeakLink};

/// The maximum number of rounds that add links or candidates.
const ROUNDS: usize = 4;
/// The maximum number of links.
const LINKS: usize = 6;
/// The maximum number of operations that are made `SeqCst`.
const CANDIDATES: usize = 8;
/// The maximum number of changes with `SeqCst` or fences in a hint.
const SHOWN: usize = 4;
/// The maximum number of seeds that are tried before all others, because a weaker strengthening failed with them.
const FAILED: usize = 8;
/// The minimum and the maximum number of seeds that judge a strengthening.
const SEEDS: (u64, u64) = (300, 3_000);
/// The number of judging seeds per run that was needed to find the failure.
const TIMES: u64 = 20;
/// The factor for these seeds if many strengthenings are tried. A change that makes a failure rarer prevents it in few
/// seeds by chance.
const TIMES_OF_MANY: u64 = 3;
/// The maximum number of steps for the whole search. These steps take less than a second.
const STEPS: u64 = 2_000_000;
/// The maximum number of steps for plain threads, whose steps are slower.
const STEPS_NATIVE: u64 = 1_000_000;
/// The part of these steps that the exploration of all runs may take in addition.
const PART_OF_ALL_RUNS: u64 = 4;
/// The cost of starting and ending a run of plain threads, in steps.
const BEGIN_NATIVE: u64 = 50;
/// The cost of starting and ending a run in its own process, in steps.
const BEGIN_APART: u64 = 500;

/// Returns the smallest strengthening that was found for a failing run. `runs` is the number of runs that were needed
/// to find the failure.
pub(super) fn strengthening(session: &Session<'_>, run: &Run, runs: u64) -> Option<Strengthening> {
    let config = session.config;
    // The clocks of the race detector follow the memory orders in the source also with `sc`.
    let depends_on_orders = config.memory == MemoryModel::C11 || !weak_links(run).is_empty();
    if !depends_on_orders || config.strategy.is_search() || !config.shrink {
        return None;
    }
    let seeds = seeds_for(runs);
    let (steps_max, begin) = cost_of(config);
    let runner = SeedRunner::new(session);
    let failed = Vec::new();
    let mut judge = Judge { session, runner, run, seeds, failed, begin, steps: 0, steps_max };
    match judge.by_links()? {
        Some(strengthening) => Some(strengthening),
        None => judge.by_seq_cst(),
    }
}

/// Returns the number of seeds that judge if a change prevents a failure that was found in this number of runs.
pub(super) fn seeds_for(runs: u64) -> u64 {
    (TIMES * runs).clamp(SEEDS.0, SEEDS.1)
}

/// Returns the maximum number of steps for all runs that judge a failure, and the cost of starting and ending a run.
pub(super) fn cost_of(config: &Config) -> (u64, u64) {
    match config.isolate {
        _ if !config.is_native() => (STEPS, 0),
        Isolation::Process => (STEPS_NATIVE, BEGIN_APART),
        Isolation::Run => (STEPS_NATIVE, BEGIN_NATIVE),
    }
}

/// The state of the search for a strengthening: judges links by runs of seeds.
///
/// The functions of this type return `None` if all runs together took too many steps.
struct Judge<'a, 'b> {
    session: &'a Session<'b>,
    runner: SeedRunner<'a, 'b>,
    /// The failing run.
    run: &'a Run,
    seeds: u64,
    /// The seeds that failed last, the newest first.
    failed: Vec<u64>,
    /// The cost of starting and ending a run, in steps.
    begin: u64,
    /// The number of steps so far.
    steps: u64,
    steps_max: u64,
}

impl Judge<'_, '_> {
    /// Executes runs with these orderings. Returns the first run with the same failure, if any.
    fn fails_with(&mut self, links: &[WeakLink]) -> Option<Option<Run>> {
        let raises: Vec<Raise> = links.iter().map(|link| link.raise).collect();
        let Judge { runner, run, seeds, failed, begin, steps, steps_max, .. } = self;
        runner.worker.raise(raises);
        let wanted = signature(run);
        let others = (0..*seeds).filter(|seed| !failed.contains(seed));
        let (mut found, mut is_spent) = (None, false);
        for_each_run(runner, failed.iter().copied().chain(others), |runner, number| {
            // The seeds of the test are not used, because the test may have only one.
            let seed = Seed(run.seed.0.wrapping_add(number));
            let failure = runner.make(seed);
            let fails = failure.map(|failure| failure.signature()) == wanted;
            found = fails.then(|| (number, runner.extract(seed)));
            *steps += runner.worker.steps() + *begin;
            is_spent = *steps > *steps_max;
            if fails || is_spent { Next::Stop } else { Next::Again }
        });
        let Some((number, run)) = found else { return (!is_spent).then_some(None) };
        failed.retain(|known| *known != number);
        failed.insert(0, number);
        failed.truncate(FAILED);
        Some(Some(run))
    }

    /// Strengthens the links that do not release or acquire. The inner value is `None` if this does not suffice.
    fn by_links(&mut self) -> Option<Option<Strengthening>> {
        let mut links = weak_links(self.run);
        for _ in 0..ROUNDS {
            if links.is_empty() || links.len() > LINKS {
                return Some(None);
            }
            let Some(other) = self.fails_with(&links)? else {
                return self.smallest(links).map(|links| self.explored(&links));
            };
            let before = links.len();
            for link in weak_links(&other) {
                if !links.iter().any(|known| known.raise == link.raise) {
                    links.push(link);
                }
            }
            if links.len() == before {
                return Some(None);
            }
        }
        Some(None)
    }

    /// Removes each link without which the failure still does not occur, in their order.
    fn smallest(&mut self, mut links: Vec<WeakLink>) -> Option<Vec<WeakLink>> {
        let mut at = 0;
        while links.len() > 1 && at < links.len() {
            let mut fewer = links.clone();
            fewer.remove(at);
            match self.fails_with(&fewer)? {
                None => links = fewer,
                Some(_) => at += 1,
            }
        }
        Some(links)
    }

    /// Makes the operations around the stale reads `SeqCst`, with fences before them.
    fn by_seq_cst(&mut self) -> Option<Strengthening> {
        self.seeds = (TIMES_OF_MANY * self.seeds).min(SEEDS.1);
        let (mut known, mut all) = (candidates(self.run, false), false);
        for _ in 0..ROUNDS {
            if known.is_empty() || known.len() > CANDIDATES {
                return None;
            }
            let Some(other) = self.fails_with(&strongest(&known))? else {
                return self.least(&known);
            };
            let mut is_new = add(&mut known, candidates(&other, all));
            if !is_new && !all {
                all = true;
                is_new = add(&mut known, candidates(&other, true));
            }
            if !is_new {
                return None;
            }
        }
        None
    }

    /// Returns the smallest part of these changes that also prevents the failure.
    fn least(&mut self, known: &[Candidate]) -> Option<Strengthening> {
        let changes = strongest(known);
        let count = changes.len();
        let single = (0..count).map(|at| vec![at]);
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| vec![one, other]));
        for part in single.chain(pairs) {
            let part: Vec<WeakLink> = part.iter().map(|at| changes[*at]).collect();
            if self.fails_with(&part)?.is_none() {
                return self.weakest(known, part);
            }
        }
        // Fences are removed first: a program has fewer of them.
        let part = self.smallest(changes.into_iter().rev().collect())?;
        if part.len() > SHOWN { None } else { self.weakest(known, part) }
    }

    /// Makes each of these changes as weak as possible.
    fn weakest(&mut self, known: &[Candidate], part: Vec<WeakLink>) -> Option<Strengthening> {
        let mut changes: Vec<Vec<WeakLink>> = part.into_iter().map(|link| vec![link]).collect();
        for at in 0..changes.len() {
            let raise = changes[at][0].raise;
            let candidate = known.iter().find(|candidate| candidate.place == raise.place)?;
            for weaker in candidate.weaker(raise.by) {
                let strong = std::mem::replace(&mut changes[at], weaker);
                if self.fails_with(&changes.concat())?.is_none() {
                    break;
                }
                changes[at] = strong;
            }
        }
        self.explored(&changes.concat())
    }

    /// Explores all runs with these changes, which no seed has refuted. Returns `None` if one of the runs refutes them.
    fn explored(&mut self, changes: &[WeakLink]) -> Option<Strengthening> {
        let raises = changes.iter().map(|link| link.raise).collect();
        let cost = (self.begin, self.steps_max / PART_OF_ALL_RUNS);
        let strengthening = Strengthening::by(changes, self.seeds);
        match all_runs(self.session, self.run, raises, cost) {
            AllRuns::Pass(runs) => {
                Some(Strengthening { interleavings: Some(runs), ..strengthening })
            }
            AllRuns::Unknown => Some(strengthening),
            AllRuns::Fail(..) => None,
        }
    }
}

/// Returns the strongest changes at these operations: first their orders, then the fences.
fn strongest(known: &[Candidate]) -> Vec<WeakLink> {
    let orders = known.iter().filter_map(Candidate::strongest);
    orders.chain(known.iter().filter_map(Candidate::fence)).collect()
}

/// Adds candidates. Returns `true` if any of them is new.
fn add(known: &mut Vec<Candidate>, others: Vec<Candidate>) -> bool {
    let before = known.len();
    for candidate in others {
        if !known.iter().any(|known| known.place == candidate.place) {
            known.push(candidate);
        }
    }
    known.len() > before
}
