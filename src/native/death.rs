//! Deaths of plain threads as failures of the run: the cause as text, and the line in the user's code.

use std::sync::{Mutex, PoisonError};

use unpause_native::{Death, Execution, Frame, ProcessEnd, Region};

use super::isolation;
use super::sites;
use super::threads::with;
use crate::rt::WORLD;
use crate::run::Failure;
use crate::run::ids::{Place, TaskId};
use crate::run::panics::{self, Panicked};
use crate::run::signals;
use crate::seam::{client, hang_limit};

/// The number of the signal `SIGABRT`.
const ABORT: i32 = 6;

/// The last death of a run.
static LAST: Mutex<Option<Death>> = Mutex::new(None);

/// Ends this process in the way in which the last run that died would have ended it. Returns if no run has died, or if
/// the death would not have ended the process.
pub(crate) fn end_alike() {
    let last = *LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match last {
        Some(Death::Signal { signal, .. } | Death::Process(ProcessEnd::Signal(signal))) => {
            unpause_native::end_by(signal)
        }
        // std's handler of a stack overflow aborts.
        Some(Death::Abort | Death::StackOverflow { .. }) => unpause_native::end_by(ABORT),
        Some(Death::Exit { code, .. } | Death::Process(ProcessEnd::Exit(code))) => {
            std::process::exit(code)
        }
        Some(Death::Interrupted | Death::Process(_)) | None => {}
    }
}

/// A guard that restores the last death of a run on drop.
pub(crate) struct KeptDeath(Option<Death>);

/// Returns a guard under which the deaths of runs do not change the way in which the process would end: these runs only
/// explain an earlier run.
pub(crate) fn keep_death() -> KeptDeath {
    KeptDeath(*LAST.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Drop for KeptDeath {
    fn drop(&mut self) {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = self.0;
    }
}

/// Ends the run, because its thread `thread`, which the current task steps, has died. `last` is the place of its last
/// request.
pub(super) fn fail(thread: usize, death: Death, last: Place) -> ! {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(death);
    let task = TaskId(client() as u32);
    let failure = match death {
        Death::Process(end) => of_process(end, task, last),
        _ => with(|threads| failure(threads.execution(), thread, task, death)),
    };
    if matches!(failure, Failure::Hang { .. }) {
        isolation::has_hung();
    }
    WORLD.with(|world| world.fail(failure))
}

/// Returns the failure of a run because its thread `thread`, the task `task`, has died.
fn failure(execution: &Execution, thread: usize, task: TaskId, death: Death) -> Failure {
    let stacks = execution.stacks();
    if death == Death::Interrupted {
        let last = WORLD.with(|world| world.doing());
        let seconds = hang_limit().map_or(0, |limit| limit.as_secs());
        let unseen = entered(execution);
        return Failure::Hang { task, last, place: earliest(&stacks), seconds, unseen };
    }
    let all = stacks.first().map_or(&[][..], Vec::as_slice);
    let by_panic = all.iter().any(|frame| frame.function.contains("panic_with_hook"));
    let frames = tested(all);
    if let (Death::Abort, true) = (death, by_panic) {
        let panics = execution.panics_of(thread).into_iter();
        let panics = panics.map(|(message, place)| Panicked { message, place });
        let message = panics::aborted(&panics.collect::<Vec<_>>());
        return Failure::Crash { task, cause: "abort".to_owned(), message, place: at(frames) };
    }
    let (cause, message) = words(execution, frames, death);
    let place = match death {
        Death::StackOverflow { .. } => repeated(frames).map_or_else(|| at(frames), |(_, at)| at),
        _ => at(frames),
    };
    Failure::Crash { task, cause: cause.to_owned(), message, place }
}

/// Returns the uninstrumented functions that the run has entered.
fn entered(execution: &Execution) -> Vec<String> {
    execution.entered().into_iter().map(str::to_owned).collect()
}

/// Returns the failure of a run whose own process ended during the run. `last` is the place of the last request.
fn of_process(end: ProcessEnd, task: TaskId, last: Place) -> Failure {
    const LAST: &str = "The line is that of the last request of the thread that went on last.";
    let place = last.to_string();
    let (cause, message) = match end {
        ProcessEnd::Hung => {
            let last = WORLD.with(|world| world.doing());
            let seconds = hang_limit().map_or(0, |limit| limit.as_secs());
            let unseen = with(|threads| entered(threads.execution()));
            return Failure::Hang { task, last, place, seconds, unseen };
        }
        ProcessEnd::Full => {
            let message = "a run takes more room than a run in a process of its own can have (256 MiB): leave out \
                           isolate = \"process\", or lower max_steps";
            return Failure::Misuse { message: message.to_owned(), place };
        }
        ProcessEnd::Signal(number) => {
            (
                format!("process ended by {}", signals::signal_name(number)),
                format!("The process of the run was ended ({}).", signal_name(number)),
            )
        }
        ProcessEnd::Exit(code) => (
            format!("process ended with exit code {code}"),
            "The process of the run has ended itself.".to_owned(),
        ),
        ProcessEnd::Strayed => (
            "destroyed memory".to_owned(),
            "The process of the run came to its end, but its record makes no sense: a stray write has changed \
             memory of this library."
                .to_owned(),
        ),
    };
    Failure::Crash { task, cause, message: format!("{message} {LAST}"), place }
}

/// Returns the cause of a death in a few words, and its circumstances.
fn words(execution: &Execution, frames: &[Frame], death: Death) -> (&'static str, String) {
    match death {
        Death::Signal { signal, raised: true, .. } => {
            let cause = signal_name(signal);
            (cause, format!("The thread raised the signal of this: number {signal}."))
        }
        Death::Signal { signal, address: Some(address), .. } => {
            let address = described(execution, address);
            (signal_name(signal), format!("The thread accessed {address}."))
        }
        Death::Signal { signal, .. } => (signal_name(signal), circumstances(signal).to_owned()),
        Death::StackOverflow { size } => {
            let mut message = format!("The stack of {} is full.", bytes(size));
            if let Some((function, _)) = repeated(frames) {
                message += &format!(" `{function}` is on it again and again.");
            }
            ("stack overflow", message)
        }
        Death::Abort => ("abort", "The thread called `abort`, which ends the process.".to_owned()),
        Death::Exit { function, code } => {
            let message =
                format!("The thread called `{function}({code})`, which ends the process.");
            ("exit of the process", message)
        }
        Death::Interrupted | Death::Process(_) => ("interruption", String::new()),
    }
}

fn signal_name(signal: i32) -> &'static str {
    const NAMES: &[(i32, &str)] = &[
        (1, "hangup"),
        (2, "interrupt"),
        (3, "quit"),
        (4, "illegal instruction"),
        (5, "trap"),
        (6, "abort"),
        (7, "bus error"),
        (8, "arithmetic exception"),
        (9, "kill"),
        (10, "user signal 1"),
        (11, "segmentation fault"),
        (12, "user signal 2"),
        (13, "broken pipe"),
        (14, "alarm"),
        (15, "termination"),
    ];
    NAMES.iter().find(|(number, _)| *number == signal).map_or("signal", |(_, name)| name)
}

/// Returns the meaning of a signal without an address.
fn circumstances(signal: i32) -> &'static str {
    match signal {
        4 => {
            "The processor has no such instruction: code was reached that must not be, or is no code."
        }
        5 => "The thread came to a breakpoint.",
        8 => "The processor cannot divide so.",
        _ => "The thread accessed an address that no pointer can have.",
    }
}

