//! The loop over seeds, for both builds.
//!
//! The loop distributes the seeds of a shard to threads. The loop stops at a failure or at the time limit, records
//! passed seeds in the results, and adds the counts of the threads. The loop does not run a seed itself: the engine of
//! the build runs it.

#[allow(dead_code, reason = "the real build has no runs of plain threads")]
mod helped_seeds;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use unpause_ordered::Set;

#[allow(unused_imports, reason = "as above")]
pub(super) use self::helped_seeds::{SeedHelper, SeedMaker, explore as explore_with_helpers};
use crate::engine::assignment::Assignment;
use crate::engine::live::{self, Live};
use crate::engine::results::Tally;
use crate::report::{Origin, Searched, one_line};
use crate::run::ids::{Place, Seed};
use crate::run::place::in_text;
use crate::run::program::ProgramRecord;
use crate::run::untried::Untried;
use crate::run::{Outcome, Run};
use crate::strategy::search::Apart;

/// The time during which only the calling thread runs seeds. After this time, further threads start; starting a thread
/// costs about a hundredth of this time.
const ALONE: Duration = Duration::from_millis(3);

/// The number of steps after which a thread checks the clock, even if its batch is not finished.
const STEPS_PER_LOOK: u64 = 4096;

/// The result of running seeds, or of a search.
#[derive(Default)]
pub(super) struct Explored {
    /// The failing run at the lowest position.
    pub(super) found: Option<Box<Found>>,
    /// Counts over passed runs, or over all runs of a search.
    pub(super) tally: Tally,
    pub(super) warnings: Vec<String>,
    /// Notes that are shown even if the harness hides the output of a test.
    pub(super) notes: Vec<String>,
    /// A warning to show if the test passes, from the run with the lowest position that caused a warning.
    pub(super) stuck: Option<Stuck>,
    /// Behaviour that no run of a search tried, for example functions with uninstrumented operations on shared memory.
    pub(super) untried: Set<Untried>,
    /// The progress of a search.
    pub(super) searched: Option<Searched>,
    #[allow(dead_code, reason = "the real build has no searches")]
    pub(super) decided: Decided,
}

/// The decisions of the runs of a search, for a certificate.
#[derive(Default)]
pub(super) struct Decided {
    /// Each element is one line about one run.
    pub(super) lines: Vec<String>,
    /// The criteria that the search uses for distinguishing runs.
    #[allow(dead_code, reason = "the real build has no searches")]
    pub(super) apart: Apart,
}

/// A failing run.
pub(super) struct Found {
    /// The position of its seed in the shard, or the number of the run in a search.
    pub(super) position: u64,
    pub(super) run: Run,
    pub(super) origin: Origin,
}

impl Found {
    /// Returns the failure as one line of text.
    #[allow(dead_code, reason = "the real build has no helpers")]
    pub(super) fn in_a_line(&self) -> String {
        match &self.run.outcome {
            Outcome::Passed => "the run passed".to_owned(),
            Outcome::Failed(failure) => one_line(failure, &self.run).replace('\n', " "),
        }
    }
}

/// A warning about tasks that a run left waiting.
pub(super) struct Stuck {
    /// The position of its seed in the shard, or the number of the run in a search.
    pub(super) position: u64,
    pub(super) seed: Seed,
    pub(super) text: String,
}

impl Explored {
    /// Adds the result of another thread. The sum does not depend on the order of additions.
    pub(super) fn merge(&mut self, other: Explored) {
        self.tally.merge(other.tally);
        // Only the thread that ran the first seed collects warnings and notes.
        self.warnings.extend(other.warnings);
        self.notes.extend(other.notes);
        self.untried.extend(other.untried);
        self.decided.lines.extend(other.decided.lines);
        let first =
            |stuck: &Stuck| self.stuck.as_ref().is_none_or(|own| stuck.position < own.position);
        if other.stuck.as_ref().is_some_and(first) {
            self.stuck = other.stuck;
        }
        let lower = |found: &Found| self.found.as_ref().is_none_or(|f| found.position < f.position);
        if other.found.as_deref().is_some_and(lower) {
            self.found = other.found;
        }
    }
}

