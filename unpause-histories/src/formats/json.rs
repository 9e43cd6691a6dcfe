//! JSON: one event per line, or all events in an array.
//!
//! The [reader](json) of the package `unpause-check` streams its input, so at most one event is in memory. `FileReader`
//! limits depth and size. Numbers of more than 64 bits are kept exactly. The tests compare the reader with
//! `serde_json`.

use std::sync::Arc;

use unpause_check::datum::Datum;
use unpause_check::json::{self, Source};

use super::names::NameTable;
use super::value::FileValues;
use crate::problem::{FilePlace, Problem, ProblemKind};
use crate::source::{DEPTH_MAX, FileReader, NUMBER_MAX, utf8};

pub(super) struct Json<'a> {
    source: FileReader<'a>,
    names: NameTable,
    array: Array,
    /// The digits of a number.
    digits: Vec<u8>,
}

/// The position of the reader in an outer array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Array {
    Unknown,
    None,
    First,
    Inside,
    Closed,
}

impl<'a> Json<'a> {
    pub(super) fn new(source: FileReader<'a>) -> Json<'a> {
        Json { source, names: NameTable::default(), array: Array::Unknown, digits: Vec::new() }
    }
}

impl Source for Json<'_> {
    type Value = Datum;
    type Name = Arc<str>;
    type Place = FilePlace;
    type Error = Problem;

    fn place(&self) -> FilePlace {
        self.source.at()
    }

    fn peek(&mut self) -> Result<Option<u8>, Problem> {
        self.source.peek()
    }

    fn skip(&mut self) -> Result<(), Problem> {
        self.source.next().map(|_| ())
    }

    fn spare(&mut self) -> &mut Vec<u8> {
        &mut self.digits
    }

    fn begin(&mut self, depth: usize) -> Result<(), Problem> {
        self.source.count_item()?;
        if depth > DEPTH_MAX {
            let message = format!("values are nested deeper than {DEPTH_MAX}");
            return Err(Problem::at(self.source.at(), ProblemKind::Limit, message));
        }
        Ok(())
    }

    fn expected(&mut self, what: &str) -> Problem {
        match self.source.found() {
            Ok(found) => self.wrong(self.source.at(), format!("expected {what}, found {found}")),
            Err(problem) => problem,
        }
    }

    fn wrong(&self, at: FilePlace, message: String) -> Problem {
        Problem::at(at, ProblemKind::Syntax, message)
    }

    fn utf8(&self, at: FilePlace, bytes: Vec<u8>) -> Result<String, Problem> {
        utf8(at, bytes)
    }

    fn null(&mut self) -> Datum {
        Datum::Nil
    }

    fn flag(&mut self, flag: bool) -> Datum {
        flag.into()
    }

    fn number(&mut self, at: FilePlace, digits: &str) -> Result<Datum, Problem> {
        if digits.len() > NUMBER_MAX {
            let message = format!("a number of more than {NUMBER_MAX} digits; write it as a text");
            return Err(Problem::at(at, ProblemKind::Limit, message));
        }
        Ok(Datum::decimal(digits).unwrap_or_else(|| Datum::Number(digits.into())))
    }

    fn text(&mut self, text: String) -> Datum {
        Datum::Text(text.into())
    }

    fn name(&mut self, text: String) -> Arc<str> {
        self.names.name(&text)
    }

    fn array(&mut self, items: Vec<Datum>) -> Datum {
        Datum::List(items.into())
    }

    fn object(&mut self, at: FilePlace, entries: Vec<(Arc<str>, Datum)>) -> Result<Datum, Problem> {
        let entries = entries.into_iter().map(|(name, value)| (Datum::Text(name), value));
        super::value::map(at, entries.collect())
    }
}

impl FileValues for Json<'_> {
    fn next(&mut self) -> Result<Option<(crate::FilePlace, Datum)>, Problem> {
        self.source.begin_event();
        let next = json::blank(self)?;
        if self.array == Array::Unknown {
            self.array = if next == Some(b'[') { Array::First } else { Array::None };
            if next == Some(b'[') {
                self.source.next()?;
            }
        }
        let next = json::blank(self)?;
        match self.array {
            Array::First | Array::Inside if next == Some(b']') => {
                self.source.next()?;
                self.array = Array::Closed;
            }
            Array::Inside if next == Some(b',') => {
                self.source.next()?;
            }
            Array::Inside => return Err(self.expected("`,` or `]`")),
            Array::First => self.array = Array::Inside,
            Array::Unknown | Array::None | Array::Closed => {}
        }
        let next = json::blank(self)?;
        match self.array {
            Array::Closed if next.is_some() => Err(self.expected("nothing after the array")),
            Array::Closed => Ok(None),
            Array::None if next.is_none() => Ok(None),
            _ => {
                let at = self.source.at();
                Ok(Some((at, json::value(self, 1)?)))
            }
        }
    }
}
