//! The chance column of a schedule: the chance of failure after each row where it changes.

use super::schedule::ScheduleRow;
use super::why::{Chance, NoReturn, Why};

/// The smallest change of the chance that is displayed.
const CHANGE_LEAST: f64 = 0.05;

/// Returns the text of the column for each row; empty if the chance is unchanged.
pub(super) fn column(why: &Why, rows: &[ScheduleRow]) -> Vec<String> {
    let mut texts = vec![String::new(); rows.len()];
    if why.chances.is_empty() {
        return texts;
    }
    let mut shown: Option<f64> = None;
    for at in 0..rows.len() {
        let Some(step) = step_of(&rows[at]) else { continue };
        let end = end_of(&rows[at + 1..], step);
        let Some(chance) = why.chance_after(end) else { continue };
        let is_marked = why.marks.iter().any(|mark| (step..end).contains(mark));
        let changes = shown.is_none_or(|shown| (chance.share - shown).abs() >= CHANGE_LEAST);
        if !changes && !is_marked {
            continue;
        }
        shown = Some(chance.share);
        let mark = if is_marked { " ◂" } else { "" };
        texts[at] = format!("{:>4}{mark}", shown_share(&chance));
    }
    texts
}

/// Returns a chance as a share with two decimal digits. Only a share of exactly 0 is shown as `0`, and only a share of
/// exactly 1 as `1`.
fn shown_share(chance: &Chance) -> String {
    let about = if chance.runs > 0 { "~" } else { "" };
    match chance.share {
        share if share <= 0.0 => format!("{about}0"),
        share if share >= 1.0 => format!("{about}1"),
        share if share < 0.005 => "<.01".to_owned(),
        share if share >= 0.995 => ">.99".to_owned(),
        share => format!("{about}{}", format!("{share:.2}").trim_start_matches('0')),
    }
}

/// Adds the row that marks the step after which every schedule fails.
pub(super) fn add_no_return(why: &Why, rows: &mut Vec<ScheduleRow>) {
    let Some(NoReturn { after, .. }) = why.no_return.filter(|proved| proved.after > 0) else {
        return;
    };
    let is_later = |row: &ScheduleRow| step_of(row).is_some_and(|step| step >= after);
    let ends = |row: &ScheduleRow| matches!(row, ScheduleRow::Operation { fatal: true, .. });
    let Some(mut at) = rows.iter().position(|row| is_later(row) || ends(row)) else { return };
    // The row belongs to the previous step, not to the switch that follows.
    while at > 0 && matches!(rows[at - 1], ScheduleRow::Preempted { .. } | ScheduleRow::Remark(_)) {
        at -= 1;
    }
    let stores = if why.newest_stores { " with the newest stores" } else { "" };
    let text = format!("no way back: every schedule{stores} fails from here on (proved)");
    rows.insert(at, ScheduleRow::Remark(text));
}

fn step_of(row: &ScheduleRow) -> Option<u32> {
    match row {
        ScheduleRow::Operation { step, .. }
        | ScheduleRow::Arrival { step, .. }
        | ScheduleRow::Fault { step, .. } => step.map(|step| step as u32),
        ScheduleRow::Preempted { .. } | ScheduleRow::Remark(_) => None,
    }
}

/// Returns the number of steps up to the end of a row that begins with this step. A row may represent several steps, up
/// to the next row with a number. Omitted steps belong to no row.
fn end_of(later: &[ScheduleRow], step: u32) -> u32 {
    for row in later {
        if let Some(next) = step_of(row) {
            return next.max(step + 1);
        }
        if matches!(row, ScheduleRow::Remark(_)) {
            return step + 1;
        }
    }
    u32::MAX
}
