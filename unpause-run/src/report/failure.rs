//! The text for each kind of failure: a headline, followed by the explanation.

use std::time::Duration;

use super::deadlock;
use super::differs;
use super::names::DisplayNames;
use super::places::cut_place;
use super::runtimes;
use super::stale;
use super::statistics::{self, share};
use super::waiting::with_holders;
use super::{Finding, Report};
use crate::run::event::{Event, show_time};
use crate::run::ids::TaskId;
use crate::run::panics::TaskPanic;
use crate::run::place::{is_foreign, is_std, portable};
use crate::run::{Failure, MemoryError, Outcome, Run, Spin, circle_of};
use unpause_check::picture::draw;
use unpause_check::picture::screen::{Line, Paint, Screen, clean, columns, cut, plural};
use unpause_check::verdict::Verdict;

/// The maximum number of lines of a message.
const MESSAGE_LINES: usize = 24;
/// The number of last steps of a run in which time moves are counted.
const MOVING_TIME_STEPS: usize = 1_000;
/// The maximum number of steps per time move. A run with more steps does not count as a run in which mainly the time
/// moves.
const STEPS_PER_MOVE: usize = 10;
/// The maximum width of a place in a sentence, in columns.
const PLACE_MAX: usize = 60;

/// Returns the headline: the problem as part of a sentence.
pub(super) fn headline(report: &Report, finding: &Finding, names: &DisplayNames<'_>) -> String {
    let Outcome::Failed(failure) = &finding.run.outcome else {
        return "the run passed".to_owned();
    };
    match failure {
        Failure::Panic { task, .. } => format!("{} panicked", names.task(*task)),
        Failure::Memory(error) => format!("{}, {}", error.problem, error.message),
        Failure::Error { .. } => "the test returned an error".to_owned(),
        Failure::Deadlock { waits } => match &circle_of(&with_holders(&finding.run, waits))[..] {
            [] => "deadlock, every remaining task is blocked".to_owned(),
            [one] => format!("deadlock, {} waits for itself", names.task(*one)),
            [a, b] => {
                format!("deadlock, {} and {} wait for each other", names.task(*a), names.task(*b))
            }
            circle => format!("deadlock, {} tasks wait for each other", circle.len()),
        },
        Failure::StepLimit { steps, .. } => {
            format!("step limit reached after {}", plural(*steps, "step"))
        }
        Failure::Starved { task, steps, .. } => {
            let steps = plural(*steps, "step");
            format!("{} has not ended its operation after {steps} of its own", names.task(*task))
        }
        Failure::Invariant { name, .. } => format!("invariant {:?} does not hold", clean(name)),
        Failure::History { history, condition, verdict, .. } => {
            let model = finding.run.histories.get(*history).map_or("", |h| &h.model);
            let model = if model.is_empty() { String::new() } else { format!(" ({model})") };
            let adjective = adjective(condition);
            match verdict {
                Verdict::Unknown(_) => {
                    format!("undecided whether the history is {adjective}{model}")
                }
                _ => format!("history is not {adjective}{model}"),
            }
        }
        Failure::Diverged { step, .. } => format!("the run diverged from its trace at step {step}"),
        Failure::NonDeterminism { step, .. } => {
            format!("two runs with the same decisions differ at step {step}")
        }
        Failure::Hang { seconds, .. } if report.real => {
            format!("no task has made progress for {seconds} s")
        }
        Failure::TimeLimit { seconds, .. } => format!("the run has not ended after {seconds} s"),
        // The process died, so only the end of the run is known.
        Failure::Crash { cause, .. } if finding.run.tasks.is_empty() => cause.clone(),
        Failure::Crash { task, cause, .. } => format!("{cause} in {}", names.task(*task)),
        Failure::Hang { task, place, seconds, .. } if !place.is_empty() => {
            format!("{} has not reached a point for {seconds} s", names.task(*task))
        }
        Failure::Hang { task, seconds, .. } => {
            format!("{} has not yielded for {seconds} s", names.task(*task))
        }
        Failure::TooSeldom { conditions, .. } => {
            let never = conditions.iter().all(|condition| condition.runs == 0);
            let how = if never { "never held" } else { "held in too few runs" };
            match &conditions[..] {
                [one] => format!("{:?} {how}", clean(one.name)),
                all => format!("{} conditions {how}", all.len()),
            }
        }
        Failure::Unproven { .. } => "the search proved nothing".to_owned(),
        Failure::Unreadable { .. } => "the trace cannot be read".to_owned(),
        Failure::Misuse { .. } => {
            "a primitive was used in a way the simulation does not support".to_owned()
        }
    }
}

