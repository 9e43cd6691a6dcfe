//! Just enough XML to read and change a JUnit file: markup, attributes and escapes. Text is not interpreted.

/// Returns a text for the content of an element. Characters that XML does not allow are replaced.
pub(super) fn content(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\r' => out += "&#13;",
            '\n' | '\t' => out.push(character),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

/// Returns a text for an attribute in double quotes. Line ends and tabs would be read as blanks, so they are escaped.
pub(super) fn escaped(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Returns the text of an escaped attribute. An unknown escape stays as it is.
fn unescaped(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('&') {
        out += before;
        let escape = after.split_once(';').and_then(|(name, rest)| Some((named(name)?, rest)));
        match escape {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out + rest
}

/// Returns the character of an escape, such as `lt` or `#10`.
fn named(name: &str) -> Option<char> {
    let number = |digits: &str, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        name => match name.strip_prefix('#')? {
            digits if digits.starts_with('x') => number(&digits[1..], 16),
            digits => number(digits, 10),
        },
    }
}

/// A tag, a comment, a section or a declaration in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Markup<'a> {
    /// The text, from `<` to `>`.
    pub(super) text: &'a str,
    /// The position in the file.
    pub(super) at: usize,
}

/// Returns all markup of a file, in order; `None` if some markup has no end.
pub(super) fn markup(text: &str) -> Option<Vec<Markup<'_>>> {
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find('<') {
        let at = from + begin;
        let length = length_of_markup(&text[at..])?;
        all.push(Markup { text: &text[at..at + length], at });
        from = at + length;
    }
    Some(all)
}

/// Returns the length of the markup at the beginning of a text.
fn length_of_markup(text: &str) -> Option<usize> {
    for (begin, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")] {
        if text.starts_with(begin) {
            return Some(text.find(end)? + end.len());
        }
    }
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(at + 1),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    None
}

impl<'a> Markup<'a> {
    /// Returns the position after the markup.
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Returns the name of the element, if this tag begins the element.
    pub(super) fn begins(&self) -> Option<&'a str> {
        let inner = self.text.strip_prefix('<')?;
        let end = inner.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
        Some(&inner[..end]).filter(|name| !name.is_empty() && !name.starts_with(['!', '?']))
    }

    /// Returns `true` if this tag ends the element with this name.
    pub(super) fn ends(&self, name: &str) -> bool {
        let inner = self.text.strip_prefix("</").and_then(|inner| inner.strip_suffix('>'));
        inner.is_some_and(|inner| inner.trim_end() == name)
    }

    /// Returns `true` for an element without content, such as `<testcase/>`.
    pub(super) fn is_empty(&self) -> bool {
        self.text.ends_with("/>")
    }

    /// Returns the value of an attribute.
    pub(super) fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.text.split_once(char::is_whitespace)?.1;
        loop {
            let (name, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
            let (value, after) = after[1..].split_once(quote)?;
            if name.trim() == wanted {
                return Some(unescaped(value));
            }
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_text_is_read_back() {
        for text in ["a < b && \"c\" > 'd'", "one\n\ttwo\r", "&amp; &#10; &x;", "計數 🙂", ""] {
            let tag = format!("<a name=\"{}\" other='1'>", escaped(text));
            let all = markup(&tag).unwrap();
            assert_eq!((all.len(), all[0].text), (1, &*tag));
            assert_eq!(all[0].attribute("name").as_deref(), Some(text));
            assert_eq!(all[0].attribute("other").as_deref(), Some("1"));
            assert_eq!(all[0].attribute("none"), None);
        }
        // A file with these characters is not XML.
        assert_eq!(escaped("\u{1b}[31m\u{0}"), "\u{fffd}[31m\u{fffd}");
        assert_eq!(unescaped("&#x41;&#66;&apos;&unknown;&"), "AB'&unknown;&");
    }

    #[test]
    fn markup_in_comments_and_sections_is_text() {
        let text = "<?xml a='>'?><a b=\"<c>\"><!-- <d> --><![CDATA[<e>]]>f</a ><g/>";
        let all = markup(text).unwrap();
        let names: Vec<Option<&str>> = all.iter().map(Markup::begins).collect();
        assert_eq!(names, [None, Some("a"), None, None, None, Some("g")]);
        assert!(all[4].ends("a") && !all[4].ends("b") && all[5].is_empty() && !all[1].is_empty());
        assert_eq!(
            all.iter().map(|one| &text[one.at..one.end()]).collect::<Vec<_>>(),
            ["<?xml a='>'?>", "<a b=\"<c>\">", "<!-- <d> -->", "<![CDATA[<e>]]>", "</a >", "<g/>",]
        );
        for cut in ["<a", "<a b=\"", "<!-- >", "<![CDATA[ >", "a<"] {
            assert_eq!(markup(cut), None, "{cut}");
        }
    }
}
