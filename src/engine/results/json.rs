//! JSON (RFC 8259) of result files: a reader and a writer. Numbers other than unsigned integers are read without
//! their value.

use std::iter::Peekable;
use std::str::CharIndices;

/// Maximum nesting; deeper values are refused.
const DEPTH_MAX: usize = 16;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(u64),
    /// A negative, fractional or too large number.
    OtherNumber,
    Text(String),
    List(Vec<Json>),
    /// In the order of the text. Of several entries with one name, `get` returns the first.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a whole text.
    ///
    /// # Errors
    /// The column, from 1, of the first character that does not fit.
    pub(crate) fn parse(text: &str) -> Result<Json, usize> {
        let mut reader = Reader { text, chars: text.char_indices().peekable() };
        let value = reader.value(0).and_then(|value| {
            reader.blanks();
            reader.chars.peek().is_none().then_some(value)
        });
        value.ok_or_else(|| {
            let at = reader.chars.peek().map_or(text.len(), |(at, _)| *at);
            text[..at].chars().count() + 1
        })
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

    /// A text; none for `null` and for a missing entry.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<String>, String> {
        match self.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(_) => self.text(name).map(Some),
        }
    }

    /// The entries of an object whose values are texts, in their order.
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

struct Reader<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
}

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        while self.chars.next_if(|(_, c)| " \t\r\n".contains(*c)).is_some() {}
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, c)| *c == wanted).is_some()
    }

    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        word.chars().all(|c| self.takes(c)).then_some(value)
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.blanks();
        match self.chars.peek()?.1 {
            'n' => self.word("null", Json::Null),
            't' => self.word("true", Json::Bool(true)),
            'f' => self.word("false", Json::Bool(false)),
            '"' => self.string().map(Json::Text),
            '-' | '0'..='9' => self.number(),
            '[' => {
                let mut list = Vec::new();
                self.entries('[', ']', |reader| {
                    list.push(reader.value(depth + 1)?);
                    Some(())
                })?;
                Some(Json::List(list))
            }
            '{' => {
                let mut object = Vec::new();
                self.entries('{', '}', |reader| {
                    reader.blanks();
                    let name = reader.string()?;
                    reader.blanks();
                    let colon = reader.takes(':');
                    object.push((name, colon.then(|| reader.value(depth + 1))??));
                    Some(())
                })?;
                Some(Json::Object(object))
            }
            _ => None,
        }
    }

    /// Reads entries separated by commas between two brackets.
    fn entries(
        &mut self,
        open: char,
        close: char,
        mut entry: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.takes(open);
        self.blanks();
        if self.takes(close) {
            return Some(());
        }
        loop {
            entry(self)?;
            self.blanks();
            if self.takes(close) {
                return Some(());
            }
            if !self.takes(',') {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<Json> {
        let mut plain = !self.takes('-');
        let whole = self.digits()?;
        if whole.len() > 1 && whole.starts_with('0') {
            return None;
        }
        if self.takes('.') {
            plain = false;
            self.digits()?;
        }
        if self.takes('e') || self.takes('E') {
            plain = false;
            let _sign = self.takes('+') || self.takes('-');
            self.digits()?;
        }
        let number = whole.parse().ok().filter(|_| plain);
        Some(number.map_or(Json::OtherNumber, Json::Number))
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<&'a str> {
        let from = self.chars.peek()?.0;
        while self.chars.next_if(|(_, c)| c.is_ascii_digit()).is_some() {}
        let to = self.chars.peek().map_or(self.text.len(), |(at, _)| *at);
        let text: &'a str = self.text;
        Some(&text[from..to]).filter(|digits| !digits.is_empty())
    }

    fn string(&mut self) -> Option<String> {
        if !self.takes('"') {
            return None;
        }
        let mut text = String::new();
        loop {
            match self.chars.next()?.1 {
                '"' => return Some(text),
                '\\' => text.push(self.escaped()?),
                c if c < ' ' => return None,
                c => text.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        Some(match self.chars.next()?.1 {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let unit = self.hex()?;
                // A pair of surrogates is one character.
                if !(0xd800..0xdc00).contains(&unit) {
                    return char::from_u32(unit);
                }
                let low = (self.takes('\\') && self.takes('u')).then(|| self.hex())??;
                let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                char::from_u32(0x10000 + ((unit - 0xd800) << 10) + low)?
            }
            c if "\"\\/".contains(c) => c,
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit * 16 + self.chars.next()?.1.to_digit(16)?))
    }
}

/// Text in JSON (RFC 8259, section 7).
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A JSON list of values in JSON.
pub(crate) fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", Vec::from_iter(values).join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_and_read_back() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}é"), "\"a\\\"b\\\\c\\nd\\u0001é\"");
        for text in ["", "a\"b\\c\nd\u{1}é", "\u{1f600}\t"] {
            assert_eq!(Json::parse(&quoted(text)), Ok(Json::Text(text.to_owned())));
        }
        assert_eq!(Json::parse(r#""\ud83d\ude00\/""#), Ok(Json::Text("\u{1f600}/".to_owned())));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_column() {
        for (text, column) in [
            ("", 1),
            ("{", 2),
            ("{\"a\":1", 7),
            ("{\"a\":01}", 8),
            ("{\"a\":+5}", 6),
            ("{\"a\":-}", 7),
            ("{\"a\":1.}", 8),
            ("1e", 3),
            ("{\"a\" 1}", 6),
            ("[1,]", 4),
            ("[1] x", 5),
            ("nul", 4),
            ("\"\\ud83d\"", 8),
        ] {
            assert_eq!(Json::parse(text), Err(column), "{text}");
        }
        assert_eq!(Json::parse(&"[".repeat(1000)), Err(DEPTH_MAX + 2));
        for other in ["18446744073709551616", "-1", "1.5", "2e9", "-0.0E-7"] {
            assert_eq!(Json::parse(other), Ok(Json::OtherNumber), "{other}");
        }
        let whole = r#"{"a":[1,{"b":null}],"c":"\n","d":true}"#;
        assert!(Json::parse(whole).is_ok());
        // No prefix of an object is one.
        assert!((0..whole.len()).all(|length| Json::parse(&whole[..length]).is_err()));
    }
}