/// Describes an address in words that are the same in all processes.
fn described(execution: &Execution, address: usize) -> String {
    match execution.region(address) {
        _ if address < 1 << 16 => format!("address {address:#x}, next to a null pointer"),
        Region::Heap => format!("address {address:#x}, in the heap of the run"),
        Region::Stack(thread) => format!("an address on the stack of thread {thread}"),
        Region::Program => {
            "an address in the program, which may not be accessed so: a constant, or code"
                .to_owned()
        }
        Region::Unknown if address < 1 << 32 => {
            format!("address {address:#x}, which is not mapped")
        }
        Region::Unknown => "an address outside of the heap, the stacks and the program".to_owned(),
    }
}

fn bytes(size: usize) -> String {
    match (size >> 20, size >> 10) {
        (mib, _) if mib > 0 && size % (1 << 20) == 0 => format!("{mib} MiB"),
        (_, kib) => format!("{kib} KiB"),
    }
}

/// Returns the frames from the first user frame on.
fn tested(frames: &[Frame]) -> &[Frame] {
    let own = frames.iter().take_while(|frame| {
        // The file that starts a thread is at the outer end of the stack, so it counts as a user frame.
        let begins = frame.file.ends_with("/src/linux/thread.rs");
        frame.is_of_std()
            || frame.file.is_empty()
            || (frame.file.contains("unpause-native/src/") && !begins)
    });
    &frames[own.count()..]
}

/// Returns the place of the user in `frames`, which are innermost first.
fn place(frames: &[Frame]) -> Place {
    sites::site(tested(frames)).place
}

fn at(frames: &[Frame]) -> String {
    place(frames).to_string()
}

/// Returns the first place in source order among the places of the threads.
fn earliest(stacks: &[Vec<Frame>]) -> String {
    let places = stacks.iter().map(|frames| place(frames));
    let first = places.min_by_key(|place| (place.file(), place.line(), place.column()));
    first.map_or_else(String::new, |place| place.to_string())
}

/// Returns the most frequent user function among the frames, and its line.
fn repeated(frames: &[Frame]) -> Option<(String, String)> {
    let is_between = |frame: &Frame| frame.is_of_std() || frame.is_of_facade();
    let of_user = |frame: &&Frame| !frame.file.is_empty() && !is_between(frame);
    let times = |wanted: &Frame| {
        frames
            .iter()
            .filter(|frame| frame.function == wanted.function && frame.line == wanted.line)
            .count()
    };
    // Of equally frequent functions, the innermost wins.
    let users: Vec<&Frame> = frames.iter().filter(of_user).collect();
    let most =
        users.iter().rev().max_by_key(|frame| times(frame)).filter(|frame| times(frame) > 2)?;
    Some((most.function.clone(), at(std::slice::from_ref(*most))))
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;

    fn frame(function: &str, line: u32) -> Frame {
        Frame { function: function.into(), file: "src/tree.rs".into(), line, column: 9 }
    }

    pub(in super::super) fn the_function_that_is_repeated_is_named() {
        let frames = [frame("compare", 3), frame("walk", 12), frame("walk", 12), frame("walk", 12)];
        let expected = ("walk".to_owned(), "src/tree.rs:12:9".to_owned());
        assert_eq!(repeated(&frames), Some(expected));
        assert_eq!(repeated(&frames[..3]), None);
    }

    pub(in super::super) fn a_size_is_shown_in_the_largest_unit_that_fits() {
        assert_eq!([2 << 20, 96 << 10].map(bytes), ["2 MiB", "96 KiB"]);
    }
}
