//! Text with colours, in lines no wider than the screen.
//!
//! All text of a report passes through [`clean`] on its way into a [`Line`], so neither a task's name nor a
//! panic message can move the cursor, change colours or reorder the output. A character counts as one column.

/// The style of a report: colours and width.
///
/// ```
/// use unpause_check::picture::Style;
/// let style = Style { color: true, ..Style::default() };
/// assert_eq!(style.width, 100);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Use ANSI colours.
    pub color: bool,
    /// The width in columns of all lines, except a file name or command that is meant to be copied. Clamped to
    /// [`Style::WIDTH_MIN`]..=[`Style::WIDTH_MAX`].
    pub width: usize,
}

impl Style {
    /// The least width that is used, in columns.
    pub const WIDTH_MIN: usize = 40;

    /// The greatest width that is used, in columns, because some lines are filled up to it.
    pub const WIDTH_MAX: usize = 1000;
}

impl Default for Style {
    /// No colours, 100 columns.
    fn default() -> Style {
        Style { color: false, width: 100 }
    }
}

/// The purpose of a piece of text, which determines its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paint {
    Plain,
    /// The most important text.
    Strong,
    /// Details.
    Faint,
    /// An error.
    Bad,
    /// A success.
    Good,
    /// A warning.
    Notice,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Strong => "\x1b[1m",
            Paint::Faint => "\x1b[2m",
            Paint::Bad => "\x1b[1;31m",
            Paint::Good => "\x1b[32m",
            Paint::Notice => "\x1b[33m",
        }
    }
}

/// A line of painted cells.
#[derive(Clone, Default)]
pub struct Line {
    cells: Vec<(char, Paint)>,
}

impl Line {
    /// A line of one text.
    pub fn of(paint: Paint, text: &str) -> Line {
        Line::default().with(paint, text)
    }

    /// This line and a text at its end.
    pub fn with(mut self, paint: Paint, text: &str) -> Line {
        let end = self.width();
        self.put(end, paint, text);
        self
    }

    /// Writes a text over the cells from a column on, padded with blanks up to there.
    pub fn put(&mut self, column: usize, paint: Paint, text: &str) {
        for (i, c) in clean(text).chars().enumerate() {
            self.put_char(column + i, paint, c);
        }
    }

    /// Writes a character, which must not be a control character, over the cell at a column.
    pub fn put_char(&mut self, column: usize, paint: Paint, c: char) {
        if self.cells.len() <= column {
            self.cells.resize(column + 1, (' ', Paint::Plain));
        }
        self.cells[column] = (c, paint);
    }

    /// The width in columns.
    pub fn width(&self) -> usize {
        self.cells.len()
    }

    fn cut(&mut self, width: usize) {
        if self.cells.len() > width {
            self.cells.truncate(width - 1);
            self.cells.push(('…', Paint::Faint));
        }
    }

    fn render(mut self, color: bool, out: &mut String) {
        while self.cells.last().is_some_and(|(c, _)| *c == ' ') {
            self.cells.pop();
        }
        let mut current = Paint::Plain;
        for (c, paint) in self.cells {
            // A blank looks the same in every paint, so it need not end a colour.
            if color && paint != current && c != ' ' {
                out.push_str(if current == Paint::Plain { "" } else { "\x1b[0m" });
                out.push_str(paint.code());
                current = paint;
            }
            out.push(c);
        }
        out.push_str(if current == Paint::Plain { "" } else { "\x1b[0m" });
        out.push('\n');
    }
}

/// The lines of a report.
pub struct Screen {
    style: Style,
    out: String,
}

impl Screen {
    pub fn new(style: &Style) -> Screen {
        let width = style.width.clamp(Style::WIDTH_MIN, Style::WIDTH_MAX);
        Screen { style: Style { width, ..*style }, out: String::new() }
    }

    /// The maximum width of a line, in columns.
    pub fn width(&self) -> usize {
        self.style.width
    }

    /// Adds a line and cuts it at the width.
    pub fn line(&mut self, mut line: Line) {
        line.cut(self.style.width);
        line.render(self.style.color, &mut self.out);
    }