/// Returns the adjective of a history that satisfies a condition.
fn adjective(condition: &str) -> String {
    match condition {
        "linearizability" => "linearizable".to_owned(),
        "sequential consistency" => "sequentially consistent".to_owned(),
        "serializability" => "serializable".to_owned(),
        "eventual consistency" => "eventually consistent".to_owned(),
        other => format!("consistent with {}", clean(other)),
    }
}

/// Writes the message and the places, directly below the headline.
pub(super) fn facts(
    screen: &mut Screen,
    report: &Report,
    finding: &Finding,
    names: &DisplayNames<'_>,
) {
    let Outcome::Failed(failure) = &finding.run.outcome else {
        return;
    };
    match failure {
        Failure::Panic { task, message, place } => {
            text(screen, message);
            field(screen, "at", &panicked_at(finding, *task, place, names));
        }
        Failure::Misuse { message, place } | Failure::Crash { message, place, .. } => {
            text(screen, message);
            field(screen, "at", &portable(place));
        }
        Failure::Memory(error) => memory_facts(screen, &finding.run, error, names),
        Failure::Invariant { task, place, .. } => {
            let step = finding.run.steps.len().saturating_sub(1);
            field(screen, "broken by", &format!("{} in step {step}", names.task(*task)));
            field(screen, "checked at", &portable(place));
        }
        Failure::Error { message } | Failure::Unreadable { message } => text(screen, message),
        Failure::Starved { place, .. } => {
            field(screen, "spawned at", &portable(&place.to_string()));
        }
        Failure::History { place, verdict, .. } => {
            if let Verdict::Unknown(exhausted) = verdict {
                text(screen, &exhausted.to_string());
            }
            field(screen, "checked at", &portable(&place.to_string()));
        }
        Failure::Diverged { expected, found, .. } => {
            field(screen, "expected", expected);
            field(screen, "found", found);
        }
        Failure::NonDeterminism { first, second, .. } => {
            field(screen, "first run", first);
            field(screen, "second run", second);
        }
        Failure::Hang { last, .. } if report.real => field(screen, "not ended", last),
        Failure::Hang { last, place, .. } => {
            field(screen, "last", last);
            if !place.is_empty() {
                field(screen, "at", &portable(place));
            }
        }
        Failure::TimeLimit { running, .. } => field(screen, "not ended", running),
        Failure::StepLimit { cycle, .. } => {
            step_limit_facts(screen, &finding.run, cycle.len(), names);
        }
        Failure::TooSeldom { conditions, runs, .. } => {
            for condition in conditions {
                let label = if condition.runs == 0 { "never" } else { "too few" };
                field(screen, label, condition.name);
                if condition.percent > 0 {
                    field(screen, "held", &share(condition, *runs));
                }
                field(screen, "at", &portable(&condition.place.to_string()));
            }
        }
        // The search reports the failure, further below.
        Failure::Deadlock { .. } | Failure::Unproven { .. } => {}
    }
}

/// Writes the steps of a memory error.
fn memory_facts(screen: &mut Screen, run: &Run, error: &MemoryError, names: &DisplayNames<'_>) {
    for step in &error.steps {
        let from = match step.called_from.is_empty() {
            true => String::new(),
            false => format!(", called from {}", portable(&step.called_from)),
        };
        let place = portable(&step.place);
        field(screen, &step.label, &format!("{place} by {}{from}", names.task(step.task)));
    }
    if let Some(reason) = stale::reason_of_race(run, error) {
        field(screen, "unordered", &reason);
    }
}

