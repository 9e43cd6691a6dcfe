//! The result of a test as data, and its renderers.
//!
//! The runner fills a [`Report`] and hands it to a renderer, a pure function from the report and a
//! [`Style`] to text. Nothing here prints, reads the environment or queries a terminal. No
//! program reads the text: a tool reads the [`Report`], or its JSON.

mod calls;
mod chances;
mod clash;
mod coverage;
mod deadlock;
mod differs;
mod failure;
mod faults;
mod folds;
mod json;
mod lanes;
mod legend;
mod names;
mod nodes;
mod one_line;
mod page;
mod places;
mod program;
mod proven;
#[doc(hidden)]
pub mod runtimes;
mod schedule;
mod searched;
mod source;
mod stale;
mod statistics;
mod strengthened;
mod text;
mod unordered;
mod waiting;
mod why;

#[cfg(test)]
mod documents;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use crate::run::coverage::Coverage;
use crate::run::ids::Seed;
use crate::run::statistics::Statistics;
use crate::run::{Failure, FaultCount, Outcome, Run};

pub use clash::{Cause, Clash, StepText};
pub use json::json;
#[doc(hidden)]
pub use json::json_with_sources;
pub use one_line::one_line;
pub use page::page;
pub use source::rust;
pub use strengthened::{Strengthened, Strengthening};
#[doc(hidden)]
pub use strengthened::{WeakLink, weak_links};
pub use text::text;
pub use unpause_check::picture::{Style, history_text};
pub use why::{Chance, Interruption, NoReturn, Region, Remedy, Tested, Why};

/// The result of running one test.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The test, as `module::name`.
    pub test: String,
    /// The name of its package; empty if it is not known.
    pub package: String,
    /// The number of runs. Rehearsals, repeated runs and the runs of shrinking do not count.
    pub runs: u64,
    /// The number of runs from which the strategy learnt before the first counted run. Their outcome is ignored;
    /// several threads may each have repeated them.
    pub rehearsals: u32,
    /// The first and the last requested seed; `None` if no seeds were requested.
    pub seeds: Option<(u64, u64)>,
    /// The number of steps of these runs in all; 0 if not counted.
    pub steps: u64,
    /// The settings of the runs that differ from the defaults, each a name and a value, as in
    /// [`Header::settings`](crate::run::trace::Header::settings). Empty on real threads.
    pub settings: Vec<(String, String)>,
    /// The failure; `None` if the test passed.
    pub finding: Option<Box<Finding>>,
    /// The source of the replayed trace, if this was a replay.
    pub replayed: Option<Origin>,
    /// Warnings for the user, a sentence each. The tasks in [`Run::leaked`] need no warning: renderers list them.
    pub warnings: Vec<String>,
    /// Notes that must be shown even if the test passes and the harness hides its output, a sentence each, such as a
    /// requested setting that has no effect in this build.
    pub notes: Vec<String>,
    /// The progress of a search; `None` if the strategy is not a search.
    pub searched: Option<Searched>,
    /// True if the test ran on real threads, where nothing can be replayed.
    pub real: bool,
    /// Coverage, if it was requested and the test passed; unknown on real threads.
    pub coverage: Option<Coverage>,
    /// The result of checking other orders of the recorded calls, if that was requested, seeds were run and the test
    /// passed; unknown on real threads.
    pub closure: Option<Closure>,
    /// The composition of generated programs, if it was requested, or if a `cover!` was missed and
    /// programs were generated.
    pub statistics: Option<Statistics>,
    /// The faults of a nemesis in all passed runs, by kind.
    pub faults: Vec<FaultCount>,
}

impl Report {
    /// Returns `true` if there was a run and no failure.
    ///
    /// Runs that results have of an earlier process count. A shard without seeds has
    /// no run, and neither passes nor has a [finding](Self::finding).
    ///
    /// ```
    /// use sim::report::Report;
    ///
    /// assert!(Report { runs: 1, ..Report::default() }.passed());
    /// assert!(!Report::default().passed());
    /// ```
    pub fn passed(&self) -> bool {
        self.finding.is_none() && self.runs > 0
    }

