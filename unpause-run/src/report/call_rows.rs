//! Call rows: the steps of a plain thread's call in one row. The row shows what the call did, the place of its last
//! operation, and the place from which it was called.
//!
//! A row contains operations of one call between which no other thread stepped. The row shows the last of its
//! operations and the changes before it. The row also shows its first operation if another thread stepped before that
//! operation. So everything that decides the interleaving is visible.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::names::DisplayNames;
use super::schedule::ScheduleRow;
use super::waiting;
use crate::run::event::Event;
use crate::run::ids::ObjectId;
use crate::run::op::Access;
use crate::run::{CallRecord, Run};
use unpause_check::picture::screen::{clean, plural};

/// The maximum number of operations in a row.
const SHOWN_MAX: usize = 3;

/// The steps of a run that belong to calls.
pub(super) struct CallSteps<'a> {
    run: &'a Run,
    /// For each step, the number of its call; `None` if the step did nothing, or nothing in a call.
    of: Vec<Option<usize>>,
}

impl<'a> CallSteps<'a> {
    /// Assigns steps to calls. `events[step]` contains the event indices of a step. A step for which `shows` returns
    /// `true` gets its own rows.
    pub(super) fn new(
        run: &'a Run,
        events: &[Vec<usize>],
        shows: impl Fn(usize) -> bool,
    ) -> CallSteps<'a> {
        let mut calls = vec![None; run.events.len()];
        for (number, call) in run.calls.iter().enumerate() {
            call.events.iter().for_each(|event| calls[*event] = Some(number));
        }
        let of_step = |step: usize| {
            let spawns = |index: &usize| run.events[*index].op.access == Access::Spawn;
            let call = calls[*events[step].first()?]?;
            let only = events[step].iter().all(|index| calls[*index] == Some(call));
            let own = shows(step) || events[step].iter().any(spawns);
            (only && !own).then_some(call)
        };
        CallSteps { run, of: (0..events.len()).map(of_step).collect() }
    }

    /// Splits the range into pieces: consecutive steps of one call.
    pub(super) fn pieces(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for step in range {
            match pieces.last_mut() {
                Some(last) if self.of[step].is_some() && self.of[step] == self.of[last.start] => {
                    last.end = step + 1;
                }
                _ => pieces.push(step..step + 1),
            }
        }
        pieces
    }

    /// Returns the call to which all these steps belong, if any.
    fn call(&self, steps: Range<usize>) -> Option<&'a CallRecord> {
        let call = self.of[steps.start]?;
        self.of[steps].iter().all(|of| *of == Some(call)).then(|| &self.run.calls[call])
    }

    /// Returns the row for steps that all belong to one call, and the objects that the row names.
    pub(super) fn row(
        &self,
        steps: Range<usize>,
        events: &[Vec<usize>],
        names: &DisplayNames<'_>,
    ) -> Option<(ScheduleRow, Vec<ObjectId>)> {
        let run = self.run;
        let call = self.call(steps.clone())?;
        let task = run.steps[steps.start].task;
        let indices: Vec<usize> = events[steps.clone()].concat();
        let done: Vec<&Event> = indices.iter().map(|index| &run.events[*index]).collect();
        let more = call.events.first() != indices.first();
        let switched = steps.start == 0 || run.steps[steps.start - 1].task != task;
        let shown = shown(&done, switched);
        let mut text = clean(&call.function);
        let is_named = |only: &&Event| text == only.op.name;
        text = match done.as_slice() {
            // The call of a lock is a single operation with the same name.
            [only] if !more && is_named(only) => String::new(),
            _ => text,
        };
        let count = match (done.len(), more) {
            (1, false) => String::new(),
            (many, false) => plural(many as u64, "operation"),
            (many, true) => plural(many as u64, "more operation"),
        };
        // If the function of a call has no known name, the call is shown as its operations.
        let parts = [text, count].into_iter().filter(|part| !part.is_empty());
        text = parts.collect::<Vec<_>>().join(", ");
        if !text.is_empty() {
            text += ": ";
        }
        let mut next = 0;
        for at in &shown {
            text += match (*at > next, next > 0) {
                (true, true) => ", … ",
                (true, false) => "… ",
                (false, true) => ", ",
                (false, false) => "",
            };
            text += &names.event(done[*at]);
            next = at + 1;
        }
        let objects = shown.iter().filter_map(|at| done[*at].object).collect();
        let place = done.last().map_or(String::new(), |event| event.place.to_string());
        // The called function is in std, so its place is the place of the call.
        let through = indices.last().and_then(|last| call.through_at(*last));
        let called = waiting::others(&place, through, &call.place);
        let step = Some(steps.start);
        Some((ScheduleRow::Operation { step, task, text, place, called, fatal: false }, objects))
    }
}

/// Returns the indices of the operations to show, in order: the last operation, the changes before it, and the first
/// operation if `needed`.
fn shown(done: &[&Event], needed: bool) -> Vec<usize> {
    if done.len() <= SHOWN_MAX {
        return (0..done.len()).collect();
    }
    let last = done.len() - 1;
    let mut shown = vec![last];
    shown.extend(needed.then_some(0));
    let begin = usize::from(needed);
    let changes = (begin..last).rev().filter(|at| !done[*at].is_look());
    let room = SHOWN_MAX - shown.len();
    shown.extend(changes.take(room));
    shown.sort_unstable();
    shown
}
