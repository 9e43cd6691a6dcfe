//! A value of a recorded history, independent of the file format.
//!
//! Files contain values such as `3`, `nil`, `"x 0 0 y"` or `[[:r 2 nil]]`, and a model over [`Datum`] checks them
//! without conversion. A datum can be compared, ordered and hashed as a whole. The datum prints in one notation, EDN,
//! whatever the format of its file. This module does not read files; the package `unpause-histories` does.

use unpause_ordered::{sort, sort_by};
mod decimal;
mod order;

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use self::decimal::Decimal;

/// A value of a recorded history. Clones share their content.
///
/// # Equality
/// Two data are equal if they have the same kind and the same content:
///
/// - `1` is not `1.0`, `1.0` is not `1.0M`, `:a` is not `"a"`, and `"a"` is not the character `\a`.
/// - Within a kind, numbers are compared exactly, in any notation and with any number of digits: `1.50` is `15e-1`, but
///   `0.1` is not `0.10000000000000000001`, although a double does not distinguish them. See [`Datum::decimal`]. Ratios
///   are compared as written: `2/4` is not `1/2`.
/// - `0.0` is not `-0.0`, and `##NaN` is `##NaN`.
/// - Lists, vectors and arrays are the same kind. The order of entries in a map or a set does not matter, if they are
///   built with [`Datum::map`] and [`Datum::set`].
/// - A symbol equals the text of its name.
///
/// # Order
/// Numbers of all kinds are ordered by size; numbers of the same size are ordered by kind and then content. All other
/// data are ordered by kind and then content.
///
/// ```
/// use unpause_check::datum::Datum;
/// let balances = Datum::map([(Datum::keyword("b"), 2.into()), (Datum::keyword("a"), 1.into())]);
/// assert_eq!(balances.to_string(), "{:a 1, :b 2}");
/// assert_ne!(Datum::from(1), Datum::from(1.0));
/// assert_ne!(Datum::from("a"), Datum::Character('a'));
/// assert_eq!(Datum::from(f64::NAN), Datum::from(f64::NAN));
/// assert!(Datum::from(1) < Datum::from(1.5) && Datum::from(1.5) < Datum::from(2));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub enum Datum {
    /// Nothing: `nil`, `null`.
    #[default]
    Nil,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A floating point number.
    Float(Float),
    /// A number of any other kind, stored exactly: `123456789012345678901`, `1/3`, `1.5M`, and fractions that no double
    /// equals, such as `0.10000000000000000001`.
    Number(Arc<str>),
    /// A single character, in a file format that distinguishes it from a text of one letter.
    Character(char),
    /// A text or a symbol.
    Text(Arc<str>),
    /// A keyword, without its colon: `append`, `jepsen/ok`.
    Keyword(Arc<str>),
    /// A list, a vector, or an array.
    List(Arc<[Datum]>),
    /// A map. Invariant, maintained by [`Datum::map`]: sorted by key, no duplicate keys.
    Map(Arc<[(Datum, Datum)]>),
    /// A set. Invariant, maintained by [`Datum::set`]: sorted, no duplicate members.
    Set(Arc<[Datum]>),
    /// A value with a tag. The tag has no `#`: `inst`, `jepsen.history.Op`.
    Tagged(Arc<str>, Arc<Datum>),
}

impl Datum {
    /// Returns the number in a decimal text: digits with an optional sign, point and exponent. `None` for any other
    /// text. Equal numbers give equal data if both texts have a point or an exponent, or if neither has.
    ///
    /// Without point and exponent, the result is a whole number. With a point or an exponent, it is a [`Float`] if the
    /// shortest text of the double is exactly this number, otherwise a [`Datum::Number`].
    ///
    /// ```
    /// use unpause_check::datum::Datum;
    /// let number = |text| Datum::decimal(text).unwrap();
    /// assert_eq!(number("1.50"), Datum::from(1.5));
    /// assert_eq!(number("10e399"), number("1e400"));
    /// assert_ne!(number("1e400"), number("1e500"));
    /// assert_ne!(number("9007199254740993.0"), number("9007199254740992.0"));
    /// assert_eq!(number("7"), Datum::from(7));
    /// assert_eq!(Datum::decimal("seven"), None);
    /// ```
    pub fn decimal(text: &str) -> Option<Datum> {
        let decimal = Decimal::parse(text);
        if !text.contains(['.', 'e', 'E']) {
            decimal?;
            let kept = || {
                let (sign, digits) = match text.strip_prefix('-') {
                    Some(digits) => ("-", digits),
                    None => ("", text.strip_prefix('+').unwrap_or(text)),
                };
                Datum::Number(format!("{sign}{}", digits.trim_start_matches('0')).into())
            };
            return Some(text.parse().map_or_else(|_| kept(), Datum::Integer));
        }
        let Some(decimal) = decimal else {
            // The exponent has more than 64 bits. Any other text that is not a decimal is not an `f64` either.
            return text.parse::<f64>().ok().map(|_| Datum::Number(text.to_lowercase().into()));
        };
        let float = text.parse::<f64>().ok().filter(|float| {
            float.is_finite() && Decimal::parse(&format!("{float:e}")).as_ref() == Some(&decimal)
        });
        Some(float.map_or_else(|| Datum::Number(decimal.text().into()), Datum::from))
    }

