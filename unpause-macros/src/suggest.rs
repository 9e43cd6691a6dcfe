//! Suggests the known word closest to an unknown word.

use unpause_words::closest;

/// Words of other tools, each with the corresponding argument of this attribute.
const SYNONYMS: [(&str, &str); 17] = [
    ("iterations", "seeds"),
    ("iters", "seeds"),
    ("runs", "seeds"),
    ("cases", "seeds"),
    ("scheduler", "strategy"),
    ("schedule", "strategy"),
    ("steps", "max_steps"),
    ("step_limit", "max_steps"),
    ("steps_max", "max_steps"),
    ("timeout", "time"),
    ("duration", "time"),
    ("max_time", "time"),
    ("trace", "replay"),
    ("file", "replay"),
    ("should_fail", "must_fail"),
    ("should_panic", "must_fail"),
    ("path", "crate"),
];

/// Returns the word of `known` that `word` probably means: the [closest] word, or else the
/// equivalent of a word of another tool.
pub(crate) fn suggest(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let synonym = || {
        let word = word.to_lowercase();
        SYNONYMS.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours)
    };
    closest(word, known.iter().copied()).or_else(synonym)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::NAMES;

    #[test]
    fn a_slip_is_forgiven_and_another_word_is_not() {
        let cases = [
            ("sedes", Some("seeds")),
            ("sed", Some("seed")),
            ("Seeds", Some("seeds")),
            ("maxsteps", Some("max_steps")),
            ("max_step", Some("max_steps")),
            ("stategy", Some("strategy")),
            ("tiem", Some("time")),
            ("reply", Some("replay")),
            ("mustfail", Some("must_fail")),
            ("krate", Some("crate")),
            ("timeout", Some("time")),
            ("iterations", Some("seeds")),
            ("flavor", None),
            ("x", None),
            ("", None),
        ];
        for (word, expected) in cases {
            assert_eq!(suggest(word, &NAMES), expected, "{word}");
        }
    }

    #[test]
    fn every_synonym_stands_for_an_argument_that_exists() {
        for (theirs, ours) in SYNONYMS {
            assert!(NAMES.contains(&ours), "{theirs}");
        }
    }
}
