//! Writer for trace files.

use std::fmt::Write;
use unpause_ordered::{Map, Set};

use super::checksum::Checksum;
use super::field::{BLANK, is_kind, is_op, push_text};
use super::{DEFAULT, NONE, VERSION};
use crate::run::trace::{Header, Trace, TraceCommand, TraceOp, TraceStep};

/// Returns the text of a trace file, which [`parse`](super::parse()) reads back.
///
/// The same trace gives the same text with every compiler. A line depends only on its own step, so
/// that `git diff` can compare two traces of one test. About 80 bytes per step; O(n log n).
///
/// # Panics
/// Panics if the trace breaks the rules of its fields: an index has no entry, a drawn value is not
/// below its bound, or a task precedes its parent or occurs twice. Also panics if an operation, a
/// kind or a setting name has forbidden characters, or the cargo command is the word `none`.
///
/// ```
/// use sim::run::ids::{Seed, TaskPath};
/// use sim::run::trace::format::{parse, write};
/// use sim::run::trace::{Header, Trace, TraceStep, TraceTask};
///
/// let trace = Trace {
///     header: Header { seed: Seed(7), ..Header::default() },
///     tasks: vec![TraceTask { path: TaskPath::main(), name: None }],
///     steps: vec![TraceStep::default()],
///     ..Trace::default()
/// };
/// let text = write(&trace);
/// assert!(text.starts_with("simtrace 2\n"));
/// assert_eq!(parse(text.as_bytes()), Ok(trace));
/// ```
#[track_caller]
pub fn write(trace: &Trace) -> String {
    let paths = task_paths(trace);
    let objects = object_names(trace);
    let mut out = format!("simtrace {VERSION}\n");
    write_header(&mut out, &trace.header);

    for TraceCommand { part, text } in &trace.program {
        // Writing into a `String` cannot fail, here and below.
        let _ = write!(out, "command {part:<7} ");
        push_text(&mut out, text);
        out.push('\n');
    }

    out.push('\n');
    for (task, path) in trace.tasks.iter().zip(&paths) {
        let _ = write!(out, "task {path:<8} ");
        if let Some(name) = &task.name {
            push_text(&mut out, name);
        }
        end_line(&mut out);
    }

    out.push('\n');
    for (object, name) in trace.objects.iter().zip(&objects) {
        let _ = write!(out, "object {name:<12} ");
        push_text(&mut out, &object.place);
        end_line(&mut out);
    }

    out.push_str("\n#    step  task     operation      object       values     place\n");
    for (number, step) in trace.steps.iter().enumerate() {
        assert!(step.task < paths.len(), "step {number} is of a task that is not in the trace");
        write_step(&mut out, number, &paths[step.task], step, &objects);
    }
    let _ = writeln!(out, "end {}", trace.steps.len());

    let checksum = checksum(&out);
    let _ = writeln!(out, "checksum {checksum}");
    out
}

fn write_header(out: &mut String, header: &Header) {
    let Header { test, package, seed, strategy, settings, cargo, verdict } = header;
    let mut line = |keyword: &str, texts: &[&str]| {
        let _ = write!(out, "{keyword:<9}");
        for text in texts {
            out.push(' ');
            push_text(out, text);
        }
        out.push('\n');
    };
    line("test", &[test]);
    line("package", &[package]);
    line("seed", &[&seed.to_string()]);
    line("strategy", &[strategy]);
    if let Some(settings) = settings {
        let texts: Vec<String> = settings.iter().map(setting).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        line("settings", if texts.is_empty() { &[DEFAULT] } else { &texts });
    }
    if let Some(cargo) = cargo {
        let words: Vec<&str> = cargo.iter().map(String::as_str).collect();
        // A single word `none` would be read as the absence of a command.
        assert!(words != [NONE], "the test is run by `cargo {NONE}`");
        line("cargo", if words.is_empty() { &[NONE] } else { &words });
    }
    line("verdict", &[verdict]);
}

/// Returns the text of a setting.
fn setting((name, value): &(String, String)) -> String {
    assert!(is_op(name), "a setting has a name {name:?} that is not one word");
    format!("{name}={value}")
}

/// Writes a step in columns of fixed widths. If the columns followed the longest entry, a change in
/// one step would change all lines.
fn write_step(out: &mut String, number: usize, path: &str, step: &TraceStep, objects: &[String]) {
    let _ = write!(out, "step {number:<5} {path:<8} ");
    if let Some((first, others)) = step.operations.split_first() {
        write_operation(out, number, first, objects);
        write_draws(out, number, step);
        for operation in others {
            let _ = write!(out, "{:<20}", "also");
            write_operation(out, number, operation, objects);
            end_line(out);
        }
    } else {
        write_draws(out, number, step);
    }
}

fn write_operation(out: &mut String, number: usize, operation: &TraceOp, objects: &[String]) {
    let TraceOp { op, object, place, values } = operation;
    assert!(is_op(op), "step {number} has an operation {op:?} that is not one word");
    let object = object.map_or("-", |index| {
        assert!(index < objects.len(), "step {number} is on an object that is not in the trace");
        &objects[index]
    });
    let _ = write!(out, "{op:<14} {object:<12} ");
    let start = out.len();
    if values.is_empty() {
        out.push('-');
    } else {
        push_text(out, values);
    }
    let padding = 11_usize.saturating_sub(out[start..].chars().count()).max(1);
    let _ = write!(out, "{:padding$}", "");
    push_text(out, place);
    out.push(' ');
}

fn write_draws(out: &mut String, number: usize, step: &TraceStep) {
    for draw in &step.draws {
        assert!(draw.value < draw.bound, "step {number} drew a value not below its bound");
        let _ = write!(out, "drew={}/{} ", draw.value, draw.bound);
    }
    end_line(out);
}

fn end_line(out: &mut String) {
    // No field ends in white space, because such a text is written in quotes.
    out.truncate(out.trim_end_matches(BLANK).len());
    out.push('\n');
}

/// Returns the text of every task's path.
#[track_caller]
fn task_paths(trace: &Trace) -> Vec<String> {
    let mut seen = Set::new();
    let mut paths = Vec::with_capacity(trace.tasks.len());
    for task in &trace.tasks {
        let (path, segments) = (&task.path, task.path.segments());
        let parent = &segments[..segments.len() - 1];
        assert!(parent.is_empty() || seen.contains(parent), "task {path} before its parent");
        assert!(seen.insert(segments), "task {path} is in the trace twice");
        paths.push(path.to_string());
    }
    paths
}

/// Returns the name of every object: its kind and its number among the objects of that kind.
#[track_caller]
fn object_names(trace: &Trace) -> Vec<String> {
    let mut numbers: Map<&str, u64> = Map::new();
    let mut names = Vec::with_capacity(trace.objects.len());
    for object in &trace.objects {
        let kind = object.kind.as_str();
        assert!(is_kind(kind), "an object has a kind {kind:?} that is not one word");
        let number = numbers.entry(kind).or_default();
        names.push(format!("{kind}:{number}"));
        *number += 1;
    }
    names
}

/// Returns the checksum of a text as a reader computes it: without comments, blank lines and
/// surrounding white space.
fn checksum(text: &str) -> Checksum {
    let mut checksum = Checksum::new();
    for line in text.lines() {
        let line = line.trim_matches(BLANK);
        if !line.is_empty() && !line.starts_with('#') {
            checksum.line(line);
        }
    }
    checksum
}
