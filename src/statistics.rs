//! What programs came to: which commands, how many at the same time, and whether the interesting case
//! ever happened.
//!
//! A generated test that passes says little if its commands never met. Statistics are a function of
//! runs that were made anyway; nothing here makes one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::history::{HistoryRecord, Operation};
use crate::program::{Fate, Part};
use crate::run::Run;

/// Counts over runs of generated programs; its `Display` is a table.
///
/// ```
/// use sim::check::Model;
/// use sim::generate::Statistics;
/// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape};
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Tickets(u32);
/// # impl Model for Tickets {
/// #     type Op = ();
/// #     type Ret = u32;
/// #     fn step(&mut self, _take: &()) -> u32 { self.0 += 1; self.0 }
/// # }
/// # impl Program for Tickets {
/// #     fn generate(&self, _: &mut Gen<'_, Self>) {}
/// #     fn label(_: &()) -> String { "take".to_owned() }
/// # }
/// let mut statistics = Statistics::new()
///     .cover(50, "at least four commands", |run| run.programs[0].commands.len() >= 4);
/// for seed in 0..50 {
///     statistics.add(&Runner::new().hermetic().run_seed(seed, async || {
///         let last = Atomic::new(0);
///         let take = async |()| last.fetch_add(1, SeqCst).await + 1;
///         sim::parallel(Shape::chunks(), Tickets(0), take).await;
///     }));
/// }
/// assert!(statistics.missed().is_empty(), "{statistics}");
/// assert!(statistics.to_string().contains("take"));
/// ```
#[derive(Default)]
pub struct Statistics {
    runs: u64,
    commands: u64,
    labels: BTreeMap<String, u64>,
    beside: u64,
    operations: u64,
    overlapped: u64,
    histories: BTreeSet<u64>,
    covers: Vec<Cover>,
}

/// A case that is to happen now and then.
struct Cover {
    percent: u32,
    name: String,
    condition: Box<dyn Fn(&Run) -> bool + Send + Sync>,
    runs: u64,
}

impl Statistics {
    /// Over no runs yet.
    pub fn new() -> Statistics {
        Statistics::default()
    }

    /// In at least so many of a hundred runs `condition` is to hold. Say it before the first run is
    /// added.
    #[must_use]
    pub fn cover(
        mut self,
        percent: u32,
        name: impl Into<String>,
        condition: impl Fn(&Run) -> bool + Send + Sync + 'static,
    ) -> Statistics {
        let (name, condition) = (name.into(), Box::new(condition));
        self.covers.push(Cover { percent, name, condition, runs: 0 });
        self
    }

    /// Counts a run. Quadratic in the longest of its histories.
    pub fn add(&mut self, run: &Run) {
        self.runs += 1;
        let commands = run.programs.iter().flat_map(|program| &program.commands);
        for command in commands.filter(|command| command.layout.fate == Fate::Runs) {
            self.commands += 1;
            self.beside += u64::from(matches!(command.layout.part, Part::Branch { .. }));
            *self.labels.entry(command.label.clone()).or_default() += 1;
        }
        let mut hasher = DefaultHasher::new();
        for history in &run.histories {
            self.operations += history.operations.len() as u64;
            self.overlapped += overlapped(history);
            history.operations.hash(&mut hasher);
        }
        self.histories.insert(hasher.finish());
        for cover in &mut self.covers {
            cover.runs += u64::from((cover.condition)(run));
        }
    }

    /// How many histories differed: in their operations, their results or their order in time.
    pub fn distinct_histories(&self) -> usize {
        self.histories.len()
    }

    /// How many operations of a hundred overlapped in time with another one.
    pub fn overlap_percent(&self) -> u64 {
        percent(self.overlapped, self.operations)
    }

    /// The cases that happened too seldom, a sentence each. All of them if no run was added.
    pub fn missed(&self) -> Vec<String> {
        let missed = |cover: &&Cover| {
            self.runs == 0 || cover.runs * 100 < u64::from(cover.percent) * self.runs
        };
        self.covers.iter().filter(missed).map(|cover| self.tell(cover)).collect()
    }

    fn tell(&self, cover: &Cover) -> String {
        let Cover { percent, name, runs, .. } = cover;
        format!("{name}: in {runs} of {} runs, wanted in {percent} % of them", self.runs)
    }
}

/// How many operations of a history overlap with another.
fn overlapped(history: &HistoryRecord) -> u64 {
    let overlaps = |one: &Operation<String, String>| {
        let beside = |other: &&Operation<String, String>| {
            other.invoked != one.invoked && !one.precedes(other) && !other.precedes(one)
        };
        history.operations.iter().any(|other| beside(&other))
    };
    history.operations.iter().filter(|one| overlaps(one)).count() as u64
}

fn percent(part: u64, whole: u64) -> u64 {
    (part * 100).checked_div(whole).unwrap_or(0)
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} runs, {} commands", self.runs, self.commands)?;
        let width = self.labels.keys().map(|label| label.chars().count()).max().unwrap_or(0);
        for (label, count) in &self.labels {
            writeln!(f, "  {label:<width$}  {count:>7}  {:>3} %", percent(*count, self.commands))?;
        }
        let beside = percent(self.beside, self.commands);
        writeln!(f, "{beside} % of the commands stand beside others")?;
        writeln!(f, "{} % of the operations overlapped", self.overlap_percent())?;
        writeln!(f, "{} distinct histories", self.histories.len())?;
        for cover in &self.covers {
            writeln!(f, "{}", self.tell(cover))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statistics { runs, commands, labels, .. } = self;
        f.debug_struct("Statistics")
            .field("runs", runs)
            .field("commands", commands)
            .field("labels", labels)
            .finish_non_exhaustive()
    }
}
