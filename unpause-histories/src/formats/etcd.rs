//! The log format of Jepsen's early tests of a compare-and-set register: `INFO  jepsen.util - 3  :invoke  :cas  [1 2]`.
//!
//! Other lines of the log are ignored. In this format, a read of `nil` found no value. A failed compare-and-set found a
//! value different from the expected value. A failed read gives no information.

use unpause_check::datum::Datum;
use unpause_check::models::NilRead;

use super::edn::Edn;
use crate::event::{EventKind, FileEvent};
use crate::problem::{FilePlace, Problem, ProblemKind};
use crate::recording::{Pairing, Recording};
use crate::source::FileReader;

/// The text before the event.
const BEFORE: &str = "jepsen.util - ";

pub(super) fn begins(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains(BEFORE))
}

pub(super) fn read(mut source: FileReader<'_>) -> Result<Recording, Problem> {
    let mut recording = Recording::new("etcd");
    recording.model = Some("cas-register");
    recording.nil = NilRead::Nothing;
    recording.failures_are_answers = true;
    let mut pairing = Pairing::new(recording);
    while let Some((place, line)) = source.line()? {
        let Some((before, event)) = line.split_once(BEFORE) else {
            continue;
        };
        let column = place.column + (before.chars().count() + BEFORE.len()) as u64;
        match self::event(FilePlace { column, ..place }, event)? {
            Some(event) => pairing.event(event)?,
            None => pairing.note(true),
        }
    }
    pairing.finish()
}

/// Reads process, type, operation and value, in EDN. An explanation may follow.
fn event(place: FilePlace, text: &str) -> Result<Option<FileEvent>, Problem> {
    let mut input = text.as_bytes();
    let mut values = Edn::new(FileReader::short(&mut input));
    let here = |problem: Problem| Problem { place: Some(place), ..problem };
    let mut next = || values.plain().map_err(here);
    let (process, kind, f) = (next()?, next()?, next()?);
    let Some(process) = process.and_then(|process| process.as_integer()) else {
        return Ok(None);
    };
    let kind = kind.as_ref().and_then(Datum::as_name);
    let kind = match kind {
        Some("invoke") => EventKind::Invoke,
        Some("ok") => EventKind::Ok,
        Some("fail") => EventKind::Fail,
        Some("info") => EventKind::Info,
        _ => {
            let message = "expected one of :invoke, :ok, :fail and :info after the process";
            return Err(Problem::at(place, ProblemKind::Event, message));
        }
    };
    let Some(f) = f.as_ref().and_then(Datum::as_name) else {
        let message = "expected the name of an operation after the type";
        return Err(Problem::at(place, ProblemKind::Event, message));
    };
    let value = match kind {
        // Failed and unknown calls have text as values: `:timed-out`, `indeterminate: …`.
        EventKind::Fail | EventKind::Info => Datum::Nil,
        EventKind::Invoke | EventKind::Ok => next()?.unwrap_or_default(),
    };
    Ok(Some(FileEvent { place, process: Some(process), kind, f: f.into(), key: None, value }))
}
