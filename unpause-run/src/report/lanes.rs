//! Drawing of schedule rows: a column for each task, or a list if there are too many tasks.
//!
//! ```text
//!  step  main            0.0              0.1                                        place
//!     0  spawn 0.0, 0.1                                              src/counter.rs:9:22
//!     1  │               load atomic = 0                             src/counter.rs:4:19
//!        │               ├─ preempted ────┐
//!     2  │               │                load atomic = 0            src/counter.rs:4:19
//! ```
//!
//! Only one task acts in a row, so its text may extend over the columns to its right. A bar marks the column of each
//! other task that has begun and has further rows.

use super::names::DisplayNames;
use super::places::cut_place;
use super::schedule::ScheduleRow;
use crate::run::ids::TaskId;
use unpause_check::picture::screen::{Line, Paint, Screen, columns, cut, wrap};
use unpause_ordered::Map;

/// The maximum number of tasks for columns. A schedule with more tasks is drawn as a list.
const COLUMNS_MAX: usize = 6;
/// The minimum widths of a column and of the last column. The last column is wider, because its text cannot overflow to
/// the right. The second pair is used if the first pair does not fit. The first pair leaves room for the word between
/// two lanes.
const COLUMN_LEAST: [(usize, usize); 2] = [(14, 28), (8, 20)];
/// The maximum width of a place, for few tasks and for many tasks.
const PLACE_MAX: usize = 32;
const PLACE_MAX_MANY: usize = 24;
/// The maximum number of tasks that count as few.
const FEW_TASKS: usize = 3;
/// The column where texts begin if step numbers have at most four digits.
const GUTTER: usize = 8;
/// The maximum number of lines of a text that is too long for its column.
const DEED_LINES: usize = 6;
/// The same maximum for a text about several operations of a call. The last operation must be visible.
const CALL_LINES: usize = 8;
/// The minimum width of a message on its arrow.
const MESSAGE_LEAST: usize = 6;
/// The maximum width of the names in a list.
const LIST_NAME_MAX: usize = 20;

/// Draws the rows below a header line. `chances` contains the texts of the chance column, by row. `chances` is empty if
/// there is no such column.
pub(super) fn draw(
    screen: &mut Screen,
    rows: &[ScheduleRow],
    chances: &[String],
    names: &DisplayNames<'_>,
) {
    let tasks = lifetimes(rows);
    let place_max = if tasks.len() <= FEW_TASKS { PLACE_MAX } else { PLACE_MAX_MANY };
    // Task columns are more informative than the chance column.
    for chances in [chances, &[]] {
        let frame = ScheduleFrame::new(screen.width(), place_max, rows, chances);
        if let Some(columns) = Columns::fit(&frame, rows, &tasks, names) {
            return draw_columns(screen, &frame, rows, &columns);
        }
    }
    // A list has room for the chance column again.
    let frame = ScheduleFrame::new(screen.width(), PLACE_MAX, rows, chances);
    draw_list(screen, &frame, rows, tasks.keys(), names);
}

/// The common frame of columns and lists: the step on the left, the chance and the place on the right.
struct ScheduleFrame<'a> {
    width: usize,
    left: usize,
    place_width: usize,
    /// The text of the chance column for each row; empty if there is no such column.
    chances: &'a [String],
    chance_width: usize,
}

