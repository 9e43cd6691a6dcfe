//! The log format of LiMo and Violin: `[1] call push(3)`, and later `[1] return`.
//!
//! The result of a removal may be written at the return, or at the call as in `call pop(3)`. A comment above the calls,
//! such as `# @object atomic-stack`, names the object. The calls `add` and `remove` are the two operations of this
//! object.

use std::collections::HashMap;

use unpause_check::datum::Datum;

use crate::event::{EventKind, FileEvent};
use crate::problem::{FilePlace, Problem, ProblemKind, shown};
use crate::recording::{Pairing, Recording};
use crate::source::FileReader;

pub(super) fn begins(text: &str) -> bool {
    let is_call = |line: &str| {
        line.strip_prefix('[').and_then(|rest| rest.split_once(']')).is_some_and(
            |(thread, rest)| {
                thread.parse::<i64>().is_ok() && rest.trim_start().starts_with("call ")
            },
        )
    };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // Among the comments, only the object name matters.
    let comments = lines.clone().take_while(|line| line.starts_with('#'));
    comments.clone().any(|line| object(line).is_some())
        || lines.nth(comments.count()).is_some_and(is_call)
}

/// Returns the object name in `# @object atomic-stack`.
fn object(line: &str) -> Option<&str> {
    line.strip_prefix('#')?.trim_start().strip_prefix("@object").map(str::trim)
}

pub(super) fn read(mut source: FileReader<'_>) -> Result<Recording, Problem> {
    let mut pairing = Pairing::new(Recording::new("limo"));
    let mut object_is: Option<(&'static str, [&'static str; 2])> = None;
    // For each thread, its open call and the removed value on the line of the call.
    let mut called: HashMap<i64, (&'static str, Datum)> = HashMap::new();
    while let Some((place, line)) = source.line()? {
        let text = line.trim();
        let bad = |message: String| Problem::at(place, ProblemKind::Event, message);
        if let Some(object) = object(text) {
            object_is = Some(match object {
                "atomic-stack" => ("stack", ["push", "pop"]),
                "atomic-queue" => ("queue", ["enqueue", "dequeue"]),
                other => {
                    return Err(bad(format!(
                        "the object {} is neither atomic-stack nor atomic-queue",
                        shown(other)
                    )));
                }
            });
            continue;
        }
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let parts = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let parts = parts.and_then(|(thread, rest)| {
            let rest = rest.trim();
            let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            Some((thread.trim().parse::<i64>().ok()?, word, rest.trim()))
        });
        let Some((process, word, rest)) = parts else {
            return Err(bad(format!(
                "expected `[thread] call …` or `[thread] return …`, found {}",
                shown(text)
            )));
        };
        let (kind, f, value) = match word {
            "call" => {
                let (name, value) = method(rest);
                let (f, puts) = self::name(name, object_is.map(|(_, names)| names), place)?;
                called.insert(process, (f, if puts { Datum::Nil } else { value.clone() }));
                (EventKind::Invoke, f, if puts { value } else { Datum::Nil })
            }
            "return" => {
                let (f, told) = called.remove(&process).unwrap_or(("return", Datum::Nil));
                let value = if rest.is_empty() { told } else { self::value(rest) };
                (EventKind::Ok, f, value)
            }
            other => {
                return Err(bad(format!("expected `call` or `return`, found {}", shown(other))));
            }
        };
        pairing.event(FileEvent {
            place,
            process: Some(process),
            kind,
            f: f.into(),
            key: None,
            value,
        })?;
    }
    let mut recording = pairing.finish()?;
    recording.model = object_is.map(|(model, _)| model);
    Ok(recording)
}

/// Parses `push(3)`, `push 3` or `pop`.
fn method(text: &str) -> (&str, Datum) {
    let end = text.find(|c: char| c == '(' || c.is_whitespace()).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let rest = rest.trim();
    let inner = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest);
    (name, value(inner.trim()))
}

fn value(text: &str) -> Datum {
    match text {
        "" | "empty" => Datum::Nil,
        text => text.parse().map_or_else(|_| Datum::text(text), Datum::Integer),
    }
}

/// Returns the name of a method in the models, and `true` if the method adds an item.
fn name(
    name: &str,
    of_object: Option<[&'static str; 2]>,
    place: FilePlace,
) -> Result<(&'static str, bool), Problem> {
    let message = match (name, of_object) {
        ("push", _) => return Ok(("push", true)),
        ("pop", _) => return Ok(("pop", false)),
        ("enq" | "enqueue", _) => return Ok(("enqueue", true)),
        ("deq" | "dequeue", _) => return Ok(("dequeue", false)),
        ("add", Some([add, _])) => return Ok((add, true)),
        ("remove", Some([_, remove])) => return Ok((remove, false)),
        ("add" | "remove", None) => {
            "which object is it? say `# @object atomic-stack` or `# @object atomic-queue` above"
                .to_owned()
        }
        (other, _) => format!(
            "there is no method {}; there are push, pop, enq, deq, add and remove",
            shown(other)
        ),
    };
    Err(Problem::at(place, ProblemKind::Event, message))
}
