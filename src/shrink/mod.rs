//! Makes failing runs small: passes over schedules, to a fixpoint, within a budget.
//!
//! A random interleaving that breaks a program has thousands of switches, of which one or two matter.
//! [`shrink()`] looks for the [`Schedule`] with the least [`Cost`](crate::run::schedule::Cost) that still fails in
//! the same way. It knows a run only as a schedule and a [`Replayer`], and nothing of tasks, primitives or
//! how a run is made; so it is tested with an interpreter of toy programs, against the true minimum.
//!
//! # What smaller means
//!
//! Less to read: fewer steps up to the failure, a preemption counted as four of them; then fewer turns; then
//! smaller values drawn ([`Cost`](crate::run::schedule::Cost)). Never more steps than the run has that is being
//! shrunk: for a preemption less it is not made longer. What counts is the schedule that *really ran*, never the one proposed:
//! a candidate is followed leniently ([`Cursor`](crate::run::schedule::Cursor)), so almost any list of turns is a
//! run, and what a pass proposes need not be exact to be useful. A candidate is accepted only if it fails in
//! the same way and costs strictly less, and costs have no infinite descent: so the search ends, whatever the
//! passes do. It is deterministic, and shrinking a result again changes nothing as long as the budget was
//! enough the first time.
//!
//! # The search
//!
//! [`PASSES`] are run in order, over and over, until a whole round finds nothing: first with a few
//! big pieces of the schedule each (delta debugging: Zeller and Hildebrandt, "Simplifying and
//! isolating failure-inducing input", TSE 2002), then with ever smaller ones. A run of 10^5 steps
//! is down to a handful of turns after some dozens of replays. Schedules that were tried are
//! remembered and not tried again. Passes that are dear ([`When::Stuck`]) wait until the others are
//! at their end.
//!
//! That a failure has no schedule with fewer preemptions is not shown here, and need not be so: one of them
//! may be worth the steps that it saves, and the passes do not go through all schedules. To prove it takes
//! all runs with fewer, which whoever shrinks may make afterwards.
//!
//! # Programs
//!
//! A program that was generated is made smaller first, together with its schedule: what becomes of a
//! command is a value drawn ([`Change`](crate::run::program::Change)), so a smaller program is a schedule with
//! other draws. When a command is left out, everything after it happens at other steps. So its steps,
//! and the values that it drew, are taken out of the schedule too (`project.rs`), and tasks that are left
//! with nothing to do with them; if that loses the failure, some fresh schedules are tried; and if those do, a tombstone
//! takes its place: points with no effect, so that the schedule fits as it is. When nothing else makes the run smaller, each
//! command that is left is left out once more, and all schedules of the rest are searched for the failure
//! (`needed.rs`).

mod project;
mod search;

// One pass each; `PASSES` has them in the order in which they are run.
mod arguments;
mod bounded;
mod commands;
mod draws;
mod needed;
mod order;
mod places;
mod regroup;
mod split;
mod steps;
mod tail;
mod tasks;
mod turns;

#[cfg(test)]
mod tests;

use crate::run::schedule::Schedule;
pub use search::{Edit, Search};

/// Runs a schedule once. Any `FnMut(&Schedule) -> Option<Schedule>` is one.
pub trait Replayer {
    /// Follows `schedule` leniently, as [`Cursor`](crate::run::schedule::Cursor) says. `None` unless the run fails
    /// in the same way (kind and place) as the one that is being shrunk; otherwise the schedule that really
    /// ran, up to the failure, with [`preempts`](crate::run::schedule::Turn::preempts) as it was.
    ///
    /// Must be a function of the schedule. The table of tasks may be in any order, and may have
    /// tasks that never stepped: the search then knows of them.
    fn replay(&mut self, schedule: &Schedule) -> Option<Schedule>;

    /// Looks among all schedules of the program that the values drawn in `schedule` make, whatever its turns, for
    /// a run that fails in the same way and is `smaller`; in at most `runs_max` runs, or a small multiple of
    /// that. By default there is no such search.
    ///
    /// Must be a function of its arguments.
    fn seek(
        &mut self,
        schedule: &Schedule,
        runs_max: u64,
        smaller: &dyn Fn(&Schedule) -> bool,
    ) -> Sought {
        let _ = (schedule, runs_max, smaller);
        Sought::default()
    }