impl<'a> ScheduleFrame<'a> {
    fn new(
        width: usize,
        place_max: usize,
        rows: &[ScheduleRow],
        chances: &'a [String],
    ) -> ScheduleFrame<'a> {
        // A place is cut at a slash, so it may become shorter than necessary.
        let place_max = place_max.min(width / 3);
        let places = rows.iter().filter_map(|row| match row {
            ScheduleRow::Operation { place, called, .. } => Some((place, &called[..])),
            ScheduleRow::Arrival { place, .. } | ScheduleRow::Fault { place, .. } => {
                Some((place, &[][..]))
            }
            _ => None,
        });
        let places = places.flat_map(|(place, called)| std::iter::once(place).chain(called));
        let places = places.map(|place| columns(&cut_place(place, place_max)));
        let step = rows.iter().filter_map(|row| match row {
            ScheduleRow::Operation { step, .. }
            | ScheduleRow::Arrival { step, .. }
            | ScheduleRow::Fault { step, .. } => *step,
            _ => None,
        });
        let digits = step.max().map_or(1, |s| s.to_string().len());
        let left = GUTTER.max(digits + 4);
        let place_width = places.max().unwrap_or(0);
        let chance_width = chances.iter().map(|text| columns(text)).max().unwrap_or(0);
        ScheduleFrame { width, left, place_width, chances, chance_width }
    }

    /// Returns the total width for texts.
    fn area(&self) -> usize {
        let of = |width: usize| if width > 0 { width + 2 } else { 0 };
        self.width.saturating_sub(self.left + of(self.place_width) + of(self.chance_width))
    }

    fn end(&self) -> usize {
        self.left + self.area()
    }

    fn header(&self) -> Line {
        let mut line = Line::default();
        line.put(self.left - 6, Paint::Faint, "step");
        if self.place_width > 0 {
            line.put(self.width - "place".len(), Paint::Faint, "place");
        }
        if self.chance_width > 0 {
            // The letter P is above the last digit of a chance.
            line.put(self.end() + 3, Paint::Faint, "P");
        }
        line
    }

    /// Writes the edges of a row (the step, the chance and the place) on its first line.
    fn row_edges(&self, line: &mut Line, row: usize, step: Option<usize>, place: &str) {
        self.edges(line, step, place);
        if let Some(chance) = self.chances.get(row) {
            let paint = if chance.ends_with('◂') { Paint::Notice } else { Paint::Faint };
            line.put(self.end(), paint, chance);
        }
    }

    fn edges(&self, line: &mut Line, step: Option<usize>, place: &str) {
        if let Some(step) = step {
            let step = step.to_string();
            line.put((self.left - 2).saturating_sub(step.len()), Paint::Faint, &step);
        }
        let place = cut_place(place, self.place_width);
        if !place.is_empty() {
            line.put(self.width - columns(&place), Paint::Faint, &place);
        }
    }

    /// Returns a line for a fault, which extends across all columns.
    fn fault(&self, row: usize, step: Option<usize>, text: &str, place: &str) -> Line {
        let mut line = Line::default();
        (self.left..self.end()).for_each(|at| line.put_char(at, Paint::Notice, '─'));
        line.put(self.left + 3, Paint::Notice, &format!(" {} ", cut(text, self.area() - 5)));
        self.row_edges(&mut line, row, step, place);
        line
    }

    fn remark(&self, text: &str) -> Line {
        let mut line = Line::default();
        line.put(self.left - 6, Paint::Notice, text);
        line
    }
}

fn operation(row: &ScheduleRow) -> Option<(TaskId, &str)> {
    match row {
        ScheduleRow::Operation { task, text, .. } => Some((*task, text)),
        ScheduleRow::Arrival { .. }
        | ScheduleRow::Fault { .. }
        | ScheduleRow::Preempted { .. }
        | ScheduleRow::Remark(_) => None,
    }
}

/// Returns the first and the last row of each task.
fn lifetimes(rows: &[ScheduleRow]) -> Map<TaskId, (usize, usize)> {
    let mut lifetimes = Map::new();
    for (i, row) in rows.iter().enumerate() {
        let tasks = match row {
            ScheduleRow::Operation { task, .. } => vec![*task],
            ScheduleRow::Arrival { from, to, .. } | ScheduleRow::Preempted { from, to } => {
                vec![*from, *to]
            }
            ScheduleRow::Fault { .. } | ScheduleRow::Remark(_) => vec![],
        };
        for task in tasks {
            lifetimes.entry(task).or_insert((i, i)).1 = i;
        }
    }
    lifetimes
}

/// The positions of the columns.
struct Columns {
    // The columns from left to right.
    columns: Vec<Column>,
}

struct Column {
    task: TaskId,
    name: String,
    start: usize,
    width: usize,
    // The first and the last row in which the task does something.
    life: (usize, usize),
}

impl Columns {
    /// Returns the column positions, or `None` if there is no room for all tasks.
    fn fit(
        frame: &ScheduleFrame<'_>,
        rows: &[ScheduleRow],
        tasks: &Map<TaskId, (usize, usize)>,
        names: &DisplayNames<'_>,
    ) -> Option<Columns> {
        if tasks.len() > COLUMNS_MAX {
            return None;
        }
        let needed = |task: TaskId| {
            let texts = rows.iter().filter_map(operation).filter(|(t, _)| *t == task);
            let texts = texts.map(|(_, text)| columns(text));
            texts.max().unwrap_or(0).max(columns(&names.column(task))) + 2
        };
        let mut widths: Vec<usize> = tasks.keys().map(|task| needed(*task)).collect();
        shrink_to(&mut widths, frame.area())?;
        let mut start = frame.left;
        let columns = tasks.iter().zip(widths).map(|((task, life), width)| {
            let column =
                Column { task: *task, name: names.column(*task), start, width, life: *life };
            start += width;
            column
        });
        Some(Columns { columns: columns.collect() })
    }

