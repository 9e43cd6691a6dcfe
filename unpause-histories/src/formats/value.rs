//! Code shared by the readers of JSON and EDN.

use unpause_check::datum::Datum;

use crate::problem::{FilePlace, Problem, ProblemKind};
use crate::source::FileReader;

/// The top-level values of a file, which are events, one after the other.
pub(super) trait FileValues {
    /// Returns the next value and its place, or `None` at the end.
    fn next(&mut self) -> Result<Option<(FilePlace, Datum)>, Problem>;
}

/// Reads four hexadecimal digits.
pub(super) fn hex(source: &mut FileReader<'_>) -> Result<u32, Problem> {
    let mut code = 0;
    for _ in 0..4 {
        let digit = source.peek()?.and_then(|byte| char::from(byte).to_digit(16));
        let Some(digit) = digit else {
            let found = source.found()?;
            return source.syntax(format!("expected four hexadecimal digits, found {found}"));
        };
        code = code * 16 + digit;
        source.next()?;
    }
    Ok(code)
}

/// Creates a map from the entries of a literal that began at `at`.
///
/// # Errors
/// If two keys are equal, because the value of that key would be ambiguous.
pub(super) fn map(at: FilePlace, entries: Vec<(Datum, Datum)>) -> Result<Datum, Problem> {
    let count = entries.len();
    let map = Datum::map(entries);
    match &map {
        Datum::Map(kept) if kept.len() == count => Ok(map),
        _ => Err(Problem::at(at, ProblemKind::Syntax, "this map has a key twice")),
    }
}
