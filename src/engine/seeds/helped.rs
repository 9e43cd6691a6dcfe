//! The loop over seeds with helpers: other processes that run seeds for this one.
//!
//! This process runs seeds as ever. For each helper a thread takes seeds from the same queue, and asks the helper for
//! them. The helper says the counts over the seeds that passed, and nothing about a failing run but that there is one.
//! So seeds that a helper did not pass are run here in the end, if no lower seed fails.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Batch, Explored, Found, SeedQueue, SeedTurn, SharedProgress, Stuck};
use crate::engine::assignment::Assignment;
use crate::engine::results::{HelpedLine, Tally};
use crate::run::ids::Seed;
use unpause_ordered::sort_by_key;

/// The time that a helper is to take for the seeds of one question.
const QUESTION: Duration = Duration::from_millis(5);

/// The maximum number of seeds of one question.
const SEEDS_MAX: u64 = 256;

/// Runs seeds in this process, and has helpers.
pub(in crate::engine) trait SeedMaker {
    type Helper: SeedHelper;

    /// Runs a seed. Counts the run if it passes; otherwise returns it.
    fn run(&mut self, turn: SeedTurn, own: &mut Explored) -> Option<Box<Found>>;

    /// Begins helpers.
    fn begin_helpers(&mut self) -> Vec<Self::Helper>;

    /// Waits for others, which run seeds.
    fn wait(&self, wait: &mut dyn FnMut());

    /// Returns the failure of a seed that failed in a helper and passed here: its run is not a function of the seed.
    fn differs(&mut self, turn: SeedTurn, failed: &str) -> Box<Found>;
}

/// Another process that runs seeds.
pub(in crate::engine) trait SeedHelper: Send {
    /// Runs the seeds at these positions, as long as `goes_on`, until one fails. `None` if the helper is lost.
    fn run(&mut self, positions: Range<u64>, goes_on: &dyn Fn() -> bool) -> Option<HelpedLine>;
}

/// Runs the seeds of a shard on this thread and in up to `jobs` - 1 helpers, which begin after the time `alone`.
pub(in crate::engine) fn explore(
    assignment: &Assignment<'_>,
    (jobs, batch, alone): (usize, u64, Duration),
    maker: &mut impl SeedMaker,
) -> Explored {
    let shared = SharedProgress::new(assignment, jobs, batch);
    if assignment.config.seed(assignment.results.begin()).is_some() {
        run(&shared, alone, maker);
    }
    shared.finish()
}

fn run(shared: &SharedProgress<'_>, alone: Duration, maker: &mut impl SeedMaker) {
    let began = Instant::now();
    let mut unrun = Vec::new();
    std::thread::scope(|scope| {
        let mut relays = None;
        let queue = SeedQueue { shared, between: &mut || {} };
        queue.run_each(|turn, own| {
            if relays.is_none() && began.elapsed() > alone {
                // All of them before the first thread: the state that they copy is not in use.
                let helpers = maker.begin_helpers().into_iter();
                let relay = |helper| scope.spawn(move || relay(shared, helper));
                relays = Some(helpers.map(relay).collect::<Vec<_>>());
            }
            maker.run(turn, own)
        });
        maker.wait(&mut || {
            for relay in relays.take().into_iter().flatten() {
                match relay.join() {
                    Ok(own) => unrun.extend(own),
                    // The scope itself would replace the payload.
                    Err(payload) => std::panic::resume_unwind(payload),
                }
            }
        });
    });
    run_rest(shared, unrun, maker);
}

/// Seeds that a helper was asked for and did not pass. The first of them failed there, if there is a text.
struct Unrun {
    positions: Range<u64>,
    failed: Option<String>,
}

/// Has a helper run seeds until there are none left, one fails or the time is up.
fn relay(shared: &SharedProgress<'_>, mut helper: impl SeedHelper) -> Vec<Unrun> {
    let (mut own, mut unrun, mut count) = (Explored::default(), Vec::new(), 1);
    let all = shared.assignment.config.positions();
    loop {
        let from = shared.take_many(count);
        let positions = from..(from + count).min(all);
        if positions.is_empty() || !shared.wants(positions.start) {
            break;
        }
        let began = Instant::now();
        let goes_on = || {
            shared.read_clock();
            shared.wants(positions.start)
        };
        let line = helper.run(positions.clone(), &goes_on);
        let is_lost = line.is_none();
        let HelpedLine { tally, stuck, failed, .. } = line.unwrap_or_default();
        let left = positions.start + tally.runs..positions.end;
        let seed = |position| Seed(shared.assignment.config.seed(position).unwrap_or_default());
        let stuck = stuck.map(|(position, text)| Stuck { position, seed: seed(position), text });
        own.merge(Explored { tally, stuck, ..Explored::default() });
        shared.record(&Batch { from: positions.start, left: left.clone() }, &mut own.tally);
        if failed.is_some() {
            shared.lowest.fetch_min(left.start, Ordering::Relaxed);
        }
        if !left.is_empty() {
            unrun.push(Unrun { positions: left, failed });
        }
        if is_lost {
            break;
        }
        count = match began.elapsed() {
            short if short < QUESTION / 2 => (2 * count).min(SEEDS_MAX),
            long if long > 2 * QUESTION => (count / 2).max(1),
            _ => count,
        };
    }
    shared.add(own);
    unrun
}

/// Runs the seeds that helpers did not pass, if no lower one fails.
fn run_rest(shared: &SharedProgress<'_>, mut unrun: Vec<Unrun>, maker: &mut impl SeedMaker) {
    sort_by_key(&mut unrun, |unrun| unrun.positions.start);
    let config = shared.assignment.config;
    let mut own = Explored { tally: Tally::default(), ..Explored::default() };
    'all: for Unrun { positions, failed } in unrun {
        let mut batch = Batch { from: positions.start, left: positions.clone() };
        for position in positions.clone() {
            let failed = failed.as_deref().filter(|_| position == positions.start);
            // A failure of a helper must be found, also when the time is up.
            let is_wanted = shared.wants(position) || failed.is_some() && shared.is_low(position);
            let Some(seed) = config.seed(position).filter(|_| is_wanted) else { break };
            let turn = SeedTurn { position, seed: Seed(seed), first: false };
            own.found = maker.run(turn, &mut own);
            if let (None, Some(failed)) = (&own.found, failed) {
                own.found = Some(maker.differs(turn, failed));
            }
            if own.found.is_some() {
                shared.lowest.fetch_min(position, Ordering::Relaxed);
                shared.record(&batch, &mut own.tally);
                break 'all;
            }
            batch.left.start += 1;
            shared.read_clock();
        }
        shared.record(&batch, &mut own.tally);
    }
    shared.add(own);
}