    /// Whether replays took so long that no more are to be made, whatever the [budget](Budget) says. Must be a
    /// function of what was replayed.
    fn is_spent(&self) -> bool {
        false
    }
}

impl<F: FnMut(&Schedule) -> Option<Schedule>> Replayer for F {
    fn replay(&mut self, schedule: &Schedule) -> Option<Schedule> {
        self(schedule)
    }
}

/// What a search among the schedules of one program came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sought {
    /// A run that fails in the same way, as [`Replayer::replay`] returns it.
    pub found: Option<Schedule>,
    /// How many runs were made.
    pub runs: u64,
    /// Whether all schedules were searched, up to orders that make no difference.
    pub through: bool,
}

/// How much a search may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Replays, the first one included, which is made in any case. 2,000 by default: a small run
    /// takes a few dozen to some hundreds.
    pub replays: u64,
    /// Runs that searches of small programs ([`Replayer::seek`]) may take, besides. 15,000 by default.
    pub sought: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { replays: 2000, sought: 15_000 }
    }
}

/// What a search came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shrunk {
    /// The schedule with the least cost that was found, as it ran, with no more steps than the one that was
    /// to be shrunk; tasks are sorted by path. If the one that was to be shrunk did not fail when replayed,
    /// that one.
    pub schedule: Schedule,
    /// Whether the schedule that was to be shrunk failed when it was replayed. If not, the program
    /// depends on something that is not in its decisions, and nothing was done.
    pub reproduced: bool,
    /// Whether a fixpoint was reached: no pass finds anything smaller. False if the budget was used
    /// up before.
    pub complete: bool,
    /// How many replays it took, the first one and the runs of searches included.
    pub replays: u64,
    /// What each pass did, in the order of the passes.
    pub passes: Vec<PassStats>,
}

/// What a pass did in a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PassStats {
    /// The name of the pass.
    pub name: &'static str,
    /// How many candidates of it were replayed.
    pub replays: u64,
    /// How many of them were smaller and failed.
    pub accepted: u64,
}

/// One way of looking for smaller schedules.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// What it is called, one word.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// When its turn comes.
    pub when: When,
    /// Proposes candidates. It should depend on the best schedule alone, and should propose big
    /// changes first.
    pub run: fn(&mut Search<'_>),
}

/// When the turn of a pass comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// In every round.
    Always,
    /// Only when no pass before it finds anything any more, even by looking closely.
    Stuck,
}

/// All passes, in the order in which they are run: what may take most away comes first.
pub const PASSES: &[Pass] = &[
    Pass::new("commands", "drop commands of a program", When::Always, commands::run),
    Pass::new("places", "run commands before or after", When::Always, places::run),
    Pass::new("tail", "drop the end", When::Always, tail::run),
    Pass::new("tasks", "drop tasks", When::Always, tasks::run),
    Pass::new("regroup", "switch less in a stretch", When::Always, regroup::run),
    Pass::new("turns", "drop turns or join them", When::Always, turns::run),
    Pass::new("steps", "cut turns shorter", When::Always, steps::run),
    Pass::new("draws", "draw smaller values", When::Always, draws::run),
    Pass::new("arguments", "try simpler commands of the model", When::Stuck, arguments::run),
    Pass::new("order", "let turns change places", When::Stuck, order::run),
    Pass::new("split", "let parts of turns change places", When::Stuck, split::run),
    Pass::new("bounded", "look everywhere with fewer preemptions", When::Stuck, bounded::run),
    Pass::new("needed", "drop commands that no schedule needs", When::Stuck, needed::run),
];

