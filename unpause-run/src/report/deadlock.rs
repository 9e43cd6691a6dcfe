//! Deadlocks on the screen: the waiting tasks, the objects they wait for, the holders, and the reasons why no task ends
//! the waits.

#[cfg(test)]
mod tests;

use super::failure::place;
use super::names::DisplayNames;
use super::quoted::WaitLines;
use super::waiting::{self, Awaits, Pending};
use super::{Finding, NoReturn};
use crate::run::event::{Event, Values};
use crate::run::ids::TaskId;
use crate::run::op::of_tokio::{permits, tellings};
use crate::run::op::{Access, condvar, task};
use crate::run::{Run, Wait, circle_of};
use unpause_check::picture::screen::{Line, Paint, Screen, columns, cut, plural};
use unpause_ordered::sort_by_key;

/// The text for a thread in an executor if its future has done nothing in the package under test.
const RUNS_FUTURE: &str = "waits for its future";

/// The maximum number of waiting tasks in the list.
const WAITS_MAX: usize = 12;
/// The maximum number of waiting tasks that a sentence names.
const NAMED_MAX: usize = 3;

/// Writes the waiting tasks, with the holder of each object.
pub(super) fn draw(
    screen: &mut Screen,
    finding: &Finding,
    waits: &[Wait],
    names: &DisplayNames<'_>,
) {
    let run = &finding.run;
    let all = &waiting::with_holders(run, waits)[..];
    let circle = circle_of(all);
    screen.heading("deadlock", &names_of_circle(&circle, names));
    let waits = in_order(run, waits);
    let tasks = waits.iter().map(|w| columns(&names.task(w.task)));
    let left = tasks.max().unwrap_or(0).min(screen.width() / 4) + 4;
    let awaits = waiting::awaits(run);
    let mut list = WaitList { screen, finding, all, names, left, quoted: WaitLines::of(finding) };
    for wait in waits.iter().take(WAITS_MAX) {
        list.draw_wait(wait, &awaits);
    }
    list.draw_left_out(waits.len(), "");
    for task in awaits.of_tasks.iter().take(WAITS_MAX) {
        list.draw_task_of_tokio(task);
    }
    list.draw_left_out(awaits.of_tasks.len(), "of tokio ");
    if circle.is_empty() {
        screen.blank();
        let text = wakers(finding, all, names);
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Strong, &text));
    }
    stalled(screen, run, names);
}

/// The list of waiting tasks.
struct WaitList<'a> {
    screen: &'a mut Screen,
    finding: &'a Finding,
    /// The waits of the run, with the holders of locks.
    all: &'a [Wait],
    names: &'a DisplayNames<'a>,
    /// The column of the waits, right of the tasks.
    left: usize,
    quoted: WaitLines<'a>,
}

impl WaitList<'_> {
    fn draw_wait(&mut self, wait: &Wait, awaits: &Awaits) {
        let WaitList { finding, all, names, left, .. } = *self;
        let run = &finding.run;
        let mut line = Line::default();
        line.put(2, Paint::Strong, &cut(&names.task(wait.task), left - 4));
        match waiting::executor(run, wait) {
            // The line of the future, or of the executor's call, is more informative than the executor's own line.
            Some(call) => {
                let awaited = awaits.of_threads.get(&wait.task);
                line.put(left, Paint::Plain, awaited.map_or(RUNS_FUTURE, |_| "its future awaits"));
                place(self.screen, line, awaited.unwrap_or(&call.place));
                if awaited.is_some() {
                    self.below(&format!("  in `{}`", call.function), &call.place);
                }
                self.below(&format!("  {}", names.wait(wait)), &wait.place.to_string());
            }
            None => {
                line.put(left, Paint::Plain, &names.wait(wait));
                place(self.screen, line, &wait.place.to_string());
                callers(self.screen, left, &waiting::called_from(run, wait));
                self.quoted.draw(self.screen, left, &waiting::line(run, wait));
            }
        }
        if let Some(at) = awaits.polled.get(&wait.task) {
            self.below("in a task of tokio that was spawned", at);
        }
        for (text, at, called) in reasons(run, all, wait, names) {
            self.below(&text, &at);
            callers(self.screen, left, &called);
        }
        if let Some(line) = waiting::holder_line(run, wait) {
            self.quoted.draw(self.screen, left, &line);
        }
    }

    fn draw_task_of_tokio(&mut self, task: &Pending) {
        let mut line = Line::default();
        let said = match (&task.at, task.was_polled) {
            (Some(_), _) => "a task of tokio awaits",
            (None, true) => "a task of tokio waits",
            (None, false) => "a task of tokio was never polled",
        };
        line.put(self.left, Paint::Plain, said);
        match &task.at {
            Some(at) => place(self.screen, line, at),
            None => self.screen.line(line),
        }
        if let Some(spawned) = &task.spawned {
            self.below("  spawned", spawned);
        }
    }

    /// Writes the number of tasks that the list leaves out, if any.
    fn draw_left_out(&mut self, tasks: usize, of: &str) {
        if tasks > WAITS_MAX {
            let left_out = plural((tasks - WAITS_MAX) as u64, "task");
            let text = format!("  … {left_out} {of}more …");
            self.screen.line(Line::of(Paint::Notice, &text));
        }
    }

    fn below(&mut self, text: &str, at: &str) {
        below(self.screen, self.left, text, at);
    }
}

