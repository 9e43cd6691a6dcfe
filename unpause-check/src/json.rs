//! JSON (RFC 8259): a streaming reader, and a writer of strings.
//!
//! The reader implements the grammar. Its [`Source`] provides the bytes, positions, limits and errors, and creates the
//! values. For example, a recorded history becomes [`Datum`](crate::datum::Datum)s with exact numbers, one event at a
//! time, and a result file keeps the order of its entries. The reader recurses once per nested value, so a source must
//! limit the depth.

use std::fmt::Write;

/// The source of JSON bytes, which also creates the values.
pub trait Source {
    /// A value.
    type Value;
    /// The name of an entry of an object.
    type Name;
    /// A position in the bytes, for errors.
    type Place: Copy;
    /// The error type for bytes that are not JSON or exceed a limit.
    type Error;

    /// Returns the position of the next byte.
    fn place(&self) -> Self::Place;

    /// Returns the next byte without consuming it; `None` at the end.
    fn peek(&mut self) -> Result<Option<u8>, Self::Error>;

    /// Consumes the next byte.
    fn skip(&mut self) -> Result<(), Self::Error>;

    /// Appends bytes to `out` as long as they are [plain](is_plain), and consumes them. A source with all bytes in
    /// memory can copy them at once.
    fn plain(&mut self, out: &mut Vec<u8>) -> Result<(), Self::Error>
    where
        Self: Sized,
    {
        take_while(self, out, is_plain)
    }

    /// Returns a buffer for the digits of a number, so that a number needs no allocation.
    fn spare(&mut self) -> &mut Vec<u8>;

    /// Checks the limits at the beginning of a value that is nested inside `depth - 1` other values.
    fn begin(&mut self, depth: usize) -> Result<(), Self::Error>;

    /// Returns the error for a next byte that is not `what`.
    fn expected(&mut self, what: &str) -> Self::Error;

    /// Returns an error at a position.
    fn wrong(&self, at: Self::Place, message: String) -> Self::Error;

    /// Returns the bytes, which begin at `at`, as a text if they are UTF-8.
    fn utf8(&self, at: Self::Place, bytes: Vec<u8>) -> Result<String, Self::Error>;

    /// Creates a `null`.
    fn null(&mut self) -> Self::Value;

    /// Creates a `true` or `false`.
    fn flag(&mut self, flag: bool) -> Self::Value;

    /// Creates a number from its text: sign, digits, point and exponent.
    fn number(&mut self, at: Self::Place, digits: &str) -> Result<Self::Value, Self::Error>;

    /// Creates a text.
    fn text(&mut self, text: String) -> Self::Value;

    /// Creates the name of an entry.
    fn name(&mut self, text: String) -> Self::Name;

    /// Creates an array.
    fn array(&mut self, items: Vec<Self::Value>) -> Self::Value;

    /// Creates an object that begins at `at`, with the entries in the order of the bytes. Names may be equal.
    fn object(
        &mut self,
        at: Self::Place,
        entries: Vec<(Self::Name, Self::Value)>,
    ) -> Result<Self::Value, Self::Error>;
}

/// Reads a value that is nested inside `depth - 1` other values.
///
/// # Errors
/// The errors of the source.
pub fn value<S: Source>(source: &mut S, depth: usize) -> Result<S::Value, S::Error> {
    source.begin(depth)?;
    match blank(source)? {
        Some(b'{') => object(source, depth),
        Some(b'[') => array(source, depth),
        Some(b'"') => {
            let text = text(source)?;
            Ok(source.text(text))
        }
        Some(b'-' | b'0'..=b'9') => number(source),
        Some(b't' | b'f' | b'n') => word(source),
        _ => Err(source.expected("a value")),
    }
}

/// Skips whitespace. Returns the next byte.
///
/// # Errors
/// The errors of the source.
pub fn blank<S: Source>(source: &mut S) -> Result<Option<u8>, S::Error> {
    loop {
        match source.peek()? {
            Some(b' ' | b'\t' | b'\r' | b'\n') => source.skip()?,
            next => return Ok(next),
        }
    }
}

