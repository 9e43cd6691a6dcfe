//! Source lines below an explanation and below the waits of a deadlock, so that they can be read without an editor.
//!
//! This module selects the quoted lines and draws them. The engine reads them from the source files when a test ends,
//! because renderers read no files. A line that could not be read is left out.

use super::Finding;
use super::deadlock;
use super::names::DisplayNames;
use super::places::{ShortPlaces, parts};
use super::remedy::{Change, Order};
use super::waiting;
use super::why::own_place;
use crate::run::ids::{Place, TaskId};
use crate::run::place::is_foreign;
use crate::run::{Failure, Outcome, Run};
use unpause_check::picture::screen::{Line, Paint, Screen, columns, cut};

/// The maximum number of quoted lines of a report.
const LINES_MAX: usize = 6;
/// The maximum number of quoted lines among the waits of a deadlock.
const WAITS_MAX: usize = 4;
/// The column of quoted lines, which is the column of the texts of an explanation.
const LEFT: usize = 14;
/// The maximum width of a task's name, in columns.
const NAME_MAX: usize = 16;

/// A source line that the screen quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuotedLine {
    /// The place of an operation in this line, as `file:line:column`.
    pub place: String,
    /// The line without its indentation.
    pub text: String,
}

impl Finding {
    /// Sets the quoted lines. `line_of` returns a line of a file, counted from 1; `None` if it cannot be read. The file
    /// name is the name that the compiler uses.
    #[doc(hidden)]
    pub fn quote(&mut self, line_of: &mut dyn FnMut(&str, u32) -> Option<String>) {
        let quoted = |place: String| {
            let (file, line, _) = parts(&place);
            let text = line_of(file, line?).filter(|text| !text.trim().is_empty())?;
            Some(QuotedLine { place, text })
        };
        self.quoted = wanted(self).into_iter().filter_map(quoted).collect();
    }

    /// Returns the quoted line at a place.
    fn quoted_at(&self, place: &str) -> Option<&QuotedLine> {
        self.quoted.iter().find(|line| is_same_line(&line.place, place))
    }
}

/// Returns the places whose lines are quoted, each line once.
fn wanted(finding: &Finding) -> Vec<String> {
    let cause = of_cause(finding).into_iter().map(|(_, place)| place);
    distinct(cause.chain(of_waits(finding)).chain(of_remedy(finding)), LINES_MAX)
}

/// Returns the first places in different lines of the user's workspace, at most `most`.
fn distinct(places: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for place in places {
        let is_known = distinct.iter().any(|other| is_same_line(other, &place));
        if !is_known && !is_foreign(&place) && distinct.len() < most {
            distinct.push(place);
        }
    }
    distinct
}

fn is_same_line(one: &str, other: &str) -> bool {
    let ((file, line, _), (other_file, other_line, _)) = (parts(one), parts(other));
    line.is_some() && (file, line) == (other_file, other_line)
}

/// Returns the lines of the cause in the order of the run, each with its task: the ends of the region, and at most two
/// decisive events between them.
fn of_cause(finding: &Finding) -> Vec<(TaskId, String)> {
    let Some(cause) = finding.why.as_ref().and_then(|why| why.cause.as_ref()) else {
        return Vec::new();
    };
    let event = |at: usize| {
        let event = finding.run.events.get(at)?;
        Some((event.task, own_place(&finding.run, at, event)))
    };
    let between = match cause.decisive[..] {
        [first, .., last] => vec![event(first), event(last)],
        ref few => few.iter().map(|at| event(*at)).collect(),
    };
    let [from, to] = cause.ends(&finding.run);
    let end = |at: Option<usize>, place: Place| {
        at.and_then(event).unwrap_or_else(|| (cause.task, place.to_string()))
    };
    let (from, to) = (end(from, cause.region.from.place), end(to, cause.region.to.place));
    let all = [from].into_iter().chain(between.into_iter().flatten()).chain([to]);
    let mut rows: Vec<(TaskId, String)> = Vec::new();
    for (task, place) in all {
        let is_repeated =
            |(last, known): &(TaskId, String)| *last == task && is_same_line(known, &place);
        if !rows.last().is_some_and(is_repeated) {
            rows.push((task, place));
        }
    }
    rows
}

/// Returns the lines of the waits of a deadlock and of the holders. Empty if the lines of the cause are quoted, because
/// they are mostly the same lines.
fn of_waits(finding: &Finding) -> Vec<String> {
    if !of_cause(finding).is_empty() {
        return Vec::new();
    }
    let run: &Run = &finding.run;
    let waits = match &run.outcome {
        Outcome::Failed(Failure::Deadlock { waits }) => waits,
        _ => &run.circle,
    };
    let waits = deadlock::in_order(run, waits);
    // A join names its task, and a wait for something foreign has no line of its own.
    let own = waits.iter().filter(|wait| wait.target.is_none() && wait.op.is_some());
    let lines =
        own.flat_map(|wait| [Some(waiting::line(run, wait)), waiting::holder_line(run, wait)]);
    distinct(lines.flatten(), WAITS_MAX)
}

