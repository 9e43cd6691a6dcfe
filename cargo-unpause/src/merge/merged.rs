//! The merged results of all files of one test, and the verdict on them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sim::__private::results::{EndRecord, Failed, ResultsFile, Segment, Subject, Tally, chain};
use sim::report::Report;
use sim::run::Condition;

use super::seeds::{SeedStride, Seeds, common};
use crate::Exit;

/// The merged results of one subject.
pub(super) struct Merged<'a> {
    pub(super) subject: &'a Subject,
    pub(super) files: usize,
    pub(super) asked: u128,
    pub(super) passed: u128,
    /// Seeds that neither passed nor failed.
    pub(super) left: Vec<SeedStride>,
    /// The failures by kind and place. Each list is sorted by seed, lowest first.
    pub(super) failures: BTreeMap<(String, String), Vec<Failed>>,
    /// Counts over the passed runs, except the runs of files with seeds that overlap other files.
    pub(super) tally: Tally,
    /// Open questions, one sentence each.
    pub(super) unknown: Vec<String>,
    /// The report of a single run of all seeds; `None` after a failure, or if coverage or other counts are missing.
    pub(super) report: Option<Report>,
    /// `true` if the test must fail (`must_fail`) and failed.
    pub(super) failed_as_it_must: bool,
}