/// Returns `true` if this byte represents itself within a text.
#[inline]
pub fn is_plain(byte: u8) -> bool {
    byte != b'"' && byte != b'\\' && byte >= 0x20
}

/// Consumes the next byte if it is `wanted`.
fn takes<S: Source>(source: &mut S, wanted: u8) -> Result<bool, S::Error> {
    let is_wanted = source.peek()? == Some(wanted);
    if is_wanted {
        source.skip()?;
    }
    Ok(is_wanted)
}

/// Consumes bytes as long as they are wanted, and appends them to `out`.
fn take_while<S: Source>(
    source: &mut S,
    out: &mut Vec<u8>,
    wanted: impl Fn(u8) -> bool,
) -> Result<(), S::Error> {
    while let Some(byte) = source.peek()?.filter(|byte| wanted(*byte)) {
        out.push(byte);
        source.skip()?;
    }
    Ok(())
}

fn word<S: Source>(source: &mut S) -> Result<S::Value, S::Error> {
    let at = source.place();
    let mut word = Vec::new();
    take_while(source, &mut word, |byte| byte.is_ascii_alphanumeric())?;
    match &word[..] {
        b"true" => Ok(source.flag(true)),
        b"false" => Ok(source.flag(false)),
        b"null" => Ok(source.null()),
        _ => {
            let word = crate::picture::screen::cut(&String::from_utf8_lossy(&word), 20);
            Err(source.wrong(at, format!("expected a value, found `{word}`; quote texts")))
        }
    }
}

fn array<S: Source>(source: &mut S, depth: usize) -> Result<S::Value, S::Error> {
    source.skip()?;
    let mut items = Vec::new();
    if blank(source)? == Some(b']') {
        source.skip()?;
        return Ok(source.array(items));
    }
    loop {
        items.push(value(source, depth + 1)?);
        let next = blank(source)?;
        if !matches!(next, Some(b',' | b']')) {
            return Err(source.expected("`,` or `]`"));
        }
        source.skip()?;
        if next == Some(b']') {
            return Ok(source.array(items));
        }
    }
}

fn object<S: Source>(source: &mut S, depth: usize) -> Result<S::Value, S::Error> {
    let at = source.place();
    source.skip()?;
    let mut entries = Vec::new();
    if blank(source)? == Some(b'}') {
        source.skip()?;
        return source.object(at, entries);
    }
    loop {
        if blank(source)? != Some(b'"') {
            return Err(source.expected("a name in quotes"));
        }
        let name = text(source)?;
        let name = source.name(name);
        if blank(source)? != Some(b':') {
            return Err(source.expected("`:`"));
        }
        source.skip()?;
        entries.push((name, value(source, depth + 1)?));
        let next = blank(source)?;
        if !matches!(next, Some(b',' | b'}')) {
            return Err(source.expected("`,` or `}`"));
        }
        source.skip()?;
        if next == Some(b'}') {
            return source.object(at, entries);
        }
    }
}

fn number<S: Source>(source: &mut S) -> Result<S::Value, S::Error> {
    let at = source.place();
    let mut bytes = std::mem::take(source.spare());
    bytes.clear();
    if takes(source, b'-')? {
        bytes.push(b'-');
    }
    let first = bytes.len();
    digits(source, &mut bytes)?;
    if bytes[first] == b'0' && bytes.len() > first + 1 {
        return Err(source.wrong(at, "a number must not begin with 0".to_owned()));
    }
    if takes(source, b'.')? {
        bytes.push(b'.');
        digits(source, &mut bytes)?;
    }
    if let Some(byte @ (b'e' | b'E')) = source.peek()? {
        bytes.push(byte);
        source.skip()?;
        if let Some(sign @ (b'+' | b'-')) = source.peek()? {
            bytes.push(sign);
            source.skip()?;
        }
        digits(source, &mut bytes)?;
    }
    let number = source.number(at, std::str::from_utf8(&bytes).unwrap_or_default());
    *source.spare() = bytes;
    number
}