    /// Removes a finding about conditions that held too seldom and returns its text.
    #[doc(hidden)]
    pub fn spare_conditions(&mut self) -> Option<String> {
        let seldom = |finding: &mut Box<Finding>| {
            matches!(finding.run.outcome, Outcome::Failed(Failure::TooSeldom { .. }))
        };
        let finding = self.finding.take_if(seldom)?;
        let Outcome::Failed(failure) = &finding.run.outcome else { return None };
        Some(one_line(failure, &finding.run))
    }
}

/// The result of checking the recorded calls of runs in all orders that their steps allow.
///
/// Orders that can show nothing new are not counted: if a call in them began later or returned
/// earlier, the model would have more constraints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Closure {
    /// Runs in which a history was checked.
    pub runs: u64,
    /// Orders that were checked, in all.
    pub orders: u64,
    /// Runs that have more orders than were checked.
    pub open: u64,
    /// Runs that were foreseen to fail in another order, and then did not: their tasks share something
    /// that is not of this library.
    pub unconfirmed: u64,
}

/// The progress of an exhaustive or bounded search.
#[derive(Clone, PartialEq, Debug)]
pub struct Searched {
    /// Runs that were given up because earlier ones had done all that they could still do. Not among
    /// [`Report::runs`].
    pub blocked: u64,
    /// The number of runs repeated to reach others with the same prefix. Not among [`Report::runs`].
    pub repeated: u64,
    /// True if every run was explored, within `bound`, if any.
    pub complete: bool,
    /// The part that is done, from 0 to 1, if every branch is as large as its siblings: an estimate.
    /// If there is a `bound`, the part of the runs with one more than it says.
    pub part: f64,
    /// True if waits ended by time limits that the search does not see, so that not all orders were tried, and the
    /// search is not a proof. Only runs of plain threads have any.
    pub blind: bool,
    /// True if each order of steps was a run of its own, because tasks were seen to depend on each other in a way that
    /// no operation shows. All steps may conflict then: there are more runs, and the search is still a proof.
    pub by_step: bool,
    /// The reason of `by_step`, if it is known.
    pub cause: Option<Cause>,
    /// True if one run stood for all interleavings of its class, and tasks share memory through sim only, as far as
    /// runs show: see [`assumption`](Self::assumption).
    pub assumes: bool,
    /// The limits that runs reached, in words: `more than two faults of one kind ..`. All runs within a limit were
    /// tried, and the search is no proof for those beyond it.
    pub beyond: Vec<String>,
    /// The things that steps depend on and no search sees, in words: the search is not a proof.
    pub ignored: Vec<String>,
    /// Functions with invisible operations on shared memory that threads entered: not all orders of these
    /// operations were tried, and the search is not a proof. Only runs of plain threads have any: parts of std
    /// that are compiled already and guard its own state, such as the standard streams and the environment.
    pub unseen: Vec<String>,
    /// The memory orders that the program asked for, as the search took them.
    pub orders: OrdersTaken,
    /// The bound on the runs; `None` if there was none, or if it excluded no run.
    pub bound: Option<Bound>,
    /// The share of the search, if it was divided among processes: `complete` and `part` are about this share, and only
    /// `cargo unpause merge` says whether all shares together are a proof.
    pub share: Option<Share>,
    /// The number of all runs, if the search is incomplete and could estimate it.
    pub estimate: Option<RunsEstimate>,
    /// The audit by sampled runs after a complete search; `None` if the search is incomplete or
    /// found a failure.
    pub audit: Option<Audit>,
    /// The search that received the second half of the runs, if by the estimate after the first half they would not
    /// have sufficed. The fields above describe the original search.
    pub fallback: Option<Box<Fallback>>,
}

/// The estimated number of all runs of a search. For a bounded search, of all runs within its next bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunsEstimate {
    /// The number of runs. The estimate is unbiased.
    pub runs: u64,
    /// The begin of an interval that has the number with about 95 %. Of one program in ten it is too narrow.
    pub low: u64,
    /// The end of the interval.
    pub high: u64,
}

