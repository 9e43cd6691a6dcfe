//! Unknown variables with our prefix, values that do not match their grammar, and suggestions for both.

use unpause_words::closest;

use super::row::SettingRow;
use super::strategy::meant;
use super::{SETTINGS, Settings};

/// The words that are values of settings, or parts of values. Each word is a value of at least one setting.
const WORDS: &[&str] = &[
    "none",
    "timers",
    "spurious",
    "weak", // chances
    "sc",
    "c11", // memory
    "run",
    "process", // isolate
    "default",
    "all", // points, log
    "last",
    "any", // clock
    "lock-free",
    "obstruction-free",
    "wait-free", // progress
    "off",
    "replay", // log
];

/// Returns the warning about an unknown variable with our prefix.
pub(crate) fn unknown(name: &str) -> String {
    let variables: Vec<&str> = SETTINGS.iter().map(|row| row.variable).collect();
    match closest(name, variables.iter().copied()) {
        Some(near) => format!("unknown environment variable {name}: did you mean {near}?"),
        None => format!("unknown environment variable {name}; known: {}", variables.join(", ")),
    }
}

/// Returns the grammar of a setting, with a suggestion for a value that does not match it.
pub(super) fn expected(row: &SettingRow, value: &str) -> String {
    let hint = match row.name {
        "strategy" => meant(value),
        _ => word_meant(row, value)
            .map_or_else(String::new, |word| format!("; did you mean {word}?")),
    };
    (row.grammar)().into_owned() + &hint
}

/// Returns the word of the setting that the first wrong word of `value` probably means, if any.
fn word_meant(row: &SettingRow, value: &str) -> Option<&'static str> {
    let is_value = |word: &str| (row.read)(&mut Settings::default(), word);
    let wrong = value.split(',').map(str::trim).find(|part| !is_value(part))?;
    let word = wrong.split_once(':').map_or(wrong, |(word, _)| word);
    closest(word, WORDS.iter().copied().filter(|word| is_value(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `true` for a setting with any text as its value.
    fn is_free(row: &SettingRow) -> bool {
        (row.read)(&mut Settings::default(), "no such word")
    }

    #[test]
    fn each_word_is_the_value_of_a_setting() {
        for word in WORDS {
            let mut rows = SETTINGS.iter().filter(|row| !is_free(row));
            assert!(rows.any(|row| (row.read)(&mut Settings::default(), word)), "{word}");
        }
    }

    #[test]
    fn a_mistyped_word_has_a_suggestion() {
        for (variable, value, meant) in [
            ("SIM_CHANCES", "timer", "timers"),
            ("SIM_CHANCES", "timers, spurius", "spurious"),
            ("SIM_MEMORY", "C11", "c11"),
            ("SIM_ISOLATE", "proces", "process"),
            ("SIM_POINTS", "al", "all"),
            ("SIM_CLOCK", "ani", "any"),
            ("SIM_PROGRESS", "wait_free:7", "wait-free"),
            ("SIM_LOG", "reply", "replay"),
            ("SIM_STRATEGY", "exaustive", "exhaustive"),
        ] {
            let row = SETTINGS.iter().find(|row| row.variable == variable).unwrap();
            let expected = expected(row, value);
            assert!(expected.ends_with(&format!("; did you mean {meant}?")), "{value}: {expected}");
        }
    }

    #[test]
    fn a_word_of_another_setting_is_not_suggested() {
        for row in SETTINGS.iter().filter(|row| !is_free(row)) {
            let plain = (row.grammar)().into_owned();
            assert_eq!(expected(row, "zebra"), plain, "{}", row.variable);
            let meant = word_meant(row, "spuriou").is_some();
            assert_eq!(meant, row.variable == "SIM_CHANCES", "{}", row.variable);
        }
    }
}