impl Pass {
    /// A row of the table.
    const fn new(
        name: &'static str,
        summary: &'static str,
        when: When,
        run: fn(&mut Search<'_>),
    ) -> Pass {
        Pass { name, summary, when, run }
    }
}

/// Into about how many pieces a schedule is cut, from far away to close up.
const PIECES: [usize; 4] = [16, 128, 1024, Search::CLOSE];

/// Looks for the smallest schedule that fails as `start` does, by all of [`PASSES`].
///
/// The time is that of the replays, plus O(turns) for each.
///
/// ```
/// use sim::run::ids::TaskPath;
/// use sim::run::schedule::{Cursor, Schedule, Turn};
/// use sim::shrink::{Budget, shrink};
///
/// // Two tasks increment a counter in two steps each; the failure is a lost update.
/// let replay = |schedule: &Schedule| {
///     let mut ran = Schedule { tasks: schedule.tasks.clone(), ..Schedule::default() };
///     let mut cursor = Cursor::new(schedule.clone());
///     let (mut counter, mut seen, mut steps) = (0, [0; 2], [0; 2]);
///     let mut last = 0;
///     while steps != [2, 2] {
///         let default = if steps[last] < 2 { last } else { 1 - last };
///         let task = cursor.pick(|task| steps[task] < 2).unwrap_or(default);
///         match steps[task] {
///             0 => seen[task] = counter,
///             _ => counter = seen[task] + 1,
///         }
///         ran.step(task, steps[last] < 2);
///         steps[task] += 1;
///         last = task;
///     }
///     (counter != 2).then_some(ran)
/// };
///
/// let turn = |task| Turn { task, steps: 1, preempts: false };
/// let start = Schedule {
///     tasks: vec![TaskPath::main().child(0), TaskPath::main().child(1)],
///     turns: vec![turn(0), turn(1), turn(0), turn(1)],
///     draws: vec![],
///     ..Schedule::default()
/// };
/// let shrunk = shrink(start, &mut { replay }, &Budget::default());
/// assert!(shrunk.complete);
/// assert_eq!(shrunk.schedule.preemptions(), 1);
/// assert_eq!(shrunk.schedule.turns.len(), 3);
/// ```
pub fn shrink(start: Schedule, replayer: &mut dyn Replayer, budget: &Budget) -> Shrunk {
    shrink_with(PASSES, start, replayer, budget)
}

/// Looks for the smallest schedule that fails as `start` does, by these passes. As [`shrink()`].
///
/// ```
/// use sim::run::schedule::Schedule;
/// use sim::shrink::{Budget, PASSES, shrink_with};
///
/// let cheap: Vec<_> = PASSES.iter().copied().filter(|pass| pass.name != "bounded").collect();
/// let mut never_fails = |_: &Schedule| None;
/// let shrunk = shrink_with(&cheap, Schedule::default(), &mut never_fails, &Budget::default());
/// assert!(!shrunk.reproduced);
/// ```
pub fn shrink_with(
    passes: &[Pass],
    start: Schedule,
    replayer: &mut dyn Replayer,
    budget: &Budget,
) -> Shrunk {
    let mut stats: Vec<PassStats> =
        passes.iter().map(|pass| PassStats { name: pass.name, ..PassStats::default() }).collect();
    let Some(mut search) = Search::begin(&start, replayer, *budget) else {
        let (reproduced, complete, replays) = (false, false, 1);
        return Shrunk { schedule: start, reproduced, complete, replays, passes: stats };
    };
    for pieces in PIECES {
        search.set_pieces(pieces);
        while round(passes, &mut search, &mut stats) {}
    }
    let (replays, complete) = (search.replays(), !search.spent());
    Shrunk { schedule: search.into_best(), reproduced: true, complete, replays, passes: stats }
}

/// Runs all passes once. Tells whether another round is worth it.
fn round(passes: &[Pass], search: &mut Search<'_>, stats: &mut [PassStats]) -> bool {
    let mut better = false;
    for (pass, stats) in passes.iter().zip(stats) {
        if pass.when == When::Stuck && (better || !search.is_close()) {
            continue;
        }
        (pass.run)(search);
        let (replays, accepted) = search.take_counts();
        stats.replays += replays;
        stats.accepted += accepted;
        better |= accepted > 0;
    }
    better && !search.spent()
}
