//! The output of a command: the streams of the process, or strings that a test reads.

use std::io::{Error, ErrorKind, IsTerminal, Write, stderr, stdout};

use sim::__private::{wants_color, width};
use sim::report::Style;

/// The two output streams of a command.
#[derive(Debug)]
pub struct Terminal {
    /// The written texts, if they are kept instead of shown.
    kept: Option<(String, String)>,
    /// The error of a failed write.
    lost: Option<Error>,
    style: Style,
    /// `true` if standard error is a terminal, so that progress is shown.
    watched: bool,
}

impl Terminal {
    /// Returns the streams of this process. Uses colours only on a terminal, and not if `NO_COLOR` is set or `TERM` is
    /// `dumb`; `CARGO_TERM_COLOR` overrides this. The width is `COLUMNS`, else the width of the terminal.
    pub fn of_the_process() -> Terminal {
        let variable = |name: &str| std::env::var(name).ok();
        let terminal = stdout().is_terminal();
        let color = wants_color(terminal, &variable);
        let style = Style { color, width: width(terminal && stderr().is_terminal(), &variable) };
        Terminal { kept: None, lost: None, style, watched: stderr().is_terminal() }
    }

    /// Creates a terminal that shows nothing and keeps all output.
    pub fn silent() -> Terminal {
        Terminal {
            kept: Some(Default::default()),
            lost: None,
            style: Style::default(),
            watched: false,
        }
    }

    /// Returns the text written to standard output, if it is kept.
    pub fn output(&self) -> &str {
        self.kept.as_ref().map_or("", |(output, _)| output)
    }

    /// Returns the text written to standard error, if it is kept.
    pub fn errors(&self) -> &str {
        self.kept.as_ref().map_or("", |(_, errors)| errors)
    }

    pub(crate) fn style(&self) -> &Style {
        &self.style
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    /// Writes a result. [`finish`](Self::finish) returns the error if that fails.
    pub(crate) fn print(&mut self, text: &str) {
        match &mut self.kept {
            Some((output, _)) => output.push_str(text),
            None if self.lost.is_some() => {}
            None => self.lost = stdout().write_all(text.as_bytes()).err(),
        }
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// If a write failed, unless the reader closed the pipe (`| head`).
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        let lost = self.lost.take().or_else(|| stdout().flush().err());
        match lost {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes an error as a line.
    pub(crate) fn error(&mut self, text: &str) {
        match &mut self.kept {
            Some((_, errors)) => *errors += &format!("{text}\n"),
            None => drop(writeln!(stderr(), "{text}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_have_them() {
        for (terminal, variables, expected) in [
            (true, &[][..], true),
            (false, &[], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("TERM", "dumb")], false),
            (true, &[("TERM", "xterm"), ("CARGO_TERM_COLOR", "never")], false),
            (false, &[("CARGO_TERM_COLOR", "always")], true),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(wants_color(terminal, &variable), expected, "{terminal} {variables:?}");
        }
    }
}
