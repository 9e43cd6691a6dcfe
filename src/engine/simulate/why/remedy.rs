//! The remedy: regions of lines that make the failure impossible if each region executes as a single step, or an order
//! of two lines.
//!
//! Each region is a [program of its own](crate::run::what_if). A region must first survive sampled runs, which is
//! cheap, and then be proved. The proof is tried in this order: an exhaustive search, a search of all runs with few
//! preemptions, sampled runs. Sampled runs alone are a weak test. So they count only after the second search, and they
//! begin like the explained run. If no region is proved, the remedy is an [order](super::orders), which needs no
//! further runs.
//
// A region has priority, even if an order keeps more interleavings. The order that keeps most is often a symptom, such
// as the last read before the failure. A region is the cause, because the candidates are tried in the order in which
// the explained run interrupted them.

use std::sync::Arc;

use super::candidates::{Candidate, Points, candidates, points};
use super::decisive::decisive;
use super::lab::{Bounds, Counts, End, Exploration, Lab, Sampled, Searched};
use super::near::first_steps;
use super::orders::{self, Classes};
use crate::report::{Change, Interruption, Region, Remedy, Size, Tested};
use crate::run::ids::{Seed, TaskId};
use crate::run::what_if::{Site, WhatIf};

/// The number of runs that are reserved for the chances and not available for the remedy.
const RESERVE: u64 = 1000;
/// The number of unmodified runs from which the ends of regions are taken.
const SEEN: u64 = 60;
/// The number of runs that a candidate must survive before it is searched: runs that begin like the explained run, and
/// other runs.
const SURVIVE: [u64; 2] = [15, 15];
/// The maximum number of runs of an exhaustive search of the unmodified program, which counts its passing
/// interleavings.
const PLAIN: u64 = 400;
/// The maximum number of runs of an exhaustive search of a candidate. The second number applies if the search of the
/// unmodified program was not complete.
const SEARCH: [u64; 2] = [400, 200];
/// The maximum number of further runs of one such search, if nothing was proved.
const SEARCH_LAST: u64 = 1200;
/// The maximum average number of steps of these runs. A program with longer runs has too many interleavings.
const SHORT: u64 = 64;
/// The number of runs that the last search leaves for the chances.
const RESERVE_LAST: u64 = 400;
/// The maximum number of runs of a search with few preemptions.
const BOUNDED: u64 = 300;
/// The number of counted runs if no search completes.
const COUNT: u64 = 200;
/// The minimum number of these runs that have an end, because no task had to wait within a region.
const ENDED: u64 = 20;
/// The maximum number of judged candidates.
const CANDIDATES: usize = 24;
/// The maximum number of candidates that are judged in pairs.
const PAIRED: usize = 12;
/// The minimum fraction of passing interleavings that a possibly too strong region must keep: one part in `KEPT`.
const KEPT: u64 = 4;
/// The maximum probability that a reported count is due to chance.
const BY_CHANCE: f64 = 0.001;

/// Returns the remedy. If the remedy consists of regions, also returns the interruption that it prevents.
pub(super) fn find(lab: &mut Lab<'_, '_>) -> Option<(Remedy, Option<Interruption>)> {
    let pending = lab.pending();
    let own = points(lab.run, &pending);
    let (mut seen, mut failing): (Vec<Points>, Vec<Vec<Site>>) = (Vec::new(), Vec::new());
    lab.walk(SEEN, &mut |worker, end| {
        let run = worker.outline(Seed(0), "");
        seen.push(points(&run, &[]));
        if end == End::Failed {
            failing.push(orders::lines(&run));
        }
        true
    });
    // In the detail of searches, a region has further operations, such as releases of locks.
    seen.extend(lab.points_exactly(SEEN));
    let mut regions = candidates(lab.run, &own, &seen);
    regions.truncate(CANDIDATES);
    let mut classes = Classes::default();
    let mut search = lab.exploration(0);
    let searched = lab.explore(&mut search, PLAIN.min(budget(lab)), None, Some(&mut classes));
    let plain = match searched {
        Searched::Through(counts) => Some(counts),
        Searched::Stopped | Searched::Open | Searched::Blind => None,
    };
    let mut bench = Bench { lab, plain, unmodified: Vec::new(), open: None };
    let mut found = bench.judge_all(&regions);
    if found.as_ref().is_none_or(|found| !found.is_proved()) {
        if let Some(remedy) = plain.and_then(|_| classes.remedy(&failing)) {
            return Some((remedy, None));
        }
        found = bench.search_on(found);
    }
    let Found { remedy, regions, .. } = found?;
    let interruption = regions.first().map(|region| interruption(bench.lab, region));
    Some((remedy, interruption))
}

