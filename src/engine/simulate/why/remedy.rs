//! The remedy: regions of lines that make the failure impossible if each region executes as a single step.
//!
//! Each candidate is a [program of its own](crate::run::what_if). It must first survive sampled runs, which is cheap,
//! and then be proved. The proof is tried in this order: an exhaustive search, a search of all runs with few
//! preemptions, sampled runs. Sampled runs alone are a weak test, so they count only after the second search.

use super::candidates::{Candidate, Points, candidates, points};
use super::lab::{Counts, End, Lab, Sampled, Searched};
use crate::report::{Interruption, Region, Remedy, Size, Tested};
use crate::run::what_if::WhatIf;

/// The number of runs that are reserved for the chances and not available for the remedy.
const RESERVE: u64 = 1000;
/// The number of unmodified runs from which the ends of regions are taken.
const SEEN: u64 = 60;
/// The number of runs that a candidate must survive before it is searched.
const SURVIVE: u64 = 30;
/// The maximum number of runs of an exhaustive search of the unmodified program, which counts its passing
/// interleavings.
const PLAIN: u64 = 400;
/// The maximum number of runs of an exhaustive search of a candidate. The second number applies if the search of the
/// unmodified program was not complete.
const SEARCH: [u64; 2] = [400, 200];
/// The maximum number of runs of a search with few preemptions.
const BOUNDED: u64 = 300;
/// The number of counted runs if no search completes.
const COUNT: u64 = 200;
/// The maximum number of judged candidates.
const CANDIDATES: usize = 24;
/// The maximum number of candidates that are judged in pairs.
const PAIRED: usize = 12;
/// The minimum fraction of passing interleavings that a possibly too strong region must keep: one part in `KEPT`.
const KEPT: u64 = 4;
/// The maximum probability that a reported count is due to chance.
const BY_CHANCE: f64 = 0.001;

/// Returns the remedy, with the interruption that it prevents.
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
    // A region in which no task needs to wait is preferred if it is interrupted earlier, so only such regions are
    // tried.
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

/// Returns the number of runs that remain for the remedy.
fn budget(lab: &Lab<'_, '_>) -> u64 {
    lab.runs_left().saturating_sub(RESERVE)
}

/// A remedy that was found.
struct Found {
    remedy: Remedy,
    interrupted: usize,
    first: Candidate,
}

/// The state of the search for a remedy: judges candidates by runs of modified programs.
struct Bench<'b, 'a, 's> {
    lab: &'b mut Lab<'a, 's>,
    /// The sampled runs of the unmodified program.
    now: Sampled,
    /// The interleavings of the unmodified program, if their search was complete.
    plain: Option<Counts>,
}

impl Bench<'_, '_, '_> {
    /// Judges these regions, each as a single step. `None` if a run still fails, or if the result is undecided.
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

    /// Tests the modified program.
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
                // A region that no run can keep is not a remedy.
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

    /// Returns `true` if a region that may exclude too much keeps only few of the passing interleavings.
    fn is_too_strong(&self, regions: &[&Candidate], tested: &Tested) -> bool {
        let Some(strong) = regions.iter().find(|region| region.is_strong) else { return false };
        match tested {
            Tested::All { interleavings, of: Some(of), .. } => interleavings * KEPT < *of,
            // If a region begins and ends at the same site, it spans a whole round, and without counts it is assumed to
            // be too strong.
            _ => strong.section.from == strong.section.to,
        }
    }
}

/// Returns the events of other tasks between the ends of a region in the run.
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
