//! Coloured text in lines that are no wider than the screen.
//!
//! All text of a report passes through [`clean`] before it enters a [`Line`], so no task name or panic message can move
//! the cursor, change colours or reorder the output. A character occupies as many [columns] as on a terminal.

use super::width;
pub use super::width::columns;

/// The style of a report: colours and width.
///
/// ```
/// use unpause_check::picture::Style;
/// let style = Style { color: true, ..Style::default() };
/// assert_eq!(style.width, 100);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// True to use ANSI colours.
    pub color: bool,
    /// The maximum width of lines, in columns. Lines that users copy, such as file names and commands, may be wider.
    /// Clamped to [`Style::WIDTH_MIN`]..=[`Style::WIDTH_MAX`].
    pub width: usize,
}

impl Style {
    /// The minimum width in columns.
    pub const WIDTH_MIN: usize = 40;

    /// The maximum width in columns, needed because some lines are padded to the full width.
    pub const WIDTH_MAX: usize = 1000;
}

impl Default for Style {
    /// Returns a style without colours, with 100 columns.
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

    /// All paints.
    const ALL: [Paint; 6] =
        [Paint::Plain, Paint::Strong, Paint::Faint, Paint::Bad, Paint::Good, Paint::Notice];

    /// Returns the paint that begins with this code, or plain for the reset code.
    pub fn of_code(code: &str) -> Paint {
        Paint::ALL.into_iter().find(|paint| paint.code() == code).unwrap_or(Paint::Plain)
    }

    /// Returns the name of the paint, for files.
    pub fn name(self) -> &'static str {
        match self {
            Paint::Plain => "plain",
            Paint::Strong => "strong",
            Paint::Faint => "faint",
            Paint::Bad => "bad",
            Paint::Good => "good",
            Paint::Notice => "notice",
        }
    }

    /// Returns the paint with this name.
    pub fn named(name: &str) -> Option<Paint> {
        Paint::ALL.into_iter().find(|paint| paint.name() == name)
    }
}

/// A line of coloured cells, one for each column.
#[derive(Clone, Default)]
pub struct Line {
    cells: Vec<(char, Paint)>,
    /// Characters of zero width, each with the column of the preceding character; in order within a column.
    marks: Vec<(usize, char)>,
}

/// The second cell of a character that occupies two columns.
const COVERED: char = '\0';

impl Line {
    /// Creates a line with one text.
    pub fn of(paint: Paint, text: &str) -> Line {
        Line::default().with(paint, text)
    }

    /// Appends a text to this line.
    pub fn with(mut self, paint: Paint, text: &str) -> Line {
        let end = self.width();
        self.put(end, paint, text);
        self
    }

    /// Writes a text over the cells from a column on. Pads the line with blanks up to this column if necessary.
    pub fn put(&mut self, column: usize, paint: Paint, text: &str) {
        let (mut at, mut base) = (column, None);
        for c in clean(text).chars() {
            match (width::of(c), base) {
                (0, Some(base)) => self.marks.push((base, c)),
                // A combining mark without a preceding character occupies its own column.
                (0, None) => {
                    self.put_char(at, paint, ' ');
                    self.marks.push((at, c));
                    base = Some(at);
                    at += 1;
                }
                (columns, _) => {
                    self.put_char(at, paint, c);
                    base = Some(at);
                    at += columns;
                }
            }
        }
    }

    /// Writes a character over the cells from a column on. The character must not be a control character.
    pub fn put_char(&mut self, column: usize, paint: Paint, c: char) {
        let end = column + width::of(c).max(1);
        if self.cells.len() < end {
            self.cells.resize(end, (' ', Paint::Plain));
        }
        // If half of a wide character is overwritten, the other half becomes a blank.
        if self.cells[column].0 == COVERED {
            self.cells[column - 1].0 = ' ';
        }
        if self.cells.get(end).is_some_and(|(c, _)| *c == COVERED) {
            self.cells[end].0 = ' ';
        }
        if !self.marks.is_empty() {
            self.marks.retain(|(at, _)| !(column..end).contains(at));
        }
        self.cells[column] = (c, paint);
        self.cells[column + 1..end].fill((COVERED, paint));
    }

    /// Returns the width in columns.
    pub fn width(&self) -> usize {
        self.cells.len()
    }

