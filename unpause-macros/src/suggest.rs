//! Suggests the known word closest to an unknown one.

/// Words of other tools for an argument of this one.
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

/// Returns the word of `known` that `word` was probably meant to be: the [nearest]. Without one,
/// the meaning of the word in another tool.
pub(crate) fn suggest(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let synonym = || {
        let word = word.to_lowercase();
        SYNONYMS.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours)
    };
    nearest(word, known).or_else(synonym)
}

/// Returns the word of `known` that is nearest to `word` and can be reached by one slip for every
/// three letters. A slip is a letter too many, too few, wrong, or swapped with its neighbour.
pub(crate) fn nearest(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let word = word.to_lowercase();
    known
        .iter()
        .map(|candidate| (slips(&word, candidate), *candidate))
        .filter(|(slips, candidate)| *slips <= candidate.len().max(word.len()) / 3)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// The optimal string alignment distance (Boytsov 2011, section 2.1), in O(|a|·|b|).
fn slips(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // `table[i][j]` is the distance of the first `i` letters of `a` and the first `j` of `b`.
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let wrong = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = wrong.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(table[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    table[a.len()][b.len()]
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

    #[test]
    fn slips_are_counted_both_ways() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("ab", "ba", 1),
            ("abc", "adc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((slips(a, b), slips(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
