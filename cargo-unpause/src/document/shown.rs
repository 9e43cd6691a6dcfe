//! The screen of a report, as it was printed.

use sim::check::picture::Style;
use sim::check::picture::screen::Screen as Lines;
use sim::check::picture::screen::{Line, Paint};

use super::{Document, Place, PlaceIndex, Screen};

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
