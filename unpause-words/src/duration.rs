//! Durations in the user's notation: in an argument of the attribute, in an environment variable or in a command-line
//! option.
//!
//! The tests of these three places check each of their names with [`RIGHT`] and [`WRONG`].

/// The grammar, for messages.
pub const GRAMMAR: &str = "a time like 500ms, 5s, 2m or 1h; a number without a unit is seconds";

/// The units, in milliseconds.
const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("", 1_000)];

/// Returns the milliseconds of a [duration](GRAMMAR). `None` if the text is not a duration, or if the number exceeds a
/// `u64`.
///
/// ```
/// use unpause_words::duration::milliseconds;
/// assert_eq!(milliseconds("2m"), Some(120_000));
/// assert_eq!(milliseconds("10"), Some(10_000));
/// assert_eq!(milliseconds("1.5s"), None);
/// ```
pub fn milliseconds(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Valid durations, with their milliseconds, for tests.
#[doc(hidden)]
pub const RIGHT: &[(&str, u64)] = &[
    ("0", 0),
    ("0s", 0),
    ("1ms", 1),
    ("500ms", 500),
    ("10", 10_000),
    ("5s", 5_000),
    ("2m", 120_000),
    ("1h", 3_600_000),
    ("007s", 7_000),
    ("18446744073709551615ms", u64::MAX),
];

/// Invalid durations, for tests.
#[doc(hidden)]
pub const WRONG: &[&str] = &[
    "",
    " ",
    "s",
    "x",
    "-5s",
    "+5s",
    " 5s",
    "5 s",
    "5s ",
    "1.5s",
    "1_000ms",
    "٥s",
    "5sec",
    "5S",
    "5us",
    "1d",
    "1m30s",
    "99999999999999999999h",
    "18446744073709551615s",
    "184467440737095516150ms",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_and_a_unit() {
        for (text, expected) in RIGHT {
            assert_eq!(milliseconds(text), Some(*expected), "{text}");
        }
        for text in WRONG {
            assert_eq!(milliseconds(text), None, "{text}");
        }
        for (unit, factor) in UNITS {
            assert_eq!(milliseconds(&format!("3{unit}")), Some(3 * factor), "{unit}");
        }
    }
}
