//! The grammar of a duration, wherever a user writes one: in an attribute, a variable or a command line.
//!
//! `src/engine/config/duration.rs` and `unpause-macros/src/duration.rs` are the same text, which a test compares: a macro
//! crate exports macros only, and may not depend on the library that its expansions call.

/// The grammar, for messages.
pub(crate) const GRAMMAR: &str =
    "a time like 500ms, 5s, 2m or 1h; a number without a unit is seconds";

/// The units, in milliseconds.
const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("", 1_000)];

/// Returns the milliseconds of a [duration](GRAMMAR); `None` if the text is none, or more of them than a `u64` holds.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn a_duration_is_a_whole_number_and_a_unit() {
        let most = u64::MAX.to_string();
        let right = [
            ("0", 0),
            ("0s", 0),
            ("1ms", 1),
            ("500ms", 500),
            ("10", 10_000),
            ("5s", 5_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("007s", 7_000),
            (&format!("{most}ms"), u64::MAX),
        ];
        for (text, expected) in right {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
        let wrong = ["", "s", "-5s", "+5s", " 5s", "5 s", "5s ", "1.5s", "٥s", "5sec", "5S"];
        let long = ["1m30s", "99999999999999999999h", &format!("{most}s"), &format!("{most}0ms")];
        for text in wrong.iter().chain(&long) {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