/// Returns the number of runs that remain for the remedy.
fn budget(lab: &Lab<'_, '_>) -> u64 {
    lab.runs_left().saturating_sub(RESERVE)
}

/// A remedy that was found, as regions.
struct Found {
    remedy: Remedy,
    regions: Vec<Candidate>,
    waits: bool,
    /// The first step of another task within one of the regions.
    interrupted: usize,
}

impl Found {
    fn new(regions: &[&Candidate], waits: bool, tested: Tested) -> Found {
        let region = |it: &&Candidate| Region { from: it.section.from, to: it.section.to };
        let change = Change::Regions { regions: regions.iter().map(region).collect(), waits };
        Found {
            remedy: Remedy { change, tested },
            regions: regions.iter().map(|region| (*region).clone()).collect(),
            waits,
            interrupted: interrupted(regions),
        }
    }

    fn is_proved(&self) -> bool {
        matches!(self.remedy.tested, Tested::All { .. })
    }
}

/// Returns the first step of another task within one of the regions.
fn interrupted(regions: &[&Candidate]) -> usize {
    regions.iter().map(|region| region.interrupted).min().unwrap_or(0)
}

/// Returns the modified program.
fn what_if(regions: &[&Candidate], waits: bool) -> WhatIf {
    WhatIf { sections: regions.iter().map(|region| region.section.clone()).collect(), waits }
}

/// The result of a candidate's runs if no run failed.
enum Trial {
    /// All interleavings were run.
    Proved(Tested),
    /// The search is not complete. The search with few preemptions and the sampled runs passed.
    Sampled { bounds: Bounds, near: Sampled, search: Option<Exploration> },
}

/// A candidate whose search can be continued.
struct Open {
    regions: Vec<Candidate>,
    waits: bool,
    search: Exploration,
}

/// The state of the search for a remedy: judges candidates by runs of modified programs.
struct Bench<'b, 'a, 's> {
    lab: &'b mut Lab<'a, 's>,
    /// The interleavings of the unmodified program, if their search was complete.
    plain: Option<Counts>,
    /// The sampled runs of the unmodified program that begin with the first steps of the explained run, by the number
    /// of these steps.
    unmodified: Vec<(usize, Sampled)>,
    /// The first candidate that has survived all its runs, although its search is not complete.
    open: Option<Open>,
}

