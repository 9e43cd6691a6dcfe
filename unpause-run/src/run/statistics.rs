//! Statistics of generated programs: their commands, the number that may run concurrently, and the number that did
//! overlap.
//!
//! A generated test that passes says little if its commands never met. Statistics are a function of
//! runs that were made anyway; nothing here makes one.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use unpause_ordered::sort_by_key;

use crate::run::program::{CommandLayout, CommandRecord, Fate, Omitted, Part};
use crate::run::{Condition, Run};
use unpause_check::history::HistoryRecord;

/// Counts over runs, of generated programs and of the histories recorded in them.
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
    /// The number of runs counted.
    pub runs: u64,
    /// The commands that were run, by label.
    pub labels: BTreeMap<String, Count>,
    /// The commands left out when programs were generated.
    pub omitted: Omitted,
    /// The number of operations in the histories.
    pub operations: u64,
    /// The number of them that overlapped with another one. An operation that never returned overlaps with all later
    /// ones.
    pub overlapped: u64,
    /// `at_once[n]`: in how many runs `n` operations were open at some moment, and never more.
    pub at_once: Vec<u64>,
    /// The conditions of `sometimes!` and `cover!`, by name.
    pub conditions: Vec<Condition>,
    /// The histories, a hash for each that differs.
    #[doc(hidden)]
    pub histories: BTreeSet<u64>,
}

/// The number of runs of the commands of a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// In all.
    pub all: u64,
    /// In branches, where others run at the same time.
    pub beside: u64,
}

impl Statistics {
    /// Over no runs yet.
    pub fn new() -> Statistics {
        Statistics::default()
    }

    /// Counts a run. O(n log n) in the length of its histories.
    pub fn add(&mut self, run: &Run) {
        self.runs += 1;
        run.programs.iter().for_each(|program| self.omitted.add(&program.omitted));
        let commands = run.programs.iter().flat_map(|program| &program.commands);
        // Faults are counted by kind elsewhere.
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

    /// Counts the runs that another one counted. The order makes no difference.
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
        // Whichever run came first.
        sort_by_key(&mut self.conditions, |condition| condition.name);
    }

    /// Returns the number of commands run.
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

/// Returns the number of operations of a history that overlap with another one, and the maximum number open at once.
fn overlap(history: &HistoryRecord) -> (u64, usize) {
    let mut moments: Vec<(u64, usize, bool)> = Vec::new();
    for (n, operation) in history.operations.iter().enumerate() {
        moments.push((operation.invoked, n, true));
        moments.push((operation.end(), n, false));
    }
    moments.sort_unstable();
    let (mut open, mut most): (BTreeSet<usize>, usize) = Default::default();
    let mut overlaps = vec![false; history.operations.len()];
    for (_, operation, begins) in moments {
        if !begins {
            open.remove(&operation);
            continue;
        }
        overlaps[operation] = !open.is_empty();
        // Open operations that overlap are marked already; a single open one is not.
        if open.len() == 1 {
            open.iter().for_each(|other| overlaps[*other] = true);
        }
        open.insert(operation);
        most = most.max(open.len());
    }
    (overlaps.into_iter().filter(|overlaps| *overlaps).count() as u64, most)
}