/// One of the shares of a search that is divided among processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The number of the share, from 1.
    pub number: u64,
    /// The number of shares.
    pub of: u64,
}

/// The memory orders of the operations of a program, as a search took them. Only runs of plain threads are searched for
/// orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OrdersTaken {
    /// As they are: no operation asked for less than `SeqCst`, as far as the search knows.
    #[default]
    AsAsked,
    /// Operations that asked for less were taken as `SeqCst`: the memory `sc`.
    AsSeqCst,
    /// Some effects of weaker orders were tried, and not all: the memory `c11`. The search is not a proof.
    InPart,
}

/// Runs sampled when a search was through, to see whether it was right.
///
/// Each is looked up by its class among the runs of the search, and repeated with its steps in
/// another order that its class allows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    /// The number of sampled runs. Not among [`Report::runs`].
    pub runs: u64,
    /// The inline trace of a run whose class the search did not have: a fault of this library.
    pub missed: Option<String>,
    /// True if a sampled run failed that the search had not found: see [`Report::finding`].
    pub failed: bool,
    /// True if the order of steps that share no object made a difference.
    pub unseen: bool,
    /// The two steps whose order made that difference. For a run that the search missed: the two
    /// steps that the search did not reverse. `None` if they were not found.
    pub clash: Option<Clash>,
}

impl Audit {
    /// Returns `true` if the audit found no contradiction.
    pub fn agrees(&self) -> bool {
        self.missed.is_none() && !self.unseen && !self.failed
    }
}

/// A search that got the runs another one would not have been through with.
#[derive(Clone, PartialEq, Debug)]
pub struct Fallback {
    /// The part of [`Report::runs`] that it made.
    pub runs: u64,
    /// Its progress.
    pub searched: Searched,
}

/// A bound on the runs of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The bounded quantity in the singular, such as `preemption`.
    pub what: String,
    /// All runs with at most this many were done, so a failure has more; `None` if the runs with
    /// none were not all done.
    pub through: Option<u32>,
}

impl Closure {
    /// Adds the counts of other runs.
    #[doc(hidden)]
    pub fn add(&mut self, other: &Closure) {
        self.runs += other.runs;
        self.orders += other.orders;
        self.open += other.open;
        self.unconfirmed += other.unconfirmed;
    }
}

/// A failure that was found, with its confirmation, shrinking and proof.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The failing run: shrunk, if that succeeded, and replayed.
    pub run: Run,
    /// The original source of its decisions.
    pub from: Origin,
    /// The size of the run as it was found.
    pub original: Size,
    /// The result of shrinking; `None` if it was not tried.
    pub shrunk: Option<Shrinking>,
    /// The proof about its preemptions; `None` if it was not tried.
    pub proof: Option<Proof>,
    /// Stronger memory orders with which it does not come again, if such were found.
    pub strengthening: Option<Strengthening>,
    /// Its explanation by other runs; `None` if it was not tried, or if nothing was found.
    pub why: Option<Why>,
    /// The first place outside of the standard library from which it panicked, as `file:line`, if
    /// it panicked inside the standard library and the place could be found.
    pub called_from: Option<String>,
    /// The function of tokio that was called, such as `tokio::task::spawn::spawn`, if the run panicked because it is no
    /// runtime of tokio, and the function could be had.
    pub needs_runtime: Option<String>,
    /// The path of the trace file, if one was written.
    pub trace_file: Option<String>,
    /// The error if the trace file could not be written.
    pub trace_error: Option<String>,
    /// The path of the file that has the generated programs of the run as Rust source, if one was written.
    pub source_file: Option<String>,
    /// The path of the file that has the history that was checked, if one was written. On real threads,
    /// where nothing else is left of the run, it is the last one recorded if something else failed.
    pub history_file: Option<String>,
    /// The path of the page for a browser, if one was written.
    pub page_file: Option<String>,
    /// The command that replays the run, on one line; `None` if nothing can be replayed.
    pub replay: Option<String>,
    /// The command that searches for the failure again, on one line, if the replayed trace no longer fits.
    pub record: Option<String>,
}

