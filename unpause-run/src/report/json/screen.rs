//! The screen as lines of painted pieces, so that a reader can show it with or without colors.

use super::writer::Writer;
use unpause_check::picture::Style;
use unpause_check::picture::screen::Paint;

/// Writes a screen that was rendered with colors.
pub(super) fn write(w: &mut Writer, screen: &str, style: &Style) {
    w.open_field("screen", '{');
    w.number("width", style.width as u64);
    w.open_field("lines", '[');
    for line in screen.lines() {
        w.open('[');
        for (paint, text) in pieces(line) {
            w.open('[');
            w.item(paint.name());
            w.item(text);
            w.close(']');
        }
        w.close(']');
    }
    w.close(']');
    w.close('}');
}

/// Splits a line at its color changes. User text contains no escape characters, because the screen
/// removes them.
fn pieces(line: &str) -> Vec<(Paint, &str)> {
    let mut pieces = Vec::new();
    let (mut paint, mut rest) = (Paint::Plain, line);
    while !rest.is_empty() {
        let end = rest.find('\x1b').unwrap_or(rest.len());
        if end > 0 {
            pieces.push((paint, &rest[..end]));
        }
        rest = &rest[end..];
        let Some(length) = rest.find('m') else { break };
        paint = Paint::of_code(&rest[..=length]);
        rest = &rest[length + 1..];
    }
    pieces
}
