//! What the readers of JSON and EDN have in common.

use sim::datum::Datum;

use crate::problem::{Place, Problem, ProblemKind};
use crate::source::Source;

/// The values of a file that are events, one after the other.
pub(super) trait Values {
    /// The next value and where it begins; none at the end.
    fn next(&mut self) -> Result<Option<(Place, Datum)>, Problem>;
}

/// A whole number; one of more than 64 bits is kept as text.
pub(super) fn whole(text: &str) -> Datum {
    text.parse().map_or_else(|_| Datum::Number(text.into()), Datum::Integer)
}

/// A number with a point or an exponent; one that no `f64` comes near is kept as text.
pub(super) fn fraction(text: &str) -> Datum {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => number.into(),
        _ => Datum::Number(text.into()),
    }
}

/// Four hexadecimal digits.
pub(super) fn hex(source: &mut Source<'_>) -> Result<u32, Problem> {
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
/// If two of its keys are equal: which of the values is meant?
pub(super) fn map(at: Place, entries: Vec<(Datum, Datum)>) -> Result<Datum, Problem> {
    let count = entries.len();
    let map = Datum::map(entries);
    match &map {
        Datum::Map(kept) if kept.len() == count => Ok(map),
        _ => Err(Problem::at(at, ProblemKind::Syntax, "this map has a key twice")),
    }
}
