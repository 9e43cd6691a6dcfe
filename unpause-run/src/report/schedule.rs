//! The rows of a schedule: steps with their operations, and preemptions.
//!
//! In a long schedule, consecutive steps of a task in one file, for example in a call of another crate, are folded into
//! a row ([`folds`]). A schedule that is still too long is shown in part ([`long`]). If a schedule ends in a loop, the
//! steps before the loop and one iteration are shown. The steps of one call of a plain thread are one row
//! ([`call_rows`](super::call_rows)). [`lanes`] draws the rows.

mod long;

use std::ops::Range;

use super::call_rows::CallSteps;
use super::chance_column;
use super::folds;
use super::lanes;
use super::legend;
use super::names::DisplayNames;
use super::nemeses::Nemeses;
use super::nodes;
use super::waiting;
use super::{Finding, Size};
use crate::run::event::show_time;
use crate::run::faults::BUGGIFY;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::{Failure, Outcome, Run};
use unpause_check::picture::screen::{Screen, clean, plural};

/// The maximum number of distinct operations in a row of folded steps.
const FOLDED_OPERATIONS_MAX: usize = 4;
/// The maximum number of rows of a step.
const ROWS_PER_STEP: usize = 12;
/// The maximum number of waiting tasks drawn at the end.
const WAITS_MAX: usize = 12;

/// A row of the schedule.
pub(super) enum ScheduleRow {
    /// An operation of a task.
    Operation {
        /// The step of the operation; set only in the first row of the step.
        step: Option<usize>,
        task: TaskId,
        text: String,
        place: String,
        /// The places of the calls around the operation, innermost first, without `place`. The calls are in a crate
        /// between the primitive and the test, if any, and in the package under test.
        called: Vec<String>,
        /// True if the run failed at this operation.
        fatal: bool,
    },
    /// A message arrives: an arrow between the columns of two nodes.
    Arrival {
        step: Option<usize>,
        from: TaskId,
        to: TaskId,
        /// The message as text; may be empty.
        message: String,
        text: String,
        place: String,
    },
    /// A fault of a nemesis begins or ends: a line across all columns.
    Fault { step: Option<usize>, text: String, place: String },
    /// A task preempted another task.
    Preempted { from: TaskId, to: TaskId },
    /// A remark about the schedule itself, such as the number of omitted steps.
    Remark(String),
}

/// Draws the schedule of a failing run, or nothing if the run has no steps, as on real threads.
pub(super) fn draw(screen: &mut Screen, finding: &Finding, names: &DisplayNames<'_>) {
    let run = &finding.run;
    if run.steps.is_empty() {
        return;
    }
    screen.heading("schedule", &summary(run));
    let mut table = ScheduleTable::new(run, names);
    let mut chances = Vec::new();
    if let Some(why) = &finding.why {
        chance_column::add_no_return(why, &mut table.rows);
        chances = chance_column::column(why, &table.rows);
    }
    lanes::draw(screen, &table.rows, &chances, names);
    legend::draw(screen, run, names, &table.objects);
}

fn summary(run: &Run) -> String {
    let size = Size::of(run);
    let mut parts = vec![plural(size.steps, "step"), plural(size.switches, "switch")];
    parts.push(plural(size.preemptions, "preemption"));
    parts.extend((size.draws > 0).then(|| format!("{} drawn", plural(size.draws, "value"))));
    parts.join(", ")
}

/// The rows of a schedule during their construction.
struct ScheduleTable<'a> {
    run: &'a Run,
    names: &'a DisplayNames<'a>,
    // For each step, the indices of its events and draws.
    events: Vec<Vec<usize>>,
    draws: Vec<Vec<usize>>,
    calls: CallSteps<'a>,
    nemeses: Nemeses,
    rows: Vec<ScheduleRow>,
    // The objects that the rows mention. Invariant: no duplicates.
    objects: Vec<ObjectId>,
}

