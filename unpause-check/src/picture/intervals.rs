//! The picture of a history: a lane for each client, time from left to right, operations as intervals.
//!
//! ```text
//!   main                   ├ get → 1 ┤
//!                          ^^^^^^^^^^^ fits nowhere
//!   0.0   ├─ inc ───────┤
//!   0.1      ├─ inc ─┤
//! ```
//!
//! Only the order of invocations and returns has a meaning, so distances depend only on the texts. If a history is too
//! wide for the screen, it continues below in bands. If there are too many bands, the operations are numbered and a
//! legend lists them.

use super::screen::{Line, Paint, Screen, clean, columns, cut};
use crate::history::{HistoryRecord, Operation};
use crate::verdict::Evidence;
use unpause_ordered::{Map, sort, sort_by_key};

/// The maximum number of operations to draw. In a longer history, these are the operations around the misfit.
const OPERATIONS_MAX: usize = 40;
/// The maximum number of drawn operations after the misfit, by invocation.
const OPERATIONS_AFTER: usize = 8;
/// The maximum width of the names of clients.
const CLIENT_MAX: usize = 16;
/// The maximum number of bands with texts. In a larger picture, numbers replace the texts.
const BANDS_MAX: usize = 3;
/// The maximum width of the text of an operation, in the picture and in a sentence.
const TEXT_MAX: usize = 60;

/// Draws a history, and marks the misfit if there is evidence.
pub(super) fn draw(screen: &mut Screen, history: &HistoryRecord, evidence: Option<&Evidence>) {
    let Selection { shown, earlier, later } = select(history, evidence);
    if shown.is_empty() {
        return;
    }
    if earlier > 0 {
        screen.line(Line::of(Paint::Notice, &format!("  … {earlier} earlier operations …")));
    }
    let misfit = evidence.map(|e| e.misfit);
    let picture = Picture::new(history, shown, misfit, screen.width());
    picture.draw(screen);
    if later > 0 {
        screen.line(Line::of(Paint::Notice, &format!("  … {later} later operations …")));
    }
    picture.legend(screen);
}

/// Returns an operation as text: `get → 1`, `get → ?` if it has not returned, and only `inc` if it returned `()`.
pub(super) fn operation(operation: &Operation<String, String>) -> String {
    let text = match &operation.returned {
        Some((result, _)) if result == "()" => operation.op.clone(),
        Some((result, _)) => format!("{} → {result}", operation.op),
        None => format!("{} → ?", operation.op),
    };
    cut(&clean(&text), TEXT_MAX)
}

/// Returns the name of a client.
pub(super) fn client(history: &HistoryRecord, client: u32) -> String {
    let name = history.clients.get(client as usize);
    name.map_or_else(|| format!("client {client}"), |name| cut(&clean(name), CLIENT_MAX))
}

/// Returns the operations of the evidence, in the order of their invocation; `None` if the evidence covers all
/// operations.
pub(super) fn part(history: &HistoryRecord, evidence: &Evidence) -> Option<Vec<usize>> {
    if evidence.part.is_empty() {
        return None;
    }
    let part = evidence.part.iter().copied().chain([evidence.misfit]);
    let mut part: Vec<usize> = part.filter(|i| *i < history.operations.len()).collect();
    sort_by_key(&mut part, |i| (history.operations[*i].invoked, *i));
    part.dedup();
    (part.len() < history.operations.len()).then_some(part)
}

/// The operations to draw, as indices in the order of their invocation, and the numbers of operations left out before
/// and after them.
struct Selection {
    shown: Vec<usize>,
    earlier: usize,
    later: usize,
}

