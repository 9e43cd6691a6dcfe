//! Mergeable counts over runs: conditions, statistics, coverage. Workers, processes and shards add their counts, and
//! the sum does not depend on how the runs were divided.

use std::sync::{Mutex, PoisonError};
use unpause_ordered::{Set, sort_by_key};

use super::Failed;
use super::json::{Json, list, quoted};
use crate::census::Census;
use crate::report::{Closure, one_line};
use crate::run::coverage::Coverage;
use crate::run::ids::{Seed, Spot};
use crate::run::program::Omitted;
use crate::run::statistics::{Count, Statistics};
use crate::run::{Condition, Failure, FaultCount, Run};

/// Counts over passed runs.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of runs.
    pub runs: u64,
    /// The number of steps of all runs.
    pub steps: u64,
    /// The number of runs that continued after their step limit.
    pub(crate) beyond: u64,
    /// The conditions of `sometimes!` and `cover!`.
    pub(crate) conditions: Vec<Condition>,
    /// The counts of faults that nemeses inject.
    pub(crate) faults: Vec<FaultCount>,
    /// The classes of interleavings; `None` unless counted for all runs.
    pub(crate) census: Option<Census>,
    /// The statistics of generated programs; `None` unless counted for all runs.
    pub(crate) statistics: Option<Statistics>,
    /// The results of reordered calls; `None` unless counted for all runs.
    pub(crate) closure: Option<Closure>,
}

impl Tally {
    /// Creates empty counts. The arguments enable optional counts.
    pub(crate) fn new(coverage: bool, statistics: bool, closure: bool) -> Tally {
        Tally {
            census: coverage.then(Census::default),
            statistics: statistics.then(Statistics::new),
            closure: closure.then(Closure::default),
            ..Tally::default()
        }
    }

    /// Counts one run, without coverage.
    pub fn of_run(run: &Run, statistics: bool) -> Tally {
        let mut tally = Tally { runs: 1, ..Tally::new(false, statistics, false) };
        tally.steps = run.steps.len() as u64;
        run.conditions.iter().for_each(|condition| condition.add(&mut tally.conditions));
        run.faults.iter().for_each(|count| count.add(&mut tally.faults));
        if let Some(statistics) = &mut tally.statistics {
            statistics.add(run);
        }
        tally
    }

    /// Returns the counts, and leaves empty counts of the same kinds.
    pub(crate) fn take(&mut self) -> Tally {
        // A missing optional count would mean that some runs were not counted, so the empty counts have the same kinds.
        let Tally { census, statistics, closure, .. } = self;
        let empty = Tally::new(census.is_some(), statistics.is_some(), closure.is_some());
        std::mem::replace(self, empty)
    }

    /// Adds other counts. This operation is commutative and associative.
    pub fn merge(&mut self, other: Tally) {
        if self.runs == 0 {
            // Empty counts may lack optional counts, and `both` would then drop the counts of `other`.
            *self = other;
            return;
        }
        if other.runs == 0 {
            return;
        }
        self.runs += other.runs;
        self.steps += other.steps;
        self.beyond += other.beyond;
        other.conditions.iter().for_each(|condition| condition.add(&mut self.conditions));
        other.faults.iter().for_each(|count| count.add(&mut self.faults));
        self.census = both(self.census.take(), other.census, Census::merge);
        self.statistics = both(self.statistics.take(), other.statistics, Statistics::merge);
        self.closure = both(self.closure.take(), other.closure, |own, other| own.add(&other));
    }

    /// Maps positions in a shard to positions among all seeds: `n` becomes `from + of * n`.
    pub fn spread(&mut self, from: u64, of: u64) {
        if let Some(census) = &mut self.census {
            // Coverage names the run that first had a class, so its positions move too.
            census.move_positions(|n| n.saturating_mul(of).saturating_add(from));
        }
    }

    /// Returns the conditions, sorted by name.
    pub fn conditions(&self) -> Vec<Condition> {
        let mut conditions = self.conditions.clone();
        sort_by_key(&mut conditions, |condition| condition.name);
        conditions
    }

    /// Returns the failure if conditions held in too few runs, in the words of a report.
    pub fn too_seldom(&self) -> Option<Failed> {
        let failure = Failure::too_seldom(self.conditions.clone(), self.runs)?;
        let signature = failure.signature();
        // This failure belongs to no single run, so its text is created with an empty run.
        let what = one_line(&failure, &Run::empty(Seed(0), failure.clone()));
        Some(Failed {
            seed: None,
            file: None,
            kind: signature.kind.to_owned(),
            place: signature.place,
            what,
            trace: None,
            replay: None,
        })
    }