/// Returns the lines of the remedy that are not among the lines of the cause.
fn of_remedy(finding: &Finding) -> Vec<String> {
    let Some(remedy) = finding.why.as_ref().and_then(|why| why.remedy.as_ref()) else {
        return Vec::new();
    };
    let places: Vec<Place> = match &remedy.change {
        Change::Regions { regions, .. } => {
            let mut ends = Vec::new();
            regions.iter().for_each(|region| ends.extend([region.from.place, region.to.place]));
            ends
        }
        Change::Order(Order { early, late, .. }) => vec![early.place, late.place],
    };
    let cause = of_cause(finding);
    let is_new = |place: &String| !cause.iter().any(|(_, known)| is_same_line(known, place));
    distinct(places.iter().map(|place| place.to_string()).filter(is_new), LINES_MAX)
}

/// Writes the source lines that belong to a line of the explanation with this label.
pub(super) fn draw(screen: &mut Screen, finding: &Finding, label: &str, names: &DisplayNames<'_>) {
    let named = |(task, place): (TaskId, String)| (names.task(task), place);
    let unnamed = |place: String| (String::new(), place);
    let rows: Vec<(String, String)> = match label {
        "why" => of_cause(finding).into_iter().map(named).collect(),
        "remedy" => of_remedy(finding).into_iter().map(unnamed).collect(),
        _ => return,
    };
    let mut places = ShortPlaces::default();
    let row = |(task, place): (String, String)| {
        let quoted = finding.quoted_at(&place)?;
        Some((cut(&task, NAME_MAX), places.short(&place), &quoted.text))
    };
    let rows: Vec<(String, String, &String)> = rows.into_iter().filter_map(row).collect();
    let name_end = LEFT + rows.iter().map(|(task, ..)| columns(task)).max().unwrap_or(0);
    let gap = if name_end > LEFT { 2 } else { 0 };
    let width = rows.iter().map(|(_, place, _)| columns(place)).max().unwrap_or(0);
    for (task, place, text) in rows {
        let mut line = Line::default();
        line.put(LEFT, Paint::Faint, &task);
        line.put(name_end + gap + width - columns(&place), Paint::Faint, &place);
        line.put(name_end + gap + width + 1, Paint::Faint, "|");
        line.put(name_end + gap + width + 3, Paint::Plain, text);
        screen.line(line);
    }
}

/// The source lines among the waits of a deadlock. Each line is shown once.
pub(super) struct WaitLines<'a> {
    lines: Vec<&'a QuotedLine>,
}

