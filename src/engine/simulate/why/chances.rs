//! The chance of failure after each prefix of the run, and the steps at which it jumps.
//!
//! The chance is exact if there are few states, and otherwise sampled. Sampled schedules [rarely
//! switch](crate::strategy::after::Then::Sticky), because under a random walk the chance would be highest at the last
//! read before the failure, which is only the symptom.

use super::lab::{Lab, Sampled};
use crate::report::{Chance, NoReturn};
use crate::strategy::after::Then;

/// The maximum number of runs for an exact sum.
const SUM: u64 = 1000;
/// The fraction of the remaining runs for an exact sum: one part in `SUM_SHARE`.
const SUM_SHARE: u64 = 3;
/// The maximum number of prefixes that are sampled initially.
const PREFIXES: usize = 64;
/// The number of runs after each prefix.
const RUNS: u64 = 50;
/// The number of additional runs if they may decide about a mark.
const MORE: u64 = 350;
/// The factor by which the chance must increase at a step to mark the step.
const JUMP: f64 = 3.0;
/// The ratio of chances from which a step is sampled again.
const NEARLY: f64 = 2.0;
/// A difference this close to the largest difference is sampled again.
const NEAR: f64 = 0.15;
/// The chance from which nearly all schedules fail.
const NEARLY_ALL: f64 = 0.995;
/// The number of standard deviations of a 95 % interval.
const DEVIATIONS: f64 = 1.96;
/// The difference between neighbouring prefixes from which another prefix between them is sampled.
const GAP: f64 = 0.2;

/// A prefix of the run, with the chance of failure after it.
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

    /// Returns the 95 % confidence interval of the chance (Wilson, 1927).
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

    /// Returns the chance with a correction, so that ratios remain meaningful with few failures.
    fn corrected(&self) -> f64 {
        let Sampled { failed, ended } = self.counts;
        self.exact.unwrap_or_else(|| (failed as f64 + 0.5) / (ended as f64 + 1.0))
    }
}

/// Returns the chances, sorted by prefix, and the marked steps.
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
    // If the chance is nearly 1 from the beginning, the chances show nothing about the steps.
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

/// Returns the prefixes with exact chances.
fn exactly(all: &[usize], exact: &[f64]) -> Vec<Prefix> {
    let known = all.iter().filter_map(|steps| exact.get(*steps).map(|share| (*steps, *share)));
    let prefix = |(steps, share)| Prefix { steps, counts: Sampled::default(), exact: Some(share) };
    known.map(prefix).collect()
}

/// Samples continuations of these prefixes, and then samples some prefixes again.
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
    // A prefix without ended continuations shows nothing.
    prefixes.retain(|prefix| prefix.counts.ended > 0);
    if prefixes.first().is_some_and(|prefix| prefix.steps == 0) { prefixes } else { Vec::new() }
}

fn prefix(lab: &mut Lab<'_, '_>, steps: usize, runs: u64) -> Prefix {
    Prefix { steps, counts: lab.sample(steps, runs, Then::Sticky, 0), exact: None }
}

/// Returns the prefixes that are sampled initially: the first prefix, and the prefixes before and after each switch.
fn around_switches(lab: &Lab<'_, '_>, all: &[usize]) -> Vec<usize> {
    let switches = |steps: usize| {
        let tasks = [steps.checked_sub(1), Some(steps), Some(steps + 1)];
        let tasks = tasks.map(|at| at.and_then(|at| lab.steps.get(at)));
        tasks[0] != tasks[1] || tasks[1] != tasks[2]
    };
    let chosen: Vec<usize> =
        all.iter().copied().filter(|steps| *steps == 0 || switches(*steps)).collect();
    // If there are too many prefixes, the last ones are kept, because the failure is there.
    let late = chosen.len().saturating_sub(PREFIXES);
    chosen
        .iter()
        .copied()
        .enumerate()
        .filter(|(at, _)| *at == 0 || *at >= late)
        .map(|(_, s)| s)
        .collect()
}

/// Returns the middle prefix between the first two neighbours that differ much and have other prefixes between them.
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

/// Returns the positions of prefixes for which more runs may decide about a mark.
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

/// Returns the steps at which the chance jumps. The last element of `prefixes` is the prefix after which all schedules
/// fail.
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