fn select(history: &HistoryRecord, evidence: Option<&Evidence>) -> Selection {
    let all = evidence.and_then(|evidence| part(history, evidence)).unwrap_or_else(|| {
        let mut all: Vec<usize> = (0..history.operations.len()).collect();
        sort_by_key(&mut all, |i| (history.operations[*i].invoked, *i));
        all
    });
    let misfit = evidence.and_then(|e| all.iter().position(|i| *i == e.misfit));
    let end = misfit.map_or(all.len(), |at| all.len().min(at + 1 + OPERATIONS_AFTER));
    let end = end.max(all.len().min(OPERATIONS_MAX));
    let start = end.saturating_sub(OPERATIONS_MAX);
    Selection { earlier: start, later: all.len() - end, shown: all[start..end].to_vec() }
}

/// An interval to draw.
struct Interval {
    /// The index of the operation in the history.
    operation: usize,
    /// The row of the interval in the picture.
    row: usize,
    /// The text of the interval.
    label: String,
    /// The positions of the invocation and the return in the order of all events. `to` is `None` if the operation never
    /// returned.
    from: usize,
    to: Option<usize>,
}

struct Picture<'a> {
    history: &'a HistoryRecord,
    misfit: Option<usize>,
    // The intervals in the order of their invocation.
    intervals: Vec<Interval>,
    // The client of each row; `None` if the client is the same as in the row above.
    rows: Vec<Option<u32>>,
    bands: Vec<Band>,
    numbered: bool,
    // The first column of the lanes, and their width.
    left: usize,
    width: usize,
}

impl<'a> Picture<'a> {
    fn new(
        history: &'a HistoryRecord,
        shown: Vec<usize>,
        misfit: Option<usize>,
        width: usize,
    ) -> Picture<'a> {
        let (mut intervals, rows) = place(history, shown);
        let names = rows.iter().flatten().map(|c| columns(&client(history, *c)));
        let left = names.max().unwrap_or(0) + 4;
        let width = width.saturating_sub(left).max(1);
        let widest = intervals.iter().map(|i| columns(&i.label) + 4).max().unwrap_or(0);
        let with_gap = |gap| bands(&intervals, gap, width);
        let one = [3, 2, 1].into_iter().map(with_gap).find(|b| b.len() == 1);
        let few = || Some(with_gap(2)).filter(|b| b.len() <= BANDS_MAX && 2 * widest <= width);
        let with_texts = one.or_else(few);
        let numbered = with_texts.is_none();
        let bands = with_texts.unwrap_or_else(|| {
            for (n, interval) in intervals.iter_mut().enumerate() {
                interval.label = (n + 1).to_string();
            }
            bands(&intervals, 2, width)
        });
        Picture { history, misfit, intervals, rows, bands, numbered, left, width }
    }

    fn draw(&self, screen: &mut Screen) {
        for (n, band) in self.bands.iter().enumerate() {
            if n > 0 {
                screen.blank();
            }
            for (row, of) in self.rows.iter().enumerate() {
                let mut line = Line::default();
                if let Some(of) = of {
                    line.put(2, Paint::Strong, &client(self.history, *of));
                }
                let mut mark = None;
                for interval in self.intervals.iter().filter(|i| i.row == row) {
                    let Some(span) = band.span(interval, self.width) else {
                        continue;
                    };
                    let misfit = Some(interval.operation) == self.misfit;
                    self.interval(&mut line, interval, &span, misfit);
                    mark = mark.or(misfit.then_some(span));
                }
                screen.line(line);
                if let Some(span) = mark {
                    screen.line(self.mark(&span));
                }
            }
        }
    }

    fn interval(&self, line: &mut Line, interval: &Interval, span: &Span, misfit: bool) {
        let paint = if misfit { Paint::Bad } else { Paint::Plain };
        let (first, last) = (self.left + span.first, self.left + span.last);
        for column in first..=last {
            line.put_char(column, paint, '─');
        }
        if span.begins {
            line.put_char(first, paint, '├');
        }
        if span.ends {
            line.put_char(last, paint, '┤');
        } else if interval.to.is_none() {
            line.put_char(last, paint, '>');
        }
        let label = format!(" {} ", interval.label);
        let (room, wanted) = (span.last - span.first + 1, columns(&label));
        if wanted + 2 <= room {
            let dash = usize::from(wanted + 4 <= room);
            line.put(first + 1 + dash, paint, &label);
        }
    }

    fn mark(&self, span: &Span) -> Line {
        let mut line = Line::default();
        let text = "fits nowhere";
        let width = span.last - span.first + 1;
        line.put(self.left + span.first, Paint::Bad, &"^".repeat(width));
        if span.last + 2 + text.len() <= self.width {
            line.put(self.left + span.last + 2, Paint::Bad, text);
        } else if span.first > text.len() {
            line.put(self.left + span.first - 1 - text.len(), Paint::Bad, text);
        }
        line
    }

    /// Draws the legend of the numbers, and the explanation of the question mark.
    fn legend(&self, screen: &mut Screen) {
        if self.numbered {
            let entries: Vec<String> = self
                .intervals
                .iter()
                .enumerate()
                .map(|(n, i)| {
                    format!("{:>2}  {}", n + 1, operation(&self.history.operations[i.operation]))
                })
                .collect();
            let widest = entries.iter().map(|e| columns(e)).max().unwrap_or(0) + 3;
            let columns = (screen.width().saturating_sub(2) / widest).clamp(1, 5);
            let rows = entries.len().div_ceil(columns);
            screen.blank();
            for row in 0..rows {
                let mut line = Line::default();
                for (column, n) in (row..entries.len()).step_by(rows).enumerate() {
                    let misfit = Some(self.intervals[n].operation) == self.misfit;
                    let paint = if misfit { Paint::Bad } else { Paint::Plain };
                    line.put(2 + column * widest, paint, &entries[n]);
                }
                screen.line(line);
            }
        }
        if self.intervals.iter().any(|i| i.to.is_none()) {
            screen.blank();
            let text = "→ ? has not returned: it may have taken effect at any time, or never.";
            screen.paragraph(2, (Paint::Faint, ""), (Paint::Faint, text));
        }
    }
}

