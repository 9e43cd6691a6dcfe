//! Finds the known name that was probably meant by a mistyped name.

/// The maximum number of letters compared, because files may contain long texts.
const LETTERS_MAX: usize = 40;

/// Returns the name in `names` that `given` probably means, if any: the first name with the fewest slips.
///
/// A slip is an additional, missing or wrong letter, or a swap of adjacent letters. One slip is allowed per three
/// letters of the longer name, but at least one slip. A name without common letters is never returned. The comparison
/// ignores case.
///
/// ```
/// use unpause_words::closest;
/// assert_eq!(closest("cas-registre", ["register", "cas-register"]), Some("cas-register"));
/// assert_eq!(closest("SIM_SEDE", ["SIM_SEEDS", "SIM_SEED"]), Some("SIM_SEED"));
/// assert_eq!(closest("zebra", ["register", "cas-register"]), None);
/// ```
pub fn closest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = letters(given);
    let near = names.into_iter().filter_map(|name| {
        let letters = letters(name);
        let longer = letters.len().max(given.len());
        let slips = slips(&given, &letters);
        (slips <= (longer / 3).max(1) && slips < longer).then_some((slips, name))
    });
    near.min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

fn letters(name: &str) -> Vec<char> {
    name.chars().take(LETTERS_MAX).flat_map(char::to_lowercase).collect()
}

/// Returns the optimal string alignment distance (Boytsov 2011, section 2.1), in O(|a|·|b|).
fn slips(a: &[char], b: &[char]) -> usize {
    // The distances between the current prefix of `a` and each prefix of `b`, for the current letter of `a` and the two
    // previous letters.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let (mut previous, mut before_that) = (row.clone(), row.clone());
    for i in 1..=a.len() {
        (before_that, previous, row) = (previous, row, before_that);
        row[0] = i;
        for j in 1..=b.len() {
            let wrong = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = wrong.min(previous[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_that[j - 2] + 1);
            }
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted_both_ways() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("ab", "ba", 1),
            ("abc", "adc", 1),
            ("ca", "abc", 3),
            ("kitten", "sitting", 3),
            ("exhaustve", "exhaustive", 1),
        ] {
            let (a, b) = (letters(a), letters(b));
            assert_eq!((slips(&a, &b), slips(&b, &a)), (expected, expected), "{a:?} {b:?}");
        }
    }

    /// Computes the distance by its definition, with recursion over the last letters.
    fn slips_by_definition(a: &[char], b: &[char]) -> usize {
        let (Some((x, a_rest)), Some((y, b_rest))) = (a.split_last(), b.split_last()) else {
            return a.len() + b.len();
        };
        let mut least = slips_by_definition(a_rest, b_rest) + usize::from(x != y);
        least = least.min(slips_by_definition(a_rest, b) + 1);
        least = least.min(slips_by_definition(a, b_rest) + 1);
        match (a_rest.split_last(), b_rest.split_last()) {
            (Some((w, a_rest)), Some((z, b_rest))) if (w, x) == (y, z) => {
                least.min(slips_by_definition(a_rest, b_rest) + 1)
            }
            _ => least,
        }
    }

    #[test]
    fn slips_are_those_of_the_definition_for_all_short_words() {
        let words: Vec<Vec<char>> = (0..=4)
            .flat_map(|length| (0..3_u32.pow(length)).map(move |number| (length, number)))
            .map(|(length, number)| {
                (0..length)
                    .map(|at| ['a', 'b', 'c'][(number / 3_u32.pow(at) % 3) as usize])
                    .collect()
            })
            .collect();
        assert_eq!(words.len(), 121);
        for a in &words {
            for b in &words {
                assert_eq!(slips(a, b), slips_by_definition(a, b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_slip_is_forgiven_and_another_word_is_not() {
        let names = ["register", "cas-register", "no", "r", "SIM_SEED", "SIM_SEEDS"];
        for (given, expected) in [
            ("Register", Some("register")),
            ("regsiter", Some("register")),
            ("casregister", Some("cas-register")),
            ("on", Some("no")),
            ("SIM_SEDE", Some("SIM_SEED")),
            ("sim_seeds", Some("SIM_SEEDS")),
            ("x", None),
            ("", None),
            ("zebra", None),
            (&"register".repeat(1_000_000), None),
        ] {
            assert_eq!(closest(given, names), expected, "{given:.20}");
        }
        assert_eq!(closest("ac", ["ab", "cc"]), Some("ab"), "the first of the nearest");
        assert_eq!(closest("x", []), None);
    }
}