impl<'a> Merged<'a> {
    /// # Errors
    /// If the shard counts of the files are incompatible.
    pub(super) fn of(subject: &'a Subject, parts: Vec<ResultsFile>) -> Result<Merged<'a>, String> {
        let Some(modulus) = common(parts.iter().map(|part| part.header.of)) else {
            let test = &subject.test;
            return Err(format!("{test}: these numbers of shards do not go together"));
        };
        let asked = parts.iter().map(|part| {
            let (from, count) = (part.header.first, part.header.count);
            SeedStride { from, of: 1, count }
        });
        let asked = Seeds::union(modulus, asked);
        let files = parts.len();
        let mut failures: BTreeMap<_, Vec<Failed>> = BTreeMap::new();
        let (mut ends, mut shards): (Vec<EndRecord>, BTreeMap<_, Vec<Segment>>) =
            Default::default();
        let explored = |part: &ResultsFile| (part.header.first, part.header.count);
        let whole = parts.first().map(explored);
        let whole = whole.filter(|whole| parts.iter().all(|part| explored(part) == *whole));
        for part in parts {
            let shard = ShardKey::of(&part);
            ends.extend(part.ends);
            shards.entry(shard).or_default().extend(part.segments);
            for failure in part.failures {
                let alike = (failure.kind.clone(), failure.place.clone());
                failures.entry(alike).or_default().push(failure);
            }
        }
        // Several files may contain the same failure, which counts once.
        for alike in failures.values_mut() {
            alike.sort_by_key(|failure| {
                (failure.seed.is_none(), failure.seed, failure.file.clone())
            });
            alike.dedup_by_key(|failure| (failure.seed, failure.file.clone()));
        }
        let shards: Vec<_> =
            shards.into_iter().map(|(shard, segments)| (shard, chain(segments))).collect();
        let rows = shards.iter().map(|(shard, segments)| shard.row(segments));
        let passed = Seeds::union(modulus, rows);
        let failed = failures.values().flatten().filter_map(|failure| failure.seed);
        let failed = failed.map(|from| SeedStride { from, of: modulus, count: 1 });
        let left = asked.without(&passed).without(&Seeds::union(modulus, failed)).rows();
        let remedy = missing(&shards, whole);
        let (tally, others) = counted(modulus, shards);
        let mut merged = Merged {
            subject,
            files,
            asked: asked.len(),
            passed: passed.len(),
            left,
            failures,
            tally,
            unknown: Vec::new(),
            report: None,
            failed_as_it_must: false,
        };
        merged.judge(&others, &remedy, &ends);
        Ok(merged)
    }

    /// Judges conditions over all runs, like a single process does at its end.
    fn judge(&mut self, others: &[Tally], remedy: &str, ends: &[EndRecord]) {
        if !self.failures.is_empty() {
            let must_fail = &self.subject.must_fail;
            let refused = |failed: &Failed| must_fail.refuses(&failed.kind, &failed.what).is_some();
            self.failed_as_it_must = !self.failures.values().flatten().any(refused);
            return;
        }
        if !self.left.is_empty() {
            return;
        }
        if self.asked > 1 {
            self.judge_conditions(others, remedy);
        }
        if self.subject.must_fail.is_wanted()
            && self.failures.is_empty()
            && self.subject.build == "sim"
        {
            let what =
                format!("the test must fail (must_fail), but none of {} runs did", self.passed);
            self.fails("must fail", "", what);
        }
        if self.failures.is_empty() {
            self.report(ends);
        }
    }

    /// `remedy` names the shards needed to decide the conditions that the counts leave open.
    fn judge_conditions(&mut self, others: &[Tally], remedy: &str) {
        let uncounted = self.passed.saturating_sub(self.tally.runs.into());
        if uncounted == 0 {
            if let Some(failed) = self.tally.too_seldom() {
                self.fails(&failed.kind, &failed.place, failed.what);
            }
            return;
        }
        // Some runs are in several files, and the counts do not show in which of these runs a condition held.
        let mut conditions = self.tally.conditions();
        for other in others.iter().flat_map(Tally::conditions) {
            if !conditions.iter().any(|known| known.name == other.name) {
                conditions.push(Condition { runs: 0, ..other });
            }
        }
        let (all, uncounted) = (as_u64(self.passed), as_u64(uncounted));
        for mut condition in conditions.into_iter().filter(|condition| !condition.is_met(all)) {
            let (name, held) = (condition.name, condition.runs);
            condition.runs += uncounted;
            if condition.is_met(all) {
                self.unknown.push(format!(
                    "in how many runs {name:?} held: {uncounted} of {all} are in several files, which divide the \
                     seeds into different numbers of shards. Run {remedy}: the shards of one number are enough"
                ));
            } else {
                let most = condition.runs;
                let what = format!("{name} held in {held} to {most} of {all} runs");
                self.fails("too seldom", name, what);
            }
        }
    }

    fn fails(&mut self, kind: &str, place: &str, what: String) {
        let (kind, place) = (kind.to_owned(), place.to_owned());
        let (seed, file, trace, replay) = Default::default();
        let failed = Failed { seed, file, kind, place, what, trace, replay };
        self.failures.insert((failed.kind.clone(), failed.place.clone()), vec![failed]);
    }

    /// Sets the report that a single process with all seeds would print.
    fn report(&mut self, ends: &[EndRecord]) {
        if u128::from(self.tally.runs) != self.passed {
            return;
        }
        let mut coverage = self.tally.coverage();
        if let Some(coverage) = &mut coverage {
            let looked: Vec<bool> = ends.iter().filter_map(|end| end.foreign).collect();
            if looked.is_empty() {
                self.unknown.push(
                    "whether tasks share data outside this library, which coverage does not see: no process \
                     reached the end of its shard. Run one of the shards again"
                        .to_owned(),
                );
                return;
            }
            coverage.foreign |= looked.contains(&true);
        }
        let report = Report {
            test: self.subject.test.clone(),
            runs: self.tally.runs,
            steps: self.tally.steps,
            rehearsals: ends.iter().map(|end| end.rehearsals).max().unwrap_or(0),
            real: self.subject.build != "sim",
            coverage,
            closure: self.tally.closure(),
            statistics: self.tally.statistics().cloned(),
            ..Report::default()
        };
        let shows =
            report.coverage.is_some() || report.closure.is_some() || report.statistics.is_some();
        self.report = Some(report).filter(|_| shows);
    }

    /// Returns `true` if the verdict depends on seeds that were not run.
    pub(super) fn has_left(&self) -> bool {
        self.exit() == Exit::Undecided && !self.left.is_empty()
    }

    pub(super) fn exit(&self) -> Exit {
        match () {
            () if self.failed_as_it_must => Exit::Good,
            () if !self.failures.is_empty() => Exit::Bad,
            () if !self.left.is_empty() || !self.unknown.is_empty() => Exit::Undecided,
            () => Exit::Good,
        }
    }
}

/// The key of a shard: shard `number` of `of` shards over the seeds from `first` on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ShardKey {
    first: u64,
    of: u64,
    number: u64,
}

