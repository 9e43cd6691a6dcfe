//! The rows of a long schedule: its beginning, its end, and the most important rows in the middle.
//!
//! The rows around preemptions are shown, because a failure depends on the order of steps, and a preemption deviates
//! from the program order. Faults and messages are shown, too; the other rows are omitted and counted. The other rows
//! are omitted and counted.

use std::ops::Range;

use super::{ScheduleRow, ScheduleTable};
use crate::report::{folds, nemeses};
use unpause_check::picture::screen::plural;

/// The maximum number of rows of a schedule that is shown in full.
const ROWS_MAX: usize = 48;
/// The numbers of rows shown from the beginning and from the end of a longer schedule.
const HEAD: usize = 12;
const TAIL: usize = 28;
/// These two numbers apply if a task is preempted in the middle.
const HEAD_BESIDES: usize = 6;
const TAIL_BESIDES: usize = 14;
/// The number of rows shown before a preemption, and the number shown from the preempting row on.
const BEFORE: usize = 1;
const AFTER: usize = 2;
/// The maximum number of rows shown around preemptions in the middle. Later preemptions have precedence.
const AROUND_MAX: usize = 40;
/// The maximum number of messages shown in the middle: the last messages.
const MESSAGES_MAX: usize = 40;

impl ScheduleTable<'_> {
    /// Adds rows of steps. If there are too many rows, adds some of them and the number of omitted steps.
    pub(super) fn elided(&mut self, range: Range<usize>) {
        let mut units = self.calls.pieces(range.clone());
        if units.len() > ROWS_MAX {
            let by_file = folds::of(self.run, &self.events, range, ROWS_MAX);
            if self.run.calls.is_empty() || by_file.len() < units.len() {
                units = by_file;
            }
        }
        if units.len() <= ROWS_MAX {
            return units.into_iter().for_each(|unit| self.unit(unit));
        }
        let between = HEAD..units.len() - TAIL;
        let (head, tail) = match units[between].iter().any(|unit| self.preempts(unit)) {
            true => (HEAD_BESIDES, TAIL_BESIDES),
            false => (HEAD, TAIL),
        };
        let middle = head..units.len() - tail;
        let mut shown = self.around_preemptions(&units, &middle);
        let (begin, rest) = units.split_at(head);
        let (middle, end) = rest.split_at(middle.len());
        begin.iter().for_each(|unit| self.unit(unit.clone()));
        match self.show_messages(middle, &mut shown) {
            Some(remark) => {
                self.rows.push(ScheduleRow::Remark(remark));
                self.middle(middle, &shown, false);
                self.rows.push(ScheduleRow::Remark("… and again all steps:".to_owned()));
            }
            None => self.middle(middle, &shown, true),
        }
        end.iter().for_each(|unit| self.unit(unit.clone()));
    }

    /// Returns `true` if the row of these steps begins with a preemption.
    fn preempts(&self, unit: &Range<usize>) -> bool {
        self.run.steps[unit.start].preempts
    }

    /// Returns, for each row of the middle, `true` if the row is shown because of a nearby preemption.
    fn around_preemptions(&self, units: &[Range<usize>], middle: &Range<usize>) -> Vec<bool> {
        let mut shown = vec![false; middle.len()];
        // The first row after the middle may preempt the last row of the middle.
        let near = units.get(..middle.end + 1).unwrap_or(units);
        let mut room = AROUND_MAX;
        for at in (middle.start..near.len()).rev().filter(|at| self.preempts(&near[*at])) {
            let rows = at.saturating_sub(BEFORE).max(middle.start)..(at + AFTER).min(middle.end);
            let rows = rows.start - middle.start..rows.end.max(rows.start) - middle.start;
            let new = shown[rows.clone()].iter().filter(|is_shown| !**is_shown).count();
            let Some(rest) = room.checked_sub(new) else { break };
            room = rest;
            shown[rows].fill(true);
        }
        shown
    }

    /// Marks the last messages as shown. Returns the text of the row above the messages; `None` if there are no
    /// messages.
    fn show_messages(&self, units: &[Range<usize>], shown: &mut [bool]) -> Option<String> {
        let is_message = |at: &usize| units[*at].len() == 1 && self.is_arrival(units[*at].start);
        let messages: Vec<usize> = (0..units.len()).filter(is_message).collect();
        if messages.is_empty() {
            return None;
        }
        let besides = if shown.contains(&true) { " and the steps around preemptions" } else { "" };
        let last = &messages[messages.len().saturating_sub(MESSAGES_MAX)..];
        last.iter().for_each(|at| shown[*at] = true);
        let steps = plural(units.iter().map(Range::len).sum::<usize>() as u64, "step");
        let (of, all) = (last.len(), messages.len());
        Some(match all - of {
            0 => format!("… {steps}, of which these are messages{besides}:"),
            _ => format!("… {steps}, and the last {of} of {all} messages{besides}:"),
        })
    }

    /// Adds the shown rows of the middle, and the faults of all rows. If `counted`, also adds the number of omitted
    /// steps in each gap.
    fn middle(&mut self, units: &[Range<usize>], shown: &[bool], counted: bool) {
        let (mut left_out, mut preemptions) = (0, 0);
        let tell = |table: &mut Self, left_out: &mut usize, preemptions: &mut usize| {
            let with = match std::mem::take(preemptions) {
                0 => String::new(),
                some => format!(" with {}", plural(some as u64, "preemption")),
            };
            if let (steps @ 1.., true) = (std::mem::take(left_out), counted) {
                let text = format!("… {}{with} …", plural(steps as u64, "step"));
                table.rows.push(ScheduleRow::Remark(text));
            }
        };
        for (unit, is_shown) in units.iter().zip(shown) {
            if *is_shown {
                tell(self, &mut left_out, &mut preemptions);
                self.unit(unit.clone());
                continue;
            }
            if unit.clone().any(|step| self.has_fault(step)) {
                tell(self, &mut left_out, &mut preemptions);
                unit.clone().for_each(|step| self.faults(&mut Some(step)));
            }
            left_out += unit.len();
            preemptions += usize::from(self.preempts(unit));
        }
        tell(self, &mut left_out, &mut preemptions);
    }

    /// Returns `true` if a message arrives in this step.
    fn is_arrival(&self, step: usize) -> bool {
        let task = self.run.steps[step].task;
        self.run.tasks.get(task.index()).is_some_and(|task| task.from.is_some())
    }

    /// Returns `true` if a fault begins or ends in this step.
    fn has_fault(&self, step: usize) -> bool {
        self.events[step].iter().any(|index| nemeses::is_fault(self.run, &self.run.events[*index]))
    }
}