    fn cut(&mut self, width: usize) {
        if self.cells.len() > width {
            let is_half = self.cells[width - 1].0 == COVERED;
            self.cells.truncate(width - 1);
            if is_half {
                self.cells[width - 2].0 = ' ';
            }
            self.cells.push(('…', Paint::Faint));
            self.marks.retain(|(at, _)| at + 1 + usize::from(is_half) < width);
        }
    }

    fn render(mut self, color: bool, out: &mut String) {
        let marked = self.marks.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
        while self.cells.len() > marked && self.cells.last().is_some_and(|(c, _)| *c == ' ') {
            self.cells.pop();
        }
        let mut current = Paint::Plain;
        for (at, (c, paint)) in self.cells.into_iter().enumerate() {
            if c == COVERED {
                continue;
            }
            // A blank looks the same in every colour, so the colour need not change.
            if color && paint != current && c != ' ' {
                out.push_str(if current == Paint::Plain { "" } else { "\x1b[0m" });
                out.push_str(paint.code());
                current = paint;
            }
            out.push(c);
            out.extend(self.marks.iter().filter(|(column, _)| *column == at).map(|(_, mark)| mark));
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

    /// Returns the maximum width of a line, in columns.
    pub fn width(&self) -> usize {
        self.style.width
    }

    /// Adds a line, cut at the maximum width.
    pub fn line(&mut self, mut line: Line) {
        line.cut(self.style.width);
        line.render(self.style.color, &mut self.out);
    }

    /// Adds a line that is never cut, because users may copy it.
    pub fn uncut(&mut self, line: Line) {
        line.render(self.style.color, &mut self.out);
    }

    /// Adds an empty line, unless the last line is already empty.
    pub fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Adds a heading with a remark, and a rule that fills the line.
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

    /// Adds a text, wrapped at blanks. `label` precedes the first line and takes `indent + label` columns, which stay
    /// blank in the other lines.
    pub fn paragraph(&mut self, indent: usize, label: (Paint, &str), body: (Paint, &str)) {
        let hang = indent + columns(label.1);
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

/// Escapes characters that a terminal would not display as themselves: control characters, invisible characters, and
/// characters that change the writing direction. Removes colour sequences, because assertion libraries insert them into
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

/// Returns the rest of a text after the ANSI colour sequence at its beginning; `None` if it does not begin with a
/// colour sequence.
fn after_color(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("\x1b[")?;
    rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Returns a count with its noun: `1 step`, `2 steps`, `2 switches`, `2 classes`, `2 histories`.
pub fn plural(n: impl Into<u64>, noun: &str) -> String {
    let n: u64 = n.into();
    let (stem, ending) = match noun.strip_suffix('y') {
        _ if n == 1 => (noun, ""),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => (stem, "ies"),
        _ if noun.ends_with("ch") || noun.ends_with("ss") => (noun, "es"),
        _ => (noun, "s"),
    };
    format!("{n} {stem}{ending}")
}

/// Returns a share, from 0 to 1, in percent with this number of decimal digits: `12.5`. A small share above zero is
/// shown as `< 0.1` and not as `0.0`, and a large share below one as `> 99.9` and not as `100.0`.
#[doc(hidden)]
pub fn percent(share: f64, digits: usize) -> String {
    let shown = |percent: f64| format!("{percent:.digits$}");
    let (text, least) = (shown(100.0 * share), (0..digits).fold(1.0, |least, _| least / 10.0));
    match share {
        share if share > 0.0 && text == shown(0.0) => format!("< {}", shown(least)),
        share if share < 1.0 && text == shown(100.0) => format!("> {}", shown(100.0 - least)),
        _ => text,
    }
}

/// Returns the text if it fits, otherwise its beginning and `…`.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut out = text[..fitting(text, width.saturating_sub(1))].to_owned();
    out.push('…');
    out
}

/// Returns the byte length of the longest beginning of a text that fits into `room` columns.
fn fitting(text: &str, room: usize) -> usize {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += width::of(*c);
        used > room
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// Splits the text into pieces of at most `width` columns, at blanks if possible. All pieces have the indentation of
/// the text.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = text.trim_end();
    let begin = text.len() - text.trim_start_matches(' ').len();
    let indent = begin.min(width / 2);
    let room = width - indent;
    let mut rest = &text[begin..];
    let mut pieces = Vec::new();
    loop {
        let whole = fitting(rest, room);
        let at = match rest[whole..].chars().next() {
            None => whole,
            Some(' ') => outside_of_code(rest, whole),
            Some(next) => match rest[..whole].rfind(' ') {
                Some(blank) if blank > 0 => outside_of_code(rest, blank),
                // A character wider than the room becomes a separate piece.
                _ if whole == 0 => next.len_utf8(),
                _ => whole,
            },
        };
        pieces.push(format!("{:indent$}{}", "", &rest[..at]));
        rest = rest[at..].trim_start_matches(' ');
        if rest.is_empty() {
            return pieces;
        }
    }
}

/// Returns the last blank before the code in backticks that contains this blank. Returns the blank itself if it is not
/// in code, or if the line would become empty.
fn outside_of_code(text: &str, blank: usize) -> usize {
    let before = &text[..blank];
    let is_code = before.matches('`').count() % 2 == 1 && text[blank..].contains('`');
    let open = before.rfind('`').filter(|_| is_code);
    open.and_then(|open| text[..open].rfind(' ')).filter(|outer| *outer > 0).unwrap_or(blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_backticks_is_broken_only_if_it_begins_the_line() {
        assert_eq!(wrap("came `store a := 1` of b", 16), ["came", "`store a := 1`", "of b"]);
        assert_eq!(wrap("came `store a` := 1", 14), ["came `store a`", ":= 1"]);
        assert_eq!(wrap("`one two three` four", 9), ["`one two", "three`", "four"]);
        assert_eq!(wrap("a ` b c d", 5), ["a ` b", "c d"]);
    }

    #[test]
    fn a_text_is_broken_at_blanks_and_else_anywhere() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap("    ab cd", 8), ["    ab", "    cd"]);
    }

    #[test]
    fn a_count_other_than_one_has_the_plural_of_its_noun() {
        for (n, noun, expected) in [
            (0u64, "step", "0 steps"),
            (1, "history", "1 history"),
            (2, "history", "2 histories"),
            (2, "replay", "2 replays"),
            (2, "switch", "2 switches"),
            (3, "process", "3 processes"),
            (2, "class", "2 classes"),
            (2, "other file", "2 other files"),
        ] {
            assert_eq!(plural(n, noun), expected);
        }
    }

    #[test]
    fn a_share_is_rounded_neither_to_nothing_nor_to_all() {
        for (share, digits, expected) in [
            (0.0, 2, "0.00"),
            (1.0, 2, "100.00"),
            (0.125, 1, "12.5"),
            (0.000_04, 2, "< 0.01"),
            (0.000_06, 2, "0.01"),
            (0.999_99, 2, "> 99.99"),
            (0.999_97, 1, "> 99.9"),
            (0.0004, 1, "< 0.1"),
            (0.995, 0, "> 99"),
            (0.004, 0, "< 1"),
            (0.98, 0, "98"),
            (f64::NAN, 1, "NaN"),
        ] {
            assert_eq!(percent(share, digits), expected, "{share} {digits}");
        }
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        assert_eq!(cut("計數器", 6), "計數器");
        assert_eq!(cut("計數器", 5), "計數…");
        assert_eq!(cut("計數器", 4), "計…");
        assert_eq!(wrap("計數 器計", 4), ["計數", "器計"]);
        assert_eq!(wrap("計數器", 3), ["計", "數", "器"]);
        assert_eq!(wrap("計", 1), ["計"]);
        let mut line = Line::of(Paint::Plain, "計e\u{301}數");
        assert_eq!(line.width(), 5);
        line.put(8, Paint::Plain, "end");
        let shown = |line: &Line| {
            let mut screen = Screen::new(&Style { width: 40, ..Style::default() });
            screen.line(line.clone());
            screen.finish()
        };
        assert_eq!(shown(&line), "計e\u{301}數   end\n");
        // If one half of a wide character is overwritten or cut off by the edge, the other half becomes a blank.
        // edge.
        line.put(1, Paint::Plain, "x");
        assert_eq!(shown(&line), " xe\u{301}數   end\n");
        line.put(2, Paint::Plain, "y");
        assert_eq!(shown(&line), " xy數   end\n");
        let long = shown(&Line::of(Paint::Plain, &"計".repeat(30)));
        assert_eq!(long, format!("{} …\n", "計".repeat(19)));
        assert_eq!(columns(long.trim_end()), 40);
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
