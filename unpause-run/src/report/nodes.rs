//! Node columns: the tasks of a node share a column, and a message is an arrow from the sender's column to the
//! receiver's column.

use super::names::DisplayNames;
use super::schedule::ScheduleRow;
use crate::run::Run;
use crate::run::event::Values;
use crate::run::ids::TaskId;
use crate::run::op::Access;
use unpause_ordered::Map;

/// Moves the rows into node columns. Rows of runs without nodes remain unchanged.
pub(super) fn in_columns(run: &Run, names: &DisplayNames<'_>, rows: &mut Vec<ScheduleRow>) {
    if run.tasks.iter().all(|task| task.node.is_none()) {
        return;
    }
    let sent = sent_in(run);
    merge_arrivals(run, rows);
    for row in rows.iter_mut() {
        match row {
            ScheduleRow::Operation { step, task, text, place, .. } => {
                let Some(record) = run.tasks.get(task.index()) else { continue };
                let column = column_of(run, *task);
                match &record.from {
                    Some(sender) => {
                        let (sent, place) = (sent.get(task), std::mem::take(place));
                        let mut of = sent.map_or(String::new(), |step| format!("sent in {step}"));
                        if text.starts_with(LOSE) {
                            of = format!("lost, {of}");
                        }
                        let message = DisplayNames::message(record).unwrap_or_default();
                        let from = node_column(run, sender);
                        let (step, to, text) = (*step, column, of);
                        *row = ScheduleRow::Arrival { step, from, to, message, text, place };
                    }
                    None if names.is_crowded(column) => {
                        *text = format!("{}: {text}", record.path);
                        *task = column;
                    }
                    None => *task = column,
                }
            }
            ScheduleRow::Preempted { from, to } => {
                (*from, *to) = (column_of(run, *from), column_of(run, *to));
            }
            ScheduleRow::Arrival { .. } | ScheduleRow::Fault { .. } | ScheduleRow::Remark(_) => {}
        }
    }
    rows.retain(|row| !matches!(row, ScheduleRow::Preempted { from, to } if from == to));
}

/// The operations of a message before its arrival. Row texts begin with these words.
const BEFORE_ARRIVAL: [&str; 2] = ["start", "travel"];
const LOSE: &str = "lose";

/// Keeps one row of each message: its arrival or its loss. Removes the rows of its start and of the end of its latency.
fn merge_arrivals(run: &Run, rows: &mut Vec<ScheduleRow>) {
    let is_message = |task: TaskId| run.tasks.get(task.index()).is_some_and(|it| it.from.is_some());
    // The step of a removed row, for the next row of the same step.
    let mut first = None;
    let mut merged: Vec<ScheduleRow> = Vec::with_capacity(rows.len());
    for mut row in rows.drain(..) {
        if let ScheduleRow::Operation { step, task, text, .. } = &mut row {
            if is_message(*task) {
                if BEFORE_ARRIVAL.iter().any(|word| text.starts_with(word)) {
                    first = *step;
                    continue;
                }
                if text.starts_with(LOSE) {
                    // The previous row is the arrival at which the message is lost.
                    if let Some(ScheduleRow::Operation { step: arrived, .. }) = merged.pop() {
                        first = arrived;
                    }
                }
                *step = step.or(first.take());
            }
            first = first.filter(|_| step.is_none());
        }
        merged.push(row);
    }
    *rows = merged;
}

/// Returns the steps in which messages were sent.
fn sent_in(run: &Run) -> Map<TaskId, u32> {
    let sent = run.events.iter().filter_map(|event| match event.values {
        Values::Task(task) if event.op.access == Access::Spawn => Some((task, event.step)),
        _ => None,
    });
    sent.collect()
}

/// Returns the task that represents the column of `task`: the first task of its node.
pub(super) fn column_of(run: &Run, task: TaskId) -> TaskId {
    let node = run.tasks.get(task.index()).and_then(|record| record.node.as_deref());
    node.map_or(task, |node| node_column(run, node))
}

/// Returns the first task of a node, or the body of the test for a node without tasks, such as the outside.
fn node_column(run: &Run, node: &str) -> TaskId {
    let is_in = |record: &crate::run::TaskRecord| {
        record.from.is_none() && record.node.as_deref() == Some(node)
    };
    let first = run.tasks.iter().position(is_in);
    first.map_or(TaskId::MAIN, |index| TaskId(index as u32))
}