    /// Draws the names of the tasks. If a name is too long for one line, paths and given names are on two lines.
    fn header(&self, screen: &mut Screen, frame: &ScheduleFrame<'_>) {
        let whole = |c: &Column| columns(&c.name) < c.width;
        let two_lines = !self.columns.iter().all(whole);
        let (mut upper, mut lower) = (frame.header(), Line::default());
        for column in &self.columns {
            let name = match column.name.split_once(' ') {
                Some((path, name)) if two_lines => {
                    lower.put(column.start, Paint::Strong, &cut(name, column.width - 1));
                    path
                }
                _ => &column.name,
            };
            upper.put(column.start, Paint::Strong, &cut(name, column.width - 1));
        }
        screen.line(upper);
        if lower.width() > 0 {
            screen.line(lower);
        }
    }

    /// Returns a line with the bars of the tasks that are alive in a row.
    fn lanes(&self, row: usize) -> Line {
        let mut line = Line::default();
        for column in self.columns.iter().filter(|c| (c.life.0..=c.life.1).contains(&row)) {
            line.put(column.start, Paint::Faint, "│");
        }
        line
    }

    fn get(&self, task: TaskId) -> Option<&Column> {
        self.columns.iter().find(|c| c.task == task)
    }
}

/// Reduces the widest columns until all columns fit.
fn shrink_to(widths: &mut [usize], area: usize) -> Option<()> {
    let last = widths.len().checked_sub(1)?;
    for (least, least_last) in COLUMN_LEAST {
        let spare =
            |(i, w): (usize, &usize)| w.saturating_sub(if i == last { least_last } else { least });
        while widths.iter().sum::<usize>() > area {
            let widest = widths.iter().enumerate().max_by_key(|column| spare(*column));
            match widest.filter(|column| spare(*column) > 0).map(|(i, _)| i) {
                Some(i) => widths[i] -= 1,
                None => break,
            }
        }
    }
    (widths.iter().sum::<usize>() <= area).then_some(())
}

fn draw_columns(
    screen: &mut Screen,
    frame: &ScheduleFrame<'_>,
    rows: &[ScheduleRow],
    columns: &Columns,
) {
    columns.header(screen, frame);
    for (i, row) in rows.iter().enumerate() {
        let lanes = columns.lanes(i);
        match row {
            ScheduleRow::Operation { step, task, text, place, called, fatal } => {
                let Some(column) = columns.get(*task) else {
                    continue;
                };
                let paint = if *fatal { Paint::Bad } else { Paint::Plain };
                let mut texts =
                    wrap_operation(text, frame.end() - column.start, !called.is_empty());
                texts.resize(texts.len().max(called.len() + 1), String::new());
                for (n, text) in texts.iter().enumerate() {
                    let mut line = lanes.clone();
                    // A trailing blank separates the text from the bars.
                    if !text.is_empty() {
                        line.put(column.start, paint, &format!("{text} "));
                    }
                    match n {
                        0 => frame.row_edges(&mut line, i, *step, place),
                        _ => called.get(n - 1).into_iter().for_each(|called| {
                            frame.edges(&mut line, None, called);
                        }),
                    }
                    screen.line(line);
                }
            }
            ScheduleRow::Preempted { from, to } => {
                if let (Some(from), Some(to)) = (columns.get(*from), columns.get(*to)) {
                    let mut line = lanes;
                    arrow(&mut line, from, to, i);
                    screen.line(line);
                }
            }
            ScheduleRow::Arrival { step, from, to, message, text, place } => {
                let mut line = lanes;
                if let (Some(from), Some(to)) = (columns.get(*from), columns.get(*to)) {
                    arrival(&mut line, from, to, frame.end(), (message, text));
                }
                frame.row_edges(&mut line, i, *step, place);
                screen.line(line);
            }
            ScheduleRow::Fault { step, text, place } => {
                screen.line(frame.fault(i, *step, text, place));
            }
            ScheduleRow::Remark(text) => screen.line(frame.remark(text)),
        }
    }
}

/// Draws a message as an arrow from its sender's column to its receiver's column. The message text is on the arrow. If
/// it does not fit there and has more room after the arrow, before `end`, it follows the arrow.
fn arrival(line: &mut Line, from: &Column, to: &Column, end: usize, (message, text): (&str, &str)) {
    let (left, right) = (from.start.min(to.start), from.start.max(to.start));
    if left == right {
        line.put(left, Paint::Plain, &format!("▸ {}arrives, {text} ", before(message, " ")));
        return;
    }
    for column in left + 1..right {
        line.put_char(column, Paint::Strong, '─');
    }
    let goes_right = from.start < to.start;
    line.put_char(from.start, Paint::Strong, if goes_right { '├' } else { '┤' });
    line.put_char(to.start, Paint::Strong, if goes_right { '▶' } else { '◀' });
    // The subtracted width includes the ends of the arrow, the blanks and the comma.
    let room = (right - left).saturating_sub(columns(text) + 7);
    // The subtracted width includes a blank on each side and the comma.
    let behind = end.saturating_sub(right + columns(text) + 5);
    if room < columns(message) && room < behind && behind >= MESSAGE_LEAST {
        let text = format!("{}{text} ", before(&cut(message, behind), ", "));
        return line.put(right + 2, Paint::Plain, &text);
    }
    let message = if room < MESSAGE_LEAST { String::new() } else { cut(message, room) };
    let text = format!(" {}{text} ", before(&message, ", "));
    if right - left >= columns(&text) + 3 {
        line.put(left + 2, Paint::Plain, &text);
    }
}

