//! Shared by the readers of JSON and EDN.

use unpause_check::datum::Datum;

use crate::problem::{FilePlace, Problem, ProblemKind};
use crate::source::FileReader;

/// The values of a file that are events, one after the other.
pub(super) trait FileValues {
    /// The next value and its place; none at the end.
    fn next(&mut self) -> Result<Option<(FilePlace, Datum)>, Problem>;
}

/// Four hexadecimal digits.
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

/// A map that began at `at`.
///
/// # Errors
/// If two of its keys are equal, because the value would be ambiguous.
pub(super) fn map(at: FilePlace, entries: Vec<(Datum, Datum)>) -> Result<Datum, Problem> {
    let count = entries.len();
    let map = Datum::map(entries);
    match &map {
        Datum::Map(kept) if kept.len() == count => Ok(map),
        _ => Err(Problem::at(at, ProblemKind::Syntax, "this map has a key twice")),
    }
}
