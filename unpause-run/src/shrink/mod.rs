//! Shrinks failing runs: applies passes to schedules until a fixpoint, within a budget.
//!
//! A random interleaving that breaks a program has thousands of switches, but only one or two of them matter.
//! [`shrink()`] searches for the [`Schedule`] with the least [`Cost`](crate::run::schedule::Cost) that still fails in
//! the same way. The function uses only schedules and a [`Replayer`], and does not depend on tasks, primitives or the
//! runtime. The tests therefore use an interpreter of toy programs and compare results with the true minimum.
//!
//! # Order
//!
//! A smaller schedule is easier to read. A smaller schedule has fewer steps up to the failure, where a preemption
//! counts as four steps; then fewer turns; then smaller drawn values ([`Cost`](crate::run::schedule::Cost)). A shrunk
//! schedule never has more steps than the original run, not even to save a preemption. The cost is computed from the
//! schedule that *really ran*, never from the candidate. A replay follows a candidate leniently
//! ([`Cursor`](crate::run::schedule::Cursor)), so almost any list of turns is a run, and the candidates of a pass can
//! be inexact. A candidate is accepted only if it fails in the same way and costs strictly less. Costs cannot decrease
//! forever, so the search always ends. The search is deterministic. Shrinking a result again changes nothing if the
//! budget was sufficient the first time.
//!
//! # The search
//!
//! [`PASSES`] run in order, in rounds, until a whole round finds nothing. The passes start with a few big pieces of the
//! schedule, and continue with ever smaller pieces (delta debugging: Zeller and Hildebrandt, "Simplifying and isolating
//! failure-inducing input", TSE 2002). A run of 10^5 steps typically shrinks to a handful of turns after a few dozen
//! replays. No schedule is tried twice. Expensive passes ([`PassPhase::Stuck`]) run only when the other passes find
//! nothing more.
//!
//! The result need not have the fewest preemptions: a preemption may be worth the steps that it saves, and the passes
//! do not enumerate all schedules. To prove that no failing run has fewer preemptions, the caller can explore all runs
//! with fewer preemptions.
//!
//! # Programs
//!
//! The search first shrinks a generated program, together with its schedule. The fate of a command is a drawn value
//! ([`Change`](crate::run::program::Change)), so a smaller program is a schedule with other draws. Without a command,
//! all later operations happen at other steps. The search therefore also removes the steps of the command, its drawn
//! values, and tasks without remaining work from the schedule (`project.rs`). If this loses the failure, the search
//! tries some fresh schedules. If these also lose the failure, a tombstone replaces the command. A tombstone consists
//! of points without effect, so the schedule fits unchanged. When nothing else shrinks the run, the search tries again
//! to remove each remaining command, and searches all schedules of the rest for the failure (`needed.rs`).

mod project;
mod smallest;

// Each module is one pass; `PASSES` lists the passes in execution order.
mod arguments;
mod bounded;
mod commands;
mod draws;
mod needed;
mod order;
mod parts;
mod regroup;
mod split;
mod steps;
mod tail;
mod tasks;
mod turns;

#[cfg(test)]
mod tests;

use crate::run::schedule::Schedule;
pub use smallest::{Edit, Search};

/// Replays a schedule. Every `FnMut(&Schedule) -> Option<Schedule>` implements this trait.
pub trait Replayer {
    /// Follows `schedule` leniently, by the rules of [`Cursor`](crate::run::schedule::Cursor). If the run fails in the
    /// same way (kind and place) as the original run, returns the schedule that really ran, up to the failure, with its
    /// actual [`preempts`](crate::run::schedule::Turn::preempts). If the run does not fail in this way, returns `None`.
    ///
    /// Must be a function of the schedule. The table of tasks may have any order. The table may contain tasks that
    /// never stepped, which the search may then use.
    fn replay(&mut self, schedule: &Schedule) -> Option<Schedule>;

    /// Searches all schedules of a generated program for a `smaller` run with the same failure. The drawn values in
    /// `schedule` generate the program; its turns are ignored. Executes at most `runs_max` runs, or a small multiple of
    /// this number. The default implementation does not search.
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

    /// Returns `true` if the replays took so long that no more may run, even within the [budget](Budget). Must be a
    /// function of the replays so far.
    fn is_spent(&self) -> bool {
        false
    }
}

impl<F: FnMut(&Schedule) -> Option<Schedule>> Replayer for F {
    fn replay(&mut self, schedule: &Schedule) -> Option<Schedule> {
        self(schedule)
    }
}

