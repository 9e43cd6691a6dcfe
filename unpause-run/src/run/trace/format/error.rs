//! Errors in the text of a trace, with their positions.
//!
//! An error keeps only a few characters of the found text, so that it is small for any file.

use std::error::Error;
use std::fmt;
use std::str::Utf8Error;

use super::{INLINE_STEPS_MAX, VERSION};
use crate::run::ids::InvalidTaskPath;

/// An error in a trace file: the line and the problem in it.
///
/// ```
/// use sim::run::trace::format::{ErrorKind, parse};
/// let error = parse(b"simtrace 2\ntask 0\nstep 0 0.7\nend 1\n").unwrap_err();
/// assert_eq!(error.line, 3);
/// assert_eq!(error.kind, ErrorKind::UnknownTask("0.7".to_owned()));
/// assert_eq!(
///     error.to_string(),
///     "line 3: there is no task `0.7`: each task needs a `task` line above the steps",
/// );
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// The line, counted from 1. For a truncated file, the line after the last line feed.
    pub line: usize,
    /// The kind of the error.
    pub kind: ErrorKind,
}

/// An error in a line of a trace file.
///
/// Texts in the variants are quoted from the file, cut after 40 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The line is not UTF-8.
    InvalidUtf8(Utf8Error),
    /// The line contains a control character other than a tab.
    ControlCharacter(char),
    /// The first line does not begin with `simtrace`.
    NotATrace,
    /// The trace has an unknown version of the format.
    UnknownVersion(u64),
    /// The line begins with this unknown keyword.
    UnknownKeyword(String),
    /// A line of this kind is not allowed here.
    Misplaced(&'static str),
    /// An `also` line does not follow an operation.
    StrayAlso,
    /// The line ends before this field.
    MissingField(&'static str),
    /// The line has extra text after its last field.
    ExtraField(String),
    /// A field begins with `#`.
    Comment,
    /// A double quote opens no text, or a text is not closed.
    Quote,
    /// A quoted text contains an unknown escape.
    Escape(String),
    /// A field must be a bare word of certain characters, but is not.
    Word {
        /// The field.
        name: &'static str,
        /// The text or number found.
        found: String,
    },
    /// A field must be a kind and a number, but is not.
    Object(String),
    /// A field must be a number, but is not, or the number is too large.
    Number {
        /// The field.
        name: &'static str,
        /// The text or number found.
        found: String,
    },
    /// A field must be a setting, but is not, or the setting occurs twice.
    Setting(String),
    /// A field must be a part of a program, but is not.
    Part(String),
    /// A field must be a task path, but is not.
    TaskPath(InvalidTaskPath),
    /// A task path has a second `task` line.
    DuplicateTask(String),
    /// The parent of a task has no line above the task.
    MissingParent(String),
    /// The task of a step has no `task` line.
    UnknownTask(String),
    /// The object of an operation has no `object` line.
    UnknownObject(String),
    /// The objects of a kind are not numbered consecutively from 0.
    ObjectNumber {
        /// The expected number.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// The steps are not numbered consecutively from 0.
    StepNumber {
        /// The expected number.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// A draw is not `drew=value/bound` with the value below the bound.
    Draw(String),
    /// The `end` line does not give the number of steps in the file.
    StepCount {
        /// The number of `step` lines.
        expected: u64,
        /// The number in the `end` line.
        found: u64,
    },
    /// The file ends before its `end` line.
    Truncated,
    /// The `checksum` line does not match the lines above it.
    Checksum {
        /// The checksum of the lines.
        expected: String,
        /// The text found.
        found: String,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

impl Error for TraceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::InvalidUtf8(source) => Some(source),
            ErrorKind::TaskPath(source) => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::InvalidUtf8(_) => f.write_str(
                "not UTF-8 text: the file is damaged, take another copy or run the test again",
            ),
            ErrorKind::ControlCharacter(c) => {
                let (code, escape) = (u32::from(*c), c.escape_unicode());
                write!(
                    f,
                    "control character U+{code:04X}: if it belongs to a text, write `{escape}` \
                     between double quotes"
                )
            }
            ErrorKind::NotATrace => {
                write!(f, "not a trace: its first line would be `simtrace {VERSION}`")
            }
            ErrorKind::UnknownVersion(found) => write!(
                f,
                "a trace of version {found}, and this library reads version {VERSION}: use the \
                 version of `unpause` that wrote it"
            ),
            ErrorKind::UnknownKeyword(found) => write!(
                f,
                "unknown keyword `{found}`: expected test, package, seed, strategy, settings, \
                 cargo, verdict, task, object, step, also, end or checksum"
            ),
            ErrorKind::Misplaced(keyword) => write!(
                f,
                "`{keyword}` must not stand here, or not twice: the order is simtrace, test, \
                 package, seed, strategy, settings, cargo, verdict, task, object, step and also, end, \
                 checksum"
            ),
            ErrorKind::StrayAlso => {
                f.write_str("`also` follows no operation: put it below a `step` line that has one")
            }
            ErrorKind::MissingField(name) => write!(f, "the {name} is missing"),
            ErrorKind::ExtraField(found) => write!(
                f,
                "`{found}` is one field too many: put a text with spaces in double quotes"
            ),
            ErrorKind::Comment => f.write_str(
                "a field begins with `#`: a comment has a line of its own, and a text that \
                 begins so stands in double quotes",
            ),
            ErrorKind::Quote => f.write_str(
                "stray or missing `\"`: a quoted text ends in one and white space follows; \
                 inside it write `\\\"`",
            ),
            ErrorKind::Escape(found) => write!(
                f,
                "unknown escape `\\{found}`: there are \\\" \\\\ \\n \\r \\t and \\u{{...}}"
            ),
            ErrorKind::Word { name, found } => write!(
                f,
                "`{found}` is no {name}: expected one bare word of ASCII letters, digits, `_`, `-`"
            ),
            ErrorKind::Object(found) => write!(
                f,
                "`{found}` is no object: expected a kind of ASCII letters, digits and `-`, and a \
                 number, like `atomic:0`"
            ),
            ErrorKind::Number { name, found } => {
                write!(f, "`{found}` is no {name}: expected a decimal number below 2^64")
            }
            ErrorKind::Setting(found) => write!(
                f,
                "`{found}` is no setting: expected `name=value`, each name once, or `default` alone"
            ),
            ErrorKind::Part(found) => write!(
                f,
                "`{found}` is no part of a program: write `prefix`, `suffix`, or the stage from 1 \
                 and the branch from 0 such as `1.0`"
            ),
            ErrorKind::TaskPath(source) => source.fmt(f),
            ErrorKind::DuplicateTask(path) => {
                write!(f, "task `{path}` has a line already: remove one of them")
            }
            ErrorKind::MissingParent(path) => {
                write!(f, "the parent of task `{path}` is missing: it needs a `task` line above")
            }
            ErrorKind::UnknownTask(path) => write!(
                f,
                "there is no task `{path}`: each task needs a `task` line above the steps"
            ),
            ErrorKind::UnknownObject(name) => write!(
                f,
                "there is no object `{name}`: each object needs an `object` line above the \
                 steps, and `-` means none"
            ),
            ErrorKind::ObjectNumber { expected, found } => write!(
                f,
                "object number {found} where {expected} is due: the objects of each kind are \
                 numbered from 0, without gaps"
            ),
            ErrorKind::StepNumber { expected, found } => write!(
                f,
                "step {found} where step {expected} is due: steps are numbered from 0, without gaps"
            ),
            ErrorKind::Draw(found) => write!(
                f,
                "`{found}` is no draw: expected `drew=value/bound` with value below bound"
            ),
            ErrorKind::StepCount { expected, found } => write!(
                f,
                "`end` counts {found} steps and the file has {expected}: lines are missing, or \
                 the number is to be {expected}"
            ),
            ErrorKind::Truncated => f.write_str(
                "truncated: the file ends before its `end` line, take another copy or run the \
                 test again",
            ),
            ErrorKind::Checksum { expected, found } => write!(
                f,
                "the checksum is `{found}` and the lines above give `{expected}`: the file is \
                 damaged, or was edited; if you meant the edit, remove the `checksum` line"
            ),
        }
    }
}

/// An error in an inline trace: the column and the problem there.
///
/// ```
/// use sim::run::trace::format::{InlineErrorKind, parse_inline};
/// let error = parse_inline("sim2:0x3,0.1=5/5").unwrap_err();
/// assert_eq!((error.column, &error.kind), (13, &InlineErrorKind::Draw));
/// assert_eq!(
///     error.to_string(),
///     "column 13: not a draw: expected `=value/bound` with value below bound",
/// );
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlineError {
    /// The column of the first character of the faulty part, counted from 1.
    pub column: usize,
    /// The kind of the error.
    pub kind: InlineErrorKind,
}

/// An error in an inline trace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InlineErrorKind {
    /// The text does not begin with `sim`, a version and `:`.
    NotInline,
    /// The trace has an unknown version of the format.
    UnknownVersion(u64),
    /// The text before the second colon is not a list of settings.
    Settings,
    /// A step does not begin with a task path.
    TaskPath(InvalidTaskPath),
    /// A task path is not followed by `,`, `x` or `=`.
    Unexpected(char),
    /// The text after an `x` is not a number above 0.
    RunLength,
    /// The text after an `=` is not a value, `/` and a bound above the value.
    Draw,
    /// The trace has more than [`INLINE_STEPS_MAX`] steps.
    TooManySteps,
    /// The tasks and their ancestors have more path segments than the limit.
    TooManyTasks,
}

impl fmt::Display for InlineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.kind)
    }
}