/// Assigns a row and the positions of its events to each operation.
fn place(history: &HistoryRecord, shown: Vec<usize>) -> (Vec<Interval>, Vec<Option<u32>>) {
    // A client has at most one operation running, but an operation that never returned occupies its row forever. So a
    // client may need several rows. `lanes` contains, for each client, the time at which each row becomes free.
    let mut lanes: Map<u32, Vec<u64>> = Default::default();
    let mut lane_of = Vec::new();
    for i in &shown {
        let operation = &history.operations[*i];
        let lanes = lanes.entry(operation.client).or_default();
        let free = lanes.iter().position(|free| *free < operation.invoked);
        let lane = free.unwrap_or(lanes.len());
        lanes.resize(lanes.len().max(lane + 1), 0);
        lanes[lane] = end(operation);
        lane_of.push(lane);
    }
    let mut rows = Vec::new();
    let mut first_row = Map::new();
    for (client, lanes) in &lanes {
        first_row.insert(*client, rows.len());
        rows.push(Some(*client));
        rows.resize(rows.len() + lanes.len() - 1, None);
    }
    let mut ends: Vec<(u64, bool, usize)> = Vec::new();
    for (n, i) in shown.iter().enumerate() {
        let operation = &history.operations[*i];
        ends.push((operation.invoked, false, n));
        ends.extend(operation.returned.is_some().then(|| (end(operation), true, n)));
    }
    sort(&mut ends);
    let mut intervals: Vec<Interval> = shown
        .iter()
        .zip(lane_of)
        .map(|(i, lane)| {
            let op = &history.operations[*i];
            let row = first_row[&op.client] + lane;
            Interval { operation: *i, row, label: operation(op), from: 0, to: None }
        })
        .collect();
    for (position, (_, returned, n)) in ends.into_iter().enumerate() {
        if returned {
            intervals[n].to = Some(position);
        } else {
            intervals[n].from = position;
        }
    }
    (intervals, rows)
}

/// Returns the time of the return, but never a time before the invocation, even for a malformed history.
fn end(operation: &Operation<String, String>) -> u64 {
    operation.end().max(operation.invoked)
}