/// Writes the reasons why a run may have reached its step limit. `cycle` is the number of repeated steps, or 0.
fn step_limit_facts(screen: &mut Screen, run: &Run, cycle: usize, names: &DisplayNames<'_>) {
    let spins = run.spins();
    if let Some((moves, steps, to)) = moving_time(run) {
        let moves = plural(moves as u64, "time");
        let to = show_time(to);
        let steps = plural(steps as u64, "step");
        text(screen, &format!("In the last {steps} the time moved {moves}, to {to}."));
    }
    match cycle {
        0 if spins.is_empty() => {
            text(screen, "The last steps do not repeat: the run may only need a higher limit.")
        }
        0 => {}
        n => text(screen, &format!("The run repeats a cycle of {}.", plural(n as u64, "step"))),
    }
    for spin in &spins {
        field(screen, "spins", &self::spin(run, spin, names));
    }
}

/// Writes the explanation of the failure: diagrams, tables, causes and remedies.
pub(super) fn details(
    screen: &mut Screen,
    report: &Report,
    finding: &Finding,
    names: &DisplayNames<'_>,
) {
    let Outcome::Failed(failure) = &finding.run.outcome else {
        return;
    };
    deadlock::draw_circle(screen, finding, names);
    match failure {
        Failure::Deadlock { waits } => deadlock::draw(screen, finding, waits, names),
        Failure::History { history, verdict, .. } => {
            if let Some(history) = finding.run.histories.get(*history) {
                draw(screen, history, Some(verdict));
            }
            if let Verdict::Unknown(_) = verdict {
                help(screen, UNDECIDED);
            }
        }
        Failure::StepLimit { .. } if moving_time(&finding.run).is_some() => {
            help(screen, MOVING_TIME);
        }
        Failure::StepLimit { .. } => match finding.run.spins().is_empty() {
            true => help(screen, STEP_LIMIT),
            false => help(screen, SPIN),
        },
        Failure::Starved { .. } => help(screen, STARVED),
        Failure::Diverged { .. } => help(screen, DIVERGED),
        Failure::NonDeterminism { first, second, .. } => {
            help(screen, &differs::help(first, second));
        }
        Failure::Hang { .. } if report.real => help(screen, HANG_REAL),
        Failure::Hang { place, unseen, .. } if !place.is_empty() => match &unseen[..] {
            [] => help(screen, HANG_NATIVE),
            unseen => {
                let names: Vec<_> = unseen.iter().map(|name| clean(name)).collect();
                help(screen, &format!("{HANG_NATIVE}\n{HANG_UNSEEN} {}", names.join(", ")));
            }
        },
        Failure::Hang { .. } => help(screen, HANG),
        Failure::TimeLimit { .. } => help(screen, TIME_LIMIT),
        Failure::TooSeldom { conditions, generated, .. } => {
            if let Some(statistics) = &report.statistics {
                statistics::draw(screen, statistics, report.runs);
            }
            let never = conditions.iter().all(|condition| condition.runs == 0);
            match (never, generated) {
                (true, true) => help(screen, &format!("{NEVER_HELD} {NEVER_GENERATED}")),
                (true, false) => help(screen, NEVER_HELD),
                (false, _) => help(screen, TOO_SELDOM),
            }
        }
        Failure::Unproven { .. } => help(screen, UNPROVEN),
        Failure::Panic { message, .. } if runtimes::is_needed(message) => {
            help(screen, &runtimes::advice(finding.needs_runtime.as_deref()));
        }
        Failure::Memory(error) if !error.remedy.is_empty() => help(screen, &error.remedy),
        Failure::Memory(_)
        | Failure::Panic { .. }
        | Failure::Invariant { .. }
        | Failure::Crash { .. }
        | Failure::Error { .. }
        | Failure::Unreadable { .. }
        | Failure::Misuse { .. } => {}
    }
}

