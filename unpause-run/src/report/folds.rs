//! Folding: several steps of a long schedule become one row.
//!
//! To its caller, a call of several steps is a single action. But only the place of a step is known, so consecutive
//! steps of one task in one file count as a call. This works because code of another crate is in another file than its
//! caller.
//!
//! If the schedule is still too long, steps in files of the workspace are folded in the same way. A folded row shows
//! less than the values of its steps, but more than an omission. Some steps are never folded because their exact
//! position matters: the last step before a preemption, the first step after it, and the last steps of the run.

use std::ops::Range;

use super::nemeses;
use crate::run::Run;
use crate::run::event::{Event, Values};
use crate::run::place::is_foreign;

/// The minimum number of steps to fold.
const LEAST: usize = 3;
/// The number of steps at the end that are never folded.
const LAST: usize = 4;

/// Splits the steps of the range into pieces, if possible at most `most`. Each piece is shown as one row.
/// `events[step]` contains the event indices of a step.
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

/// Splits the steps of the range into pieces, but folds only steps in files for which `whose` returns `true`.
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
    let has_fault = events.iter().any(|index| nemeses::is_fault(run, &run.events[*index]));
    !is_preemption(step) && !is_preemption(step + 1) && !is_last && !has_fault
}

/// Returns the task of a step and the single file of all its displayed operations, or of all operations if none is
/// displayed. `None` if the step has no operations, or operations in several files.
fn key<'a>(run: &'a Run, events: &[Vec<usize>], step: usize) -> Option<(u32, &'a str)> {
    let events = || events[step].iter().map(|index| &run.events[*index]);
    let tells = events().any(is_told);
    let mut files = events().filter(|e| is_told(e) || !tells).map(|event| event.place.file());
    let first = files.next()?;
    files.all(|file| file == first).then(|| (run.steps[step].task.0, first))
}

/// Returns `true` if screens show the operation, because it is not quiet or because it failed.
pub(super) fn is_told(event: &Event) -> bool {
    !event.op.quiet || event.values == Values::Failed
}