    /// Creates a text.
    pub fn text(text: &str) -> Datum {
        Datum::Text(text.into())
    }

    /// Creates a keyword, given without its colon.
    pub fn keyword(name: &str) -> Datum {
        Datum::Keyword(name.into())
    }

    /// Creates a list of these data.
    pub fn list(items: impl IntoIterator<Item = Datum>) -> Datum {
        Datum::List(items.into_iter().collect())
    }

    /// Creates a map of these entries; the last entry with a key wins. O(n log n).
    ///
    /// ```
    /// use unpause_check::datum::Datum;
    /// let entry = |name, value| (Datum::keyword(name), Datum::from(value));
    /// let map = Datum::map([entry("b", 2), entry("a", 0), entry("a", 1)]);
    /// assert_eq!(map.to_string(), "{:a 1, :b 2}");
    /// assert_eq!(map.get("a").and_then(Datum::as_integer), Some(1));
    /// ```
    pub fn map(entries: impl IntoIterator<Item = (Datum, Datum)>) -> Datum {
        let mut entries: Vec<(Datum, Datum)> = entries.into_iter().collect();
        // The sort is stable and the entries are reversed, so the last entry with a key comes first and is kept.
        entries.reverse();
        sort_by(&mut entries, |a, b| a.0.cmp(&b.0));
        entries.dedup_by(|a, b| a.0 == b.0);
        Datum::Map(entries.into())
    }

    /// Creates a set of these members. O(n log n).
    ///
    /// ```
    /// use unpause_check::datum::Datum;
    /// let set = Datum::set([Datum::text("b"), Datum::text("a"), Datum::text("b")]);
    /// assert_eq!(set.to_string(), "#{\"a\" \"b\"}");
    /// ```
    pub fn set(members: impl IntoIterator<Item = Datum>) -> Datum {
        let mut members: Vec<Datum> = members.into_iter().collect();
        sort(&mut members);
        members.dedup();
        Datum::Set(members.into())
    }

    /// Returns `true` for [`Datum::Nil`].
    pub fn is_nil(&self) -> bool {
        *self == Datum::Nil
    }

