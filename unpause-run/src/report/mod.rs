//! The result of a test as data, and the renderers for it.
//!
//! The runner fills a [`Report`] and hands it to a renderer, a pure function from the report and a [`Style`] to text.
//! This module never prints, reads the environment or queries a terminal. The text is not for programs: a tool reads
//! the [`Report`], or its JSON.

mod call_rows;
mod chance_column;
mod clash;
mod coverage;
mod deadlock;
mod differs;
mod failure;
mod folds;
mod json;
mod lanes;
mod legend;
mod names;
mod nemeses;
mod nodes;
mod one_line;
mod page;
mod passing;
mod pattern;
mod places;
mod program;
mod progress;
mod proven;
mod quoted;
mod remedy;
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
mod kinds;
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
#[doc(hidden)]
pub use page::history_page;
pub use page::page;
pub use passing::{PassingOperation, PassingRun, PassingStep};
pub use pattern::Pattern;
pub use progress::{Excess, FittingBound, ProgressPoint, RunsEstimate};
#[doc(hidden)]
pub use proven::{ORDERS_UNTRIED, orders_explored};
pub use quoted::QuotedLine;
pub use remedy::{Change, Order, Remedy, Tested};
pub use source::rust;
pub use stale::WithSc;
#[doc(hidden)]
pub use strengthened::{Candidate, candidates, weak_links};
pub use strengthened::{Strengthened, Strengthening};
pub use text::text;
pub use unpause_check::picture::{Style, history_text};
pub use why::{Chance, Interruption, NoReturn, Region, Why};

/// The result of running one test.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The test, as `module::name`.
    pub test: String,
    /// The name of the test's package; empty if unknown.
    pub package: String,
    /// The number of runs. Rehearsals, repeated runs and the runs of shrinking do not count.
    pub runs: u64,
    /// The number of runs from which the strategy learned before the first counted run. The outcomes of these runs are
    /// ignored. If there are several worker threads, each may have repeated these runs.
    pub rehearsals: u32,
    /// The first and the last requested seed; `None` if no seeds were requested.
    pub seeds: Option<(u64, u64)>,
    /// The total number of steps of the runs; 0 if not counted.
    pub steps: u64,
    /// The settings of the runs that differ from the defaults, as pairs of a name and a value, as in
    /// [`Header::settings`](crate::run::trace::Header::settings). Empty on real threads.
    pub settings: Vec<(String, String)>,
    /// The failure; `None` if the test passed.
    pub finding: Option<Box<Finding>>,
    /// The source of the replayed trace, if this was a replay.
    pub replayed: Option<Origin>,
    /// Warnings for the user, one sentence each. The tasks in [`Run::leaked`] need no warning, because renderers list
    /// them.
    pub warnings: Vec<String>,
    /// Notes that must be shown even if the test passes and the harness hides its output, one sentence each. An example
    /// is a requested setting that has no effect in this build.
    pub notes: Vec<String>,
    /// The progress of a search; `None` if the strategy is not a search.
    pub searched: Option<Searched>,
    /// True if the test ran on real threads, where nothing can be replayed.
    pub real: bool,
    /// Coverage, if it was requested and the test passed; `None` on real threads.
    pub coverage: Option<Coverage>,
    /// The result of checking other orders of the recorded calls. `None` if the check was not requested, if no seeds
    /// were run, if the test failed, or on real threads.
    pub closure: Option<Closure>,
    /// The statistics of generated programs, if they were requested, or if a `cover!` was missed and programs were
    /// generated.
    pub statistics: Option<Statistics>,
    /// The faults of a nemesis in all passing runs, by kind.
    pub faults: Vec<FaultCount>,
}

impl Report {
    /// Returns `true` if there was at least one run and no failure.
    ///
    /// Runs in the stored results of an earlier process also count. A shard without seeds has no run, so it neither
    /// passes nor has a [finding](Self::finding).
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

    /// Removes a finding about conditions that held too seldom, and returns its text.
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

/// The result of checking the recorded calls of runs in all orders that the steps allow.
///
/// Orders that can reveal nothing new are not counted. In such an order, calls begin later or return earlier than in a
/// counted order, so that the model has more constraints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Closure {
    /// The number of runs with a checked history.
    pub runs: u64,
    /// The total number of checked orders.
    pub orders: u64,
    /// The number of runs with more orders than were checked.
    pub open: u64,
    /// The number of runs that were predicted to fail in another order, but did not fail. The tasks of such a run share
    /// something outside this library.
    pub unconfirmed: u64,
}