    /// Returns the coverage, if counted.
    pub fn coverage(&self) -> Option<Coverage> {
        self.census.as_ref().map(Census::coverage)
    }

    /// Returns the statistics, if counted.
    pub fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_ref()
    }

    /// Returns the results of reordered calls, if counted.
    pub fn closure(&self) -> Option<Closure> {
        self.closure
    }

    /// Returns the JSON entries of a line. The entries omit the number of runs, which follows from the positions of the
    /// line.
    pub(super) fn entries(&self) -> String {
        // Absent entries mean no counts, so the usual line is short.
        let mut out = format!("\"steps\":{}", self.steps);
        if self.beyond > 0 {
            out += &format!(",\"beyond\":{}", self.beyond);
        }
        if !self.conditions.is_empty() {
            let conditions = self.conditions.iter().map(|condition| {
                let Condition { name, place, percent, runs } = condition;
                list([quoted(name), spot(*place), percent.to_string(), runs.to_string()])
            });
            out += &format!(",\"conditions\":{}", list(conditions));
        }
        if !self.faults.is_empty() {
            let faults = self.faults.iter().map(|FaultCount { kind, times, met }| {
                list([quoted(kind), times.to_string(), met.to_string()])
            });
            out += &format!(",\"faults\":{}", list(faults));
        }
        if let Some(statistics) = &self.statistics {
            out += &format!(",\"statistics\":{}", statistics_entries(statistics));
        }
        if let Some(census) = &self.census {
            out += &format!(",\"coverage\":{}", super::census::entries(census));
        }
        if let Some(Closure { runs, orders, open, unconfirmed }) = &self.closure {
            out += &format!(",\"closure\":[{runs},{orders},{open},{unconfirmed}]");
        }
        out
    }

    /// Reads the entries of a line. `runs` is the number of its runs, and `from` the position of the first run.
    pub(super) fn read(line: &Json, from: u64, runs: u64) -> Result<Tally, String> {
        let mut tally = Tally { runs, steps: line.number("steps")?, ..Tally::default() };
        if line.get("beyond").is_some() {
            tally.beyond = line.number("beyond")?;
            if tally.beyond > runs {
                return Err(format!("`beyond` is of more than {runs} runs"));
            }
        }
        if line.get("conditions").is_some() {
            for condition in line.list("conditions")? {
                tally.conditions.push(read_condition(condition, runs)?);
            }
        }
        if line.get("faults").is_some() {
            for count in line.list("faults")? {
                // Entries of the same kind are added together.
                read_fault(count)?.add(&mut tally.faults);
            }
        }
        if let Some(statistics) = line.get("statistics") {
            tally.statistics = Some(read_statistics(statistics, &tally)?);
        }
        if let Some(coverage) = line.get("coverage") {
            tally.census = Some(super::census::read(coverage, from, runs)?);
        }
        if line.get("closure").is_some() {
            let [checked, orders, open, unconfirmed] = numbers(line.list("closure")?)?[..] else {
                return Err("`closure` is not four numbers".to_owned());
            };
            if checked > runs || open > checked {
                return Err(format!("`closure` is of more than {runs} runs"));
            }
            tally.closure = Some(Closure { runs: checked, orders, open, unconfirmed });
        }
        Ok(tally)
    }
}

/// Returns the sum; `None` if an operand is `None`.
fn both<T>(own: Option<T>, other: Option<T>, add: impl FnOnce(&mut T, T)) -> Option<T> {
    // Optional counts of only some runs would be misleading.
    let (mut own, other) = own.zip(other)?;
    add(&mut own, other);
    Some(own)
}

/// Returns a source location as three entries: file, line, column.
pub(super) fn spot(spot: Spot) -> String {
    format!("{},{},{}", quoted(spot.file()), spot.line(), spot.column())
}

/// Reads a source location from three entries.
pub(super) fn read_spot(entries: &[Json]) -> Option<Spot> {
    let [Json::Text(file), Json::Number(line), Json::Number(column)] = entries else { return None };
    Some(Spot::new(interned(file), u32::try_from(*line).ok()?, u32::try_from(*column).ok()?))
}

fn read_condition(condition: &Json, runs: u64) -> Result<Condition, String> {
    let wrong =
        || format!("a condition is not a name, a place, a percentage and at most {runs} runs");
    let Json::List(entries) = condition else { return Err(wrong()) };
    let [Json::Text(name), place @ .., Json::Number(percent), Json::Number(held)] = &entries[..]
    else {
        return Err(wrong());
    };
    let place = read_spot(place).ok_or_else(wrong)?;
    if *percent > 100 || *held > runs {
        return Err(wrong());
    }
    Ok(Condition { name: interned(name), place, percent: *percent as u32, runs: *held })
}

