//! The chance of failure after each first step of the run, and the steps at which it jumps.
//!
//! Exact if there are few states, else sampled. Schedules [rarely switch](crate::strategy::after::Then::Sticky): under
//! a random walk the chance is highest at the last read before the failure, which is the symptom.

use super::lab::{Lab, Sampled};
use crate::report::{Chance, NoReturn};
use crate::strategy::after::Then;

/// Runs after which an exact sum is given up.
const SUM: u64 = 1000;
/// The part of the runs that are left which a sum may take: one in so many.
const SUM_SHARE: u64 = 3;
/// The number of prefixes that are sampled if there are more.
const PREFIXES: usize = 64;
/// Runs after each prefix.
const RUNS: u64 = 50;
/// Runs in addition, where they may decide about a mark.
const MORE: u64 = 350;
/// A step is marked if the chance after it is so many times the chance before it.
const JUMP: f64 = 3.0;
/// A ratio near enough to be sampled again.
const NEARLY: f64 = 2.0;
/// A difference so near to the largest one is sampled again.
const NEAR: f64 = 0.15;
/// A chance from which on nearly all schedules fail.
const NEARLY_ALL: f64 = 0.995;
/// The number of standard deviations of an interval of 95 %.
const DEVIATIONS: f64 = 1.96;
/// The difference of neighbours between which another prefix is sampled.
const GAP: f64 = 0.2;

/// A prefix of the run, with the chance after it.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    steps: usize,
    counts: Sampled,
    exact: Option<f64>,
}

impl Prefix {
    fn share(&self) -> f64 {
        let Sampled { failed, ended } = self.counts;
        self.exact.unwrap_or_else(|| if ended == 0 { 0.0 } else { failed as f64 / ended as f64 })
    }

    /// The interval of Wilson (1927) that has the chance with 95 %.
    fn interval(&self) -> (f64, f64) {
        if let Some(exact) = self.exact {
            return (exact, exact);
        }
        let (n, z) = (self.counts.ended as f64, DEVIATIONS);
        let (share, below) = (self.share(), 1.0 + z * z / n);
        let middle = (share + z * z / (2.0 * n)) / below;
        let half = z / below * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        (middle - half, middle + half)
    }

    /// The chance with a correction, so that ratios of few failures mean something.
    fn corrected(&self) -> f64 {
        let Sampled { failed, ended } = self.counts;
        self.exact.unwrap_or_else(|| (failed as f64 + 0.5) / (ended as f64 + 1.0))
    }
}

/// Returns the chances, sorted, and the marked steps.
pub(super) fn find(lab: &mut Lab<'_, '_>, no_return: Option<NoReturn>) -> (Vec<Chance>, Vec<u32>) {
    let end = no_return.map_or(lab.steps.len(), |proved| proved.after as usize);
    let mut all = vec![0];
    let choices = lab.run.steps.iter().enumerate().filter(|(_, step)| step.candidates > 1);
    all.extend(choices.map(|(step, _)| step + 1).filter(|steps| *steps < end));
    let runs = SUM.min(lab.runs_left() / SUM_SHARE);
    let mut prefixes = match lab.sum(runs) {
        Some(exact) => exactly(&all, &exact),
        None => sampled(lab, &all),
    };
    // A chance that is nearly 1 from the first step on says nothing about the steps.
    if prefixes.first().is_none_or(|first| first.share() >= NEARLY_ALL) {
        return (Vec::new(), Vec::new());
    }
    prefixes.push(Prefix { steps: end, counts: Sampled::default(), exact: Some(1.0) });
    let marks = marks(&prefixes);
    let chance = |prefix: &Prefix| Chance {
        after: u32::try_from(prefix.steps).unwrap_or(u32::MAX),
        share: prefix.share(),
        runs: if prefix.exact.is_some() { 0 } else { prefix.counts.ended },
    };
    (prefixes.iter().map(chance).collect(), marks)
}

/// The prefixes with exact chances.
fn exactly(all: &[usize], exact: &[f64]) -> Vec<Prefix> {
    let known = all.iter().filter_map(|steps| exact.get(*steps).map(|share| (*steps, *share)));
    let prefix = |(steps, share)| Prefix { steps, counts: Sampled::default(), exact: Some(share) };
    known.map(prefix).collect()
}

