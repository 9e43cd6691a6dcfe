//! The explanation of a failing run by other runs. It consists of the interrupted region of lines, the remedy, the
//! chance of failure after each of the first steps, and the step after which every schedule fails.
//!
//! This module writes the explanation text; [`chances`](super::chances) draws the column of the schedule.

use super::folds::is_told;
use super::names::DisplayNames;
use super::passing::PassingRun;
use super::{Finding, Size};
use crate::run::Run;
use crate::run::event::Event;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::Access;
use crate::run::what_if::Site;
use unpause_check::picture::screen::{self, clean, plural};

/// The maximum number of marks in the text.
const MARKS_MAX: usize = 3;

/// The explanation of a failing run. Each statement was tested by runs with the values drawn in the failing run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Why {
    /// The number of runs that were executed for the explanation.
    pub runs: u64,
    /// The region that the remedy concerns, and its interruption in the failing run.
    pub cause: Option<Interruption>,
    /// Regions that make the failure impossible if each of them is one step.
    pub remedy: Option<Remedy>,
    /// The chances of failure after the first steps of the run. Invariant: sorted by number of steps; if not empty,
    /// starts with the chance before the first step.
    pub chances: Vec<Chance>,
    /// The steps at which the chance jumps, because it triples or because the difference is the largest of all.
    /// Invariant: sorted.
    pub marks: Vec<u32>,
    /// The point after which every schedule fails, if this was proved.
    pub no_return: Option<NoReturn>,
    /// The passing run with the most first steps in common with the failing run. Of several such runs, the run with the
    /// fewest other changed steps. `None` if no run of the explanation passed.
    pub passing: Option<PassingRun>,
}

/// The chance that a schedule fails if it begins with the first steps of a run.
///
/// Schedules are weighted. Unless it yields, the task of the previous step continues with a probability of 7/8.
/// Otherwise, each other task is equally likely. So a step that raises the chance is a switch that matters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Chance {
    /// The number of first steps.
    pub after: u32,
    /// The chance of failure, from 0 to 1.
    pub share: f64,
    /// The number of sampled runs; 0 if the chance is exact.
    pub runs: u64,
}

/// A proof that every continuation of the first steps of a run fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoReturn {
    /// The number of first steps. 0 means that the test fails in every run.
    pub after: u32,
    /// The number of interleavings after these steps. Each was run and failed.
    pub interleavings: u64,
}

/// A region of lines: two operations of one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// The first operation of the region.
    pub from: Site,
    /// The last operation of the region.
    pub to: Site,
}

/// A region of the failing run, and the operations of other tasks within it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// The task that was interrupted.
    pub task: TaskId,
    /// The region.
    pub region: Region,
    /// True if the interrupted task reached the end of the region.
    pub is_reached: bool,
    /// The events of other tasks between the ends, as indices.
    pub between: Vec<usize>,
}

/// Regions that make the failure impossible if each is one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remedy {
    /// The regions, in the order in which the failing run interrupted them.
    pub regions: Vec<Region>,
    /// The behavior of a task that must wait within a region. True: the task continues as one step when it can. False:
    /// runs in which a task would have to wait are excluded.
    pub waits: bool,
    /// The runs that tested the remedy.
    pub tested: Tested,
}

/// The runs that tested a remedy. All of them passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tested {
    /// A proof: all interleavings were run.
    All {
        /// The number of interleavings that pass.
        interleavings: u64,
        /// The number of interleavings that pass without the remedy; `None` if unknown.
        of: Option<u64>,
        /// The number of interleavings in which a task would have to wait within a region.
        left_out: u64,
    },
    /// All runs with at most this many preemptions, and sampled runs.
    Within {
        /// The number of preemptions.
        preemptions: u32,
        /// The number of runs within this bound.
        runs: u64,
    },
    /// Sampled runs.
    Counted {
        /// The number of sampled runs with the remedy.
        runs: u64,
        /// The number of runs that failed without the remedy.
        failed: u64,
        /// The number of runs without the remedy.
        of: u64,
    },
}

impl Why {
    /// Returns the chance of failure after this many steps. It is exact, or the sampled chance of the nearest smaller
    /// number of steps.
    pub fn chance_after(&self, steps: u32) -> Option<Chance> {
        if let Some(NoReturn { after, .. }) = self.no_return.filter(|proved| proved.after <= steps)
        {
            return Some(Chance { after, share: 1.0, runs: 0 });
        }
        let known = self.chances.partition_point(|chance| chance.after <= steps);
        known.checked_sub(1).map(|at| self.chances[at])
    }
}

/// Returns the lines of the explanation, each as a label and a text.
pub(super) fn lines(finding: &Finding) -> Vec<(&'static str, String)> {
    let Some(why) = &finding.why else { return Vec::new() };
    let drawn = match Size::of(&finding.run).draws {
        0 => "",
        _ => " with the values drawn here",
    };
    if let Some(NoReturn { after: 0, interleavings }) = why.no_return {
        let proof = proof(interleavings);
        return vec![("why", format!("it fails in every run{drawn} ({proof})"))];
    }
    let mut lines = Vec::new();
    if let Some(cause) = &why.cause {
        lines.push(("why", interruption(&finding.run, cause)));
    }
    if let Some(remedy) = &why.remedy {
        lines.push(("remedy", self::remedy(remedy)));
    }
    lines.extend(chances(why).map(|text| ("chances", format!("{text}{drawn}"))));
    lines
}