impl Bench<'_, '_, '_> {
    /// Judges all candidates, single regions first.
    fn judge_all(&mut self, regions: &[Candidate]) -> Option<Found> {
        let waiting = regions.iter().find_map(|region| self.judge(&[region], true));
        // A region in which no task needs to wait is preferred if it is interrupted earlier, so only such regions are
        // tried.
        let earlier = regions.iter().filter(|region| {
            waiting.as_ref().is_none_or(|found| region.interrupted < found.interrupted)
        });
        let strict = earlier.into_iter().find_map(|region| self.judge(&[region], false));
        strict.or(waiting).or_else(|| {
            let few = &regions[..regions.len().min(PAIRED)];
            let mut pairs = few
                .iter()
                .enumerate()
                .flat_map(|(i, one)| few[i + 1..].iter().map(move |other| [one, other]));
            pairs.find_map(|pair| self.judge(&pair, true))
        })
    }

    /// Judges these regions, each as a single step. `None` if a run still fails, or if the result is undecided.
    fn judge(&mut self, regions: &[&Candidate], waits: bool) -> Option<Found> {
        let what_if = what_if(regions, waits);
        // The step of the interruption is included.
        let end = self.lab.steps.len().min(interrupted(regions) + 1);
        let steps: Arc<[TaskId]> = first_steps(self.lab.run, &what_if, end).into();
        self.lab.suppose(Some(what_if));
        let trial = self.test(&steps);
        self.lab.suppose(None);
        let (tested, is_chance) = match trial? {
            Trial::Proved(tested) => (tested, false),
            Trial::Sampled { bounds, near, search } => {
                let unmodified = self.unmodified(end)?;
                let tested = sampled(self.lab, bounds, near, unmodified);
                let is_first = self.open.is_none() && !self.is_too_strong(regions, &tested);
                if let Some(search) = search.filter(|_| is_first) {
                    let regions = regions.iter().map(|region| (*region).clone()).collect();
                    self.open = Some(Open { regions, waits, search });
                }
                (tested, may_be_chance(near, unmodified))
            }
        };
        let is_remedy = !is_chance && !self.is_too_strong(regions, &tested);
        is_remedy.then(|| Found::new(regions, waits, tested))
    }

    /// Tests the modified program. `steps` contains its steps up to the interruption.
    fn test(&mut self, steps: &Arc<[TaskId]>) -> Option<Trial> {
        let runs =
            |lab: &Lab<'_, '_>, most: u64| Some(budget(lab).min(most)).filter(|runs| *runs > 0);
        let near = self.lab.near(steps, runs(self.lab, SURVIVE[0])?, Some(End::Failed));
        if near.failed > 0 {
            return None;
        }
        let whole = self.lab.walk(runs(self.lab, SURVIVE[1])?, &mut |_, end| end != End::Failed);
        if whole.failed > 0 {
            return None;
        }
        let most = SEARCH[usize::from(self.plain.is_none())];
        let mut search = self.lab.exploration(0);
        let most = runs(self.lab, most)?;
        let search = match self.lab.explore(&mut search, most, Some(End::Failed), None) {
            Searched::Stopped => return None,
            Searched::Through(counts) => return self.proved(counts).map(Trial::Proved),
            Searched::Open => Some(search),
            Searched::Blind => None,
        };
        let bounds = self.lab.bounded(runs(self.lab, BOUNDED)?)?;
        if bounds.is_all {
            let (interleavings, of, left_out) = (bounds.runs, None, bounds.excused);
            let tested = Tested::All { interleavings, of, left_out };
            return (bounds.runs > 0).then_some(Trial::Proved(tested));
        }
        // The other half of the remaining runs is for the unmodified program.
        let half = budget(self.lab).div_ceil(2);
        let near = self.lab.near(steps, runs(self.lab, half.min(COUNT))?, Some(End::Failed));
        (near.failed == 0).then_some(Trial::Sampled { bounds, near, search })
    }

    /// Returns the proof from a complete search without failing runs. `None` if no run can keep the regions.
    fn proved(&self, counts: Counts) -> Option<Tested> {
        let is_same = |plain: &Counts| plain.is_exact == counts.is_exact;
        let of = self.plain.filter(|plain| !plain.by_step && !counts.by_step && is_same(plain));
        // A wait within a region is an interleaving of its own, so the program with the region may have more of them.
        let of = of.map(|plain| plain.passed()).filter(|of| counts.passed() <= *of);
        (counts.passed() > 0).then_some(Tested::All {
            interleavings: counts.passed(),
            of,
            left_out: counts.excused,
        })
    }

    /// Returns the sampled runs of the unmodified program that begin with the first `end` steps of the explained run.
    fn unmodified(&mut self, end: usize) -> Option<Sampled> {
        let known = self.unmodified.iter().find(|(steps, _)| *steps == end);
        if let Some((_, sampled)) = known {
            return Some(*sampled);
        }
        let runs = Some(budget(self.lab).min(COUNT)).filter(|runs| *runs > 0)?;
        let steps: Arc<[TaskId]> = self.lab.steps[..end].into();
        let sampled = self.lab.near(&steps, runs, None);
        self.unmodified.push((end, sampled));
        Some(sampled)
    }

    /// Continues the search of the first candidate that has survived all its runs. Returns the remedy that is then
    /// known, which is `found` if the search is still not complete.
    fn search_on(&mut self, found: Option<Found>) -> Option<Found> {
        let Some(Open { regions, waits, mut search }) = self.open.take() else { return found };
        let runs = SEARCH_LAST.min(self.lab.runs_left().saturating_sub(RESERVE_LAST));
        if runs == 0 || search.steps() > SHORT {
            return found;
        }
        let references: Vec<&Candidate> = regions.iter().collect();
        self.lab.suppose(Some(what_if(&references, waits)));
        let searched = self.lab.explore(&mut search, runs, Some(End::Failed), None);
        self.lab.suppose(None);
        let proved = match searched {
            Searched::Open | Searched::Blind => return found,
            Searched::Stopped => None,
            Searched::Through(counts) => self.proved(counts),
        };
        let proved = proved.filter(|tested| !self.is_too_strong(&references, tested));
        // A candidate that is still not proved is treated as refuted.
        let is_other = |found: &Found| found.regions != regions || found.waits != waits;
        proved
            .map(|tested| Found::new(&references, waits, tested))
            .or_else(|| found.filter(is_other))
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

/// Returns the result of runs that did not cover all interleavings.
fn sampled(lab: &Lab<'_, '_>, bounds: Bounds, near: Sampled, unmodified: Sampled) -> Tested {
    let Sampled { failed, ended: of } = unmodified;
    match bounds.through.filter(|through| *through >= Size::of(lab.run).preemptions) {
        Some(preemptions) => Tested::Within { preemptions, runs: bounds.runs },
        None => Tested::Counted { runs: near.ended, failed, of },
    }
}

/// Returns `true` if the runs with the candidate may have passed by chance, because too few of the unmodified runs
/// fail. None of the runs with the candidate failed.
fn may_be_chance(near: Sampled, unmodified: Sampled) -> bool {
    let is_small = near.ended.min(unmodified.ended) < ENDED;
    is_small || by_chance(near.ended, unmodified) > BY_CHANCE
}

/// Returns the probability that all failing runs are unmodified runs, if the candidate has no effect (Fisher's exact
/// test). The true share of failing runs is unknown, so the observed share must not replace it.
fn by_chance(passed: u64, unmodified: Sampled) -> f64 {
    let Sampled { failed, ended } = unmodified;
    let unmodified_is_next = |nth: u64| (ended - nth) as f64 / (ended + passed - nth) as f64;
    (0..failed).map(unmodified_is_next).product()
}

/// Returns the events of other tasks between the ends of a region in the run.
fn interruption(lab: &Lab<'_, '_>, region: &Candidate) -> Interruption {
    let Candidate { section, task, events: (from, to), to_object, .. } = region;
    let events = &lab.run.events;
    let between = from + 1..to.unwrap_or(events.len());
    Interruption {
        task: *task,
        region: Region { from: section.from, to: section.to },
        is_reached: to.is_some(),
        between: between.filter(|at| events[*at].task != *task).collect(),
        decisive: decisive(lab.run, *task, *from, *to, *to_object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_chance_unless_enough_unmodified_runs_fail() {
        let is_chance = |passed: u64, failed: u64, ended: u64| {
            let near = Sampled { failed: 0, ended: passed };
            may_be_chance(near, Sampled { failed, ended })
        };
        // One of 20 runs fails, and it is one of the 10 unmodified runs.
        assert!((by_chance(10, Sampled { failed: 1, ended: 10 }) - 0.5).abs() < 1e-9);
        // If 7 of 200 runs fail, the observed share alone would suggest that 200 runs are enough.
        assert!(is_chance(200, 7, 200) && is_chance(200, 9, 200));
        assert!(!is_chance(200, 10, 200) && !is_chance(200, 130, 200));
        assert!(is_chance(200, 0, 200) && is_chance(19, 200, 200) && is_chance(200, 19, 19));
        // If no unmodified run ended, nothing is known.
        assert!(is_chance(200, 0, 0));
    }
}