impl<'a> ScheduleTable<'a> {
    fn new(run: &'a Run, names: &'a DisplayNames<'a>) -> ScheduleTable<'a> {
        let steps = run.steps.len();
        let events = by_step(steps, run.events.iter().map(|e| e.step));
        let draws = by_step(steps, run.draws.iter().map(|d| d.step));
        let calls = CallSteps::new(run, &events, |step| !draws[step].is_empty());
        let (rows, objects) = (vec![], vec![]);
        let nemeses = Nemeses::of(run);
        let mut table = ScheduleTable { run, names, events, draws, calls, nemeses, rows, objects };
        match (table.loop_at_end(), parting(run)) {
            (Some(Loop { start, period }), _) => {
                table.elided(0..start);
                let rounds = (steps - start) / period;
                let these =
                    if period == 1 { "this step".into() } else { format!("these {period} steps") };
                let remark = format!("{these} over and over, {rounds} times, to the end:");
                table.rows.push(ScheduleRow::Remark(remark));
                table.elided(start..start + period);
            }
            (None, Some((step, remark))) => {
                let step = steps.min(step as usize);
                table.elided(0..step);
                table.rows.push(ScheduleRow::Remark(remark.to_owned()));
                table.elided(step..steps);
            }
            (None, None) => table.elided(0..steps),
        }
        table.ending();
        nodes::in_columns(run, names, &mut table.rows);
        table
    }

    /// Returns the loop at the end of a run that reached its step limit.
    fn loop_at_end(&self) -> Option<Loop> {
        let Outcome::Failed(Failure::StepLimit { cycle, .. }) = &self.run.outcome else {
            return None;
        };
        let (steps, period) = (self.run.steps.len(), cycle.len());
        if period == 0 || 2 * period > steps {
            return None;
        }
        let same = |i: &usize| self.operations(*i).eq(self.operations(i + period));
        let start = (0..steps - period).rev().take_while(same).last()?;
        Some(Loop { start, period })
    }

    /// Returns the operations of a step, without values.
    fn operations(
        &self,
        step: usize,
    ) -> impl Iterator<Item = (TaskId, Option<(&str, Option<ObjectId>)>)> {
        let task = (self.run.steps[step].task, None);
        let events = self.events[step].iter().map(|i| &self.run.events[*i]);
        std::iter::once(task).chain(events.map(|e| (e.task, Some((e.op.name, e.object)))))
    }

    /// Adds the faults that begin or end in a step. The first row takes the step number.
    fn faults(&mut self, step: &mut Option<usize>) {
        let Some(at) = *step else { return };
        for fault in self.nemeses.tell(self.run, self.names, &self.events[at]) {
            let (text, place) = (fault.text, fault.place.to_string());
            self.rows.push(ScheduleRow::Fault { step: step.take(), text, place });
        }
    }

    /// Adds the last time advance before any of these steps.
    fn time(&mut self, steps: &Range<usize>) {
        let moves = &self.run.time_moves;
        let end = moves.partition_point(|moved| (moved.step as usize) < steps.end);
        let last = moves[..end].last().filter(|moved| moved.step as usize >= steps.start);
        if let Some(moved) = last {
            let remark = format!("time moves on to {}", show_time(moved.to));
            self.rows.push(ScheduleRow::Remark(remark));
        }
    }

    /// Adds a step, or several steps as one row.
    fn unit(&mut self, steps: Range<usize>) {
        self.time(&steps);
        if let Some((row, objects)) = self.calls.row(steps.clone(), &self.events, self.names) {
            self.preempted(steps.start);
            self.rows.push(row);
            for id in objects {
                self.objects.extend(Some(id).filter(|id| !self.objects.contains(id)));
            }
            return;
        }
        if steps.len() == 1 {
            return self.step(steps.start);
        }
        let (run, first) = (self.run, steps.start);
        let mut operations: Vec<(String, usize)> = Vec::new();
        let mut place = None;
        let mut shown: Vec<usize> = Vec::new();
        for step in steps.clone() {
            shown.extend(self.shown(step));
        }
        for event in shown.into_iter().map(|index| &run.events[index]) {
            place.get_or_insert(event.place);
            let operation = self.names.operation(event);
            match operations.iter_mut().find(|(known, _)| *known == operation) {
                Some((_, times)) => *times += 1,
                None => operations.push((operation, 1)),
            }
            // The displayed operations.
            if operations.len() <= FOLDED_OPERATIONS_MAX {
                self.objects.extend(event.object.filter(|id| !self.objects.contains(id)));
            }
        }
        let more = if operations.len() > FOLDED_OPERATIONS_MAX { ", …" } else { "" };
        let told =
            operations.iter().take(FOLDED_OPERATIONS_MAX).map(|(operation, times)| match times {
                1 => operation.clone(),
                _ => format!("{operation} {times} times"),
            });
        let mut told = told.collect::<Vec<_>>().join(", ");
        if told.is_empty() {
            told.push_str("(nothing shared)");
        }
        self.preempted(first);
        self.rows.push(ScheduleRow::Operation {
            step: Some(first),
            task: run.steps[first].task,
            text: format!("{} steps: {told}{more}", steps.len()),
            place: place.map_or(String::new(), ToString::to_string),
            called: Vec::new(),
            fatal: false,
        });
    }

    /// Returns the operations of a step that are displayed with their own text: they are not quiet and not part of a
    /// fault.
    fn shown(&self, step: usize) -> Vec<usize> {
        let is_shown = |index: &usize| {
            let event = &self.run.events[*index];
            folds::is_told(event) && !self.nemeses.did(event)
        };
        self.events[step].iter().copied().filter(is_shown).collect()
    }

    /// Adds a row if this step preempted the task of the previous step.
    fn preempted(&mut self, step: usize) {
        let steps = &self.run.steps;
        let task = steps[step].task;
        if steps[step].preempts && step > 0 && steps[step - 1].task != task {
            self.rows.push(ScheduleRow::Preempted { from: steps[step - 1].task, to: task });
        }
    }

    fn step(&mut self, step: usize) {
        let run = self.run;
        let task = run.steps[step].task;
        let did = |index: &usize| self.nemeses.did(&run.events[*index]);
        let of_nemesis = self.events[step].iter().any(did);
        if !of_nemesis {
            self.preempted(step);
        }
        let mut operations: Vec<(TaskId, String, String)> = Vec::new();
        let shown = self.shown(step);
        let mut events = &shown[..];
        while let Some(index) = events.first() {
            let event = &run.events[*index];
            let (now, later) = events.split_at(self.alike(events));
            events = later;
            operations.push((event.task, self.text(now), event.place.to_string()));
            self.objects.extend(event.object.filter(|id| !self.objects.contains(id)));
        }
        // Draws that generated a program are omitted, because the commands of the program are shown. Settings of the
        // run are omitted, too. An order of branches is shown: see `DrawRecord::is_shown`.
        let of_program = |i: &&usize| run.programs.iter().any(|p| p.draws.contains(i));
        let draws = self.draws[step].iter().filter(|i| !of_program(i)).map(|i| run.draws[*i]);
        for draw in draws {
            let text = match draw.why.starts_with(BUGGIFY) {
                // A draw of `buggify!` is shown with its name, but only if it has an effect.
                true if draw.value == 0 => continue,
                true => draw.why.to_owned(),
                false if !draw.is_shown() => continue,
                false => format!("draw {} below {}", draw.value, draw.bound),
            };
            operations.push((task, text, String::new()));
        }
        let mut number = Some(step);
        self.faults(&mut number);
        if operations.is_empty() && !of_nemesis {
            let first = run.steps[..step].iter().all(|s| s.task != task);
            let text = if first { "start" } else { "(nothing shared)" };
            operations.push((task, text.to_owned(), String::new()));
        }
        let left_out = operations.len().saturating_sub(ROWS_PER_STEP);
        operations.truncate(ROWS_PER_STEP);
        for (task, text, place) in operations {
            self.rows.push(ScheduleRow::Operation {
                step: number.take(),
                task,
                text,
                place,
                called: Vec::new(),
                fatal: false,
            });
        }
        if left_out > 0 {
            let text = format!("… {left_out} more");
            let (place, called) = (String::new(), Vec::new());
            let step = None;
            self.rows.push(ScheduleRow::Operation {
                step,
                task,
                text,
                place,
                called,
                fatal: false,
            });
        }
    }

    /// Returns the number of leading events that are shown as one, such as spawns at one place in a loop.
    fn alike(&self, events: &[usize]) -> usize {
        let first = &self.run.events[events[0]];
        let alike = |i: &&usize| {
            let event = &self.run.events[**i];
            self.names.spawned_by(**i).is_some()
                && (event.task, event.place) == (first.task, first.place)
        };
        events.iter().take_while(alike).count().max(1)
    }

    /// Returns the text of events that are shown as a single event.
    fn text(&self, events: &[usize]) -> String {
        let spawned: Vec<TaskId> =
            events.iter().filter_map(|i| self.names.spawned_by(*i)).collect();
        let name = |id: &TaskId| self.names.task(*id);
        match &spawned[..] {
            [first, _, _, .., last] => format!("spawn {} to {}", name(first), name(last)),
            [_, _, ..] => {
                format!("spawn {}", spawned.iter().map(name).collect::<Vec<_>>().join(", "))
            }
            _ => self.names.event(&self.run.events[events[0]]),
        }
    }

    /// Adds the end of the run to the columns of the affected tasks.
    fn ending(&mut self) {
        let Outcome::Failed(failure) = &self.run.outcome else {
            return;
        };
        let mut called_row = |task: TaskId, text: &str, place: &str, called: Vec<String>| {
            let (text, place) = (text.to_owned(), clean(place));
            let step = None;
            self.rows.push(ScheduleRow::Operation { step, task, text, place, called, fatal: true });
        };
        let mut row =
            |task: TaskId, text: &str, place: &str| called_row(task, text, place, Vec::new());
        match failure {
            Failure::Panic { task, place, .. } => row(*task, "panics", place),
            Failure::Memory(error) => {
                if let Some(step) = error.steps.first() {
                    row(step.task, error.problem, &step.place);
                }
            }
            Failure::Error { .. } => row(TaskId::MAIN, "returns an error", ""),
            Failure::Crash { task, cause, place, .. } => row(*task, cause, place),
            Failure::Invariant { task, place, .. } => row(*task, "breaks the invariant", place),
            Failure::Hang { task, place, .. } if !place.is_empty() => {
                row(*task, "does not reach a point", place);
            }
            Failure::Hang { task, .. } => row(*task, "does not yield", ""),
            Failure::Starved { task, .. } => row(*task, "has not ended", ""),
            Failure::Deadlock { waits } => {
                for wait in waits.iter().take(WAITS_MAX) {
                    let (text, place) = (self.names.wait(wait), wait.place.to_string());
                    called_row(wait.task, &text, &place, waiting::called_from(self.run, wait));
                    let new = wait.object.filter(|id| !self.objects.contains(id));
                    self.objects.extend(new);
                }
                if waits.len() > WAITS_MAX {
                    let left_out = plural((waits.len() - WAITS_MAX) as u64, "waiting task");
                    self.rows.push(ScheduleRow::Remark(format!("… {left_out} more …")));
                }
            }
            Failure::StepLimit { .. }
            | Failure::History { .. }
            | Failure::Diverged { .. }
            | Failure::NonDeterminism { .. }
            | Failure::TimeLimit { .. }
            | Failure::TooSeldom { .. }
            | Failure::Unproven { .. }
            | Failure::Unreadable { .. }
            | Failure::Misuse { .. } => {}
        }
    }
}

/// Returns the step at which the run diverges from the expected run, and the text for it.
fn parting(run: &Run) -> Option<(u32, &'static str)> {
    match &run.outcome {
        Outcome::Failed(Failure::Diverged { step, .. }) => {
            Some((*step, "here the trace continues differently"))
        }
        Outcome::Failed(Failure::NonDeterminism { step, .. }) => {
            Some((*step, "here the other run continued differently"))
        }
        _ => None,
    }
}

/// A loop at the end of a run, in steps.
struct Loop {
    start: usize,
    period: usize,
}

/// Groups items by their step: for each step, the indices of its items. Items without a step are left out.
fn by_step(steps: usize, of: impl Iterator<Item = u32>) -> Vec<Vec<usize>> {
    let mut table = vec![Vec::new(); steps];
    for (index, step) in of.enumerate() {
        if let Some(row) = table.get_mut(step as usize) {
            row.push(index);
        }
    }
    table
}