fn read_fault(count: &Json) -> Result<FaultCount, String> {
    let wrong = || "a count of faults is not a kind and two numbers".to_owned();
    let Json::List(entries) = count else { return Err(wrong()) };
    let [Json::Text(kind), Json::Number(times), Json::Number(met)] = &entries[..] else {
        return Err(wrong());
    };
    if met > times {
        return Err(wrong());
    }
    Ok(FaultCount { kind: interned(kind), times: *times, met: *met })
}

fn statistics_entries(statistics: &Statistics) -> String {
    let Statistics { labels, omitted, operations, overlapped, at_once, histories, .. } = statistics;
    let labels = labels.iter().map(|(label, count)| {
        list([quoted(label), count.all.to_string(), count.beside.to_string()])
    });
    format!(
        "{{\"labels\":{},\"operations\":{operations},\"overlapped\":{overlapped},\"at_once\":{},\
         \"histories\":{}{}}}",
        list(labels),
        list(at_once.iter().map(u64::to_string)),
        list(histories.iter().map(u64::to_string)),
        omitted_entry(omitted),
    )
}

/// Returns the entry about commands that were left out, with the comma before it. Empty if there are no such commands.
fn omitted_entry(omitted: &Omitted) -> String {
    if *omitted == Omitted::default() {
        return String::new();
    }
    // All fields are listed, so that a new field cannot be forgotten.
    let Omitted { refused, precondition, reference, waiting, unchecked, faults, trusted } =
        *omitted;
    let numbers =
        [refused, precondition, reference, waiting, unchecked, faults, u32::from(trusted)];
    format!(",\"omitted\":{}", list(numbers.map(|number| number.to_string())))
}

fn read_omitted(from: &Json) -> Result<Omitted, String> {
    if from.get("omitted").is_none() {
        return Ok(Omitted::default());
    }
    let wrong = || "`omitted` is not six numbers and a flag".to_owned();
    let small = |number: &u64| u32::try_from(*number).ok();
    let all = numbers(from.list("omitted")?)?.iter().map(small).collect::<Option<Vec<_>>>();
    let [refused, precondition, reference, waiting, unchecked, faults, trusted @ 0..=1] =
        all.ok_or_else(wrong)?[..]
    else {
        return Err(wrong());
    };
    let trusted = trusted == 1;
    Ok(Omitted { refused, precondition, reference, waiting, unchecked, faults, trusted })
}

fn read_statistics(from: &Json, tally: &Tally) -> Result<Statistics, String> {
    let mut statistics = Statistics {
        runs: tally.runs,
        conditions: tally.conditions(),
        omitted: read_omitted(from)?,
        operations: from.number("operations")?,
        overlapped: from.number("overlapped")?,
        at_once: numbers(from.list("at_once")?)?,
        histories: numbers(from.list("histories")?)?.into_iter().collect(),
        ..Statistics::default()
    };
    for label in from.list("labels")? {
        let Json::List(entries) = label else { return Err("a label is no list".to_owned()) };
        let [Json::Text(label), Json::Number(all), Json::Number(beside)] = &entries[..] else {
            return Err("a label is not a name and two counts".to_owned());
        };
        statistics.labels.insert(label.clone(), Count { all: *all, beside: *beside });
    }
    // Every run has one entry in `at_once`.
    let sound = statistics.labels.values().all(|count| count.beside <= count.all)
        && statistics.overlapped <= statistics.operations
        && statistics.histories.len() as u64 <= tally.runs
        && sums_to(&statistics.at_once, tally.runs);
    if sound { Ok(statistics) } else { Err("`statistics` are not those of its runs".to_owned()) }
}

pub(super) fn sums_to(counts: &[u64], sum: u64) -> bool {
    // The counts come from a file, so their sum may overflow.
    counts.iter().try_fold(0u64, |all, count| all.checked_add(*count)) == Some(sum)
}

pub(super) fn numbers(list: &[Json]) -> Result<Vec<u64>, String> {
    let number = |value: &Json| match value {
        Json::Number(number) => Ok(*number),
        _ => Err("a list has more than whole numbers".to_owned()),
    };
    list.iter().map(number).collect()
}

/// Returns the text with lifetime `'static`. Leaks each distinct text once. The texts are names of conditions and
/// source files, so their number is small.
pub(super) fn interned(text: &str) -> &'static str {
    static TEXTS: Mutex<Set<&'static str>> = Mutex::new(Set::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return known;
    }
    let text: &'static str = text.to_owned().leak();
    texts.insert(text);
    text
}
