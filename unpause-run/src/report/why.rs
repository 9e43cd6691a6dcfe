//! The explanation of a failing run by other runs. The explanation consists of the interrupted region of lines, the
//! remedy, the chance of failure after each of the first steps, and the step after which every schedule fails.
//!
//! This module writes the explanation text; [`chance_column`](super::chance_column) draws the column of the schedule.

use super::names::DisplayNames;
use super::passing::PassingRun;
use super::pattern::{self, Pattern};
use super::places::ShortPlaces;
use super::remedy::{self, Remedy};
use super::{Finding, Size};
use crate::run::event::Event;
use crate::run::ids::{Place, TaskId};
use crate::run::place::is_foreign;
use crate::run::what_if::Site;
use crate::run::{CallRecord, Run};
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
    /// A change of the program that makes the failure impossible.
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
    /// True if the test has the memory `c11`. In all runs of the explanation each operation sees the newest store, so
    /// its proofs and chances cover only such runs.
    pub newest_stores: bool,
}

/// The chance that a schedule fails if it begins with the first steps of a run.
///
/// Schedules are weighted. Unless it yields, the task of the previous step continues with a probability of 7/8. In the
/// other cases, each other task is equally likely. So a step that raises the chance is a switch that matters.
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
    /// The number of interleavings after these steps. Each interleaving was run and failed.
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
    /// The events among `between` that decide, at most three: the shortest chain of dependent operations that leads out
    /// of the region and back into it. As one step, the region excludes such a chain. If there is none, the first event
    /// that conflicts with the beginning of the region, or else the first and the last change. Invariant: ascending.
    pub decisive: Vec<usize>,
}

impl Interruption {
    /// Returns the events at both ends of the region, as indices. The second is `None` if the run ended before it.
    pub(super) fn ends(&self, run: &Run) -> [Option<usize>; 2] {
        let is = |event: &Event, site: Site| {
            event.task == self.task && Site { op: event.op.name, place: event.place } == site
        };
        let [first, last] = [self.between.first(), self.between.last()].map(|at| at.copied());
        let before = first.and_then(|first| run.events.get(..first)).unwrap_or_default();
        let from = before.iter().rposition(|event| is(event, self.region.from));
        let after = last.filter(|_| self.is_reached).map(|last| last + 1);
        let to = after.and_then(|after| {
            let later = run.events.get(after..)?;
            Some(after + later.iter().position(|event| is(event, self.region.to))?)
        });
        [from, to]
    }
}

/// Returns the call into another package that did the operation of an event, if the place of the event is there.
fn call_of(run: &Run, at: usize) -> Option<&CallRecord> {
    let event = run.events.get(at).filter(|event| is_foreign(&event.place.to_string()))?;
    run.calls.iter().find(|call| call.task == event.task && call.events.contains(&at))
}

/// Returns the place of an event in the package under test: its own place, or the place of the call into another
/// package that did its operation.
pub(super) fn own_place(run: &Run, at: usize, event: &Event) -> String {
    call_of(run, at).map_or_else(|| event.place.to_string(), |call| call.place.clone())
}

impl Why {
    /// Returns the chance of failure after this many steps. The chance is exact, or it is the sampled chance of the
    /// nearest smaller number of steps.
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
    let pattern = Pattern::of_finding(finding);
    let named = |text: String| match pattern {
        Some(pattern) => format!("{}: {text}", pattern.name()),
        None => text,
    };
    let order = pattern::lock_order(&finding.run);
    let Some(why) = &finding.why else {
        // A circle of locks needs no other runs.
        return order.map(|order| ("why", named(order))).into_iter().collect();
    };
    let drawn = match (Size::of(&finding.run).draws, why.newest_stores) {
        (0, false) => "",
        (0, true) => " with the newest stores",
        (_, false) => " with the values drawn here",
        (_, true) => " with the values drawn here and the newest stores",
    };
    if let Some(NoReturn { after: 0, interleavings }) = why.no_return {
        let always = format!("it fails in every run{drawn} ({})", proof(interleavings));
        let text = order.map_or(always.clone(), |order| format!("{}; {always}", named(order)));
        return vec![("why", text)];
    }
    let mut lines = Vec::new();
    let cause = || Some(interruption(&finding.run, why.cause.as_ref()?));
    lines.extend(order.or_else(cause).map(|text| ("why", named(text))));
    if let Some(remedy) = &why.remedy {
        lines.push(("remedy", remedy::words(remedy, why.newest_stores)));
    }
    lines.extend(chances(why).map(|text| ("chances", format!("{text}{drawn}"))));
    lines
}

/// Returns a text about the decisive events of other tasks between the ends of a region.
fn interruption(run: &Run, cause: &Interruption) -> String {
    let Interruption { task, region: Region { from, to }, is_reached, decisive, .. } = cause;
    let names = DisplayNames::new(run);
    let mut places = CallPlaces { run, places: ShortPlaces::default(), last: None };
    let [from_event, to_event] = cause.ends(run);
    let first = format!("`{}` ({})", clean(from.op), places.short(from.place, from_event));
    let last = format!("`{}` ({})", clean(to.op), places.short(to.place, to_event));
    let end = if *is_reached { "" } else { ", which it did not get to," };
    let event = |at: &usize| Some((*at, run.events.get(*at)?));
    let events: Vec<(usize, &Event)> = decisive.iter().filter_map(event).collect();
    let text = |(nth, (at, event)): (usize, &(usize, &Event))| {
        let place = places.short(event.place, Some(*at));
        let text = format!("`{}` ({place})", names.unordered(event));
        // The name of a task follows the last of its operations.
        match events.get(nth + 1) {
            Some((_, next)) if next.task == event.task => text,
            _ => format!("{text} of {}", names.task(event.task)),
        }
    };
    let texts: Vec<String> = events.iter().enumerate().map(text).collect();
    let came = match &texts[..] {
        [] => "another task continued".to_owned(),
        [one] => format!("came {one}"),
        [first @ .., last] => format!("came {} and {last}", first.join(", ")),
    };
    format!("between {first} and {last} of {}{end} {came}", names.task(*task))
}

/// Short places. A place in another package is followed by the call of the package under test, unless the previous
/// place is in the same call.
struct CallPlaces<'a> {
    run: &'a Run,
    places: ShortPlaces,
    /// The call of the previous place, if any.
    last: Option<&'a CallRecord>,
}

impl CallPlaces<'_> {
    /// Returns a place, which is the place of an event if its index is given.
    fn short(&mut self, place: Place, event: Option<usize>) -> String {
        let short = self.places.short(&place.to_string());
        let call = event.and_then(|at| call_of(self.run, at));
        let before = std::mem::replace(&mut self.last, call);
        match call.filter(|call| before != Some(*call)) {
            None => short,
            Some(CallRecord { function, place, .. }) => {
                format!("{short}, in `{}` at {}", clean(function), self.places.short(place))
            }
        }
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
    let (mut parts, mut sampled) = (vec![all], vec![first.runs > 0]);
    let is_open = |mark: &&u32| why.no_return.is_none_or(|proved| **mark + 1 < proved.after);
    for mark in why.marks.iter().filter(is_open).take(MARKS_MAX) {
        if let Some(chance) = why.chance_after(mark + 1) {
            parts.push(format!("{} after step {mark}", percent(&chance)));
            sampled.push(chance.runs > 0);
        }
    }
    // Beside a proof, estimates must be recognizable.
    if let Some(last) = parts.last_mut() {
        match sampled.contains(&false) {
            false => *last += " (sampled)",
            true if sampled.contains(&true) => *last += " (~ sampled)",
            true => {}
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