/// The result of a search over the schedules of one program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sought {
    /// A run that fails in the same way, as [`Replayer::replay`] returns it.
    pub found: Option<Schedule>,
    /// The number of runs.
    pub runs: u64,
    /// True if all schedules were searched, up to equivalence.
    pub through: bool,
}

/// The budget of [`shrink`]. When it is exhausted, the best schedule so far is the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The maximum number of replays, including the first replay, which always runs. 2,000 by default; a small run
    /// needs a few dozen to a few hundred.
    pub replays: u64,
    /// The maximum number of additional runs for searches of small programs ([`Replayer::seek`]). 15,000 by default.
    pub sought: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { replays: 2000, sought: 15_000 }
    }
}

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shrunk {
    /// The schedule with the lowest cost found, as it ran, with tasks sorted by path. The schedule has no more steps
    /// than the original schedule. If the replay of the original schedule did not fail, the original schedule.
    pub schedule: Schedule,
    /// True if the replay of the original schedule failed. If false, the program depends on something outside its
    /// decisions, and nothing was shrunk.
    pub reproduced: bool,
    /// True if a fixpoint was reached, so no pass finds anything smaller. False if the budget was exhausted before.
    pub complete: bool,
    /// The number of replays, including the first replay and the runs of searches.
    pub replays: u64,
    /// The statistics of each pass, in the order of the passes.
    pub passes: Vec<PassStats>,
}

/// The statistics of a pass in a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PassStats {
    /// The name of the pass.
    pub name: &'static str,
    /// The number of its candidates that were replayed.
    pub replays: u64,
    /// The number of replayed candidates that were smaller and failed.
    pub accepted: u64,
}

/// One method for finding smaller schedules.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The name of the pass, which is one word.
    pub name: &'static str,
    /// A summary in a few words.
    pub summary: &'static str,
    /// The rounds in which the pass runs.
    pub phase: PassPhase,
    /// The function that tries candidates. The function should depend only on the best schedule, and should try big
    /// changes first.
    pub run: fn(&mut Search<'_>),
}

/// The rounds in which a pass runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PassPhase {
    /// In every round.
    Always,
    /// The pass runs only with the smallest pieces, and only if no earlier pass of the round finds anything.
    Stuck,
}

/// All passes, in execution order. Passes that may remove the most come first.
pub const PASSES: &[Pass] = &[
    Pass::new("commands", "drop commands of a program", PassPhase::Always, commands::run),
    Pass::new("parts", "run commands before or after", PassPhase::Always, parts::run),
    Pass::new("tail", "drop the end", PassPhase::Always, tail::run),
    Pass::new("tasks", "drop tasks", PassPhase::Always, tasks::run),
    Pass::new("regroup", "switch less in a stretch", PassPhase::Always, regroup::run),
    Pass::new("turns", "drop turns or join them", PassPhase::Always, turns::run),
    Pass::new("steps", "cut turns shorter", PassPhase::Always, steps::run),
    Pass::new("draws", "draw smaller values", PassPhase::Always, draws::run),
    Pass::new("arguments", "try simpler commands of the model", PassPhase::Stuck, arguments::run),
    Pass::new("order", "let turns change places", PassPhase::Stuck, order::run),
    Pass::new("split", "let parts of turns change places", PassPhase::Stuck, split::run),
    Pass::new("bounded", "look everywhere with fewer preemptions", PassPhase::Stuck, bounded::run),
    Pass::new("needed", "drop commands that no schedule needs", PassPhase::Stuck, needed::run),
];

impl Pass {
    /// Creates a row of [`PASSES`].
    const fn new(
        name: &'static str,
        summary: &'static str,
        phase: PassPhase,
        run: fn(&mut Search<'_>),
    ) -> Pass {
        Pass { name, summary, phase, run }
    }
}

/// The approximate numbers of pieces into which a schedule is cut, from coarse to fine.
const PIECES: [usize; 4] = [16, 128, 1024, Search::CLOSE];

/// Searches for the smallest schedule that fails in the same way as `start`, with all [`PASSES`].
///
/// The running time is the time of the replays, plus O(turns) per replay.
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

/// Searches for the smallest schedule that fails in the same way as `start`, like [`shrink()`], but with these passes.
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

/// Runs all passes once. Returns `true` if another round is worthwhile.
fn round(passes: &[Pass], search: &mut Search<'_>, stats: &mut [PassStats]) -> bool {
    let mut better = false;
    for (pass, stats) in passes.iter().zip(stats) {
        if pass.phase == PassPhase::Stuck && (better || !search.is_close()) {
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