/// Consumes one or more digits.
fn digits<S: Source>(source: &mut S, bytes: &mut Vec<u8>) -> Result<(), S::Error> {
    let before = bytes.len();
    take_while(source, bytes, |byte| byte.is_ascii_digit())?;
    if bytes.len() == before { Err(source.expected("a digit")) } else { Ok(()) }
}

/// Reads a text, beginning at its opening quote.
fn text<S: Source>(source: &mut S) -> Result<String, S::Error> {
    let at = source.place();
    source.skip()?;
    let inside = source.place();
    let mut bytes = Vec::new();
    loop {
        source.plain(&mut bytes)?;
        match source.peek()? {
            Some(b'"') => {
                source.skip()?;
                return source.utf8(inside, bytes);
            }
            Some(b'\\') => {
                source.skip()?;
                let letter = escaped(source)?;
                bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
            }
            None => {
                let message = "this text is not closed before the file ends";
                return Err(source.wrong(at, message.to_owned()));
            }
            Some(_) => return Err(source.expected("a text without control characters")),
        }
    }
}

/// Reads the rest of an escape sequence, after its backslash.
fn escaped<S: Source>(source: &mut S) -> Result<char, S::Error> {
    let letter = match source.peek()? {
        Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(source),
        _ => return Err(source.expected("one of `\"\\/bfnrtu` after `\\`")),
    };
    source.skip()?;
    Ok(letter)
}

