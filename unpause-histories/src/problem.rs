//! Errors in files, with their places.

use std::error::Error;
use std::fmt;

use unpause_words::closest;

/// A place in a file. Lines and columns count from 1, and columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FilePlace {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl FilePlace {
    /// Returns the beginning of a line.
    pub(crate) fn line(line: u64) -> FilePlace {
        FilePlace { line, column: 1 }
    }
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The reason why a file cannot be checked.
///
/// ```
/// use unpause_histories::{FORMATS, ProblemKind, read};
/// let json = FORMATS.iter().find(|format| format.name == "json").unwrap();
/// let problem = read(&b"{\"process\": 0,\n \"type\": invoke}"[..], json).unwrap_err();
/// assert_eq!(problem.kind, ProblemKind::Syntax);
/// assert_eq!(problem.place.unwrap().line, 2);
/// assert!(problem.to_string().starts_with("line 2, column 10: expected a value, found `i`"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The place of the error; `None` if the error concerns the whole file.
    pub place: Option<FilePlace>,
    /// The kind of the error.
    pub kind: ProblemKind,
    /// The error and the remedy, without the place.
    pub message: String,
}

/// The kind of a [`Problem`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file could not be read.
    Io,
    /// The text does not have the expected format.
    Syntax,
    /// The file exceeds a limit on size or depth.
    Limit,
    /// An event lacks a field or has a field of the wrong type.
    Event,
    /// Events do not fit together: a return without a call, or two calls of one process at once.
    Order,
    /// The operations do not fit the model.
    Model,
    /// A requested model, format or condition does not exist.
    Question,
}

impl Problem {
    pub(crate) fn at(place: FilePlace, kind: ProblemKind, message: impl Into<String>) -> Problem {
        Problem { place: Some(place), kind, message: message.into() }
    }

    pub(crate) fn whole(kind: ProblemKind, message: impl Into<String>) -> Problem {
        Problem { place: None, kind, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Error for Problem {}

/// Returns a text for a name that does not exist: `"x"; did you mean "y"? There are y, z`.
pub(crate) fn not_among(given: &str, there_are: &str, names: &[&str]) -> String {
    let hint = closest(given, names.iter().copied());
    let hint = hint.map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
    let (given, all) = (shown(given), names.join(", "));
    if hint.is_empty() {
        return format!("{given}; {there_are} {all}");
    }
    let mut letters = there_are.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    format!("{given}{hint} {}{} {all}", first.unwrap_or_default(), letters.as_str())
}

/// Returns a text from a file for an error message: quoted, and cut if it is long.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 40;
    if text.chars().count() <= SHOWN_MAX {
        return format!("{text:?}");
    }
    format!("{:?}…", text.chars().take(SHOWN_MAX).collect::<String>())
}
