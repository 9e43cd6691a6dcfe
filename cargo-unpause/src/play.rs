//! `cargo unpause play`: the user is the scheduler. The user chooses each step of a test, and can undo it.

use std::io::{BufRead, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;

use lexopt::prelude::*;
use sim::check::picture::Style;
use sim::check::picture::screen::{Line, Paint, Screen, plural};

use crate::document::Run;
use crate::explained::held_after;
use crate::failures::Loaded;
use crate::invocation::{Invocation, Tests, name_of};
use crate::replay::invocation_of;
use crate::rerun::Stop;
use crate::rerun::steps::{After, Choices, after};
use crate::show::which;
use crate::{Exit, Terminal, Usage};

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut tests, mut given, mut last, mut choices) = (Tests::default(), None, false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("last") => last = true,
            Long("choices") => choices = Some(parser.value()?.to_string_lossy().into_owned()),
            Value(value) if given.is_none() => given = Some(PathBuf::from(value)),
            Value(value) => {
                let value = value.to_string_lossy().into_owned();
                return Err(Usage(format!("one test at a time: what is {value:?}?")));
            }
            other => {
                let options = [&["--last", "--choices", "--help"], &Tests::OPTIONS[..]].concat();
                let unknown = Usage::unknown_option(&other, &options, "cargo unpause play --help");
                let name = name_of(&other);
                if !tests.option(&name, &mut parser)? {
                    return Err(unknown);
                }
            }
        }
    }
    let is_test = given.as_ref().is_some_and(|given| !given.exists()) && !last;
    let invocation = if is_test {
        tests.test = given.map(|given| given.to_string_lossy().into_owned());
        tests.invocation(true, Vec::new())?
    } else {
        if tests.names_a_test() {
            let text =
                "a failure in a file has its own command: leave out the options that name a test";
            return Err(Usage(text.to_owned()));
        }
        let mut invocation = invocation_of(&Loaded::read(&which(given, last, "play")?)?)?;
        if let Some(features) = tests.features {
            invocation.add(["--features".to_owned(), features]);
        }
        invocation
    };
    let choices = Choices::parse(choices.as_deref().unwrap_or_default())?;
    play(&invocation, choices, &mut stdin().lock(), terminal)
}

/// Asks for steps until the user ends it. The exit code describes the last run: 1 if it failed.
fn play(
    invocation: &Invocation,
    choices: Choices,
    input: &mut impl BufRead,
    terminal: &mut Terminal,
) -> Result<Exit, Usage> {
    let stop = Stop::default();
    let mut reached = after(invocation, choices, &stop)?;
    loop {
        let mut next = ahead(invocation, &reached, &stop)?;
        terminal.print(&format!("\n{}", shown(&reached, &next, terminal.style())));
        match asked(&reached, input, terminal) {
            Answer::End => break,
            // The step was already executed to show its effect.
            Answer::Step(at) => reached = next.swap_remove(at),
            Answer::Undo => {
                let mut choices = reached.choices;
                choices.pop();
                reached = after(invocation, choices, &stop)?;
            }
        }
    }
    terminal.print(&format!("\nSIM_REPLAY={}\n", reached.choices.text()));
    let failed = reached.enabled.is_empty() && failure(&reached).is_some();
    Ok(if failed { Exit::Bad } else { Exit::Good })
}

/// The answer of the user.
enum Answer {
    /// Run the enabled task with this index.
    Step(usize),
    Undo,
    End,
}

/// Asks until the user gives a possible answer.
fn asked(reached: &After, input: &mut impl BufRead, terminal: &mut Terminal) -> Answer {
    let has_ended = reached.enabled.is_empty();
    let prompt = if has_ended { "u: undo, q: end > " } else { "task, u: undo, q: end > " };
    loop {
        terminal.print(prompt);
        let _ = stdout().flush();
        let mut line = String::new();
        let is_over = input.read_line(&mut line).map_or(true, |bytes| bytes == 0);
        // On a terminal, the echo of the input has already ended the line.
        if !stdin().is_terminal() {
            terminal.print("\n");
        }
        match line.trim() {
            _ if is_over => return Answer::End,
            "q" => return Answer::End,
            "u" if reached.choices.len() == 0 => terminal.print("this is the beginning\n"),
            "u" => return Answer::Undo,
            "" if reached.enabled.len() == 1 => return Answer::Step(0),
            task => match named(reached, task) {
                Some(at) => return Answer::Step(at),
                None => {
                    let run = reached.report.finding.as_ref().map(|finding| &finding.run);
                    let names = reached.enabled.iter().map(|path| name(run, path));
                    let enabled = names.collect::<Vec<_>>().join(", ");
                    terminal.print(&format!("{task:?} cannot step (there is: {enabled})\n"));
                }
            },
        }
    }
}

