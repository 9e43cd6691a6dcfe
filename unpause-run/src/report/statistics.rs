//! Statistics of generated programs: a table of their commands, and the share that ran concurrently.

use crate::run::Condition;
use crate::run::statistics::{Count, Statistics};
use unpause_check::picture::screen::{Line, Paint, Screen, clean, columns, cut, plural};
use unpause_ordered::sort_by_key;

/// The maximum number of labels shown.
const LABELS_MAX: usize = 24;
/// The maximum width of a label.
const LABEL_MAX: usize = 32;

/// Draws the table and the statistics of the commands. If fewer runs were counted than the `runs` of the test, the
/// heading says so.
pub(super) fn draw(screen: &mut Screen, statistics: &Statistics, runs: u64) {
    let commands = statistics.commands();
    let counted = match statistics.runs {
        counted if counted < runs => format!("{counted} of {}", plural(runs, "run")),
        counted => plural(counted, "run"),
    };
    let remark = format!("{counted}, {}", plural(commands.all, "command"));
    screen.heading("programs", &remark);
    if commands.all == 0 {
        let text = "No program was generated: the table is of the commands of sim::parallel.";
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Plain, text));
    } else {
        table(screen, statistics, commands);
    }
    screen.blank();
    let Statistics { runs, operations, overlapped, .. } = statistics;
    let mut say = |label: &str, text: &str| {
        screen.paragraph(2, (Paint::Faint, &format!("{label:<12}")), (Paint::Plain, text));
    };
    if let Some(text) = statistics.omitted.text() {
        say("left out", &text);
    }
    if *operations > 0 {
        let overlap = format!("{} of them", in_percent(*overlapped, *operations));
        say("operations", &format!("{operations} recorded, {overlap} beside another in time"));
        let most = statistics.at_once.iter().enumerate().filter(|(_, count)| **count > 0);
        let most: Vec<String> =
            most.map(|(n, count)| format!("{n} in {}", in_percent(*count, *runs))).collect();
        say("at once", &format!("at most {} of the runs", most.join(", ")));
        say("histories", &format!("{} that differ", statistics.distinct_histories()));
    }
    for condition in &statistics.conditions {
        say("cover", &format!("{}: {}", clean(condition.name), share(condition, *runs)));
    }
}

/// Draws a line for each label, the most frequent label first.
fn table(screen: &mut Screen, statistics: &Statistics, all: Count) {
    let mut labels: Vec<(&String, &Count)> = statistics.labels.iter().collect();
    sort_by_key(&mut labels, |(label, count)| (std::cmp::Reverse(count.all), *label));
    let shown: Vec<(String, &Count)> = labels
        .iter()
        .take(LABELS_MAX)
        .map(|(label, count)| (cut(&clean(label), LABEL_MAX), *count))
        .collect();
    let width = shown.iter().map(|(label, _)| columns(label)).max().unwrap_or(0).max(8);
    let row = |label: &str, count: &str, part: &str, beside: &str| {
        format!("  {label:<width$}  {count:>9}  {part:>6}  {beside:>13}")
    };
    screen.line(Line::of(Paint::Faint, &row("command", "run", "", "beside others")));
    let line = |label: &str, count: &Count| {
        let beside = in_percent(count.beside, count.all);
        row(label, &count.all.to_string(), &in_percent(count.all, all.all), &beside)
    };
    for (label, count) in &shown {
        screen.line(Line::of(Paint::Plain, &line(label, count)));
    }
    if labels.len() > LABELS_MAX {
        let more = plural((labels.len() - LABELS_MAX) as u64, "label");
        screen.line(Line::of(Paint::Notice, &format!("  … {more} more …")));
    }
    if labels.len() > 1 {
        screen.line(Line::of(Paint::Strong, &line("all", &all)));
    }
}

/// Returns a text with the number of runs in which a condition held, and the required share of runs.
pub(super) fn share(condition: &Condition, runs: u64) -> String {
    let held = condition.runs;
    let wanted = match condition.percent {
        0 => "wanted in one".to_owned(),
        percent => format!("wanted in {percent} %"),
    };
    format!("in {held} of {} ({}), {wanted}", plural(runs, "run"), in_percent(held, runs))
}

/// Returns a part of a whole in percent. 0 % means never and 100 % means always, even after rounding.
fn in_percent(part: u64, whole: u64) -> String {
    let percent = (u128::from(part) * 100).checked_div(u128::from(whole)).unwrap_or(0);
    match percent {
        0 if part > 0 => "< 1 %".to_owned(),
        percent => format!("{percent} %"),
    }
}
