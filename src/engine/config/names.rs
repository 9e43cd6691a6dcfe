//! The names of the variables, and which one was meant.

/// All variables, for suggestions.
const VARIABLES: [&str; 28] = [
    "SIM_SEED",
    "SIM_SEEDS",
    "SIM_STRATEGY",
    "SIM_TIME",
    "SIM_STEPS",
    "SIM_REPLAY",
    "SIM_JOBS",
    "SIM_POINTS",
    "SIM_ARC",
    "SIM_CHANCES",
    "SIM_CLOCK",
    "SIM_CANCEL",
    "SIM_CANCEL_SELECTS",
    "SIM_BUGGIFY",
    "SIM_PROGRESS",
    "SIM_ISOLATE",
    "SIM_SHARD",
    "SIM_HANG",
    "SIM_LIMIT",
    "SIM_LOG",
    "SIM_COVERAGE",
    "SIM_CLOSURE",
    "SIM_PROVE",
    "SIM_MUST_PROVE",
    "SIM_SHRINK",
    "SIM_STATISTICS",
    "SIM_OUT",
    "SIM_RESULTS",
];

/// Returns the warning about an unknown variable with our prefix.
pub(super) fn unknown(name: &str) -> String {
    let near = VARIABLES.iter().min_by_key(|known| distance(name, known));
    match near {
        Some(near) if distance(name, near) <= 3 => {
            format!("unknown environment variable {name}: did you mean {near}?")
        }
        _ => format!("unknown environment variable {name}; known: {}", VARIABLES.join(", ")),
    }
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
