//! The screen of a report, as it was printed.

use sim::check::picture::Style;
use sim::check::picture::screen::Screen as Lines;
use sim::check::picture::screen::{Line, Paint};

use super::{Document, Event, Interruption, Place, PlaceIndex, Run, Screen};

impl Screen {
    /// Returns the screen as text, in colour if requested. The lines keep their original width.
    pub fn text(&self, color: bool) -> String {
        let mut lines = Lines::new(&Style { color, ..Style::default() });
        for pieces in &self.lines {
            let piece = |line: Line, (paint, text): &(String, String)| {
                line.with(Paint::named(paint).unwrap_or(Paint::Plain), text)
            };
            lines.uncut(pieces.iter().fold(Line::default(), piece));
        }
        lines.finish()
    }
}

impl Document {
    /// Returns the place with this index.
    pub fn place(&self, index: PlaceIndex) -> Option<&Place> {
        self.places.get(usize::try_from(index?).ok()?)
    }
}

/// The maximum number of decisive events.
const DECISIVE_MAX: usize = 3;

impl Interruption {
    /// Returns the decisive events of other tasks. A report of an earlier version does not contain them. For such a
    /// report, the function returns the first events of other tasks in the region.
    pub fn decisive_events<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = &'a Event> {
        let is_known = self.decisive.0.is_some();
        let numbers = self.decisive.0.as_ref().unwrap_or(&self.between);
        let event = move |number: &u64| run.events.iter().find(|event| event.event == *number);
        let events = numbers.iter().filter_map(event);
        events.filter(move |event| is_known || !event.quiet).take(DECISIVE_MAX)
    }
}
