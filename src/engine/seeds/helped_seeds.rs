//! The loop over seeds with helpers: other processes that run seeds for this process.
//!
//! This process runs seeds in the same way as without helpers. In addition, one thread per helper takes seeds from the
//! same queue and sends them to the helper as a request. The helper returns the counts over the passed seeds. For a
//! failing run it returns only one line of text. Therefore this process finally runs the seeds that a helper did not
//! pass, if no lower seed fails.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Batch, Explored, Found, SeedQueue, SeedTurn, SharedProgress, Stuck};
use crate::engine::assignment::Assignment;
use crate::engine::results::{HelpedLine, Tally};
use crate::run::ids::Seed;
use unpause_ordered::sort_by_key;

/// The target duration of one request to a helper.
const QUESTION: Duration = Duration::from_millis(5);

/// The maximum number of seeds in one request.
const SEEDS_MAX: u64 = 256;

/// A type that runs seeds in this process and starts helpers.
pub(in crate::engine) trait SeedMaker {
    type Helper: SeedHelper;

    /// Runs a seed. Counts the run if it passes; otherwise returns the run.
    fn run(&mut self, turn: SeedTurn, own: &mut Explored) -> Option<Box<Found>>;

    /// Starts the helpers.
    fn begin_helpers(&mut self) -> Vec<Self::Helper>;

    /// Calls `wait`, which returns when the threads that relay seeds to helpers have ended.
    fn wait(&self, wait: &mut dyn FnMut());

    /// Returns the failure of a seed that failed in a helper but passed here. The run of such a seed is not a function
    /// of the seed.
    fn differs(&mut self, turn: SeedTurn, failed: &str) -> Box<Found>;
}

/// A helper: another process that runs seeds.
pub(in crate::engine) trait SeedHelper: Send {
    /// Runs the seeds at these positions, as long as `goes_on` returns `true` and no seed fails. `None` if the
    /// connection to the helper is lost.
    fn run(&mut self, positions: Range<u64>, goes_on: &dyn Fn() -> bool) -> Option<HelpedLine>;
}

/// Runs the seeds of a shard on this thread and in up to `jobs` - 1 helpers, which start after the time `alone`.
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
                // All helpers start before the first relay thread, so that the state that they copy is not in use.
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
                    // An implicit join by the scope would replace the panic payload.
                    Err(payload) => std::panic::resume_unwind(payload),
                }
            }
        });
    });
    run_rest(shared, unrun, maker);
}

/// Seeds that a helper was asked to run but did not pass. If `failed` is set, the first of these seeds failed.
struct Unrun {
    positions: Range<u64>,
    failed: Option<String>,
}

/// Sends seeds to a helper until no seeds remain, a seed fails, or the time limit is reached. Returns the seeds that
/// did not pass.
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

/// Runs the seeds that helpers did not pass, if no lower seed fails.
fn run_rest(shared: &SharedProgress<'_>, mut unrun: Vec<Unrun>, maker: &mut impl SeedMaker) {
    sort_by_key(&mut unrun, |unrun| unrun.positions.start);
    let config = shared.assignment.config;
    let mut own = Explored { tally: Tally::default(), ..Explored::default() };
    'all: for Unrun { positions, failed } in unrun {
        let mut batch = Batch { from: positions.start, left: positions.clone() };
        for position in positions.clone() {
            let failed = failed.as_deref().filter(|_| position == positions.start);
            // A failure in a helper must be reproduced here even after the time limit.
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
