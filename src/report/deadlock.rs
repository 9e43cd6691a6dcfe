//! Deadlocks on the screen: the tasks that wait, what for, who holds it, and why nobody ends the wait.

use super::failure::place;
use super::names::DisplayNames;
use crate::run::event::Values;
use crate::run::ids::TaskId;
use crate::run::{Run, Wait, circle_of};
use unpause_check::picture::screen::{Line, Paint, Screen, cut, plural};

/// Maximum number of waiting tasks listed.
const WAITS_MAX: usize = 12;

/// Writes the waiting tasks, with the holder of each object.
pub(super) fn draw(screen: &mut Screen, run: &Run, waits: &[Wait], names: &DisplayNames<'_>) {
    let circle = circle_of(waits);
    screen.heading("deadlock", &names_of_circle(&circle, names));
    let mut waits: Vec<&Wait> = waits.iter().collect();
    // The circle first, in its order: the others wait only because of it.
    waits.sort_by_key(|w| circle.iter().position(|t| *t == w.task).unwrap_or(circle.len()));
    let tasks = waits.iter().map(|w| names.task(w.task).chars().count());
    let left = tasks.max().unwrap_or(0).min(screen.width() / 4) + 4;
    for wait in waits.iter().take(WAITS_MAX) {
        let mut line = Line::default();
        line.put(2, Paint::Strong, &cut(&names.task(wait.task), left - 4));
        line.put(left, Paint::Plain, &names.wait(wait));
        place(screen, line, &wait.place.to_string());
        if let Some(holder) = &wait.holder {
            let mut line = Line::default();
            let text = format!("held by {} since step {}", names.task(holder.task), holder.step);
            line.put(left, Paint::Faint, &text);
            place(screen, line, &holder.place.to_string());
        }
    }
    if waits.len() > WAITS_MAX {
        let left_out = plural((waits.len() - WAITS_MAX) as u64, "task");
        screen.line(Line::of(Paint::Notice, &format!("  … {left_out} more …")));
    }
    if circle.is_empty() {
        // A task that waits for something foreign may be woken from outside the run.
        let foreign = waits.iter().any(|wait| wait.op.is_none());
        let text =
            if foreign { WAITS_FOR_FOREIGN } else { "No task is left that could wake them." };
        screen.blank();
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Strong, text));
    }
    stalled(screen, run, names);
}

/// Names the tasks that stalled because the test asked for it.
fn stalled(screen: &mut Screen, run: &Run, names: &DisplayNames<'_>) {
    let stalls = run.events.iter().filter(|event| event.op.name == "stall");
    let tasks: Vec<String> = stalls
        .filter_map(|event| match event.values {
            Values::Task(task) => Some(names.task(task)),
            _ => None,
        })
        .collect();
    if !tasks.is_empty() {
        let have = if tasks.len() == 1 { "has" } else { "have" };
        let text = format!(
            "{} {have} stalled for good, because the test asks for a guarantee of progress: the others must end \
             without.",
            tasks.join(", ")
        );
        screen.blank();
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Strong, &text));
    }
}

const WAITS_FOR_FOREIGN: &str = "No task of this run is left that could wake them. A task that only `waits` waits for \
    something that is not of this library. If a thread or a timer outside of the run should have woken it: a run \
    cannot wait for those. Use sim::spawn in place of std::thread and sim::time in place of timers, and keep I/O out of \
    the test.";

fn names_of_circle(circle: &[TaskId], names: &DisplayNames<'_>) -> String {
    let shown = circle.iter().chain(circle.first()).map(|t| names.task(*t));
    shown.collect::<Vec<_>>().join(" → ")
}
