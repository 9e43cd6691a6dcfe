//! The remedy: regions of lines that, as one step, make the failure impossible.
//!
//! Each candidate is a [program of its own](crate::run::what_if): it must first survive sampled runs, which is cheap,
//! and then be proved. The proof is, in this order, an exhaustive search, a search of all runs with few preemptions, or
//! sampled runs. Sampled runs alone are a weak test, so they count only after the second search.

use super::candidates::{Candidate, Points, candidates, points};
use super::lab::{Counts, End, Lab, Sampled, Searched};
use crate::report::{Interruption, Region, Remedy, Size, Tested};
use crate::run::what_if::WhatIf;

/// Runs that the chances get: the others are left for the remedy.
const RESERVE: u64 = 1000;
/// Runs without a change, from which ends of regions are taken.
const SEEN: u64 = 60;
/// Runs that a candidate must survive before it is searched.
const SURVIVE: u64 = 30;
/// Runs of an exhaustive search without a change, which tells how many interleavings pass now.
const PLAIN: u64 = 400;
/// Runs of an exhaustive search of a candidate, and of one in a program with more interleavings than the search above.
const SEARCH: [u64; 2] = [400, 200];
/// Runs of a search with few preemptions.
const BOUNDED: u64 = 300;
/// Runs that are counted if no search ends.
const COUNT: u64 = 200;
/// Candidates that are judged.
const CANDIDATES: usize = 24;
/// Candidates of which pairs are judged.
const PAIRED: usize = 12;
/// A region that may be too strong must keep one in so many of the interleavings that pass.
const KEPT: u64 = 4;
/// The probability by chance of a count that is reported.
const BY_CHANCE: f64 = 0.001;

/// Returns the remedy, with the interruption that it rules out.
pub(super) fn find(lab: &mut Lab<'_, '_>) -> Option<(Remedy, Interruption)> {
    let pending = lab.pending();
    let own = points(lab.run, &pending);
    let mut seen: Vec<Points> = Vec::new();
    let now = lab.walk(SEEN, &mut |worker, _| {
        seen.push(points(&worker.outline(crate::run::ids::Seed(0), ""), &[]));
        true
    });
    let mut regions = candidates(lab.run, &own, &seen);
    regions.truncate(CANDIDATES);
    if regions.is_empty() {
        return None;
    }
    let plain = match lab.search(0, PLAIN.min(budget(lab)), None) {
        Searched::Through(counts) => Some(counts),
        Searched::Stopped | Searched::Open => None,
    };
    let mut bench = Bench { lab, now, plain };
    let waiting = regions.iter().find_map(|region| bench.judge(&[region], true));
    // A region in which a task need not wait may begin earlier: the others are left out.
    let earlier = regions.iter().filter(|region| {
        waiting.as_ref().is_none_or(|found| region.interrupted < found.interrupted)
    });
    let strict = earlier.into_iter().find_map(|region| bench.judge(&[region], false));
    let found = strict.or(waiting).or_else(|| {
        let few = &regions[..regions.len().min(PAIRED)];
        let mut pairs = few
            .iter()
            .enumerate()
            .flat_map(|(i, one)| few[i + 1..].iter().map(move |other| [one, other]));
        pairs.find_map(|pair| bench.judge(&pair, true))
    })?;
    let interruption = interruption(bench.lab, &found.first);
    Some((found.remedy, interruption))
}

/// The runs that the remedy may still take.
fn budget(lab: &Lab<'_, '_>) -> u64 {
    lab.runs_left().saturating_sub(RESERVE)
}

/// A remedy that was found.
struct Found {
    remedy: Remedy,
    interrupted: usize,
    first: Candidate,
}

/// Judges candidates.
struct Bench<'b, 'a, 's> {
    lab: &'b mut Lab<'a, 's>,
    /// Runs without a change.
    now: Sampled,
    /// The interleavings without a change, if they are few.
    plain: Option<Counts>,
}

impl Bench<'_, '_, '_> {
    /// Judges these regions as one step each. `None` if a run still fails, or if nothing can be said.
    fn judge(&mut self, regions: &[&Candidate], waits: bool) -> Option<Found> {
        let sections = regions.iter().map(|region| region.section.clone()).collect();
        self.lab.suppose(Some(WhatIf { sections, waits }));
        let tested = self.test();
        self.lab.suppose(None);
        let tested = tested.filter(|tested| !self.is_too_strong(regions, tested))?;
        let region = |it: &&Candidate| Region { from: it.section.from, to: it.section.to };
        let remedy = Remedy { regions: regions.iter().map(region).collect(), waits, tested };
        let interrupted = regions.iter().map(|region| region.interrupted).min().unwrap_or(0);
        Some(Found { remedy, interrupted, first: regions[0].clone() })
    }

    /// Tests the program that is supposed.
    fn test(&mut self) -> Option<Tested> {
        let runs =
            |lab: &Lab<'_, '_>, most: u64| Some(budget(lab).min(most)).filter(|runs| *runs > 0);
        let survived = self.lab.walk(runs(self.lab, SURVIVE)?, &mut |_, end| end != End::Failed);
        if survived.failed > 0 {
            return None;
        }
        let most = SEARCH[usize::from(self.plain.is_none())];
        match self.lab.search(0, runs(self.lab, most)?, Some(End::Failed)) {
            Searched::Stopped => return None,
            Searched::Through(counts) => {
                let of = self.plain.filter(|plain| !plain.by_step && !counts.by_step);
                // A region that no run can keep is no remedy.
                return (counts.passed() > 0).then_some(Tested::All {
                    interleavings: counts.passed(),
                    of: of.map(|plain| plain.passed()),
                    left_out: counts.excused,
                });
            }
            Searched::Open => {}
        }
        let bounds = self.lab.bounded(runs(self.lab, BOUNDED)?)?;
        if bounds.is_all {
            let (interleavings, of, left_out) = (bounds.runs, None, 0);
            return (bounds.runs > 0).then_some(Tested::All { interleavings, of, left_out });
        }
        let counted = self.lab.walk(runs(self.lab, COUNT)?, &mut |_, end| end != End::Failed);
        let ended = survived.ended + counted.ended;
        let Sampled { failed, ended: of } = self.now;
        let passes_by_chance = (1.0 - failed as f64 / of.max(1) as f64).powf(ended as f64);
        if counted.failed > 0 || passes_by_chance > BY_CHANCE {
            return None;
        }
        match bounds.through.filter(|through| *through >= Size::of(self.lab.run).preemptions) {
            Some(preemptions) => Some(Tested::Within { preemptions, runs: bounds.runs }),
            None => Some(Tested::Counted { runs: ended, failed, of }),
        }
    }

    /// Returns `true` if a region that may rule out too much keeps few of the interleavings that pass.
    fn is_too_strong(&self, regions: &[&Candidate], tested: &Tested) -> bool {
        let Some(strong) = regions.iter().find(|region| region.is_strong) else { return false };
        match tested {
            Tested::All { interleavings, of: Some(of), .. } => interleavings * KEPT < *of,
            // Two operations that are no round cannot be compared.
            _ => strong.section.from == strong.section.to,
        }
    }
}

/// Returns what came between the ends of a region in the run.
fn interruption(lab: &Lab<'_, '_>, region: &Candidate) -> Interruption {
    let Candidate { section, task, events: (from, to), .. } = region;
    let events = &lab.run.events;
    let between = from + 1..to.unwrap_or(events.len());
    Interruption {
        task: *task,
        region: Region { from: section.from, to: section.to },
        is_reached: to.is_some(),
        between: between.filter(|at| events[*at].task != *task).collect(),
    }
}