impl ShardKey {
    fn of(part: &ResultsFile) -> ShardKey {
        let header = &part.header;
        ShardKey { first: header.first, of: header.of, number: header.shard }
    }

    /// Returns the seeds of a chain of segments.
    fn row(&self, segments: &[Segment]) -> SeedStride {
        let count = segments.last().map_or(0, |segment| segment.to);
        // If a shard has no seeds, its first seed does not matter.
        SeedStride { from: self.first.saturating_add(self.number - 1), of: self.of, count }
    }
}

/// Returns the number of seeds that each division into shards covers, by first seed and number of shards.
fn divisions(shards: &[(ShardKey, Vec<Segment>)]) -> BTreeMap<(u64, u64), u64> {
    let mut seeds = BTreeMap::new();
    for (shard, segments) in shards {
        *seeds.entry((shard.first, shard.of)).or_default() += shard.row(segments).count;
    }
    seeds
}

/// Returns the names of the missing shards, for the division into shards that covers the most seeds. `whole` is the
/// first seed and the number of seeds, if all files agree on them.
fn missing(shards: &[(ShardKey, Vec<Segment>)], whole: Option<(u64, u64)>) -> String {
    const SHOWN: usize = 6;
    let of = divisions(shards).into_iter().max_by_key(|(_, seeds)| *seeds).map(|((_, of), _)| of);
    let (Some((first, count)), Some(of)) = (whole, of) else {
        return "all shards of one number".to_owned();
    };
    let done = |number: u64| {
        let is_own = |shard: &ShardKey| *shard == ShardKey { first, of, number };
        let own = shards.iter().find(|(shard, _)| is_own(shard));
        own.map_or(0, |(shard, segments)| shard.row(segments).count)
    };
    let asked = |number: u64| count.checked_sub(number).map_or(0, |left| left / of + 1);
    let mut missing = (1..=of).filter(|number| done(*number) < asked(*number));
    let shown: Vec<_> = missing.by_ref().take(SHOWN).map(|n| format!("{n}/{of}")).collect();
    let more = match missing.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// Returns the counts over shards without common seeds, and the counts of the other shards. Prefers the division into
/// shards that covers the most seeds.
fn counted(modulus: u64, mut shards: Vec<(ShardKey, Vec<Segment>)>) -> (Tally, Vec<Tally>) {
    let alike = |shard: &ShardKey| (shard.first, shard.of);
    let apart = shards.windows(2).all(|pair| alike(&pair[0].0) == alike(&pair[1].0));
    let first = shards.iter().map(|(shard, _)| shard.first).min().unwrap_or(0);
    let seeds = divisions(&shards);
    shards.sort_by_key(|(shard, _)| (Reverse(seeds[&alike(shard)]), *shard));
    let (mut whole, mut others, mut rows) = (Tally::default(), Vec::new(), Vec::new());
    for (shard, segments) in shards {
        let row = shard.row(&segments);
        let mut tally = Tally::default();
        segments.into_iter().for_each(|segment| tally.merge(segment.tally));
        if !apart {
            let own = Seeds::union(modulus, [row].into_iter());
            let known = Seeds::union(modulus, rows.iter().copied());
            if own.without(&known) != own {
                others.push(tally);
                continue;
            }
            rows.push(row);
        }
        tally.spread(shard.first - first + (shard.number - 1), shard.of);
        whole.merge(tally);
    }
    (whole, others)
}

/// Converts with saturation: seeds have 64 bits, but there may be 2^64 of them.
pub(super) fn as_u64(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