/// Returns the text followed by `then`, or nothing if the text is empty.
fn before(text: &str, then: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}{then}") }
}

/// Wraps an operation, with all lines except the first indented.
fn wrap_operation(text: &str, width: usize, is_call: bool) -> Vec<String> {
    if columns(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = wrap(text, width.saturating_sub(2).max(1));
    lines.truncate(if is_call { CALL_LINES } else { DEED_LINES });
    lines.iter_mut().skip(1).for_each(|line| line.insert_str(0, "  "));
    lines
}

/// Draws an arrow from one lane to another lane.
fn arrow(line: &mut Line, from: &Column, to: &Column, row: usize) {
    let goes_on = from.life.1 > row;
    let (left, right) = (from.start.min(to.start), from.start.max(to.start));
    for column in left..=right {
        line.put_char(column, Paint::Notice, '─');
    }
    let (leave, arrive) = match (from.start < to.start, goes_on) {
        (true, true) => ('├', '┐'),
        (true, false) => ('└', '┐'),
        (false, true) => ('┤', '┌'),
        (false, false) => ('┘', '┌'),
    };
    line.put_char(from.start, Paint::Notice, leave);
    line.put_char(to.start, Paint::Notice, arrive);
    let word = " preempted ";
    if right - left >= word.len() + 3 {
        line.put(left + 2, Paint::Notice, word);
    }
}

fn draw_list<'a>(
    screen: &mut Screen,
    frame: &ScheduleFrame<'_>,
    rows: &[ScheduleRow],
    tasks: impl Iterator<Item = &'a TaskId>,
    names: &DisplayNames<'_>,
) {
    let longest = tasks.map(|task| columns(&names.column(*task))).max().unwrap_or(0);
    let name_width = longest.clamp(4, LIST_NAME_MAX.min(frame.area() / 3).max(4));
    // A mark before the name of a task means that the task preempts another task.
    let names_at = frame.left + 2;
    let texts = names_at + name_width + 2;
    let mut header = frame.header();
    header.put(names_at, Paint::Strong, "task");
    screen.line(header);
    let (mut last, mut mark) = (None, false);
    for (i, row) in rows.iter().enumerate() {
        let mut line = Line::default();
        match row {
            ScheduleRow::Preempted { .. } => {
                mark = true;
                continue;
            }
            ScheduleRow::Operation { step, task, text, place, called, fatal } => {
                if std::mem::take(&mut mark) {
                    line.put(frame.left, Paint::Notice, ">");
                }
                // The name is shown whenever the task changes, to make the switch visible.
                if last != Some(*task) || *fatal {
                    line.put(names_at, Paint::Strong, &cut(&names.column(*task), name_width));
                }
                last = Some(*task);
                let paint = if *fatal { Paint::Bad } else { Paint::Plain };
                line.put(texts, paint, &cut(text, frame.end().saturating_sub(texts)));
                frame.row_edges(&mut line, i, *step, place);
                for called in called {
                    screen.line(std::mem::take(&mut line));
                    frame.edges(&mut line, None, called);
                }
            }
            ScheduleRow::Arrival { step, from, to, message, text, place } => {
                line.put(names_at, Paint::Strong, &cut(&names.column(*to), name_width));
                last = Some(*to);
                let arrives = format!(" of {} arrives, {text}", names.column(*from));
                let room = frame.end().saturating_sub(texts);
                let message = if message.is_empty() { "message" } else { message };
                let most = room.saturating_sub(columns(&arrives)).max(MESSAGE_LEAST);
                let text = format!("{}{arrives}", cut(message, most));
                line.put(texts, Paint::Plain, &cut(&text, room));
                frame.row_edges(&mut line, i, *step, place);
            }
            ScheduleRow::Fault { step, text, place } => {
                last = None;
                line = frame.fault(i, *step, text, place);
            }
            ScheduleRow::Remark(text) => {
                last = None;
                line = frame.remark(text);
            }
        }
        screen.line(line);
    }
    if rows.iter().any(|row| matches!(row, ScheduleRow::Preempted { .. })) {
        screen.blank();
        let text = "> preempts a task that could have continued";
        screen.line(Line::of(Paint::Notice, &format!("  {text}")));
    }
}
