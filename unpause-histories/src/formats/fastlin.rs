//! fastlin's format: a header such as `# stack`, then one operation per line, such as `push 3 1 2`: method, value,
//! start and end.
//!
//! Lines may have any order, so all lines are read and then sorted. At equal times, a return precedes an invocation,
//! because intervals that touch do not overlap. If a removal has the value -1, it found no item. fastlin's priority
//! queue returns the largest item first, but the model returns the smallest item first. So the values are negated: 3
//! becomes -3.

use std::sync::Arc;

use unpause_check::datum::Datum;

use crate::problem::{FilePlace, Problem, ProblemKind, shown};
use crate::recording::{Answer, Call, Callers, End, Recording};
use crate::source::FileReader;

/// A model with negated values: fastlin's queue returns the largest item first, but the model returns the smallest.
const PRIORITY_QUEUE: &str = "priority-queue";

/// A header, the model, and each method with its name in the model.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const OBJECTS: &[Row] = &[
    ("stack", "stack", &[("push", "push"), ("pop", "pop"), ("peek", "peek")]),
    ("queue", "queue", &[("enq", "enqueue"), ("deq", "dequeue"), ("peek", "peek")]),
    ("priorityqueue", PRIORITY_QUEUE, &[("insert", "insert"), ("poll", "pop"), ("peek", "peek")]),
];

pub(super) fn begins(text: &str) -> bool {
    let header = text.lines().next().and_then(|line| line.trim().strip_prefix('#'));
    header.is_some_and(|header| OBJECTS.iter().any(|(name, ..)| *name == header.trim()))
}

pub(super) fn read(mut source: FileReader<'_>) -> Result<Recording, Problem> {
    let mut row = None;
    let mut calls: Vec<(i64, i64, Call)> = Vec::new();
    while let Some((place, line)) = source.line()? {
        let text = line.trim();
        let bad = |message: String| Problem::at(place, ProblemKind::Event, message);
        if let Some(header) = text.strip_prefix('#') {
            let found = OBJECTS.iter().find(|(name, ..)| *name == header.trim());
            row = row.or(found);
            continue;
        }
        if text.is_empty() {
            continue;
        }
        let Some((_, model, methods)) = row else {
            return Err(bad(
                "expected a header first: # stack, # queue or # priorityqueue".to_owned()
            ));
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let [method, value, start, end] = words[..] else {
            return Err(bad(format!("expected `method value start end`, found {}", shown(text))));
        };
        let Some((_, f)) = methods.iter().find(|(name, _)| *name == method) else {
            let names: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
            let (method, names) = (shown(method), names.join(", "));
            return Err(bad(format!("there is no method {method}; there are {names}")));
        };
        let number = |what: &str, word: &str| {
            word.parse::<i64>().map_err(|_| {
                bad(format!("the {what} {} is no whole number of 64 bits", shown(word)))
            })
        };
        let (start, end) = (number("start", start)?, number("end", end)?);
        if end <= start {
            return Err(bad(format!("it ends at {end}, not after its start at {start}")));
        }
        let value = number("value", value)?;
        // The model pops the smallest item first, but fastlin pops the largest.
        let sign = if *model == PRIORITY_QUEUE { -1 } else { 1 };
        calls.push((start, end, call(place, f, value, sign)));
    }
    let Some((_, model, _)) = row.filter(|_| !calls.is_empty()) else {
        let message = "there is no call in this history: the file is empty";
        return Err(Problem::whole(ProblemKind::Event, message));
    };
    let mut recording = Recording::new("fastlin");
    recording.model = Some(model);
    recording.calls = in_order(calls);
    recording.callers = Callers::Unnamed { ambiguous: None };
    recording.processes = (0..recording.calls.len() as i64).collect();
    Ok(recording)
}

fn call(place: FilePlace, f: &str, value: i64, sign: i64) -> Call {
    let puts = matches!(f, "push" | "enqueue" | "insert");
    let value = match (value, puts) {
        (-1, false) => Datum::Nil,
        (value, _) if sign < 0 => opposite(value),
        (value, _) => value.into(),
    };
    let (asked, told) = if puts { (value, Datum::Nil) } else { (Datum::Nil, value) };
    let end = End { place, time: 0, answer: Answer::Ok(told) };
    let f = Arc::from(f);
    Call { client: 0, f, key: None, value: asked, place, invoked: 0, end: Some(end) }
}

/// Returns the negation of a number. The negation of the smallest number exceeds 63 bits, and as a [`Datum`] it is
/// greater than all other numbers.
fn opposite(value: i64) -> Datum {
    match value.checked_neg() {
        Some(value) => value.into(),
        None => Datum::Number(value.unsigned_abs().to_string().into()),
    }
}

/// Replaces each start and end time by its position among all start and end times.
fn in_order(mut calls: Vec<(i64, i64, Call)>) -> Vec<Call> {
    calls.sort_by_key(|(start, _, call)| (*start, call.place));
    let starts = calls.iter().enumerate().map(|(n, (start, ..))| (*start, true, n));
    let ends = calls.iter().enumerate().map(|(n, (_, end, _))| (*end, false, n));
    let mut events: Vec<(i64, bool, usize)> = starts.chain(ends).collect();
    events.sort_unstable();
    for (time, (_, begins, n)) in events.into_iter().enumerate() {
        let call = &mut calls[n].2;
        match &mut call.end {
            Some(end) if !begins => end.time = time as u64,
            _ => call.invoked = time as u64,
        }
    }
    let with_client = |(n, (_, _, mut call)): (usize, (i64, i64, Call))| {
        call.client = n as u32;
        call
    };
    calls.into_iter().enumerate().map(with_client).collect()
}
