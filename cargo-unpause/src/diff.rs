//! `cargo unpause diff`: shows the first step in which two failing runs differ.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lexopt::prelude::*;
use serde_json::{Value as Json, json};
use sim::check::picture::screen::{Line, Paint, Screen, plural};

use crate::failures::{Loaded, StepView, line_of, steps_of};
use crate::{Exit, Terminal, Usage};

/// The number of steps shown before the first difference, and the number shown from the difference on.
const BEFORE: usize = 2;
const AFTER: usize = 8;

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut paths, mut as_json) = (Vec::new(), false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("json") => as_json = true,
            Value(path) => paths.push(PathBuf::from(path)),
            other => {
                let options = ["--json", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause diff --help"));
            }
        }
    }
    let [one, other] = &paths[..] else {
        return Err(Usage(format!(
            "two failures are compared, and {} given: `cargo unpause diff FILE FILE`",
            match paths.len() {
                0 => "none was".to_owned(),
                1 => "one was".to_owned(),
                n => format!("{n} were"),
            }
        )));
    };
    let (one, other) = (Loaded::read(one)?, Loaded::read(other)?);
    let Compared { left, right, same, settings, is_equal } = Compared::of(&one, &other);
    if as_json {
        let value = compared(&one, &other);
        terminal.print(&format!("{value}\n"));
        return Ok(if is_equal { Exit::Good } else { Exit::Bad });
    }
    let mut screen = Screen::new(terminal.style());
    for (name, loaded, steps) in [("A", &one, &left), ("B", &other, &right)] {
        let seed = loaded.seed().map_or_else(String::new, |seed| format!("seed {seed}, "));
        let text = format!(
            "{}: {seed}{}: {}",
            loaded.test(),
            plural(steps.len() as u64, "step"),
            loaded.text()
        );
        screen.paragraph(0, (Paint::Strong, &format!("{name}  ")), (Paint::Plain, &text));
    }
    for (name, [one, other]) in &settings {
        let text = format!("{name} is {one} in A and {other} in B");
        screen.paragraph(3, (Paint::Plain, ""), (Paint::Notice, &text));
    }
    let until = match same {
        _ if same == left.len() && same == right.len() => "all steps are the same".to_owned(),
        0 => "the first step differs".to_owned(),
        same => format!("the first {} are the same", plural(same as u64, "step")),
    };
    screen.heading("steps", &until);
    if !is_equal && same < left.len().max(right.len()) {
        for step in &left[same.saturating_sub(BEFORE)..same] {
            draw(&mut screen, "  ", step);
        }
        for (name, steps) in [("A ", &left), ("B ", &right)] {
            screen.blank();
            match steps.get(same..).unwrap_or_default() {
                [] => screen
                    .line(Line::of(Paint::Strong, name).with(Paint::Plain, "       has ended")),
                rest => rest.iter().take(AFTER).for_each(|step| draw(&mut screen, name, step)),
            }
            let more = steps.len().saturating_sub(same + AFTER);
            if more > 0 {
                let more = plural(more as u64, "step");
                screen.line(
                    Line::of(Paint::Strong, name)
                        .with(Paint::Faint, &format!("       … {more} more …")),
                );
            }
        }
    }
    terminal.print(&screen.finish());
    Ok(if is_equal { Exit::Good } else { Exit::Bad })
}

/// Returns the comparison of two failures as JSON.
pub(crate) fn compared(one: &Loaded, other: &Loaded) -> Json {
    let both = Compared::of(one, other);
    let shown = |loaded: &Loaded, steps: &[StepView]| {
        json!({
            "path": loaded.path.display().to_string(),
            "test": loaded.test(),
            "seed": loaded.seed().map(|seed| seed.to_string()),
            "failure": loaded.text(),
            "steps": steps.len(),
            "next": steps.get(both.same).map(|step| json!({
                "step": step.step,
                "task": step.shown,
                "operations": step.operations.iter().map(|op| op.text.clone()).collect::<Vec<_>>(),
            })),
        })
    };
    let settings =
        both.settings.iter().map(|(name, values)| json!({"name": name, "values": values}));
    json!({
        "format": "unpause diff",
        "version": 1,
        "equal": both.is_equal,
        "same_steps": both.same,
        "settings": settings.collect::<Vec<_>>(),
        "runs": [shown(one, &both.left), shown(other, &both.right)],
    })
}

/// A comparison of two failures.
struct Compared {
    left: Vec<StepView>,
    right: Vec<StepView>,
    /// The number of initial steps that are equal in both failures.
    same: usize,
    /// The settings that differ, each with the values in both failures.
    settings: Vec<(String, [String; 2])>,
    is_equal: bool,
}

impl Compared {
    fn of(one: &Loaded, other: &Loaded) -> Compared {
        // Reports and traces describe an operation in different words. A kept trace has no report.
        let differ = one.report.is_some() != other.report.is_some();
        let both = || one.without_report().zip(other.without_report());
        let alone = differ.then(both).flatten();
        let (one, other) = alone.as_ref().map_or((one, other), |(one, other)| (one, other));
        let (left, right) = (steps_of(one), steps_of(other));
        let same = left.iter().zip(&right).take_while(|(left, right)| is_same(left, right)).count();
        let settings = settings(one, other);
        let is_equal = same == left.len()
            && same == right.len()
            && settings.is_empty()
            && one.text() == other.text()
            && one.test() == other.test();
        Compared { left, right, same, settings, is_equal }
    }
}

/// Adds the lines of a step.
fn draw(screen: &mut Screen, name: &str, step: &StepView) {
    let width = screen.width();
    let mut line = |operation| {
        let mut line = line_of(step, operation, width);
        line.put(0, Paint::Strong, name);
        screen.line(line);
    };
    match step.operations.is_empty() {
        true => line(None),
        false => step.operations.iter().for_each(|operation| line(Some(operation))),
    }
}

/// Returns `true` if two steps have the same task, operations, values and places.
fn is_same(one: &StepView, other: &StepView) -> bool {
    let operations = |step: &StepView| {
        step.operations.iter().map(|op| (op.text.clone(), op.place.clone())).collect::<Vec<_>>()
    };
    one.path == other.path && one.draws == other.draws && operations(one) == operations(other)
}

/// Returns the settings that differ between two failures, each with the values in both failures.
fn settings(one: &Loaded, other: &Loaded) -> Vec<(String, [String; 2])> {
    let mut all: BTreeMap<String, [String; 2]> = BTreeMap::new();
    for (at, loaded) in [one, other].into_iter().enumerate() {
        for (name, value) in loaded.settings() {
            let default = || "as by default".to_owned();
            all.entry(name).or_insert_with(|| [default(), default()])[at] = value;
        }
    }
    all.into_iter().filter(|(_, [one, other])| one != other).collect()
}

const HELP: &str = "\
Compares two failing runs: their settings, and the first step in which they differ. Nothing is built or run.

usage: cargo unpause diff FILE FILE [--json]

A file is a trace or the report beside it. Two steps are the same if the same task does the same
operations at the same places, with the same values.

  --json     one object: equal, same_steps, settings, and both runs with their next step

example:
  cargo unpause diff sim-regressions/bank.transfers/deadlock-17.simtrace target/sim/demo/bank.transfers/4.simtrace

exit codes: 0 they are the same, 1 they differ, 2 a file or an argument is invalid.
";