/// Samples continuations of these prefixes, and then of some again.
fn sampled(lab: &mut Lab<'_, '_>, all: &[usize]) -> Vec<Prefix> {
    let few = if all.len() <= PREFIXES { all.to_vec() } else { around_switches(lab, all) };
    let runs = RUNS.min(lab.runs_left() / few.len() as u64);
    if runs == 0 {
        return Vec::new();
    }
    let mut prefixes: Vec<Prefix> = few.iter().map(|steps| prefix(lab, *steps, runs)).collect();
    while prefixes.len() < all.len() && lab.runs_left() >= runs {
        let Some(middle) = between(&prefixes, all) else { break };
        let at = prefixes.partition_point(|prefix| prefix.steps < middle);
        prefixes.insert(at, prefix(lab, middle, runs));
    }
    for at in doubtful(&prefixes) {
        let more = MORE.min(lab.runs_left());
        let Prefix { steps, counts, .. } = &mut prefixes[at];
        if more > 0 {
            let Sampled { failed, ended } = lab.sample(*steps, more, Then::Sticky, runs);
            (counts.failed, counts.ended) = (counts.failed + failed, counts.ended + ended);
        }
    }
    // A prefix whose continuations have no end says nothing.
    prefixes.retain(|prefix| prefix.counts.ended > 0);
    if prefixes.first().is_some_and(|prefix| prefix.steps == 0) { prefixes } else { Vec::new() }
}

fn prefix(lab: &mut Lab<'_, '_>, steps: usize, runs: u64) -> Prefix {
    Prefix { steps, counts: lab.sample(steps, runs, Then::Sticky, 0), exact: None }
}

/// The first prefix, and the prefixes before and after each switch: as many as are sampled.
fn around_switches(lab: &Lab<'_, '_>, all: &[usize]) -> Vec<usize> {
    let switches = |steps: usize| {
        let tasks = [steps.checked_sub(1), Some(steps), Some(steps + 1)];
        let tasks = tasks.map(|at| at.and_then(|at| lab.steps.get(at)));
        tasks[0] != tasks[1] || tasks[1] != tasks[2]
    };
    let chosen: Vec<usize> =
        all.iter().copied().filter(|steps| *steps == 0 || switches(*steps)).collect();
    // If there are too many, the last ones: the failure is there.
    let late = chosen.len().saturating_sub(PREFIXES);
    chosen
        .iter()
        .copied()
        .enumerate()
        .filter(|(at, _)| *at == 0 || *at >= late)
        .map(|(_, s)| s)
        .collect()
}

/// The middle of the first neighbours that differ much and have others between them.
fn between(prefixes: &[Prefix], all: &[usize]) -> Option<usize> {
    prefixes.windows(2).find_map(|pair| {
        let inside: Vec<usize> = all
            .iter()
            .copied()
            .filter(|steps| (pair[0].steps + 1..pair[1].steps).contains(steps))
            .collect();
        let differ = (pair[1].share() - pair[0].share()).abs() >= GAP;
        inside.get(inside.len() / 2).copied().filter(|_| differ)
    })
}

/// The positions of prefixes about which more runs may decide a mark.
fn doubtful(prefixes: &[Prefix]) -> Vec<usize> {
    let difference = |pair: &[Prefix]| pair[1].share() - pair[0].share();
    let largest = prefixes.windows(2).map(difference).fold(0.0, f64::max);
    let mut doubtful: Vec<usize> = Vec::new();
    for (at, pair) in prefixes.windows(2).enumerate() {
        let ratio = pair[1].corrected() / pair[0].corrected();
        let is_near = difference(pair) > 0.0 && difference(pair) >= largest - NEAR;
        if ratio >= NEARLY || is_near {
            doubtful.extend(
                [at, at + 1]
                    .iter()
                    .filter(|at| !doubtful.contains(at))
                    .copied()
                    .collect::<Vec<_>>(),
            );
        }
    }
    doubtful
}

/// The steps at which the chance jumps. `prefixes` ends with the prefix after which all fail.
fn marks(prefixes: &[Prefix]) -> Vec<u32> {
    let mut marks = Vec::new();
    let mut largest: Option<(f64, usize)> = None;
    for pair in prefixes.windows(2) {
        let difference = pair[1].share() - pair[0].share();
        if largest.is_none_or(|(most, _)| difference > most) {
            largest = Some((difference, pair[1].steps));
        }
        let is_sure = pair[0].interval().1 < pair[1].interval().0;
        if is_sure && pair[1].corrected() >= JUMP * pair[0].corrected() {
            marks.push(pair[1].steps);
        }
    }
    let largest = largest.filter(|(difference, _)| *difference > 0.0).map(|(_, steps)| steps);
    if let Some(at) = largest.filter(|steps| !marks.contains(steps)) {
        marks.push(at);
    }
    unpause_ordered::sort(&mut marks);
    marks.iter().map(|steps| u32::try_from(steps - 1).unwrap_or(u32::MAX)).collect()
}
