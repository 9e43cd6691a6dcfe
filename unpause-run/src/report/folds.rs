//! Folding of steps of a long schedule into one row.
//!
//! To its caller, a call of several steps is a single action. Only the place of a step is known, so consecutive steps
//! of one task in one file count as a call: code of another crate is in another file than its caller. If that is not
//! enough, steps in files of the workspace are folded in the same way, which shows less than their values would, but
//! more than leaving them out. Steps whose exact position matters are not folded: the last before a preemption, the
//! first after it, and the last of all.

use std::ops::Range;

use super::faults;
use crate::run::Run;
use crate::run::event::{Event, Values};
use crate::run::place::is_foreign;

/// Fewer steps than this are not folded.
const LEAST: usize = 3;
/// The number of steps at the end that are never folded.
const LAST: usize = 4;

/// Splits the steps of the range into pieces, each shown as one row: if possible, no more than `most`. `events[step]`
/// has the indices of the events of a step.
pub(super) fn of(
    run: &Run,
    events: &[Vec<usize>],
    range: Range<usize>,
    most: usize,
) -> Vec<Range<usize>> {
    let foreign = pieces(run, events, range.clone(), is_foreign);
    if foreign.len() <= most {
        return foreign;
    }
    pieces(run, events, range, |_| true)
}

/// The same, with the files folded for which `whose` is true.
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
            matters_little(run, &events[*step], *step, end)
                && key(*step).is_some()
                && key(*step) == key(next)
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

/// Returns `true` if the exact position of the step, with these events, does not matter.
fn matters_little(run: &Run, events: &[usize], step: usize, end: usize) -> bool {
    let is_preemption = |step: usize| run.steps.get(step).is_some_and(|step| step.preempts);
    let is_last = step + LAST >= end;
    let has_fault = events.iter().any(|index| faults::is_fault(run, &run.events[*index]));
    !is_preemption(step) && !is_preemption(step + 1) && !is_last && !has_fault
}

/// The task of a step and the single file of all its listed operations, or of all operations if
/// none is listed; `None` if it did nothing, or something in several files.
fn key<'a>(run: &'a Run, events: &[Vec<usize>], step: usize) -> Option<(u32, &'a str)> {
    let events = || events[step].iter().map(|index| &run.events[*index]);
    let tells = events().any(is_told);
    let mut files = events().filter(|e| is_told(e) || !tells).map(|event| event.place.file());
    let first = files.next()?;
    files.all(|file| file == first).then(|| (run.steps[step].task.0, first))
}

/// Returns `true` if a screen tells of an operation: it is not quiet, or it failed.
pub(super) fn is_told(event: &Event) -> bool {
    !event.op.quiet || event.values == Values::Failed
}