    /// Adds a line that is meant to be copied and so is never cut.
    pub fn uncut(&mut self, line: Line) {
        line.render(self.style.color, &mut self.out);
    }

    /// Adds an empty line, unless there is one already.
    pub fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Adds a heading, with a remark and a rule that fills the line.
    pub fn heading(&mut self, title: &str, remark: &str) {
        self.blank();
        let mut line = Line::of(Paint::Faint, "── ").with(Paint::Strong, title);
        if !remark.is_empty() {
            let room = self.style.width.saturating_sub(line.width() + 5);
            line = line.with(Paint::Faint, " ── ").with(Paint::Plain, &cut(remark, room));
        }
        line = line.with(Paint::Faint, " ");
        for column in line.width()..self.style.width {
            line.put_char(column, Paint::Faint, '─');
        }
        self.line(line);
        self.blank();
    }

    /// Adds a text wrapped at blanks. `label` stands before its first line, in `indent + label` columns, which
    /// stay blank in the other lines.
    pub fn paragraph(&mut self, indent: usize, label: (Paint, &str), body: (Paint, &str)) {
        let hang = indent + label.1.chars().count();
        let room = self.style.width.saturating_sub(hang).max(8);
        let mut first = true;
        for part in body.1.lines() {
            for text in wrap(&clean(&part.replace('\t', "    ")), room) {
                let mut line = Line::default();
                if first {
                    line.put(indent, label.0, label.1);
                }
                line.put(hang, body.0, &text);
                self.line(line);
                first = false;
            }
        }
    }

    pub fn finish(self) -> String {
        self.out
    }
}

/// Escapes all characters that do not fill exactly one cell: control characters, characters without width and
/// those that change the direction of writing. Removes colour sequences, which assertion libraries put into
/// messages.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = after_color(rest) {
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c.is_control() || is_invisible(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The rest of a text after the ANSI colour sequence at its beginning.
fn after_color(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("\x1b[")?;
    rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// A count with its noun: `1 step`, `2 steps`, `2 switches`.
pub fn plural(n: impl Into<u64>, noun: &str) -> String {
    let n: u64 = n.into();
    let ending = if noun.ends_with("ch") { "es" } else { "s" };
    format!("{n} {noun}{}", if n == 1 { "" } else { ending })
}

/// The text, or as much of its beginning as fits.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Splits the text into pieces of at most `width` columns, at blanks if there are any. All pieces are indented
/// like the text.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let blanks = |chars: &[char]| chars.iter().take_while(|c| **c == ' ').count();
    let chars: Vec<char> = text.trim_end().chars().collect();
    let indent = blanks(&chars).min(width / 2);
    let room = width - indent;
    let mut rest = &chars[blanks(&chars)..];
    let mut pieces = Vec::new();
    loop {
        let at = if rest.len() <= room {
            rest.len()
        } else {
            (1..=room).rev().find(|i| rest[*i] == ' ').unwrap_or(room)
        };
        pieces.push(format!("{:indent$}{}", "", String::from_iter(&rest[..at])));
        rest = &rest[at..];
        rest = &rest[blanks(rest)..];
        if rest.is_empty() {
            return pieces;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_blanks_and_else_anywhere() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap("    ab cd", 8), ["    ab", "    cd"]);
    }

    #[test]
    fn control_characters_are_escaped_and_colours_dropped() {
        assert_eq!(clean("a\x1b[1;31mb\x1b[0m"), "ab");
        assert_eq!(clean("a\x1b[2Jb\r\n\u{202e}"), "a\\u{1b}[2Jb\\r\\n\\u{202e}");
    }

    #[test]
    fn colours_end_with_the_line() {
        let mut screen = Screen::new(&Style { color: true, width: 80 });
        screen.line(Line::of(Paint::Bad, "FAILED").with(Paint::Plain, "  name  "));
        assert_eq!(screen.finish(), "\x1b[1;31mFAILED  \x1b[0mname\n");
    }
}