/// A part of the picture that fits into the width: the columns of the events.
struct Band {
    /// The position of the band's first event in the order of all events.
    first: usize,
    /// The columns of the events in this band.
    columns: Vec<usize>,
}

/// The part of an interval in a band, in columns; both ends are inclusive.
struct Span {
    first: usize,
    last: usize,
    begins: bool,
    ends: bool,
}

impl Band {
    fn span(&self, interval: &Interval, width: usize) -> Option<Span> {
        let end = self.first + self.columns.len();
        let to = interval.to.unwrap_or(usize::MAX);
        if interval.from >= end || to < self.first {
            return None;
        }
        let (begins, ends) = (interval.from >= self.first, to < end);
        Some(Span {
            first: if begins { self.columns[interval.from - self.first] } else { 0 },
            last: if ends { self.columns[to - self.first] } else { width - 1 },
            begins,
            ends,
        })
    }
}

/// Assigns each event the leftmost column that leaves room for the labels, and `gap` columns between events. Begins a
/// new band when the width is used up.
fn bands(intervals: &[Interval], gap: usize, width: usize) -> Vec<Band> {
    let froms = intervals.iter().map(|i| (i.from, i, false));
    let tos = intervals.iter().filter_map(|i| i.to.map(|to| (to, i, true)));
    let mut ends: Vec<_> = froms.chain(tos).collect();
    sort_by_key(&mut ends, |(position, ..)| *position);

    let mut bands: Vec<Band> = Vec::new();
    let mut band = Band { first: 0, columns: vec![] };
    for (position, interval, returns) in ends {
        let label = columns(&interval.label) + 3;
        let column = |band: &Band| {
            let next = band.columns.last().map_or(0, |column| column + gap);
            // Columns before this band do not count, because the label may be in either band.
            let from = interval.from.checked_sub(band.first).and_then(|i| band.columns.get(i));
            if returns { next.max(from.unwrap_or(&0) + label) } else { next }
        };
        // An interval without a return reaches the right edge, so its label needs room there.
        let ahead = if interval.to.is_none() { label } else { 0 };
        if column(&band) + ahead >= width && !band.columns.is_empty() {
            bands.push(std::mem::replace(&mut band, Band { first: position, columns: vec![] }));
        }
        band.columns.push(column(&band).min(width - 1));
    }
    bands.push(band);
    bands
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Creates one interval for each number in `order`. The first occurrence of a number is the invocation of the
    /// operation, and the second occurrence is its return.
    fn intervals(order: &[usize]) -> Vec<Interval> {
        let mut intervals: Vec<(usize, Interval)> = Vec::new();
        for (position, n) in order.iter().enumerate() {
            match intervals.iter_mut().find(|(m, _)| m == n) {
                Some((_, interval)) => interval.to = Some(position),
                None => {
                    let label = "x".repeat(n % 7 + 1);
                    let interval =
                        Interval { operation: *n, row: *n, label, from: position, to: None };
                    intervals.push((*n, interval));
                }
            }
        }
        intervals.into_iter().map(|(_, interval)| interval).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bands_keep_the_order_of_all_ends_and_show_each_label(
            order in Just((0..30).map(|n| n / 2).collect::<Vec<usize>>()).prop_shuffle(),
            open in 0..6usize,
            gap in 1..4usize,
            width in 20..100usize,
        ) {
            let intervals = intervals(&order[..order.len() - open]);
            let bands = bands(&intervals, gap, width);
            let placed: usize = bands.iter().map(|b| b.columns.len()).sum();
            prop_assert_eq!(placed, order.len() - open);
            for band in &bands {
                prop_assert!(band.columns.windows(2).all(|w| w[0] + gap <= w[1]));
                prop_assert!(band.columns.iter().all(|column| *column < width));
            }
            for interval in &intervals {
                let spans = bands.iter().filter_map(|band| band.span(interval, width));
                let room = spans.map(|span| span.last + 1 - span.first).max();
                prop_assert!(room >= Some(interval.label.len() + 4));
            }
        }
    }
}
