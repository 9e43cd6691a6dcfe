//! JSON: one event a line, or all of them in an array.
//!
//! A reader of our own, because it must stream, hold no more than one event, limit depth and size, report line
//! and column, and keep numbers of more than 64 bits exactly. The tests compare it with `serde_json`.

use unpause_check::datum::Datum;
use unpause_check::picture::screen::cut;

use super::names::NameTable;
use super::value::FileValues;
use crate::problem::{Problem, ProblemKind};
use crate::source::{DEPTH_MAX, FileReader, NUMBER_MAX, utf8};

pub(super) struct Json<'a> {
    source: FileReader<'a>,
    names: NameTable,
    array: Array,
}

/// The position of the reader in an outer array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Array {
    Unknown,
    None,
    First,
    Inside,
    Closed,
}

impl<'a> Json<'a> {
    pub(super) fn new(source: FileReader<'a>) -> Json<'a> {
        Json { source, names: NameTable::default(), array: Array::Unknown }
    }

    fn blank(&mut self) -> Result<Option<u8>, Problem> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.source.peek()? {
            self.source.next()?;
        }
        self.source.peek()
    }

    fn expected<T>(&mut self, what: &str) -> Result<T, Problem> {
        let found = self.source.found()?;
        self.source.syntax(format!("expected {what}, found {found}"))
    }