impl Finding {
    /// A run as it was found.
    #[doc(hidden)]
    pub fn of(run: Run, from: Origin) -> Finding {
        Finding {
            from,
            original: Size::of(&run),
            run,
            shrunk: None,
            proof: None,
            strengthening: None,
            why: None,
            called_from: None,
            needs_runtime: None,
            trace_file: None,
            trace_error: None,
            source_file: None,
            history_file: None,
            page_file: None,
            replay: None,
            record: None,
        }
    }

    /// A failure that there is nothing to shrink, write down or replay of.
    #[doc(hidden)]
    pub fn without_replay(run: Run) -> Finding {
        let from = Origin::Seed(run.seed);
        Finding::of(run, from)
    }
}

/// The source of the decisions of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A strategy drew them from this seed.
    Seed(Seed),
    /// A strategy drew them from this seed, and passed; here its calls come in another order that its
    /// steps allow.
    Reordered(Seed),
    /// A strategy drew them from this seed, after a search had been through that did not find the failure.
    Sampled(Seed),
    /// A trace file with this path.
    File(String),
    /// A trace that was given as text.
    Inline,
}

/// The result of shrinking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shrinking {
    /// The number of runs it took.
    pub replays: u32,
    /// The size of the run that is left.
    pub size: Size,
    /// True if no smaller run fails in the same way, as far as shrinking can tell; false if its budget ran out first.
    pub complete: bool,
}

/// A lower bound on the preemptions of all runs that fail in the same way with the same drawn values, and so with the
/// same program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// None of these has fewer than this.
    pub fewest: u32,
    /// True if a failing run with so few exists: the run itself, unless that one is `longer`. False if the budget was
    /// used up first.
    pub complete: bool,
    /// The number of runs it took.
    pub runs: u64,
    /// The number of preemptions saved compared with the first result of shrinking.
    pub saved: u32,
    /// The steps of the run with the fewest preemptions, if it is longer than the first result: a
    /// longer run is not shown in place of a shorter one.
    pub longer: Option<u32>,
}

/// The size of a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Size {
    /// Its tasks, the body of the test among them.
    pub tasks: u32,
    /// Its steps.
    pub steps: u32,
    /// Its steps by another task than the previous step.
    pub switches: u32,
    /// Its switches away from a task that could have gone on.
    pub preemptions: u32,
    /// The values drawn in it. Values that generated a program and settings of the run are not counted.
    pub draws: u32,
    /// The commands left of generated programs.
    pub commands: u32,
}

impl Size {
    /// The size of a run. Takes time linear in its steps.
    pub fn of(run: &Run) -> Size {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let of_program = |at: &usize| run.programs.iter().any(|program| program.draws.contains(at));
        let draws = run.draws.iter().enumerate();
        let draws = draws.filter(|(at, draw)| !draw.given && !of_program(at));
        let switches = || run.steps.windows(2).filter(|w| w[0].task != w[1].task);
        Size {
            tasks: count(run.tasks.len()),
            steps: count(run.steps.len()),
            switches: count(switches().count()),
            preemptions: count(switches().filter(|w| w[1].preempts).count()),
            draws: count(draws.count()),
            commands: count(run.programs.iter().map(|program| program.left().len()).sum()),
        }
    }
}

/// A way to show a [`Report`].
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    /// Its name.
    pub name: &'static str,
    /// The report as text in its format. Never panics, for any report.
    pub render: fn(&Report, &Style) -> String,
}

/// All renderers. To add one, write its file and add its row.
///
/// ```
/// use sim::report::{RENDERERS, Report, Style};
/// let renderer = RENDERERS.iter().find(|r| r.name == "text").unwrap();
/// let report = Report { test: "queue::is_fifo".into(), runs: 10, steps: 70, ..Report::default() };
/// let screen = (renderer.render)(&report, &Style::default());
/// assert_eq!(screen, "passed  queue::is_fifo: 10 runs, 70 steps\n");
/// ```
pub const RENDERERS: &[Renderer] = &[
    Renderer { name: "text", render: text },
    Renderer { name: "rust", render: rust },
    Renderer { name: "json", render: json },
];