fn unicode<S: Source>(source: &mut S) -> Result<char, S::Error> {
    let at = source.place();
    source.skip()?;
    let high = hex(source)?;
    let mut code = high;
    // A pair of surrogates is one character.
    if (0xd800..0xdc00).contains(&high) && takes(source, b'\\')? && takes(source, b'u')? {
        let low = hex(source)?;
        if (0xdc00..0xe000).contains(&low) {
            code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    let half = || source.wrong(at, "half of a surrogate pair is no character".to_owned());
    char::from_u32(code).ok_or_else(half)
}

/// Reads four hexadecimal digits.
fn hex<S: Source>(source: &mut S) -> Result<u32, S::Error> {
    let mut code = 0;
    for _ in 0..4 {
        let Some(digit) = source.peek()?.and_then(|byte| char::from(byte).to_digit(16)) else {
            return Err(source.expected("four hexadecimal digits"));
        };
        code = code * 16 + digit;
        source.skip()?;
    }
    Ok(code)
}

/// Returns a text as a JSON string, with its quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                // Control characters are all below 2^16. Writing to a `String` cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::datum::Datum;

    /// A source that holds all bytes in memory; the place is the index of the next byte.
    struct Bytes<'a>(&'a [u8], usize, Vec<u8>);

    fn read(bytes: &[u8]) -> Result<Datum, String> {
        let mut source = Bytes(bytes, 0, Vec::new());
        let read = value(&mut source, 1)?;
        match blank(&mut source)? {
            None => Ok(read),
            Some(_) => Err(source.expected("the end")),
        }
    }

    impl Source for Bytes<'_> {
        type Value = Datum;
        type Name = Datum;
        type Place = usize;
        type Error = String;

        fn place(&self) -> usize {
            self.1
        }

        fn peek(&mut self) -> Result<Option<u8>, String> {
            Ok(self.0.get(self.1).copied())
        }

        fn skip(&mut self) -> Result<(), String> {
            self.1 += 1;
            Ok(())
        }

        fn spare(&mut self) -> &mut Vec<u8> {
            &mut self.2
        }

        fn begin(&mut self, depth: usize) -> Result<(), String> {
            if depth > 20 { Err(format!("{}: too deep", self.1)) } else { Ok(()) }
        }

        fn expected(&mut self, what: &str) -> String {
            format!("{}: expected {what}", self.1)
        }

        fn wrong(&self, at: usize, message: String) -> String {
            format!("{at}: {message}")
        }

        fn utf8(&self, at: usize, bytes: Vec<u8>) -> Result<String, String> {
            String::from_utf8(bytes).map_err(|_| format!("{at}: not UTF-8"))
        }

        fn null(&mut self) -> Datum {
            Datum::Nil
        }

        fn flag(&mut self, flag: bool) -> Datum {
            flag.into()
        }

        fn number(&mut self, at: usize, digits: &str) -> Result<Datum, String> {
            Datum::decimal(digits).ok_or_else(|| format!("{at}: no number: {digits}"))
        }

        fn text(&mut self, text: String) -> Datum {
            Datum::text(&text)
        }

        fn name(&mut self, text: String) -> Datum {
            Datum::text(&text)
        }

        fn array(&mut self, items: Vec<Datum>) -> Datum {
            Datum::list(items)
        }

        fn object(&mut self, _: usize, entries: Vec<(Datum, Datum)>) -> Result<Datum, String> {
            Ok(Datum::map(entries))
        }
    }

    #[test]
    fn an_error_has_the_place_and_the_remedy() {
        for (text, expected) in [
            ("", "0: expected a value"),
            ("{", "1: expected a name in quotes"),
            ("{\"a\":1", "6: expected `,` or `}`"),
            ("{\"a\":01}", "5: a number must not begin with 0"),
            ("{\"a\":+5}", "5: expected a value"),
            ("{\"a\":-}", "6: expected a digit"),
            ("{\"a\":1.}", "7: expected a digit"),
            ("1e", "2: expected a digit"),
            ("{\"a\" 1}", "5: expected `:`"),
            ("[1,]", "3: expected a value"),
            ("[1 2]", "3: expected `,` or `]`"),
            ("[1] x", "4: expected the end"),
            ("nul", "0: expected a value, found `nul`; quote texts"),
            ("\"a", "0: this text is not closed before the file ends"),
            ("\"a\n\"", "2: expected a text without control characters"),
            ("\"\\x\"", "2: expected one of `\"\\/bfnrtu` after `\\`"),
            ("\"\\u12g4\"", "5: expected four hexadecimal digits"),
            ("\"\\ud83d\"", "2: half of a surrogate pair is no character"),
            ("\"\\ud83d\\u0041\"", "2: half of a surrogate pair is no character"),
        ] {
            assert_eq!(read(text.as_bytes()), Err(expected.to_owned()), "{text}");
        }
        assert_eq!(read(b"\"\xff\""), Err("1: not UTF-8".to_owned()));
        assert_eq!(read("[".repeat(1000).as_bytes()), Err("20: too deep".to_owned()));
    }

    #[test]
    fn no_prefix_of_an_object_is_one() {
        let whole = r#"{"a":[1,{"b":null}],"c":"\n","d":true}"#.as_bytes();
        assert!(read(whole).is_ok());
        assert!((0..whole.len()).all(|length| read(&whole[..length]).is_err()));
    }

    #[test]
    fn a_text_is_quoted_and_read_back() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}\u{7f}é"), "\"a\\\"b\\\\c\\nd\\u0001\\u007fé\"");
        assert_eq!(read(br#""\ud83d\ude00\/""#), Ok(Datum::text("\u{1f600}/")));
    }

    proptest! {
        #[test]
        fn each_text_is_read_back(text in any::<String>()) {
            prop_assert_eq!(read(quoted(&text).as_bytes()), Ok(Datum::text(&text)));
        }

        #[test]
        fn damaged_bytes_are_an_error_or_a_value(
            at in 0..40usize,
            with in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            let whole = br#"{"a":[-1.5e3,{"b":null}],"c":"\u00e4","d":true}"#;
            let bytes = [&whole[..at], &with, &whole[at + 1..]].concat();
            if let Ok(Datum::Map(entries)) = read(&bytes) {
                prop_assert!(entries.len() <= 3);
            }
        }
    }
}
