//! Terminal properties for the text output of tests: colours and width.

use std::io::{self, IsTerminal};

use crate::report::Style;

/// Returns the style for the text output of a test. A harness may print the standard error of a test to its own
/// standard output, so colours require that both are terminals.
pub(crate) fn style() -> Style {
    let variable = |name: &str| std::env::var(name).ok();
    let terminal = io::stdout().is_terminal() && io::stderr().is_terminal();
    Style { color: wants_color(terminal, &variable), width: width(terminal, &variable) }
}

/// Returns `true` if colours are on: for a terminal, unless `NO_COLOR`, `CARGO_TERM_COLOR` or `TERM` overrides this.
#[doc(hidden)]
pub fn wants_color(terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |name, value| variable(name).is_some_and(|found| found == value);
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty())
        || is("CARGO_TERM_COLOR", "never")
    {
        return false;
    }
    is("CARGO_TERM_COLOR", "always") || (terminal && !is("TERM", "dumb"))
}

/// Returns the output width in columns: `COLUMNS`, else the width of the terminal, else 100 if there is no terminal or
/// its width is unknown.
#[doc(hidden)]
pub fn width(terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> usize {
    let given = variable("COLUMNS").and_then(|columns| columns.parse().ok());
    let asked = || terminal.then(asked_width).flatten();
    let known = given.filter(|columns| *columns > 0).or_else(asked);
    known.unwrap_or(Style::default().width)
}

/// Returns the current width of the terminal, as reported by `stty`. std has no function for it, and the crates that
/// provide this number add five dependencies. `None` if the command does not exist. A program with simulated threads
/// must not start a process, so it does not call `stty`.
#[cfg(all(unix, not(unpause_native)))]
fn asked_width() -> Option<usize> {
    use std::os::fd::AsFd;
    use std::process::{Command, Stdio};

    let terminal = io::stderr().as_fd().try_clone_to_owned().ok()?;
    let stty = Command::new("stty").arg("size").stdin(terminal).stderr(Stdio::null()).output();
    columns_of(&String::from_utf8(stty.ok()?.stdout).ok()?)
}

#[cfg(not(all(unix, not(unpause_native))))]
fn asked_width() -> Option<usize> {
    None
}

/// Returns the columns in the output of `stty size`, which consists of rows and columns.
#[cfg_attr(not(all(unix, not(unpause_native))), allow(dead_code))]
fn columns_of(size: &str) -> Option<usize> {
    size.split_whitespace().nth(1)?.parse().ok().filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an environment with these variables.
    fn with<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn colours_are_for_terminals_and_for_who_does_not_say_no() {
        for (terminal, variables, expected) in [
            (true, &[][..], true),
            (false, &[], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("NO_COLOR", "")], true),
            (true, &[("TERM", "dumb")], false),
            (true, &[("CARGO_TERM_COLOR", "never")], false),
            (false, &[("CARGO_TERM_COLOR", "always")], true),
            (false, &[("CARGO_TERM_COLOR", "auto")], false),
            (true, &[("CARGO_TERM_COLOR", "always"), ("NO_COLOR", "1")], false),
        ] {
            let found = wants_color(terminal, &with(variables));
            assert_eq!(found, expected, "{terminal} {variables:?}");
        }
    }

    #[test]
    fn a_screen_is_as_wide_as_it_is_told_and_else_a_hundred_columns() {
        assert_eq!(width(false, &with(&[])), 100);
        assert_eq!(width(false, &with(&[("COLUMNS", "72")])), 72);
        assert_eq!(width(true, &with(&[("COLUMNS", "72")])), 72);
        for wrong in ["", "0", "wide", "-3"] {
            assert_eq!(width(false, &with(&[("COLUMNS", wrong)])), 100, "{wrong:?}");
        }
        assert_eq!(columns_of("24 80\n"), Some(80));
        for wrong in ["", "24", "0 0", "a b"] {
            assert_eq!(columns_of(wrong), None, "{wrong:?}");
        }
    }
}