/// The progress of an exhaustive or bounded search.
#[derive(Clone, PartialEq, Debug)]
pub struct Searched {
    /// The number of runs that ended early, because earlier runs had covered all their continuations. Not included in
    /// [`Report::runs`].
    pub blocked: u64,
    /// The number of runs that were repeated only to reach other runs with the same prefix. Not included in
    /// [`Report::runs`].
    pub repeated: u64,
    /// True if every run was explored, or every run within `bound`, if there is a bound.
    pub complete: bool,
    /// The completed part of the search, from 0 to 1, according to `estimate`. `None` if it is unknown. If there is a
    /// `bound`, the completed part of the runs at the next higher bound.
    pub part: Option<f64>,
    /// True if timeouts that are invisible to the search ended waits of plain threads. The search is then not a proof.
    pub blind: bool,
    /// True if each order of steps was explored as a separate run, because tasks were found to depend on each other in
    /// a way that no operation shows. There are then more runs, but the search is still a proof.
    pub by_step: bool,
    /// The reason for `by_step`, if known.
    pub cause: Option<Cause>,
    /// True if one run represented all interleavings of its class, and runs showed no shared memory outside sim: see
    /// [`assumption`](Self::assumption).
    pub assumes: bool,
    /// The limits that runs reached, as text: `more than two faults of one kind ..`. All runs within a limit were
    /// tried, but the search proves nothing about runs beyond it.
    pub beyond: Vec<String>,
    /// Things on which steps depend and that searches cannot see, as text. If the list is not empty, the search is not
    /// a proof.
    pub ignored: Vec<String>,
    /// Functions with invisible operations on shared memory that threads entered. Not all orders of these operations
    /// were tried, and the search is not a proof. Only runs of plain threads have such functions: precompiled parts of
    /// std that guard std's own state, such as the standard streams and the environment.
    pub unseen: Vec<String>,
    /// The treatment of the program's memory orders by the search.
    pub orders: OrdersTaken,
    /// The bound on the runs; `None` if there was no bound, or if it excluded no run.
    pub bound: Option<Bound>,
    /// The maximum number of early time moves in a run (`clock = "late:K"`), if it excluded runs in addition to
    /// `bound`. Without another bound, this number is the `bound` itself.
    pub early_moves: Option<u32>,
    /// True if a task waited for a time. A proof then assumes that time advances only when no task can step.
    pub waits_for_time: bool,
    /// The share of the search, if the search was divided among processes. `complete` and `part` then describe only
    /// this share, and only `cargo unpause merge` can determine if all shares together are a proof.
    pub share: Option<Share>,
    /// The estimated total number of runs, if the search is incomplete and an estimate was possible.
    pub estimate: Option<RunsEstimate>,
    /// `Some` if, by its estimate, the search needs more runs than its limit allows.
    pub excess: Option<Excess>,
    /// The progress over time, at most 200 points. Empty for a search without a complete round.
    pub series: Vec<ProgressPoint>,
    /// The audit with sampled runs after a complete search; `None` if the search is incomplete or found a failure.
    pub audit: Option<Audit>,
    /// The search that received the second half of the runs, if by an estimate after the first half, that half would
    /// not have sufficed for the original search. The other fields describe the original search.
    pub fallback: Option<Box<Fallback>>,
}

/// A share of a search that is divided among processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The number of the share, from 1.
    pub number: u64,
    /// The number of shares.
    pub of: u64,
}

/// The treatment of a program's memory orders by a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OrdersTaken {
    /// All orders are exact: as far as the search knows, no operation requested an order weaker than `SeqCst`.
    #[default]
    AsAsked,
    /// Operations with a weaker order were treated as `SeqCst`, with the memory model `sc`.
    AsSeqCst,
    /// Operations had all effects that C++20 allows, with the memory model `c11`: each store that an operation may
    /// choose was a run.
    AsInC11,
    /// Some effects of weaker orders were tried, but not all, with the memory model `c11`. The search is not a proof.
    InPart,
}

/// Runs sampled after a complete search, to check its result.
///
/// The class of each sampled run is looked up among the runs of the search. The run is also repeated with its steps in
/// another order that its class allows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    /// The number of sampled runs. Not included in [`Report::runs`].
    pub runs: u64,
    /// The inline trace of a run with a class that the search missed: a bug of this library.
    pub missed: Option<String>,
    /// True if a sampled run failed although the search had found no failure: see [`Report::finding`].
    pub failed: bool,
    /// True if the order of steps that share no object made a difference.
    pub unseen: bool,
    /// The two steps that caused this difference. For a run that the search missed: the two steps that the search did
    /// not reverse. `None` if the steps were not identified.
    pub clash: Option<Clash>,
    /// True if the body of the test is a closure that has captured values. Captured values outlive a run, so the runs
    /// differ if the closure changes the values.
    pub captured: bool,
}

impl Audit {
    /// Returns `true` if the audit found no contradiction.
    pub fn agrees(&self) -> bool {
        self.missed.is_none() && !self.unseen && !self.failed
    }
}

/// A search that received the remaining runs, because the original search could not have completed.
#[derive(Clone, PartialEq, Debug)]
pub struct Fallback {
    /// The number of runs of this search, which are included in [`Report::runs`].
    pub runs: u64,
    /// The progress of this search.
    pub searched: Searched,
}

/// A bound on the runs of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The bounded quantity as a singular noun, such as `preemption`.
    pub what: String,
    /// The highest completed bound: all runs with at most this number were explored, so a failure needs more. `None` if
    /// not even the runs with zero are complete.
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

