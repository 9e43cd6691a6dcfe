//! Where a command writes to: the streams of the process, or texts that a test looks at.

use std::io::{IsTerminal, Write, stderr, stdout};

use sim::report::Style;

/// The two streams that a command writes to.
#[derive(Debug)]
pub struct Terminal {
    /// What was written, if it is kept and not shown.
    kept: Option<(String, String)>,
    style: Style,
    /// Whether somebody watches, so that progress is worth showing.
    watched: bool,
}

impl Terminal {
    /// The streams of this process. Colours only for a terminal, and not if `NO_COLOR` is set; as wide
    /// as `COLUMNS` says.
    pub fn of_the_process() -> Terminal {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let color = stdout().is_terminal() && !is_set("NO_COLOR");
        let style = Style { color, width: columns.unwrap_or(Style::default().width) };
        Terminal { kept: None, style, watched: stderr().is_terminal() }
    }

    /// Shows nothing and keeps all.
    pub fn silent() -> Terminal {
        Terminal { kept: Some(Default::default()), style: Style::default(), watched: false }
    }

    /// What was written to the standard output, if it is kept.
    pub fn output(&self) -> &str {
        self.kept.as_ref().map_or("", |(output, _)| output)
    }

    /// What was written to the standard error, if it is kept.
    pub fn errors(&self) -> &str {
        self.kept.as_ref().map_or("", |(_, errors)| errors)
    }

    pub(crate) fn style(&self) -> &Style {
        &self.style
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    /// Writes a result. That nobody reads on (`| head`) is not an error.
    pub(crate) fn print(&mut self, text: &str) {
        match &mut self.kept {
            Some((output, _)) => output.push_str(text),
            None => drop(stdout().write_all(text.as_bytes())),
        }
    }

    /// Writes a line about what went wrong.
    pub(crate) fn error(&mut self, text: &str) {
        match &mut self.kept {
            Some((_, errors)) => *errors += &format!("{text}\n"),
            None => drop(writeln!(stderr(), "{text}")),
        }
    }
}