/// Writes the last lines of the output of the run's threads.
pub(super) fn output(screen: &mut Screen, output: &str) {
    let lines: Vec<&str> = output.lines().collect();
    if lines.is_empty() {
        return;
    }
    screen.heading("output", &plural(lines.len() as u64, "line"));
    let before = lines.len().saturating_sub(MESSAGE_LINES);
    if before > 0 {
        let left_out = plural(before as u64, "line");
        screen.line(Line::of(Paint::Notice, &format!("  … {left_out} before …")));
    }
    for line in &lines[before..] {
        let line = clean(line);
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Plain, &cut(&line, 2 * screen.width())));
    }
}

/// Returns the place where a task panicked. If this place is in the standard library or in another package, the text
/// also names its caller, which is more useful.
fn panicked_at(finding: &Finding, task: TaskId, place: &str, names: &DisplayNames<'_>) -> String {
    let shown = portable(place);
    if !is_foreign(place) {
        return shown;
    }
    let caller = finding.called_from.as_ref().or(finding.run.threads.panicked_from.as_ref());
    if let Some(caller) = caller {
        return format!("{}, in {shown}", portable(caller));
    }
    if !is_std(place) {
        return shown;
    }
    let task_name = names.task(task);
    match finding.run.events.iter().rev().find(|event| event.task == task) {
        Some(event) => {
            let last = portable(&event.place.to_string());
            format!(
                "{shown}, in std, called by {task_name} after `{}` at {last}",
                names.event(event)
            )
        }
        None => format!("{shown}, in std, called by {task_name} before its first access"),
    }
}

/// Writes a label and its text, or nothing if the text is empty.
pub(super) fn field(screen: &mut Screen, label: &str, body: &str) {
    screen.paragraph(2, (Paint::Faint, &format!("{label:<12}")), (Paint::Plain, body));
}

/// Writes the panics that the failure does not contain, because they may be its cause.
pub(super) fn other_panics(screen: &mut Screen, finding: &Finding, names: &DisplayNames<'_>) {
    const SHOWN: usize = 3;
    const LONGEST: usize = 240;
    let panics = finding.run.other_panics();
    let lines = panics.map(|TaskPanic { task, message, place }| {
        let message = message.lines().map(str::trim).collect::<Vec<_>>().join(", ");
        format!("{} at {}: {}", names.task(*task), portable(place), cut(&message, LONGEST))
    });
    let mut lines: Vec<String> = lines.collect();
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    for line in &lines {
        field(screen, "panicked", line);
    }
    if more > 0 {
        field(screen, "", &format!("… {} more", plural(more as u64, "panic")));
    }
}

/// Writes a message, such as a panic message, followed by an empty line.
fn text(screen: &mut Screen, message: &str) {
    let lines: Vec<&str> = message.lines().collect();
    for line in lines.iter().take(MESSAGE_LINES) {
        // A very long line must not push the rest off the screen.
        let line = cut(line, MESSAGE_LINES * screen.width() / 4);
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Strong, &line));
    }
    if lines.len() > MESSAGE_LINES {
        let left_out = plural((lines.len() - MESSAGE_LINES) as u64, "line");
        screen.line(Line::of(Paint::Notice, &format!("  … {left_out} more …")));
    }
    screen.blank();
}

fn help(screen: &mut Screen, body: &str) {
    screen.blank();
    for (n, part) in body.split('\n').enumerate() {
        field(screen, if n == 0 { "help" } else { "" }, part);
    }
}

const UNDECIDED: &str = "The checker ran out of its budget, and undecided is not a pass. Record fewer operations or \
    fewer concurrent clients, give the model a `partition` so that each key is checked alone, or raise the budget. \
    If time ran out, raise `hang` (SIM_HANG): a check may take half of it.";

const STEP_LIMIT: &str = "Most often a task polls a value in a loop, and no task is left to change it: await \
    `sim::spin_until` instead. If the test is only long, raise `max_steps`.";

const STARVED: &str = "Other tasks can have this one repeat itself, as with a loop around `compare_exchange`: it is not \
    wait-free. Do the operation in one step, or have others help it. If it only needs so many steps, allow more with \
    `progress = \"wait-free:N\"`.";

const MOVING_TIME: &str = "A loop with a timer, such as an interval, goes on for ever, and the body waits for \
    something that it does not bring about. End the loop by a condition, or abort its task. If the test only needs \
    so many steps, raise `max_steps`.";