/// Returns the index of an enabled task, given its path or its name.
fn named(reached: &After, given: &str) -> Option<usize> {
    let run = reached.report.finding.as_ref().map(|finding| &finding.run);
    let is = |path: &String| *path == given || name(run, path) == given;
    reached.enabled.iter().position(is)
}

/// For each enabled task, returns the run after one more step of this task.
fn ahead(invocation: &Invocation, reached: &After, stop: &Stop) -> Result<Vec<After>, Usage> {
    let next = |task: &String| {
        let mut choices = reached.choices.clone();
        choices.push(task);
        after(invocation, choices, stop)
    };
    reached.enabled.iter().map(next).collect()
}

/// Returns the operations of the last step, each with its place.
fn operations(reached: &After) -> Vec<String> {
    let last = reached.choices.len().wrapping_sub(1) as u64;
    let run = reached.report.finding.as_ref().map(|finding| &finding.run);
    let events = run
        .into_iter()
        .flat_map(|run| &run.events)
        .filter(|event| event.step == last && !event.quiet);
    let text = |event: &crate::document::Event| {
        let place = reached.report.place(event.place);
        let place = place.map_or_else(String::new, |place| format!("  {}", place.text));
        format!("{}{place}", event.text)
    };
    events.map(text).collect()
}

/// Returns the failure of a run that has ended.
fn failure(reached: &After) -> Option<&str> {
    let finding = reached.report.finding.as_ref()?;
    finding.failure.as_ref().map(|failure| &failure.text[..])
}

/// Returns a task as shown on screens.
fn name<'a>(run: Option<&'a Run>, path: &'a str) -> &'a str {
    let tasks = run.into_iter().flat_map(|run| &run.tasks);
    tasks.into_iter().find(|task| task.path == path).map_or(path, |task| &task.shown)
}

/// Returns the state of the run: the last step, the values of objects, and the enabled tasks.
fn shown(reached: &After, next: &[After], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let run = reached.report.finding.as_ref().map(|finding| &finding.run);
    let steps = reached.choices.len();
    screen.blank();
    screen.heading("play", &format!("after {}", plural(steps as u64, "step")));
    let last = run.and_then(|run| {
        let step = run.steps.get(steps.checked_sub(1)?)?;
        run.tasks.get(usize::try_from(step.task).ok()?)
    });
    for operation in operations(reached) {
        let mut line = Line::of(Paint::Faint, "  did      ");
        line = line.with(Paint::Strong, last.map_or("", |task| &task.shown));
        line.put(line.width().max(24) + 2, Paint::Plain, &operation);
        screen.line(line);
    }
    if let Some((run, last)) = run.zip(steps.checked_sub(1)) {
        for held in held_after(run, last as u64) {
            if let Some(value) = held.value {
                let text = format!("{} = {value}", held.object.shown);
                screen.line(Line::of(Paint::Faint, "  holds    ").with(Paint::Plain, &text));
            }
        }
    }
    for (path, next) in reached.enabled.iter().zip(next) {
        let operations = operations(next);
        let mut line = Line::of(Paint::Faint, "  can step ").with(Paint::Strong, name(run, path));
        let operations = match operations.is_empty() {
            true => "(starts, ends or waits)".to_owned(),
            false => operations.join("; "),
        };
        line.put(line.width().max(24) + 2, Paint::Plain, &operations);
        screen.line(line);
    }
    if reached.enabled.is_empty() {
        match failure(reached) {
            Some(failure) => screen.paragraph(2, (Paint::Bad, "FAILED  "), (Paint::Plain, failure)),
            None => screen.line(Line::of(Paint::Good, "  passed")),
        }
    }
    screen.finish()
}

const HELP: &str = "\
Runs one test, and you choose which task takes each step. Shows the values of objects, the tasks that can
step, and what each would do. Each choice replays the test from its beginning, so every choice can be undone.

usage: cargo unpause play TEST [-p PACKAGE] [--lib | --test NAME] [--features F] [--any | --plain-threads]
       cargo unpause play FILE
       cargo unpause play --last …

TEST is the whole path of a test, without the name of its crate: tests::transfers. FILE is a trace or a
report: its test is run, from the first step.

  --choices C      begins after these steps: a trace as text, such as 0,0.0x2
  --plain-threads  for #[sim::test(native)]: the program is built by `cargo unpause test`
  --any            for a test of a crate that does not depend on unpause
  --last           the test of the newest failure in target/sim

Answer with a task, by its path or name, or with nothing if only one can step; u undoes a step, q ends.
The last line is the trace, as a setting that replays it.

examples:
  cargo unpause play tests::transfers
  cargo unpause play --last --choices 0,0.0x2

exit codes: 0 the run passed or was left, 1 it failed, 2 an argument is invalid.
";