/// Returns a text about the events of other tasks between the ends of a region.
fn interruption(run: &Run, cause: &Interruption) -> String {
    let Interruption { task, region: Region { from, to }, is_reached, between } = cause;
    let names = DisplayNames::new(run);
    let task = names.task(*task);
    let mut places = Places::default();
    let (first, last) = (places.operation(from), places.operation(to));
    let end = if *is_reached { "" } else { ", which it did not get to," };
    let told: Vec<&Event> = between
        .iter()
        .filter_map(|at| run.events.get(*at))
        .filter(|event| is_shown(event))
        .collect();
    let shown = chosen(run, cause, &told);
    let texts: Vec<String> = shown
        .iter()
        .map(|event| {
            let site = Site { op: event.op.name, place: event.place };
            format!("{} of {}", places.operation(&site), names.task(event.task))
        })
        .collect();
    let came = match (&texts[..], told.len() - shown.len()) {
        ([], _) => "another task went on".to_owned(),
        (texts, 0) => format!("came {}", texts.join(" and ")),
        (texts, more) => format!("came {} and {more} more", texts.join(", ")),
    };
    format!("between {first} and {last} of {task}{end} {came}")
}

/// Returns `true` if the text about an interruption may include this event.
fn is_shown(event: &Event) -> bool {
    is_told(event) && event.op.access != Access::Unlock
}

/// Returns the most informative events: the first and the last change of objects that the region itself uses.
fn chosen<'a>(run: &Run, cause: &Interruption, told: &[&'a Event]) -> Vec<&'a Event> {
    let own = run.events.iter().filter(|event| {
        let sites = [cause.region.from, cause.region.to];
        event.task == cause.task && sites.contains(&Site { op: event.op.name, place: event.place })
    });
    let used: Vec<ObjectId> = own.filter_map(|event| event.object).collect();
    let shares = |event: &&&Event| event.object.is_some_and(|object| used.contains(&object));
    let changes = |event: &&&Event| !event.is_look();
    let shared: Vec<&Event> = told.iter().filter(shares).copied().collect();
    let shared = if shared.is_empty() { told.to_vec() } else { shared };
    let changed: Vec<&Event> = shared.iter().filter(changes).copied().collect();
    match if changed.is_empty() { &shared[..] } else { &changed[..] } {
        [first, .., last] => vec![first, last],
        few => few.to_vec(),
    }
}

/// Returns the remedy as text.
fn remedy(remedy: &Remedy) -> String {
    let Remedy { regions, waits, tested } = remedy;
    let mut places = Places::default();
    let spans: Vec<String> = regions
        .iter()
        .map(|Region { from, to }| match from == to {
            true => format!("{} to the next round", places.place(from)),
            false if from.place.line() == to.place.line() => {
                format!("{}:{} to :{}", places.place(from), from.place.column(), to.place.column())
            }
            false => format!("{} to {}", places.place(from), places.place(to)),
        })
        .collect();
    let steps = if spans.len() == 1 { "as one step" } else { "as one step each" };
    format!("{steps}, {}: {}", spans.join(" and "), self::tested(tested, *waits))
}

/// Returns a text about the runs that tested a remedy.
fn tested(tested: &Tested, waits: bool) -> String {
    match *tested {
        Tested::All { interleavings, of, left_out } => {
            let all = match interleavings {
                1 => "the one interleaving passes".to_owned(),
                n => format!("all {} pass", plural(n, "interleaving")),
            };
            let kept = of.map(|of| format!("; it keeps {interleavings} of the {of} that pass now"));
            let out = (left_out > 0 && !waits)
                .then(|| format!("; in {left_out} more it would have to wait"));
            format!("{all} (proved{}{})", kept.unwrap_or_default(), out.unwrap_or_default())
        }
        Tested::Within { preemptions, runs } => {
            let at_most = plural(preemptions, "preemption");
            format!("all {} with at most {at_most} pass", plural(runs, "run"))
        }
        Tested::Counted { runs, failed, of } => {
            format!("0 of {} fail (now {failed} of {of})", plural(runs, "run"))
        }
    }
}

/// A writer of short places. It omits the file name if the previous place was in the same file.
#[derive(Default)]
struct Places {
    last: String,
}

impl Places {
    fn place(&mut self, site: &Site) -> String {
        let path = clean(site.place.file());
        let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let line = site.place.line();
        if self.last == path {
            return format!(":{line}");
        }
        let place = format!("{file}:{line}");
        self.last = path;
        place
    }

    fn operation(&mut self, site: &Site) -> String {
        format!("`{}` ({})", clean(site.op), self.place(site))
    }
}

/// Returns the text of the proof that all runs fail.
fn proof(interleavings: u64) -> String {
    match interleavings {
        1 => "proved: there is one interleaving".to_owned(),
        n => format!("proved: all {} fail", plural(n, "interleaving")),
    }
}

/// Returns the chances as text; `None` if there are no chances.
fn chances(why: &Why) -> Option<String> {
    let first = why.chances.first()?;
    let all = match first {
        Chance { share, runs, .. } if *share == 0.0 => format!("0 of {runs} schedules fail"),
        chance => format!("{} of all schedules fail", percent(chance)),
    };
    let mut parts = vec![all];
    let is_open = |mark: &&u32| why.no_return.is_none_or(|proved| **mark + 1 < proved.after);
    for mark in why.marks.iter().filter(is_open).take(MARKS_MAX) {
        if let Some(chance) = why.chance_after(mark + 1) {
            parts.push(format!("{} after step {mark}", percent(&chance)));
        }
    }
    if let Some(NoReturn { after, .. }) = why.no_return {
        parts.push(format!("all after step {} (proved)", after - 1));
    }
    Some(parts.join(", "))
}

/// Returns a chance in percent.
fn percent(chance: &Chance) -> String {
    let percent = screen::percent(chance.share, if chance.share < 0.005 { 1 } else { 0 });
    let is_limit = percent.starts_with(['<', '>']);
    let about = if chance.runs > 0 && !is_limit { "~" } else { "" };
    format!("{about}{percent} %")
}
