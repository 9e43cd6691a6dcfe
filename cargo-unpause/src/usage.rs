//! Command line errors, with their remedies.

use std::fmt;

use unpause_words::closest;

/// The reason why a command cannot run, for the screen.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl Usage {
    /// Creates the error for an option that is not among `options`; `help` is the command that
    /// lists them.
    pub(crate) fn unknown_option(given: &lexopt::Arg<'_>, options: &[&str], help: &str) -> Usage {
        let given = match given {
            lexopt::Arg::Long(name) => format!("--{name}"),
            lexopt::Arg::Short(letter) => format!("-{letter}"),
            lexopt::Arg::Value(value) => value.to_string_lossy().into_owned(),
        };
        let hint = closest(&given, options.iter().copied());
        let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        Usage(
            format!("there is no option `{given}`{hint} See `{help}`.").replace("` See", "`; see"),
        )
    }
}

impl From<lexopt::Error> for Usage {
    fn from(error: lexopt::Error) -> Usage {
        Usage(error.to_string())
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
