//! Unknown variables with our prefix, and suggestions for them.

use unpause_words::closest;

use super::SETTINGS;

/// Returns the warning about an unknown variable with our prefix.
pub(crate) fn unknown(name: &str) -> String {
    let variables: Vec<&str> = SETTINGS.iter().map(|row| row.variable).collect();
    match closest(name, variables.iter().copied()) {
        Some(near) => format!("unknown environment variable {name}: did you mean {near}?"),
        None => format!("unknown environment variable {name}; known: {}", variables.join(", ")),
    }
}