/// A failure, with its confirmation, shrinking and proof.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The failing run, which has been shrunk, if possible, and replayed.
    pub run: Run,
    /// The original source of the decisions.
    pub from: Origin,
    /// The size of the run before shrinking.
    pub original: Size,
    /// The result of shrinking; `None` if shrinking was not tried.
    pub shrunk: Option<Shrinking>,
    /// The proof about the preemptions; `None` if no proof was tried.
    pub proof: Option<Proof>,
    /// Stronger memory orders that prevent the failure, if found.
    pub strengthening: Option<Strengthening>,
    /// The runs with the memory model `sc`; `None` if none were tried.
    pub with_sc: Option<WithSc>,
    /// The explanation of the failure by other runs; `None` if it was not tried or found nothing.
    pub why: Option<Why>,
    /// The source lines that the screen quotes, at most six.
    pub quoted: Vec<QuotedLine>,
    /// The first place outside the standard library that led to the panic, as `file:line`. Set only if the run panicked
    /// inside the standard library and the place could be determined.
    pub called_from: Option<String>,
    /// The called function of tokio, such as `tokio::task::spawn::spawn`. Set only if the run panicked because it is
    /// not a tokio runtime, and the function could be determined.
    pub needs_runtime: Option<String>,
    /// The path of the trace file, if one was written.
    pub trace_file: Option<String>,
    /// The error that occurred when the trace file was written, if any.
    pub trace_error: Option<String>,
    /// The path of the file with the run's generated programs as Rust source, if one was written.
    pub source_file: Option<String>,
    /// The path of the file with the checked history, if one was written. On real threads, nothing else is left of the
    /// run, so the file contains the last recorded history if something else failed.
    pub history_file: Option<String>,
    /// The path of the page for a browser, if one was written.
    pub page_file: Option<String>,
    /// The command that replays the run, on one line; `None` if the run cannot be replayed.
    pub replay: Option<String>,
    /// The command that searches for the failure again, on one line, if the replayed trace no longer matches the
    /// program.
    pub record: Option<String>,
}

impl Finding {
    /// Creates a finding for a run as it was found.
    #[doc(hidden)]
    pub fn of(run: Run, from: Origin) -> Finding {
        Finding {
            from,
            original: Size::of(&run),
            run,
            shrunk: None,
            proof: None,
            strengthening: None,
            with_sc: None,
            why: None,
            quoted: Vec::new(),
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

    /// Creates a finding for a failure without anything to shrink, to write to a file or to replay.
    #[doc(hidden)]
    pub fn without_replay(run: Run) -> Finding {
        let from = Origin::Seed(run.seed);
        Finding::of(run, from)
    }
}

/// The source of the decisions of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A strategy drew the decisions from this seed.
    Seed(Seed),
    /// A strategy drew the decisions from this seed, and that run passed. In the failing run, the calls have another
    /// order that the steps allow.
    Reordered(Seed),
    /// A strategy drew the decisions from this seed, after a complete search had not found the failure.
    Sampled(Seed),
    /// A trace file with this path.
    File(String),
    /// A trace that was given as text.
    Inline,
}

/// The result of shrinking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shrinking {
    /// The number of runs that shrinking needed.
    pub replays: u32,
    /// The size of the shrunk run.
    pub size: Size,
    /// True if, as far as shrinking can tell, no smaller run fails in the same way; false if the budget ran out first.
    pub complete: bool,
}

/// A lower bound on preemptions. The bound holds for all runs that fail in the same way with the same drawn values, and
/// therefore with the same program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The lower bound: no run of this kind has fewer preemptions.
    pub fewest: u32,
    /// True if a failing run with exactly this number exists: the shown run, or a longer run if `longer` is set. False
    /// if the budget ran out first.
    pub complete: bool,
    /// The number of runs that the proof needed.
    pub runs: u64,
    /// The number of preemptions saved, compared with the first result of shrinking.
    pub saved: u32,
    /// The number of steps of the run with the fewest preemptions, if it is longer than the first result. A longer run
    /// does not replace a shorter run on the screen.
    pub longer: Option<u32>,
    /// True if the test has the memory `c11`. The bound then holds for runs that choose stores like the failing run.
    pub same_stores: bool,
}

/// The size of a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Size {
    /// The number of tasks, including the body of the test.
    pub tasks: u32,
    /// The number of steps.
    pub steps: u32,
    /// The number of steps by a different task than the previous step.
    pub switches: u32,
    /// The number of switches away from a task that could have continued.
    pub preemptions: u32,
    /// The number of drawn values, without values that generated a program and without settings of the run.
    pub draws: u32,
    /// The number of remaining commands of generated programs.
    pub commands: u32,
}

impl Size {
    /// Returns the size of a run, in time linear in its steps.
    pub fn of(run: &Run) -> Size {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let of_program = |at: &usize| run.programs.iter().any(|program| program.draws.contains(at));
        let draws = run.draws.iter().enumerate();
        let draws = draws.filter(|(at, draw)| draw.is_shown() && !of_program(at));
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

/// A renderer for a [`Report`].
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    /// The name of the renderer.
    pub name: &'static str,
    /// The function that returns the report as text in its format. The function never panics, for any report.
    pub render: fn(&Report, &Style) -> String,
}

/// All renderers. To add a renderer, write its file and add its row.
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