impl<'a> WaitLines<'a> {
    pub(super) fn of(finding: &'a Finding) -> WaitLines<'a> {
        let lines = of_waits(finding).into_iter().filter_map(|place| finding.quoted_at(&place));
        WaitLines { lines: lines.collect() }
    }

    /// Writes the source line of a place, unless it has been written.
    pub(super) fn draw(&mut self, screen: &mut Screen, left: usize, place: &str) {
        let Some(quoted) = self.lines.iter().find(|line| is_same_line(&line.place, place)) else {
            return;
        };
        let mut line = Line::default();
        line.put(left + 2, Paint::Faint, "|");
        line.put(left + 4, Paint::Plain, &quoted.text);
        screen.line(line);
        self.lines.retain(|line| !is_same_line(&line.place, place));
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{JOIN, Sample, deadlock, here, lost_update};
    use super::super::{Change, Interruption, Region, Remedy, Report, Tested, Why, text};
    use super::*;
    use crate::run::{Site, Wait};
    use unpause_check::picture::Style;

    /// Returns a source line for each place.
    fn source(_: &str, line: u32) -> Option<String> {
        Some(format!("line {line} of the source;"))
    }

    /// Returns the events of a task, as indices.
    fn events_of(run: &Run, task: u32) -> Vec<usize> {
        (0..run.events.len()).filter(|at| run.events[*at].task == TaskId(task)).collect()
    }

    fn site(run: &Run, event: usize) -> Site {
        Site { op: run.events[event].op.name, place: run.events[event].place }
    }

    /// Returns a run with a cause: the region from the load to the store of the first child. `decisive` selects among
    /// the events of the second child, which are a load and a store.
    fn explained(decisive: &[usize]) -> Report {
        let mut report = lost_update();
        let finding = report.finding.as_mut().unwrap();
        let run = &finding.run;
        let (own, others) = (events_of(run, 1), events_of(run, 2));
        let cause = Interruption {
            task: TaskId(1),
            region: Region { from: site(run, own[0]), to: site(run, own[1]) },
            is_reached: true,
            between: others.clone(),
            decisive: decisive.iter().map(|at| others[*at]).collect(),
        };
        finding.why = Some(Why { cause: Some(cause), ..Why::default() });
        report
    }

    /// Returns the lines of the screen that quote the source.
    fn quotes(report: &Report) -> Vec<String> {
        let screen = text(report, &Style::default());
        let quotes = screen.lines().filter(|line| line.contains(" | ")).map(str::trim);
        quotes.map(str::to_owned).collect()
    }

    #[test]
    fn the_lines_of_the_cause_are_quoted_in_the_order_of_the_run() {
        let mut report = explained(&[1]);
        assert_eq!(quotes(&report), [""; 0]);
        let finding = report.finding.as_mut().unwrap();
        finding.quote(&mut source);
        assert_eq!(finding.quoted.len(), 3);
        let run = &finding.run;
        let line = |event: usize| run.events[event].place.line();
        let (own, others) = (events_of(run, 1), events_of(run, 2));
        let [first, other, last] = [own[0], others[1], own[1]].map(line);
        let row = |task, line, place: String| {
            format!("{task}  {place:>13} | {}", source("", line).unwrap())
        };
        let expected = [
            row("0.0", first, format!("sample.rs:{first}")),
            row("0.1", other, format!(":{other}")),
            row("0.0", last, format!(":{last}")),
        ];
        assert_eq!(quotes(&report), expected);
        // They are directly below the text about the cause.
        let screen = text(&report, &Style::default());
        let why = screen.lines().position(|line| line.starts_with("  why")).unwrap();
        let quote = screen.lines().position(|line| line.contains(" | ")).unwrap();
        assert!((why + 1..why + 3).contains(&quote), "{screen}");
    }

    #[test]
    fn of_many_decisive_events_the_first_and_the_last_are_quoted() {
        let mut report = explained(&[0, 1, 0, 1]);
        report.finding.as_mut().unwrap().quote(&mut source);
        assert_eq!(quotes(&report).len(), 4);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_left_out() {
        let mut report = explained(&[1]);
        let finding = report.finding.as_mut().unwrap();
        finding.quote(&mut |_, _| None);
        assert!(finding.quoted.is_empty());
        finding.quote(&mut |_, _| Some("  ".to_owned()));
        assert!(finding.quoted.is_empty());
        let last = finding.why.as_ref().unwrap().cause.as_ref().unwrap().region.to.place.line();
        finding.quote(&mut |file, line| source(file, line).filter(|_| line == last));
        let expected = format!("0.0  sample.rs:{last} | line {last} of the source;");
        assert_eq!(quotes(&report), [expected]);
    }

    #[test]
    fn a_long_line_is_cut_and_a_hostile_line_is_escaped() {
        let mut report = explained(&[1]);
        let finding = report.finding.as_mut().unwrap();
        finding.quote(&mut |_, _| Some(format!("\u{1b}[2J\u{202e}{}", "x".repeat(390))));
        for width in [40, 60, 100] {
            let screen = text(&report, &Style { color: false, width });
            let quotes = screen.lines().filter(|line| line.contains(" | "));
            assert_eq!(quotes.filter(|line| columns(line) <= width).count(), 3, "{screen}");
            assert!(!screen.contains(['\u{1b}', '\u{202e}']), "{screen}");
        }
    }

    #[test]
    fn a_second_region_of_the_remedy_is_quoted_below_the_remedy() {
        let mut report = explained(&[1]);
        let finding = report.finding.as_mut().unwrap();
        let site = site(&finding.run, finding.run.events.len() - 1);
        let why = finding.why.as_mut().unwrap();
        let own = why.cause.as_ref().unwrap().region;
        let regions = vec![own, Region { from: site, to: site }];
        let tested = Tested::All { interleavings: 2, of: None, left_out: 0 };
        let change = Change::Regions { regions, waits: true };
        why.remedy = Some(Remedy { change, tested });
        finding.quote(&mut source);
        let line = site.place.line();
        let expected = format!("sample.rs:{line} | line {line} of the source;");
        assert_eq!(quotes(&report)[3..], [expected]);
    }

    #[test]
    fn waits_without_a_cause_are_quoted_in_the_list_each_line_once() {
        let mut report = deadlock();
        report.finding.as_mut().unwrap().quote(&mut source);
        let finding = report.finding.as_ref().unwrap();
        // Both tasks wait in the same line.
        assert_eq!(finding.quoted.len(), 3, "{:?}", finding.quoted);
        let screen = text(&report, &Style::default());
        for QuotedLine { text, .. } in &finding.quoted {
            assert_eq!(screen.matches(&format!("| {text}")).count(), 1, "{screen}");
        }
    }

    #[test]
    fn neither_a_join_nor_a_foreign_wait_is_quoted() {
        let wait = |task, op, target| Wait {
            task: TaskId(task),
            op,
            object: None,
            target,
            place: here(),
            holder: None,
            unpolled: false,
        };
        let waits = vec![wait(0, Some(&JOIN), Some(TaskId(1))), wait(1, None, None)];
        let report = Sample::of(&["reader"]).report("a::b", Failure::Deadlock { waits });
        let mut finding = report.finding.unwrap();
        finding.quote(&mut source);
        assert_eq!(finding.quoted, []);
    }
}