/// Returns the waits, completed with the holders of locks. A cycle comes first, in its order, because all other tasks
/// wait only because of it.
pub(super) fn in_order(run: &Run, waits: &[Wait]) -> Vec<Wait> {
    let mut waits = waiting::with_holders(run, waits);
    let circle = circle_of(&waits);
    sort_by_key(&mut waits, |w| circle.iter().position(|t| *t == w.task).unwrap_or(circle.len()));
    waits
}

/// Writes the tasks that wait for each other, in a run that ended although other tasks could step.
pub(super) fn draw_circle(screen: &mut Screen, finding: &Finding, names: &DisplayNames<'_>) {
    if !finding.run.circle.is_empty() {
        draw(screen, finding, &finding.run.circle, names);
    }
}

/// Returns a text about the possible wakers of the waiting tasks, which are in no cycle.
fn wakers(finding: &Finding, waits: &[Wait], names: &DisplayNames<'_>) -> String {
    // A task that waits for something outside this library may be woken from outside the run. The same is possible
    // for a task that waits for a message or a notification, unless the run explains why it never arrives. For
    // example, a sender may have moved to a thread.
    let is_foreign = |wait: &&Wait| wait.op.is_none();
    let is_unexplained = |wait: &Wait| {
        let comes = wait.op.is_some_and(|op| matches!(op.access, Access::Act | Access::Wait));
        comes && wait.target.is_none() && reasons(&finding.run, waits, wait, names).is_empty()
    };
    let foreign: Vec<String> =
        waits.iter().filter(is_foreign).map(|wait| names.task(wait.task)).collect();
    if foreign.is_empty() && !waits.iter().any(is_unexplained) {
        return NOBODY_IS_LEFT.to_owned();
    }
    let why = finding.why.as_ref();
    let passes = why.is_some_and(|why| why.passing.is_some() || why.remedy.is_some());
    // With old stores, runs of the program may pass.
    let never_passes = why.is_some_and(|why| {
        matches!(why.no_return, Some(NoReturn { after: 0, .. })) && !why.newest_stores
    });
    let wakers = match &foreign[..] {
        [one] => format!("the waker of {one}"),
        [first @ .., last] if first.len() < NAMED_MAX => {
            format!("the wakers of {} and {last}", first.join(", "))
        }
        all => format!("the wakers of {} tasks", all.len()),
    };
    match () {
        // Other runs pass without help from outside.
        () if passes && foreign.is_empty() => NOBODY_IS_LEFT.to_owned(),
        // The same tasks may also wait at the end of a passing run, because no task joins them.
        () if passes => format!(
            "{NOBODY_IS_LEFT} Other runs of this program pass: here {wakers} may have been called too early, or not at \
             all."
        ),
        () if never_passes => format!("{NOBODY_IS_LEFT} {OUTSIDE}"),
        () => format!("{NOBODY_IS_LEFT} {TOO_EARLY} {OUTSIDE}"),
    }
}

/// Writes the places of the calls that led to the place above, innermost call first.
fn callers(screen: &mut Screen, left: usize, called: &[String]) {
    called.iter().for_each(|at| below(screen, left, "  called from", at));
}

/// Writes a line that belongs to the previous line, with a place if `at` is not empty.
fn below(screen: &mut Screen, left: usize, text: &str, at: &str) {
    let mut line = Line::default();
    line.put(left, Paint::Faint, text);
    match at.is_empty() {
        true => screen.line(line),
        false => place(screen, line, at),
    }
}

/// A reason why a wait does not end, its place, and the places of the calls that led there.
type Reason = (String, String, Vec<String>);