    /// Returns the value of a whole number; `None` for any other datum.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Datum::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the content of a text or the name of a keyword: JSON files have texts in place of keywords.
    ///
    /// ```
    /// use unpause_check::datum::Datum;
    /// assert_eq!(Datum::keyword("read").as_name(), Some("read"));
    /// assert_eq!(Datum::text("read").as_name(), Some("read"));
    /// assert_eq!(Datum::Nil.as_name(), None);
    /// ```
    pub fn as_name(&self) -> Option<&str> {
        match self {
            Datum::Text(name) | Datum::Keyword(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub fn as_list(&self) -> Option<&[Datum]> {
        match self {
            Datum::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the two items of a list with two items, with or without a tag: `[k v]`, `#independent/tuple [k v]`.
    ///
    /// ```
    /// use unpause_check::datum::Datum;
    /// let pair = Datum::list([Datum::keyword("x"), Datum::Nil]);
    /// let (key, value) = pair.as_pair().unwrap();
    /// assert!(key.as_name() == Some("x") && value.is_nil());
    /// ```
    pub fn as_pair(&self) -> Option<(&Datum, &Datum)> {
        match self {
            Datum::List(items) => match &items[..] {
                [first, second] => Some((first, second)),
                _ => None,
            },
            Datum::Tagged(_, value) => match &**value {
                list @ Datum::List(_) => list.as_pair(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the value in a map for a text or keyword with this name. Linear in the size of the map.
    ///
    /// ```
    /// use unpause_check::datum::Datum;
    /// let transfer = Datum::map([(Datum::keyword("from"), 3.into())]);
    /// assert_eq!(transfer.get("from"), Some(&3.into()));
    /// assert_eq!(transfer.get("to"), None);
    /// ```
    pub fn get(&self, name: &str) -> Option<&Datum> {
        let Datum::Map(entries) = self else {
            return None;
        };
        entries.iter().find(|(key, _)| key.as_name() == Some(name)).map(|(_, value)| value)
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Datum {
        Datum::Bool(value)
    }
}

impl From<i64> for Datum {
    fn from(number: i64) -> Datum {
        Datum::Integer(number)
    }
}

impl From<f64> for Datum {
    fn from(number: f64) -> Datum {
        Datum::Float(Float(number))
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Datum {
        Datum::text(text)
    }
}

/// A floating point number that equals itself, even NaN. Equality compares the bits; the order is [`f64::total_cmp`].
///
/// ```
/// use unpause_check::datum::Float;
/// assert_eq!(Float(f64::NAN), Float(f64::NAN));
/// assert_ne!(Float(0.0), Float(-0.0));
/// ```
#[derive(Clone, Copy)]
pub struct Float(pub f64);

impl PartialEq for Float {
    fn eq(&self, other: &Float) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Float) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Float) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Float {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Debug for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Float {
    /// Writes the number in EDN: always with a point or an exponent, and non-finite values as `##NaN`, `##Inf` and
    /// `##-Inf`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            number if number.is_nan() => f.write_str("##NaN"),
            number if number.is_infinite() => {
                f.write_str(if number > 0.0 { "##Inf" } else { "##-Inf" })
            }
            number => write!(f, "{number:?}"),
        }
    }
}

impl fmt::Debug for Datum {
    /// Writes the same text as [`Display`](fmt::Display), so that a model over data shows values in the notation of the
    /// file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Datum {
    /// Writes EDN on one line. Control characters in texts are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Nil => f.write_str("nil"),
            Datum::Bool(value) => write!(f, "{value}"),
            Datum::Integer(number) => write!(f, "{number}"),
            Datum::Float(number) => write!(f, "{number}"),
            Datum::Number(number) => f.write_str(number),
            Datum::Character(letter) => character(f, *letter),
            Datum::Text(text) => quoted(f, text),
            Datum::Keyword(name) => write!(f, ":{name}"),
            Datum::List(items) => joined(f, "[", items, "]"),
            Datum::Set(members) => joined(f, "#{", members, "}"),
            Datum::Map(entries) => {
                f.write_char('{')?;
                for (n, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key} {value}", if n == 0 { "" } else { ", " })?;
                }
                f.write_char('}')
            }
            Datum::Tagged(tag, value) => write!(f, "#{tag} {value}"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, open: &str, items: &[Datum], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (n, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if n == 0 { "" } else { " " })?;
    }
    f.write_str(close)
}

fn character(f: &mut fmt::Formatter<'_>, letter: char) -> fmt::Result {
    match letter {
        '\n' => f.write_str("\\newline"),
        '\r' => f.write_str("\\return"),
        '\t' => f.write_str("\\tab"),
        ' ' => f.write_str("\\space"),
        letter if letter.is_whitespace() || letter.is_control() => {
            write!(f, "\\u{:04x}", u32::from(letter))
        }
        letter => write!(f, "\\{letter}"),
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(f, "\\{letter}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            // All control characters are in the first plane, so four digits are enough.
            letter if letter.is_control() => write!(f, "\\u{:04x}", u32::from(letter))?,
            letter => f.write_char(letter)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_in_which_maps_and_sets_are_written_does_not_matter() {
        let (a, b) = (Datum::keyword("a"), Datum::keyword("b"));
        let one = Datum::map([(a.clone(), 1.into()), (b.clone(), 2.into())]);
        assert_eq!(one, Datum::map([(b.clone(), 2.into()), (a.clone(), 1.into())]));
        assert_eq!(Datum::set([b.clone(), a.clone(), b.clone()]), Datum::set([a, b]));
    }

    #[test]
    fn of_two_entries_with_the_same_key_the_later_stays() {
        let map = Datum::map([(1.into(), 1.into()), (1.into(), 2.into())]);
        assert_eq!(map.to_string(), "{1 2}");
    }

    #[test]
    fn every_kind_prints_as_edn() {
        let all = Datum::list([
            Datum::Nil,
            true.into(),
            (-3).into(),
            1.0.into(),
            f64::NEG_INFINITY.into(),
            Datum::Number("1/3".into()),
            "a\"b\n\u{1}".into(),
            Datum::list("a \u{1}".chars().map(Datum::Character)),
            Datum::set([1.into()]),
            Datum::Tagged("inst".into(), Arc::new("2020".into())),
        ]);
        let text =
            r##"[nil true -3 1.0 ##-Inf 1/3 "a\"b\n\u0001" [\a \space \u0001] #{1} #inst "2020"]"##;
        assert_eq!(all.to_string(), text);
        assert_eq!(format!("{all:?}"), text);
    }
}