    fn value(&mut self, depth: usize) -> Result<Datum, Problem> {
        self.source.count_item()?;
        if depth > DEPTH_MAX {
            let message = format!("values are nested deeper than {DEPTH_MAX}");
            return Err(Problem::at(self.source.at(), ProblemKind::Limit, message));
        }
        match self.blank()? {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Datum::Text(self.text()?.as_str().into())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't' | b'f' | b'n') => self.word(),
            _ => self.expected("a value"),
        }
    }

    fn word(&mut self) -> Result<Datum, Problem> {
        let at = self.source.at();
        let mut word = Vec::new();
        self.source.take_while(&mut word, |byte| byte.is_ascii_alphanumeric() && byte != b'"')?;
        match &word[..] {
            b"true" => Ok(true.into()),
            b"false" => Ok(false.into()),
            b"null" => Ok(Datum::Nil),
            _ => {
                let word = utf8(at, word)?;
                let message = format!("expected a value, found `{}`; quote texts", cut(&word, 20));
                Err(Problem::at(at, ProblemKind::Syntax, message))
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Datum, Problem> {
        self.source.next()?;
        let mut items = Vec::new();
        if self.blank()? == Some(b']') {
            self.source.next()?;
            return Ok(Datum::list(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            match self.blank()? {
                Some(b',') => self.source.next()?,
                Some(b']') => break,
                _ => return self.expected("`,` or `]`"),
            };
        }
        self.source.next()?;
        Ok(Datum::List(items.into()))
    }

    fn object(&mut self, depth: usize) -> Result<Datum, Problem> {
        let at = self.source.at();
        self.source.next()?;
        let mut entries = Vec::new();
        if self.blank()? == Some(b'}') {
            self.source.next()?;
            return Ok(Datum::map(entries));
        }
        loop {
            if self.blank()? != Some(b'"') {
                return self.expected("a name in quotes");
            }
            let name = self.text()?;
            let name = Datum::Text(self.names.name(&name));
            if self.blank()? != Some(b':') {
                return self.expected("`:`");
            }
            self.source.next()?;
            entries.push((name, self.value(depth + 1)?));
            match self.blank()? {
                Some(b',') => self.source.next()?,
                Some(b'}') => break,
                _ => return self.expected("`,` or `}`"),
            };
        }
        self.source.next()?;
        super::value::map(at, entries)
    }

    fn number(&mut self) -> Result<Datum, Problem> {
        let at = self.source.at();
        let mut bytes = Vec::new();
        let digits = |source: &mut FileReader<'_>, bytes: &mut Vec<u8>| {
            let before = bytes.len();
            source.take_while(bytes, |byte| byte.is_ascii_digit())?;
            Ok::<bool, Problem>(bytes.len() > before)
        };
        if self.source.take(b'-')? {
            bytes.push(b'-');
        }
        let first = bytes.len();
        if !digits(&mut self.source, &mut bytes)? {
            return self.expected("a digit");
        }
        if bytes[first] == b'0' && bytes.len() > first + 1 {
            return Err(Problem::at(at, ProblemKind::Syntax, "a number must not begin with 0"));
        }
        if self.source.take(b'.')? {
            bytes.push(b'.');
            if !digits(&mut self.source, &mut bytes)? {
                return self.expected("a digit");
            }
        }
        if let Some(byte @ (b'e' | b'E')) = self.source.peek()? {
            bytes.push(byte);
            self.source.next()?;
            if let Some(sign @ (b'+' | b'-')) = self.source.peek()? {
                bytes.push(sign);
                self.source.next()?;
            }
            if !digits(&mut self.source, &mut bytes)? {
                return self.expected("a digit");
            }
        }
        if bytes.len() > NUMBER_MAX {
            let message = format!("a number of more than {NUMBER_MAX} digits; write it as a text");
            return Err(Problem::at(at, ProblemKind::Limit, message));
        }
        let text = utf8(at, bytes)?;
        Ok(Datum::decimal(&text).unwrap_or_else(|| Datum::Number(text.as_str().into())))
    }

    fn text(&mut self) -> Result<String, Problem> {
        let at = self.source.at();
        self.source.next()?;
        let mut bytes = Vec::new();
        let is_plain = |byte| byte != b'"' && byte != b'\\' && byte >= 0x20;
        loop {
            self.source.take_while(&mut bytes, is_plain)?;
            match self.source.peek()? {
                Some(b'"') => {
                    self.source.next()?;
                    return utf8(Self::inside(at), bytes);
                }
                Some(b'\\') => {
                    self.source.next()?;
                    let letter = self.escape()?;
                    bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
                }
                None => {
                    let message = "this text is not closed before the file ends";
                    return Err(Problem::at(at, ProblemKind::Syntax, message));
                }
                Some(_) => return self.expected("a text without control characters"),
            }
        }
    }

    /// The place just after the quote.
    fn inside(mut at: crate::FilePlace) -> crate::FilePlace {
        at.column += 1;
        at
    }

    fn escape(&mut self) -> Result<char, Problem> {
        let letter = match self.source.peek()? {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return self.expected("one of `\"\\/bfnrtu` after `\\`"),
        };
        self.source.next()?;
        Ok(letter)
    }

    fn unicode(&mut self) -> Result<char, Problem> {
        let at = self.source.at();
        self.source.next()?;
        let high = super::value::hex(&mut self.source)?;
        let mut code = high;
        if (0xd800..0xdc00).contains(&high) && self.source.take(b'\\')? && self.source.take(b'u')? {
            let low = super::value::hex(&mut self.source)?;
            if (0xdc00..0xe000).contains(&low) {
                code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            }
        }
        char::from_u32(code).ok_or_else(|| {
            Problem::at(at, ProblemKind::Syntax, "half of a surrogate pair is no character")
        })
    }
}

impl FileValues for Json<'_> {
    fn next(&mut self) -> Result<Option<(crate::FilePlace, Datum)>, Problem> {
        self.source.begin_event();
        let next = self.blank()?;
        if self.array == Array::Unknown {
            self.array = if next == Some(b'[') { Array::First } else { Array::None };
            if next == Some(b'[') {
                self.source.next()?;
            }
        }
        let next = self.blank()?;
        match self.array {
            Array::First | Array::Inside if next == Some(b']') => {
                self.source.next()?;
                self.array = Array::Closed;
            }
            Array::Inside if next == Some(b',') => {
                self.source.next()?;
                self.blank()?;
            }
            Array::Inside => return self.expected("`,` or `]`"),
            Array::First => self.array = Array::Inside,
            Array::Unknown | Array::None | Array::Closed => {}
        }
        let next = self.blank()?;
        match self.array {
            Array::Closed if next.is_some() => self.expected("nothing after the array"),
            Array::Closed => Ok(None),
            Array::None if next.is_none() => Ok(None),
            _ => {
                let at = self.source.at();
                Ok(Some((at, self.value(1)?)))
            }
        }
    }
}