/// Returns the reasons why a wait does not end.
fn reasons(run: &Run, waits: &[Wait], wait: &Wait, names: &DisplayNames<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if wait.unpolled {
        let text = "its turn has come, but the task polls another future now".to_owned();
        reasons.push((text, String::new(), Vec::new()));
    }
    let Some(object) = wait.object else { return reasons };
    let waits_too = |task: TaskId| waits.iter().any(|other| other.task == task);
    let has_stalled = |task: TaskId| stalls(run).any(|stalled| stalled == task);
    if let Some(holder) = &wait.holder {
        let who = match holder.task == wait.task {
            true => "itself".to_owned(),
            false => names.task(holder.task),
        };
        let fate = match () {
            () if waits_too(holder.task) => "",
            () if has_stalled(holder.task) => ", which has stalled",
            // Every remaining task waits.
            () if run.circle.is_empty() => ", which has ended without giving it up",
            () => "",
        };
        let text = format!("held by {who} since step {}{fate}", holder.step);
        let took = waiting::acquisition(run, wait);
        let called = took.map_or(Vec::new(), |took| waiting::callers(run, took));
        reasons.push((text, holder.place.to_string(), called));
        return reasons;
    }
    // A task that received the object in a queue, but has not taken it.
    let keeper = waits.iter().find(|other| {
        other.unpolled
            && other.object == wait.object
            && (other.task, other.place) != (wait.task, wait.place)
    });
    if let Some(keeper) = keeper {
        let text = format!("given to {}, which polls another future now", names.task(keeper.task));
        reasons.push((text, keeper.place.to_string(), waiting::called_from(run, keeper)));
        return reasons;
    }
    let begun = run.events.iter().rposition(|event| {
        event.object == Some(object) && event.task == wait.task && event.op.access != Access::Peek
    });
    let mut others = run.events.iter().enumerate().filter(|(_, event)| {
        event.object == Some(object) && event.task != wait.task && tells(event)
    });
    if let Some((at, event)) = others.next_back() {
        let early = match begun {
            Some(begun) if at < begun && is_forgotten(event) => {
                ", before it waited: that tells only tasks that wait"
            }
            Some(begun) if at < begun => ", before it waited",
            _ => "",
        };
        let who = names.task(event.task);
        let text = format!("last {} by {who} in step {}{early}", event.op.name, event.step);
        reasons.push((text, event.place.to_string(), waiting::callers(run, at)));
    }
    let is_loss =
        |event: &&Event| event.object == Some(object) && event.op.kind == Some(permits::KEEP);
    if let Some(event) = run.events.iter().rev().find(is_loss) {
        let text =
            format!("permits forgotten by {} in step {}", names.task(event.task), event.step);
        reasons.push((text, event.place.to_string(), Vec::new()));
    }
    let of_memory = |at: usize, text: String| {
        let place = run.events[at].place.to_string();
        (text, place, waiting::callers(run, at))
    };
    let scope = waiting::scope_threads(run, wait).is_some();
    if let Some(at) = waiting::last_change(run, wait).filter(|_| !scope) {
        let event = &run.events[at];
        let (who, what) = (names.task(event.task), names.event(event));
        reasons.push(of_memory(at, format!("after `{what}` by {who} in step {}", event.step)));
    }
    reasons
}

/// Returns `true` for an operation that may end the wait of another task.
fn tells(event: &Event) -> bool {
    let changes = matches!(event.op.access, Access::Tell | Access::Act | Access::Wait);
    changes && !event.is_look() && event.values != Values::Failed
}

/// Returns `true` for a notification that is not stored for tasks that wait later.
fn is_forgotten(event: &Event) -> bool {
    let kinds = [tellings::TELL_ALL, condvar::NOTIFY_ONE, condvar::NOTIFY_ALL];
    event.op.kind.is_some_and(|kind| kinds.contains(&kind))
}

/// Returns the tasks that stalled.
fn stalls(run: &Run) -> impl Iterator<Item = TaskId> + '_ {
    run.events.iter().filter_map(|event| match (event.op.kind, event.values) {
        (Some(task::STALL), Values::Task(task)) => Some(task),
        _ => None,
    })
}

/// Writes the names of the tasks that stalled because the test requested it.
fn stalled(screen: &mut Screen, run: &Run, names: &DisplayNames<'_>) {
    let tasks: Vec<String> = stalls(run).map(|task| names.task(task)).collect();
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

const NOBODY_IS_LEFT: &str = "No task is left that could wake them.";

const TOO_EARLY: &str = "A task of the run may have woken them too early, or not at all.";

const OUTSIDE: &str = "If a thread or a timer outside of the run should have woken it: a run cannot wait for those. Use \
    sim::spawn in place of std::thread and sim::time in place of timers, and keep I/O out of the test.";

fn names_of_circle(circle: &[TaskId], names: &DisplayNames<'_>) -> String {
    let shown = circle.iter().chain(circle.first()).map(|t| names.task(*t));
    shown.collect::<Vec<_>>().join(" → ")
}
