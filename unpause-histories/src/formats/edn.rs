//! EDN in Jepsen's form: one map per line, or all maps in a vector or list.
//!
//! The reader also accepts the tagged records of Jepsen 0.3 and later, comments, discarded forms, metadata, and maps
//! with a namespace. The reader accepts values that Clojure prints but cannot read back, such as `#object[…]`. The
//! reader does not accept program forms: quotes, functions, regular expressions.

use std::sync::Arc;

use unpause_check::datum::Datum;

use super::names::NameTable;
use super::value::FileValues;
use crate::problem::{FilePlace, Problem, ProblemKind, shown};
use crate::source::{DEPTH_MAX, FileReader, NUMBER_MAX, utf8};

pub(super) struct Edn<'a> {
    source: FileReader<'a>,
    names: NameTable,
    /// The vector or list around the events: the place of its opening character, and its closing character.
    around: Option<(FilePlace, u8)>,
    /// `true` after the first value.
    began: bool,
}

impl<'a> Edn<'a> {
    pub(super) fn new(source: FileReader<'a>) -> Edn<'a> {
        Edn { source, names: NameTable::default(), around: None, began: false }
    }

    /// Reads a file that contains a single value.
    pub(super) fn single(mut self) -> Result<Datum, Problem> {
        self.source.begin_event();
        let value = self.value(1)?;
        if self.item(1)?.is_some() || self.source.peek()?.is_some() {
            return self.source.syntax("expected one value, found more");
        }
        Ok(value)
    }

    /// Returns the next value of any kind, or `None` at the end.
    pub(super) fn plain(&mut self) -> Result<Option<Datum>, Problem> {
        self.item(1)
    }

    /// Skips whitespace and comments, and returns the next byte without consuming it.
    fn blank(&mut self) -> Result<Option<u8>, Problem> {
        loop {
            match self.source.peek()? {
                Some(byte) if is_blank(byte) => {
                    self.source.next()?;
                }
                Some(b';') => {
                    while !matches!(self.source.peek()?, None | Some(b'\n')) {
                        self.source.next()?;
                    }
                }
                other => return Ok(other),
            }
        }
    }

    fn expected<T>(&mut self, what: &str) -> Result<T, Problem> {
        let found = self.source.found()?;
        self.source.syntax(format!("expected {what}, found {found}"))
    }

    /// Returns the next value, or `None` at a closing character or the end of the file.
    fn item(&mut self, depth: usize) -> Result<Option<Datum>, Problem> {
        loop {
            self.source.count_item()?;
            if depth > DEPTH_MAX {
                let message = format!("values are nested deeper than {DEPTH_MAX}");
                return Err(Problem::at(self.source.at(), ProblemKind::Limit, message));
            }
            return Ok(Some(match self.blank()? {
                None | Some(b']' | b')' | b'}') => return Ok(None),
                Some(b'{') => self.map(depth)?,
                Some(b'[') => Datum::List(self.items(depth, b']')?.into()),
                Some(b'(') => Datum::List(self.items(depth, b')')?.into()),
                Some(b'"') => Datum::Text(self.text()?.as_str().into()),
                Some(b':') => self.keyword()?,
                Some(b'\\') => self.character()?,
                Some(b'^') => {
                    self.source.next()?;
                    self.value(depth + 1)?;
                    continue;
                }
                Some(b'#') => match self.dispatch(depth)? {
                    Some(value) => value,
                    None => continue,
                },
                Some(b'+' | b'-' | b'0'..=b'9') => self.number_or_symbol()?,
                Some(byte) if is_symbol(byte) => self.symbol()?,
                Some(_) => return self.expected("a value"),
            }));
        }
    }

    fn value(&mut self, depth: usize) -> Result<Datum, Problem> {
        match self.item(depth)? {
            Some(value) => Ok(value),
            None => self.expected("a value"),
        }
    }

    fn items(&mut self, depth: usize, close: u8) -> Result<Vec<Datum>, Problem> {
        let at = self.source.at();
        self.source.next()?;
        let mut items = Vec::new();
        while let Some(item) = self.item(depth + 1)? {
            items.push(item);
        }
        self.close(at, close)?;
        Ok(items)
    }

    fn close(&mut self, opened: FilePlace, close: u8) -> Result<(), Problem> {
        if self.source.take(close)? {
            return Ok(());
        }
        let (close, found) = (char::from(close), self.source.found()?);
        self.source
            .syntax(format!("expected `{close}` for what was opened at {opened}, found {found}"))
    }

    fn map(&mut self, depth: usize) -> Result<Datum, Problem> {
        let at = self.source.at();
        self.source.next()?;
        let mut entries = Vec::new();
        while let Some(key) = self.item(depth + 1)? {
            let Some(value) = self.item(depth + 1)? else {
                return self.expected("a value for the key");
            };
            entries.push((key, value));
        }
        self.close(at, b'}')?;
        super::value::map(at, entries)
    }

    /// Reads a form that begins with `#`; `None` if it is discarded.
    fn dispatch(&mut self, depth: usize) -> Result<Option<Datum>, Problem> {
        let at = self.source.at();
        self.source.next()?;
        match self.source.peek()? {
            Some(b'_') => {
                self.source.next()?;
                // The value is discarded, but it must be well-formed, because otherwise its end is unknown.
                self.value(depth + 1)?;
                Ok(None)
            }
            Some(b'{') => {
                let members = self.items(depth, b'}')?;
                let count = members.len();
                match Datum::set(members) {
                    Datum::Set(kept) if kept.len() == count => Ok(Some(Datum::Set(kept))),
                    _ => {
                        let message = "this set has a member twice";
                        Err(Problem::at(at, ProblemKind::Syntax, message))
                    }
                }
            }
            Some(b'#') => {
                self.source.next()?;
                let name = self.word()?;
                match &*name {
                    "NaN" => Ok(Some(f64::NAN.into())),
                    "Inf" => Ok(Some(f64::INFINITY.into())),
                    "-Inf" => Ok(Some(f64::NEG_INFINITY.into())),
                    _ => {
                        Err(Problem::at(at, ProblemKind::Syntax, "expected ##NaN, ##Inf or ##-Inf"))
                    }
                }
            }
            Some(b':') => {
                self.source.next()?;
                let space = self.word()?;
                let value = self.value(depth + 1)?;
                Ok(Some(in_namespace(space, value)))
            }
            Some(byte) if is_symbol(byte) && !byte.is_ascii_digit() => {
                let tag = self.word()?;
                let tag = self.names.name(&tag);
                Ok(Some(Datum::Tagged(tag, Arc::new(self.value(depth + 1)?))))
            }
            _ => self.expected("a set, a tag or `_` after `#`"),
        }
    }

    fn word(&mut self) -> Result<String, Problem> {
        let at = self.source.at();
        let mut bytes = Vec::new();
        self.source.take_while(&mut bytes, is_symbol)?;
        utf8(at, bytes)
    }

    fn keyword(&mut self) -> Result<Datum, Problem> {
        self.source.next()?;
        let name = self.word()?;
        if name.is_empty() {
            return self.expected("a name after `:`");
        }
        Ok(Datum::Keyword(self.names.name(&name)))
    }

    fn symbol(&mut self) -> Result<Datum, Problem> {
        let word = self.word()?;
        Ok(match &*word {
            "nil" => Datum::Nil,
            "true" => true.into(),
            "false" => false.into(),
            _ => Datum::Text(self.names.name(&word)),
        })
    }

    fn number_or_symbol(&mut self) -> Result<Datum, Problem> {
        let at = self.source.at();
        let word = self.word()?;
        if word.len() > NUMBER_MAX {
            let message = format!("a number of more than {NUMBER_MAX} digits; write it as a text");
            return Err(Problem::at(at, ProblemKind::Limit, message));
        }
        let digits = word.trim_start_matches(['+', '-']);
        if !digits.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(Datum::Text(self.names.name(&word)));
        }
        number(&word).ok_or_else(|| {
            let message = format!("{} is no number", shown(&word));
            Problem::at(at, ProblemKind::Syntax, message)
        })
    }

