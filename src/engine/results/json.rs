//! A JSON reader for result files. The reader discards the values of numbers that are not unsigned integers.

use unpause_check::json::{self, Source};

pub(crate) use unpause_check::json::quoted;

/// The maximum nesting depth. Deeper values are an error.
const DEPTH_MAX: usize = 16;

/// A JSON value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(u64),
    /// A negative, fractional or too large number.
    OtherNumber,
    Text(String),
    List(Vec<Json>),
    /// The entries in the order of the text. If several entries have the same name, `get` returns
    /// the first.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses a whole line.
    ///
    /// # Errors
    /// The message contains the column in bytes, counted from 1, and the expected text.
    pub(crate) fn parse(line: &[u8]) -> Result<Json, String> {
        let mut line = Line { bytes: line, at: 0, spare: Vec::new() };
        let value = json::value(&mut line, 1)?;
        // Only blanks may follow: two lines that were written into each other are not accepted.
        match json::blank(&mut line)? {
            None => Ok(value),
            Some(_) => Err(line.expected("the end of the line")),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, v)| v),
            _ => None,
        }
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64, String> {
        match self.get(name) {
            Some(Json::Number(number)) => Ok(*number),
            _ => Err(format!("`{name}` is not a whole number")),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        match self.get(name) {
            Some(Json::Text(text)) => Ok(text.clone()),
            _ => Err(format!("`{name}` is not text")),
        }
    }

    /// Returns a text; `None` for `null` and for a missing entry.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<String>, String> {
        match self.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(_) => self.text(name).map(Some),
        }
    }

    /// Returns the entries of an object in their order. All its values must be texts.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let wrong = || format!("`{name}` is no object of texts");
        let Some(Json::Object(entries)) = self.get(name) else { return Err(wrong()) };
        let text = |(key, value): &(String, Json)| match value {
            Json::Text(text) => Ok((key.clone(), text.clone())),
            _ => Err(wrong()),
        };
        entries.iter().map(text).collect()
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            Some(Json::Bool(flag)) => Ok(*flag),
            _ => Err(format!("`{name}` is neither true nor false")),
        }
    }

    pub(crate) fn list(&self, name: &str) -> Result<&[Json], String> {
        match self.get(name) {
            Some(Json::List(list)) => Ok(list),
            _ => Err(format!("`{name}` is no list")),
        }
    }
}

/// The bytes of a line, and the reading position.
struct Line<'a> {
    bytes: &'a [u8],
    at: usize,
    spare: Vec<u8>,
}

impl Source for Line<'_> {
    type Value = Json;
    type Name = String;
    type Place = usize;
    type Error = String;

    fn place(&self) -> usize {
        self.at
    }

    fn peek(&mut self) -> Result<Option<u8>, String> {
        Ok(self.bytes.get(self.at).copied())
    }

    fn skip(&mut self) -> Result<(), String> {
        self.at += 1;
        Ok(())
    }

    // Most bytes of a search file are in long texts.
    fn plain(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| !json::is_plain(*byte)).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..end]);
        self.at += end;
        Ok(())
    }

    fn spare(&mut self) -> &mut Vec<u8> {
        &mut self.spare
    }

    fn begin(&mut self, depth: usize) -> Result<(), String> {
        // The reader is recursive, so a damaged file could exhaust the stack.
        if depth > DEPTH_MAX {
            return Err(self.wrong(self.at, format!("values are nested deeper than {DEPTH_MAX}")));
        }
        Ok(())
    }

    fn expected(&mut self, what: &str) -> String {
        self.wrong(self.at, format!("expected {what}"))
    }

    fn wrong(&self, at: usize, message: String) -> String {
        format!("column {}: {message}", at + 1)
    }

    fn utf8(&self, at: usize, bytes: Vec<u8>) -> Result<String, String> {
        String::from_utf8(bytes).map_err(|_| self.wrong(at, "not UTF-8".to_owned()))
    }

    fn null(&mut self) -> Json {
        Json::Null
    }

    fn flag(&mut self, flag: bool) -> Json {
        Json::Bool(flag)
    }

    fn number(&mut self, _: usize, digits: &str) -> Result<Json, String> {
        // The reader has checked the grammar, so only a number outside of `u64` fails here.
        Ok(digits.parse().map_or(Json::OtherNumber, Json::Number))
    }

    fn text(&mut self, text: String) -> Json {
        Json::Text(text)
    }

    fn name(&mut self, text: String) -> String {
        text
    }

    fn array(&mut self, items: Vec<Json>) -> Json {
        Json::List(items)
    }

    fn object(&mut self, _: usize, entries: Vec<(String, Json)>) -> Result<Json, String> {
        Ok(Json::Object(entries))
    }
}

/// Formats a JSON list. The values are JSON already.
pub(crate) fn list(values: impl IntoIterator<Item = String>) -> String {
    // A loop, because `collect` compiles much more code for each type of iterator.
    let mut list = "[".to_owned();
    for value in values {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&value);
    }
    list.push(']');
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_numbers_and_the_order_of_its_entries() {
        let read = |text: &str| Json::parse(text.as_bytes());
        for text in ["", "a\"b\\c\nd\u{1}é", "\u{1f600}\t"] {
            assert_eq!(read(&quoted(text)), Ok(Json::Text(text.to_owned())));
        }
        assert_eq!(read("18446744073709551615"), Ok(Json::Number(u64::MAX)));
        for other in ["18446744073709551616", "-1", "1.5", "2e9", "-0.0E-7"] {
            assert_eq!(read(other), Ok(Json::OtherNumber), "{other}");
        }
        let line = read(r#" {"b":"1","a":"2","b":"3"} "#).unwrap();
        assert_eq!(line.text("b"), Ok("1".to_owned()));
        let texts = [("b", "1"), ("a", "2"), ("b", "3")];
        let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(
            read(r#"{"x":{"b":"1","a":"2","b":"3"}}"#).unwrap().texts("x"),
            Ok(texts.into())
        );
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_column() {
        for (line, expected) in [
            (&b"[1,]"[..], "column 4: expected a value"),
            (b"[1] x", "column 5: expected the end of the line"),
            (b"\"a\xff\"", "column 2: not UTF-8"),
            (&b"[".repeat(1000), "column 17: values are nested deeper than 16"),
        ] {
            assert_eq!(Json::parse(line), Err(expected.to_owned()));
        }
    }
}
