//! Statistics of generated programs: the number of commands, of commands that may run concurrently, and of operations
//! that overlapped.
//!
//! A generated test that passes proves little if its commands never overlapped. Statistics are computed from runs that
//! the test executes anyway; this module starts no runs.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use unpause_ordered::{Set, sort_by_key};

use crate::run::program::{CommandLayout, CommandRecord, Fate, Omitted, Part};
use crate::run::{Condition, Run};
use unpause_check::history::HistoryRecord;

/// Counts over runs for generated programs and their recorded histories.
///
/// ```
/// use sim::check::Model;
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
/// let report = Runner::new().hermetic().seeds(0..50).statistics(true).run(async || {
///     let last = Atomic::new(0);
///     let take = async |()| last.fetch_add(1, SeqCst).await + 1;
///     sim::parallel(Shape::chunks(), Tickets(0), take).await;
/// });
/// let statistics = report.statistics.unwrap();
/// assert_eq!(statistics.runs, 50);
/// assert_eq!(statistics.labels["take"].all, statistics.operations);
/// assert!(statistics.labels["take"].beside > 50);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// The number of runs.
    pub runs: u64,
    /// The commands that ran, by label.
    pub labels: BTreeMap<String, Count>,
    /// The commands that were left out when the programs were generated.
    pub omitted: Omitted,
    /// The number of operations in the histories.
    pub operations: u64,
    /// The number of operations that overlapped with another operation. An operation that never returned overlaps with
    /// all later operations.
    pub overlapped: u64,
    /// The number of runs by maximum concurrency: `at_once[n]` is the number of runs with at most `n` open operations
    /// at a time, and `n` at some moment.
    pub at_once: Vec<u64>,
    /// The conditions of `sometimes!` and `cover!`, by name.
    pub conditions: Vec<Condition>,
    /// The distinct histories, as hashes.
    #[doc(hidden)]
    pub histories: BTreeSet<u64>,
}

/// The number of executed commands with a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// The number in all parts.
    pub all: u64,
    /// The number in branches, where other commands run concurrently.
    pub beside: u64,
}

impl Statistics {
    /// Creates statistics over no runs.
    pub fn new() -> Statistics {
        Statistics::default()
    }

    /// Adds a run to the counts. O(n log n) in the length of its histories.
    pub fn add(&mut self, run: &Run) {
        self.runs += 1;
        run.programs.iter().for_each(|program| self.omitted.add(&program.omitted));
        let commands = run.programs.iter().flat_map(|program| &program.commands);
        // Faults are not counted here, because they are counted by kind elsewhere.
        let is_counted = |command: &&CommandRecord| {
            let CommandLayout { fate, part, .. } = command.layout;
            fate == Fate::Runs && !matches!(part, Part::Nemesis { .. })
        };
        for command in commands.filter(is_counted) {
            let count = self.labels.entry(command.label.clone()).or_default();
            count.all += 1;
            count.beside += u64::from(matches!(command.layout.part, Part::Branch { .. }));
        }
        let mut hasher = DefaultHasher::new();
        let mut most = 0;
        for history in &run.histories {
            let (overlapped, at_once) = overlap(history);
            self.operations += history.operations.len() as u64;
            self.overlapped += overlapped;
            most = most.max(at_once);
            history.operations.hash(&mut hasher);
        }
        self.histories.insert(hasher.finish());
        if self.at_once.len() <= most {
            self.at_once.resize(most + 1, 0);
        }
        self.at_once[most] += 1;
        self.add_conditions(&run.conditions);
    }

    /// Adds the counts of other runs. The order of the calls makes no difference.
    pub fn merge(&mut self, other: Statistics) {
        self.runs += other.runs;
        for (label, count) in other.labels {
            let known = self.labels.entry(label).or_default();
            known.all += count.all;
            known.beside += count.beside;
        }
        self.omitted.add(&other.omitted);
        self.operations += other.operations;
        self.overlapped += other.overlapped;
        if self.at_once.len() < other.at_once.len() {
            self.at_once.resize(other.at_once.len(), 0);
        }
        for (known, count) in self.at_once.iter_mut().zip(other.at_once) {
            *known += count;
        }
        self.add_conditions(&other.conditions);
        self.histories.extend(other.histories);
    }

    fn add_conditions(&mut self, conditions: &[Condition]) {
        conditions.iter().for_each(|condition| condition.add(&mut self.conditions));
        // The result must not depend on the order of the runs.
        sort_by_key(&mut self.conditions, |condition| condition.name);
    }

    /// Returns the number of executed commands.
    pub fn commands(&self) -> Count {
        let add = |sum: Count, count: &Count| Count {
            all: sum.all + count.all,
            beside: sum.beside + count.beside,
        };
        self.labels.values().fold(Count::default(), add)
    }

    /// Returns the number of histories that differ in their operations, their results or their order in time.
    pub fn distinct_histories(&self) -> usize {
        self.histories.len()
    }
}

/// Returns the number of operations that overlap with another operation of the history, and the maximum number of
/// operations open at a time.
fn overlap(history: &HistoryRecord) -> (u64, usize) {
    let mut moments: Vec<(u64, usize, bool)> = Vec::new();
    for (n, operation) in history.operations.iter().enumerate() {
        moments.push((operation.invoked, n, true));
        moments.push((operation.end(), n, false));
    }
    moments.sort_unstable();
    let (mut open, mut most): (Set<usize>, usize) = Default::default();
    let mut overlaps = vec![false; history.operations.len()];
    for (_, operation, begins) in moments {
        if !begins {
            open.remove(&operation);
            continue;
        }
        overlaps[operation] = !open.is_empty();
        // If several operations are open, they overlap and are already marked. A single open operation is not marked
        // yet.
        if open.len() == 1 {
            open.iter().for_each(|other| overlaps[*other] = true);
        }
        open.insert(operation);
        most = most.max(open.len());
    }
    (overlaps.into_iter().filter(|overlaps| *overlaps).count() as u64, most)
}
