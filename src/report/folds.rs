//! Which steps of a long schedule are told of in one row.
//!
//! A call that takes several steps is one thing to who calls it. What is known of a step is its place, so
//! what is taken for a call is a row of steps of one task in one file: code of another crate is in another
//! file than its caller. Only if that is not enough, steps in files of the workspace are folded in the same
//! way, which tells less than their values would, but more than to leave them out. Steps at which it matters where they are stay as they are: the last before a
//! preemption and the first after it, and the last of all.

use std::ops::Range;

use super::places;
use crate::run::Run;

/// Fewer steps than this are not folded.
const LEAST: usize = 3;
/// How many steps at the end are never folded.
const LAST: usize = 4;

/// The steps of the range in pieces, each of which is told of as one: if possible, no more than `most`.
/// `events[step]` has the indices of the events of a step.
pub(super) fn of(
    run: &Run,
    events: &[Vec<usize>],
    range: Range<usize>,
    most: usize,
) -> Vec<Range<usize>> {
    let foreign = pieces(run, events, range.clone(), places::is_foreign);
    if foreign.len() <= most {
        return foreign;
    }
    pieces(run, events, range, |_| true)
}

/// The same, where those files are folded for which `whose` says so.
fn pieces(
    run: &Run,
    events: &[Vec<usize>],
    range: Range<usize>,
    whose: fn(&str) -> bool,
) -> Vec<Range<usize>> {
    let key = |step| key(run, events, step).filter(|(_, file)| whose(file));
    let (end, mut pieces) = (range.end, Vec::new());
    let mut next = range.start;
    while next < end {
        let alike = (next..end).take_while(|step| {
            matters_little(run, *step, end) && key(*step).is_some() && key(*step) == key(next)
        });
        match alike.count() {
            few if few < LEAST => {
                pieces.extend((next..next + few.max(1)).map(|step| step..step + 1));
                next += few.max(1);
            }
            many => {
                pieces.push(next..next + many);
                next += many;
            }
        }
    }
    pieces
}

/// Whether it does not matter where exactly the step is.
fn matters_little(run: &Run, step: usize, end: usize) -> bool {
    let is_preemption = |step: usize| run.steps.get(step).is_some_and(|step| step.preempts);
    let is_last = step + LAST >= end;
    !is_preemption(step) && !is_preemption(step + 1) && !is_last
}

/// The task of a step and the one file in which it did all that it did; none if it did nothing, or in
/// several.
fn key<'a>(run: &'a Run, events: &[Vec<usize>], step: usize) -> Option<(u32, &'a str)> {
    let mut files = events[step].iter().map(|index| run.events[*index].place.file());
    let first = files.next()?;
    files.all(|file| file == first).then(|| (run.steps[step].task.0, first))
}