/// Returns warnings about the first run: tasks that were still running when its body ended, and programs that are too
/// large to check.
pub(super) fn remarks(run: &Run) -> impl Iterator<Item = String> {
    let leaks = run.leaked.iter().map(|task| {
        let task = &run.tasks[task.index()];
        format!(
            "task {task}, spawned at {}, had not ended when the test body did: await its handle, \
             or call detach() on it",
            in_text(task.place)
        )
    });
    leaks.chain(run.programs.iter().filter_map(ProgramRecord::warning))
}

/// Returns a note for each history of the first run that was recorded but neither checked nor read. `places` are the
/// source locations that created these histories.
pub(super) fn unchecked<'a>(
    test: &'a str,
    places: impl IntoIterator<Item = Place> + 'a,
) -> impl Iterator<Item = String> + 'a {
    let places: Set<String> = places.into_iter().map(ToString::to_string).collect();
    places.into_iter().map(move |place| {
        let place = in_text(place);
        format!(
            "{test}: a history was recorded and never checked (created at {place}): end the test with its \
             assert_linearizable()"
        )
    })
}

/// Runs the seeds of a shard on up to `jobs` threads. `work` is called once on each thread. `work` creates the state
/// that the runs of the thread share, and calls [`SeedQueue::run_each`]. A thread takes up to `batch` seeds at a time
/// and records them together.
///
/// Threads take seeds in ascending order. A failing seed does not stop lower seeds that are already running, so the
/// lowest failing seed does not depend on the number of threads.
pub(super) fn explore(
    assignment: &Assignment<'_>,
    jobs: usize,
    batch: u64,
    work: &(dyn Fn(SeedQueue<'_>) + Sync),
) -> Explored {
    let shared = SharedProgress::new(assignment, jobs, batch);
    if assignment.config.seed(assignment.results.begin()).is_some() {
        run_on_threads(&shared, work);
    }
    shared.finish()
}

/// Calls `work` on this thread, and also on further threads if the work takes long.
fn run_on_threads(shared: &SharedProgress<'_>, work: &(dyn Fn(SeedQueue<'_>) + Sync)) {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let mut others = Vec::new();
        let mut start_others = || {
            if others.is_empty() && shared.jobs > 1 && began.elapsed() > ALONE {
                let start = |_| scope.spawn(|| work(SeedQueue { shared, between: &mut || {} }));
                others.extend((1..shared.jobs).map(start));
            }
        };
        work(SeedQueue { shared, between: &mut start_others });
        for other in others {
            // An implicit join by the scope would replace the panic payload.
            if let Err(payload) = other.join() {
                std::panic::resume_unwind(payload);
            }
        }
    });
}

/// A seed that an engine must run.
#[derive(Clone, Copy)]
pub(super) struct SeedTurn {
    /// The position of the seed among the seeds of the shard.
    pub(super) position: u64,
    pub(super) seed: Seed,
    /// True for the first seed of this process.
    pub(super) first: bool,
}

/// The seeds that one thread runs.
pub(super) struct SeedQueue<'a> {
    shared: &'a SharedProgress<'a>,
    /// A function that is called whenever the clock is checked.
    between: &'a mut dyn FnMut(),
}

impl SeedQueue<'_> {
    /// Calls `run` for each seed until no seeds remain, a seed fails, or the time limit is reached. `run` counts a
    /// passing run and returns a failing run.
    #[inline]
    pub(super) fn run_each(
        self,
        mut run: impl FnMut(SeedTurn, &mut Explored) -> Option<Box<Found>>,
    ) {
        let SeedQueue { shared, between } = self;
        let config = shared.assignment.config;
        let tally = Tally::new(config.coverage, config.statistics, config.closure);
        let mut own = Explored { tally, ..Explored::default() };
        let mut batch = shared.take();
        let mut steps = 0;
        while let Some(turn) = shared.next(&mut batch, &mut own.tally) {
            let before = own.tally.steps;
            own.found = run(turn, &mut own);
            if own.found.is_some() {
                shared.lowest.fetch_min(turn.position, Ordering::Relaxed);
                break;
            }
            batch.left.start += 1;
            steps += own.tally.steps - before;
            if batch.left.is_empty() || steps > STEPS_PER_LOOK {
                steps = 0;
                between();
                shared.read_clock();
            }
        }
        shared.record(&batch, &mut own.tally);
        shared.add(own);
    }
}

