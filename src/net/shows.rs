//! Texts of messages, for runs that are shown on screens.

use std::fmt::Write;
use std::sync::OnceLock;

use crate::run::panics::text_of;

/// The function that converts the messages of a link to text.
pub(crate) struct Shows<T>(OnceLock<fn(&T) -> String>);

impl<T> Default for Shows<T> {
    fn default() -> Shows<T> {
        Shows(OnceLock::new())
    }
}

impl<T> Shows<T> {
    /// Sets the function, if it is not set yet.
    pub(crate) fn set(&self, show: fn(&T) -> String) {
        let _ = self.0.set(show);
    }

    /// Returns the text of a message, if a function is set.
    pub(crate) fn describe(&self, message: &T) -> Option<String> {
        let show = self.0.get()?;
        Some(text_of(|| show(message)))
    }
}

/// The maximum number of bytes that are shown.
const BYTES_MAX: usize = 32;

/// Formats bytes as text, with escapes for unprintable bytes: `"GET /"`, `"\\x01ok"`. Appends the
/// number of omitted bytes.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn bytes(all: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in all.iter().take(BYTES_MAX) {
        match byte {
            b' '..=b'~' if !b"\"\\".contains(byte) => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "{}", byte.escape_ascii());
            }
        }
    }
    text.push('"');
    if all.len() > BYTES_MAX {
        let _ = write!(text, " and {} more bytes", all.len() - BYTES_MAX);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_are_text_where_they_can_be_printed() {
        assert_eq!(bytes(b"GET /"), r#""GET /""#);
        assert_eq!(bytes(b"\x00a\"\n\xff"), r#""\x00a\"\n\xff""#);
        assert_eq!(bytes(&[b'x'; 40]), format!("\"{}\" and 8 more bytes", "x".repeat(32)));
    }
}