    fn character(&mut self) -> Result<Datum, Problem> {
        let at = self.source.at();
        self.source.next()?;
        let mut bytes = Vec::new();
        // The first byte may be any visible byte. Every further byte must be able to continue a name.
        if let Some(byte) = self.source.peek()?.filter(|byte| !is_blank(*byte)) {
            bytes.push(byte);
            self.source.next()?;
        }
        self.source.take_while(&mut bytes, |byte| is_symbol(byte) || byte >= 0x80)?;
        let name = utf8(at, bytes)?;
        let mut letters = name.chars();
        let letter = match (letters.next(), letters.next()) {
            (Some(letter), None) => Some(letter),
            (Some('u'), Some(_)) => {
                u32::from_str_radix(&name[1..], 16).ok().and_then(char::from_u32)
            }
            _ => match &*name {
                "newline" => Some('\n'),
                "space" => Some(' '),
                "tab" => Some('\t'),
                "return" => Some('\r'),
                "backspace" => Some('\u{8}'),
                "formfeed" => Some('\u{c}'),
                _ => None,
            },
        };
        match letter {
            Some(letter) => Ok(Datum::Character(letter)),
            None => {
                let message = format!("{} is no character", shown(&name));
                Err(Problem::at(at, ProblemKind::Syntax, message))
            }
        }
    }