/// A range of positions that one thread has taken.
struct Batch {
    /// The position of the first seed that is not recorded in the results yet.
    from: u64,
    left: Range<u64>,
}

/// The state shared by the threads.
struct SharedProgress<'a> {
    assignment: &'a Assignment<'a>,
    deadline: Option<Instant>,
    /// The number of threads.
    jobs: u64,
    /// The number of seeds that a thread takes at a time.
    batch: u64,
    /// The position of the next seed to run.
    next: AtomicU64,
    /// The lowest position known to fail.
    lowest: AtomicU64,
    /// True if the time limit is reached. False before the first run, because a test must have at least one run.
    late: AtomicBool,
    live: Live<'a>,
    total: Mutex<Explored>,
}

impl<'a> SharedProgress<'a> {
    fn new(assignment: &'a Assignment<'a>, jobs: usize, batch: u64) -> SharedProgress<'a> {
        SharedProgress {
            assignment,
            deadline: assignment.config.time.map(|time| Instant::now() + time),
            jobs: jobs as u64,
            batch,
            next: AtomicU64::new(assignment.results.begin()),
            lowest: AtomicU64::new(u64::MAX),
            late: AtomicBool::new(false),
            live: Live::begin(&assignment.site.test),
            total: Mutex::default(),
        }
    }

    /// Takes positions. At first a thread takes one position at a time, so that few long runs are distributed evenly.
    /// Later it takes more, because threads with short runs would otherwise contend for the counter.
    fn take(&self) -> Batch {
        let count = match self.next.load(Ordering::SeqCst) {
            begun if self.jobs > 1 && begun < 64 * self.jobs => 1,
            _ => self.batch,
        };
        let from = self.take_many(count);
        Batch { from, left: from..from + count }
    }

    /// Takes `count` positions and returns the first.
    fn take_many(&self, count: u64) -> u64 {
        self.next.fetch_add(count, Ordering::SeqCst)
    }

    /// Returns `true` if the seed at this position must be run.
    #[inline]
    fn wants(&self, position: u64) -> bool {
        !self.late.load(Ordering::Relaxed) && self.is_low(position)
    }

    /// Returns `true` if no seed at a lower position is known to fail.
    fn is_low(&self, position: u64) -> bool {
        position <= self.lowest.load(Ordering::Relaxed)
    }

    /// Returns the next seed of a thread; `None` if the thread must stop. Records a finished batch of passed seeds.
    #[inline]
    fn next(&self, batch: &mut Batch, tally: &mut Tally) -> Option<SeedTurn> {
        if self.late.load(Ordering::Relaxed) {
            return None;
        }
        if batch.left.is_empty() {
            self.record(batch, tally);
            *batch = self.take();
        }
        let position = batch.left.start;
        if !self.wants(position) {
            return None;
        }
        let seed = Seed(self.assignment.config.seed(position)?);
        Some(SeedTurn { position, seed, first: position == self.assignment.results.begin() })
    }

    /// Records the passed seeds of a batch in the results.
    fn record(&self, batch: &Batch, tally: &mut Tally) {
        self.assignment.results.passed(batch.from..batch.left.start, tally);
    }

    /// Adds the result of one thread.
    fn add(&self, own: Explored) {
        self.total.lock().unwrap_or_else(PoisonError::into_inner).merge(own);
    }

    fn read_clock(&self) {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.late.store(true, Ordering::Relaxed);
        }
        let text = |now| {
            let config = self.assignment.config;
            let done = self.next.load(Ordering::Relaxed) - self.assignment.results.begin();
            let all = config.positions().saturating_sub(self.assignment.results.begin());
            live::seeds(done.min(all), all, config.time, now)
        };
        self.live.look(text);
        self.live.look_plainly(text);
    }

    /// Returns the result. If results are written, its counts include the seeds of earlier processes.
    fn finish(self) -> Explored {
        let mut total = self.total.into_inner().unwrap_or_else(PoisonError::into_inner);
        if total.found.is_none() {
            let counted = self.assignment.results.counted().filter(|tally| tally.runs > 0);
            total.tally = counted.unwrap_or(total.tally);
        }
        total
    }
}