const SPIN: &str = "Await `sim::spin_until(condition)` instead of such a loop. It takes no steps while \
    nothing changes. If no task is left to change anything, the run fails at once as a deadlock.";

const NEVER_HELD: &str = "No run met this condition, so a pass of the test would say nothing. Run more seeds, \
    choose another strategy or change the body.";

const NEVER_GENERATED: &str = "SIM_STATISTICS=1 shows which generated commands were run, and which the model did not \
    allow.";

const TOO_SELDOM: &str = "Too few runs met this condition for a pass to say much. Generate the case more often, or \
    require a lower percentage.";

const UNPROVEN: &str = "The test requires a proof (must_prove), but the runs that were made only passed. Allow the \
    search more runs or more time, make the test smaller, or remove must_prove.";

const HANG: &str = "The task did not yield at an await. Usual causes:\n\
    - a lock of std or parking_lot held across an await: use sim::Mutex\n\
    - a blocking call: thread::sleep (use sim::time::sleep), a channel of std, a file, a socket\n\
    - block_on inside a task: await the future instead\n\
    - a loop without an await: put sim::task::yield_now().await into it, or await sim::spin_until";

const HANG_NATIVE: &str = "The thread was last seen there. Usual causes:\n\
    - a loop that reads plain memory, or nothing: only an atomic operation lets other threads go on\n\
    - a call that waits for something outside of the run: a file or another process\n\
    - a computation that needs more time: raise the limit, hang = \"60s\" or SIM_HANG=60s";

const HANG_UNSEEN: &str = "- code that synchronises threads or calls the system without unpause seeing it; the run \
    had entered";

const HANG_REAL: &str = "Real threads do not show what they wait for. Usual causes:\n\
    - a deadlock, which the build with the feature `sim` finds and explains\n\
    - a step that needs more time: raise the limit, hang = \"60s\" or SIM_HANG=60s";

const TIME_LIMIT: &str = "Its tasks still made progress. Usual causes:\n\
    - a loop that polls a value which no task is left to change, which the build with the feature `sim` finds\n\
    - a run that needs more time: raise the limit, limit = \"5m\" or SIM_LIMIT=5m";

const DIVERGED: &str = "The code has changed since the trace was written. If that is intended, delete the trace; \
    the command after `record:` searches for the failure again and writes a new one.";

/// Returns the number of time moves in the last steps of a run, the number of these steps, and the current time. `None`
/// if there are few time moves.
fn moving_time(run: &Run) -> Option<(usize, usize, Duration)> {
    let steps = run.steps.len().min(MOVING_TIME_STEPS);
    let from = run.steps.len() - steps;
    let within = from..run.steps.len();
    let moves = run.time_moves.iter().filter(|moved| within.contains(&(moved.step as usize)));
    let moves = moves.count();
    let to = run.time_moves.last()?.to;
    (moves * STEPS_PER_MOVE >= steps).then_some((moves, steps, to))
}

/// Returns a sentence with the accesses that a task repeats.
fn spin(run: &Run, spin: &Spin, names: &DisplayNames<'_>) -> String {
    let look = |event: &Event| {
        let place = cut_place(&clean(&event.place.to_string()), PLACE_MAX);
        format!("`{}` at {place}", names.event(event))
    };
    let looks = spin.looks.iter().filter_map(|at| run.events.get(*at)).map(look);
    let looks = looks.collect::<Vec<_>>().join(", then ");
    format!("{} repeated {looks}, {} times in a row", names.task(spin.task), spin.times)
}

/// Adds a line with a place at its right end, or on the next line if there is no room.
pub(super) fn place(screen: &mut Screen, mut line: Line, place: &str) {
    let room = screen.width().saturating_sub(line.width() + 2);
    if room < 16 {
        screen.line(line);
        line = Line::default();
    }
    let place = cut_place(&clean(place), screen.width() - line.width() - 2);
    line.put(screen.width() - columns(&place), Paint::Faint, &place);
    screen.line(line);
}