impl Error for InlineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            InlineErrorKind::TaskPath(source) => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for InlineErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InlineErrorKind::NotInline => {
                write!(f, "not an inline trace: expected a text like `sim{VERSION}:0x3,0.1`")
            }
            InlineErrorKind::UnknownVersion(found) => write!(
                f,
                "a trace of version {found}, and this library reads version {VERSION}: use the \
                 version of `unpause` that wrote it"
            ),
            InlineErrorKind::Settings => f.write_str(
                "not settings: expected `name=value`, each name once, with `+` between them and a character such as \
                 `*` as `%2A`",
            ),
            InlineErrorKind::TaskPath(source) => source.fmt(f),
            InlineErrorKind::Unexpected(c) => {
                write!(f, "unexpected {c:?}: after a task path comes `,` or `x` or `=`")
            }
            InlineErrorKind::RunLength => {
                f.write_str("not a number of steps: expected a decimal number above 0 after `x`")
            }
            InlineErrorKind::Draw => {
                f.write_str("not a draw: expected `=value/bound` with value below bound")
            }
            InlineErrorKind::TooManySteps => {
                write!(f, "more than {INLINE_STEPS_MAX} steps: keep such a trace in a file")
            }
            InlineErrorKind::TooManyTasks => {
                f.write_str("too many tasks inside tasks: keep such a trace in a file")
            }
        }
    }
}

/// Returns the first characters of `found`, for an error message.
pub(super) fn clip(found: &str) -> String {
    const CHARS_MAX: usize = 40;
    match found.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &found[..end]),
        None => found.to_owned(),
    }
}
