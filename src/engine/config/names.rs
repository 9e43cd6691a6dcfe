//! The names of the variables, and which one was meant.

use super::SETTINGS;

/// Returns the warning about an unknown variable with our prefix.
pub(super) fn unknown(name: &str) -> String {
    let variables: Vec<&str> = SETTINGS.iter().map(|row| row.variable).collect();
    match nearest(name, variables.iter().copied()) {
        Some(near) => format!("unknown environment variable {name}: did you mean {near}?"),
        None => format!("unknown environment variable {name}; known: {}", variables.join(", ")),
    }
}

/// Returns the word of `known` that `name` probably means; `None` if none is near.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.into_iter().min_by_key(|known| distance(name, known))?;
    // A slip for every three letters, and three at most.
    (distance(name, near) <= (near.len().max(name.len()) / 3).min(3)).then_some(near)
}

/// Returns the edit distance of `a` and `b` (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
