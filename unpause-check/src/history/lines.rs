//! The format of a history as JSON lines, with one event per line. The package `unpause-histories`
//! and `cargo unpause check` read such files.

use std::fmt::Write;
use unpause_ordered::sort;

use super::Operation;
use crate::datum::Datum;
use crate::json::quoted;

/// An operation in the form of a recorded history file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The name of the call, such as `write`.
    pub f: &'static str,
    /// The argument.
    pub value: Datum,
    /// The result; ignored if the call did not return.
    pub answer: Datum,
}

/// Writes operations of the first `clients` clients as JSON lines. The operations `before` precede
/// them and belong to an additional client. Returns `None` if an operation is `None` or a value
/// cannot be written in JSON.
pub fn json_lines(
    before: &[Written],
    operations: Vec<Operation<Option<Written>, ()>>,
    clients: u32,
) -> Option<String> {
    let mut lines = String::new();
    for call in before {
        lines += &line(clients, "invoke", call.f, &call.value)?;
        lines += &line(clients, "ok", call.f, &call.answer)?;
    }
    let mut events: Vec<(u64, String)> = Vec::with_capacity(2 * operations.len());
    for Operation { client, op, invoked, returned } in operations {
        let op = op?;
        events.push((invoked, line(client, "invoke", op.f, &op.value)?));
        if let Some(((), time)) = returned {
            events.push((time, line(client, "ok", op.f, &op.answer)?));
        }
    }
    sort(&mut events);
    lines.extend(events.into_iter().map(|(_, line)| line));
    Some(lines)
}

fn line(process: u32, kind: &str, f: &str, value: &Datum) -> Option<String> {
    let mut line = format!("{{\"process\": {process}, \"type\": \"{kind}\", \"f\": ");
    json(&Datum::text(f), &mut line)?;
    line.push_str(", \"value\": ");
    json(value, &mut line)?;
    line.push_str("}\n");
    Some(line)
}

/// Appends a value as JSON. Returns `None` if JSON cannot express it.
fn json(value: &Datum, out: &mut String) -> Option<()> {
    match value {
        Datum::Nil => out.push_str("null"),
        Datum::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Datum::Integer(number) => {
            let _ = write!(out, "{number}");
        }
        Datum::Text(text) => out.push_str(&quoted(text)),
        Datum::List(items) => {
            for (n, item) in items.iter().enumerate() {
                out.push_str(if n == 0 { "[" } else { ", " });
                json(item, out)?;
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Datum::Float(_)
        | Datum::Number(_)
        | Datum::Character(_)
        | Datum::Keyword(_)
        | Datum::Map(_)
        | Datum::Set(_)
        | Datum::Tagged(..) => return None,
    }
    Some(())
}