    fn text(&mut self) -> Result<String, Problem> {
        let at = self.source.at();
        self.source.next()?;
        let mut bytes = Vec::new();
        loop {
            self.source.take_while(&mut bytes, |byte| byte != b'"' && byte != b'\\')?;
            if self.source.take(b'"')? {
                let at = FilePlace { column: at.column + 1, ..at };
                return utf8(at, bytes);
            }
            if !self.source.take(b'\\')? {
                let message = "this text is not closed before the file ends";
                return Err(Problem::at(at, ProblemKind::Syntax, message));
            }
            let letter = match self.source.peek()? {
                Some(byte @ (b'"' | b'\\' | b'\'')) => char::from(byte),
                Some(b'b') => '\u{8}',
                Some(b'f') => '\u{c}',
                Some(b'n') => '\n',
                Some(b'r') => '\r',
                Some(b't') => '\t',
                Some(b'u') => {
                    let at = self.source.at();
                    self.source.next()?;
                    let code = super::value::hex(&mut self.source)?;
                    // Clojure's texts are UTF-16 and may contain half of a surrogate pair, but a Rust string cannot.
                    let letter = char::from_u32(code).ok_or_else(|| {
                        let message = "half of a surrogate pair is no character";
                        Problem::at(at, ProblemKind::Syntax, message)
                    })?;
                    bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
                    continue;
                }
                _ => return self.expected("one of `\"\\bfnrtu` after `\\`"),
            };
            self.source.next()?;
            bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
        }
    }
}

impl FileValues for Edn<'_> {
    fn next(&mut self) -> Result<Option<(FilePlace, Datum)>, Problem> {
        self.source.begin_event();
        let first = self.blank()?;
        if !self.began {
            self.began = true;
            if let Some(open @ (b'[' | b'(')) = first {
                self.around = Some((self.source.at(), if open == b'[' { b']' } else { b')' }));
                self.source.next()?;
            }
        }
        self.blank()?;
        let at = self.source.at();
        if let Some(value) = self.item(1)? {
            return Ok(Some((at, value)));
        }
        if let Some((opened, close)) = self.around.take() {
            self.close(opened, close)?;
            self.source.begin_event();
            if self.item(1)?.is_none() && self.source.peek()?.is_none() {
                return Ok(None);
            }
            return self.source.syntax("expected nothing after the history");
        }
        match self.source.peek()? {
            None => Ok(None),
            Some(_) => self.expected("an event"),
        }
    }
}

/// Returns the number in a word: an integer, a fraction, or the word as written.
fn number(word: &str) -> Option<Datum> {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_plain = |text: &str| are_digits(text) && (text == "0" || !text.starts_with('0'));
    let positive = word.strip_prefix('+').unwrap_or(word);
    if let Some(hex) = unsigned.strip_prefix("0x") {
        let sign = if word.starts_with('-') { "-" } else { "" };
        return Datum::decimal(&format!("{sign}{}", decimal_of_hex(hex)?));
    }
    if is_plain(unsigned.strip_suffix('N').unwrap_or(unsigned)) {
        return Datum::decimal(positive.strip_suffix('N').unwrap_or(positive));
    }
    if let Some((above, below)) = unsigned.split_once('/') {
        return (is_plain(above) && is_plain(below) && below != "0")
            .then(|| Datum::Number(positive.into()));
    }
    let decimal = unsigned.strip_suffix('M').unwrap_or(unsigned);
    let (mantissa, exponent) = match decimal.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (decimal, None),
    };
    let (whole, rest) = match mantissa.split_once('.') {
        Some((whole, rest)) => (whole, rest),
        None => (mantissa, ""),
    };
    let has_exponent = exponent
        .is_none_or(|exponent| are_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    if !is_plain(whole) || !(rest.is_empty() || are_digits(rest)) || !has_exponent {
        return None;
    }
    let number = Datum::decimal(positive.strip_suffix('M').unwrap_or(positive));
    if decimal.len() == unsigned.len() {
        return number;
    }
    // A decimal of arbitrary precision is a different kind of number than a double, even if both have the same value.
    let text = number?.to_string();
    Some(Datum::Number(format!("{}M", text.strip_suffix(".0").unwrap_or(&text)).into()))
}

/// Returns the decimal digits of a hexadecimal number of any size. O(n²) for n digits.
fn decimal_of_hex(hex: &str) -> Option<String> {
    // The last digit comes first, because the number grows at the other end. Never empty.
    let mut digits = vec![0];
    for digit in hex.chars() {
        let mut carry = digit.to_digit(16)?;
        for place in &mut digits {
            carry += 16 * *place;
            (*place, carry) = (carry % 10, carry / 10);
        }
        while carry > 0 {
            digits.push(carry % 10);
            carry /= 10;
        }
    }
    let digits = digits.into_iter().rev().filter_map(|digit| char::from_digit(digit, 10));
    (!hex.is_empty()).then(|| digits.collect())
}

/// Adds this namespace to keys without a namespace.
fn in_namespace(space: String, value: Datum) -> Datum {
    let Datum::Map(entries) = &value else {
        return Datum::Tagged(format!(":{space}").into(), Arc::new(value));
    };
    let key = |key: &Datum| match key {
        Datum::Keyword(name) if !name.contains('/') => {
            Datum::Keyword(format!("{space}/{name}").into())
        }
        other => other.clone(),
    };
    Datum::map(entries.iter().map(|(name, value)| (key(name), value.clone())))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c | b',')
}

/// Returns `true` for a byte that can continue a name.
fn is_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte >= 0x80
        || matches!(byte, b'.' | b'*' | b'+' | b'!' | b'-' | b'_' | b'?' | b'$' | b'%' | b'&')
        || matches!(byte, b'=' | b'<' | b'>' | b':' | b'#' | b'/' | b'\'')
}
