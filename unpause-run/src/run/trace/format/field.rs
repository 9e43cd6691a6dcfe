//! The fields of a line (words, quoted texts, numbers and task paths): writing and reading.

use super::error::{ErrorKind, clip};
use crate::run::ids::{InvalidTaskPath, TaskPath};

/// Appends `text` as one field. The field is bare if a reader gets the same text back, else it is
/// in quotes.
pub(super) fn push_text(out: &mut String, text: &str) {
    if is_bare(text) {
        out.push_str(text);
    } else {
        push_quoted(out, text);
    }
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_invisible(c) => out.push_str(&c.escape_unicode().to_string()),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A single `-` would mean an empty field, and `#` looks like a comment.
fn is_bare(text: &str) -> bool {
    !text.is_empty()
        && text != "-"
        && !text.starts_with('#')
        && !text.chars().any(|c| c == ' ' || c == '"' || is_invisible(c))
}

/// Returns `true` if `c` is invisible, or changes the visible order of the rest of the line.
///
/// The list does not use the tables of the standard library, because they follow Unicode versions,
/// and the text of a trace must not depend on the compiler.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{1680}' | '\u{180e}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{3000}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The fields of one line, from left to right.
pub(super) struct Fields<'a> {
    rest: &'a str,
}

/// A field as it was read.
#[derive(Debug)]
pub(super) enum Field<'a> {
    /// A bare word.
    Bare(&'a str),
    /// The text between quotes, without its escapes.
    Quoted(String),
}

impl<'a> Fields<'a> {
    /// Creates the fields of `line`, which contains no control characters except tabs.
    pub(super) fn new(line: &'a str) -> Fields<'a> {
        Fields { rest: line }
    }

    /// Returns the next field, if any.
    pub(super) fn field(&mut self) -> Result<Option<Field<'a>>, ErrorKind> {
        self.rest = self.rest.trim_start_matches(BLANK);
        if let Some(quoted) = self.rest.strip_prefix('"') {
            let (text, rest) = unquote(quoted)?;
            if !rest.is_empty() && !rest.starts_with(BLANK) {
                return Err(ErrorKind::Quote);
            }
            self.rest = rest;
            return Ok(Some(Field::Quoted(text)));
        }
        let (word, rest) = self.rest.split_at(self.rest.find(BLANK).unwrap_or(self.rest.len()));
        if word.contains('"') {
            return Err(ErrorKind::Quote);
        }
        if word.starts_with('#') {
            return Err(ErrorKind::Comment);
        }
        self.rest = rest;
        Ok((!word.is_empty()).then_some(Field::Bare(word)))
    }

    /// Returns the next field as a bare word.
    pub(super) fn word(&mut self, name: &'static str) -> Result<&'a str, ErrorKind> {
        match self.field()? {
            Some(Field::Bare(word)) => Ok(word),
            Some(Field::Quoted(text)) => Err(ErrorKind::Word { name, found: clip(&text) }),
            None => Err(ErrorKind::MissingField(name)),
        }
    }

    /// Returns the next field as a text.
    pub(super) fn text(&mut self, name: &'static str) -> Result<String, ErrorKind> {
        self.field()?.map(Field::into_text).ok_or(ErrorKind::MissingField(name))
    }

    /// Returns the next field as a number.
    pub(super) fn number(&mut self, name: &'static str) -> Result<u64, ErrorKind> {
        let word = self.word(name)?;
        number(word).ok_or_else(|| ErrorKind::Number { name, found: clip(word) })
    }

    /// Checks that the line ends here.
    pub(super) fn finish(mut self) -> Result<(), ErrorKind> {
        match self.field()? {
            None => Ok(()),
            Some(field) => Err(ErrorKind::ExtraField(clip(&field.into_text()))),
        }
    }
}

impl Field<'_> {
    /// Returns the text of the field.
    pub(super) fn into_text(self) -> String {
        match self {
            Field::Bare(word) => word.to_owned(),
            Field::Quoted(text) => text,
        }
    }

    /// Returns the text of a field in which `-` means the empty text.
    pub(super) fn into_values(self) -> String {
        match self {
            Field::Bare("-") => String::new(),
            field => field.into_text(),
        }
    }
}

/// The white space that separates fields and is ignored around a line.
pub(super) const BLANK: [char; 2] = [' ', '\t'];

/// Returns the text up to the closing quote, and the rest after the quote.
fn unquote(quoted: &str) -> Result<(String, &str), ErrorKind> {
    let end = closing_quote(quoted).ok_or(ErrorKind::Quote)?;
    let (escaped, rest) = (&quoted[..end], &quoted[end + 1..]);
    let mut text = String::with_capacity(escaped.len());
    let mut parts = escaped.split('\\');
    text.push_str(parts.next().unwrap_or_default());
    while let Some(part) = parts.next() {
        let mut after = part.chars();
        match after.next() {
            Some('"') => text.push('"'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('u') => {
                let (c, rest) = code_point(after.as_str()).ok_or_else(|| escape(part))?;
                text.push(c);
                after = rest.chars();
            }
            // Two successive backslashes: the part between them is empty, and the part after the
            // second backslash is plain text.
            None => {
                text.push('\\');
                after = parts.next().ok_or_else(|| escape(part))?.chars();
            }
            Some(_) => return Err(escape(part)),
        }
        text.push_str(after.as_str());
    }
    Ok((text, rest))
}

fn closing_quote(quoted: &str) -> Option<usize> {
    let mut escaped = false;
    quoted.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// Parses the character of `{hex}`. Returns the character with the rest of the text.
fn code_point(text: &str) -> Option<(char, &str)> {
    let (hex, rest) = text.strip_prefix('{')?.split_once('}')?;
    let plain = (1..=6).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit());
    let code = plain.then(|| u32::from_str_radix(hex, 16).ok())??;
    Some((char::from_u32(code)?, rest))
}

fn escape(part: &str) -> ErrorKind {
    ErrorKind::Escape(clip(part))
}

/// Parses a decimal number below 2^64. `str::parse` alone would also accept a sign.
pub(super) fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Parses a task path in the canonical form that `TaskPath` writes. Without this check, `0.01`
/// would be a second name of `0.1`.
pub(super) fn task_path(text: &str) -> Result<TaskPath, InvalidTaskPath> {
    let canonical = |part: &str| part == "0" || !part.starts_with('0');
    if text.split('.').all(canonical) { text.parse() } else { Err(InvalidTaskPath) }
}

/// Returns `true` if `word` is a valid operation name.
pub(super) fn is_op(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Returns `true` if `word` is a valid object kind.
pub(super) fn is_kind(word: &str) -> bool {
    is_op(word) && !word.contains('_')
}
