//! The memory of plain threads: the heap kind of a run, and errors in memory use.

use unpause_native::{Fault, Frame, Memory, Problem, Step, TooWeak, shortened};

use super::sites::site;
use super::threads::with;
use super::{chances, orders};
use crate::run::chances::Chances;
use crate::run::ids::TaskId;
use crate::run::memory_model::{Raise, Stronger, WeakLink};
use crate::run::place::in_text;
use crate::run::{Failure, MemoryError, MemoryStep};
use crate::seam::{draw_heap, fail};

/// The heaps from which a run draws one, in order of increasing complexity.
const HEAPS: [Memory; 3] = [Memory::Plain, Memory::Checked, Memory::Reused];

/// Draws the heap of the run, and starts the chances of the run. The heap checks its memory if the
/// test searches for leaks or data races.
pub(super) fn draw(leaks: bool) -> Memory {
    let wanted = u64::from(chances::wanted().number());
    let (heap, set) = draw_heap(leaks || unpause_native::races(), wanted, Chances::SETS);
    chances::begin(Chances::of_number(set as u8));
    HEAPS[heap as usize % HEAPS.len()]
}

/// Ends the run with the error of a thread. Never returns.
pub(super) async fn failed() {
    let fault = with(|threads| threads.execution().take_fault());
    if let Some(fault) = fault {
        fail(|| failure(&fault));
    }
    std::future::pending().await
}

/// Returns the memory error visible at the end of the run. A leak is an error if `leaks` is true.
pub(super) fn check(leaks: bool) -> Option<Failure> {
    let found = with(|threads| {
        let execution = threads.execution();
        let fault = execution.check_memory();
        let returned = execution.ended() == Some(unpause_native::Ended::Returned);
        let lost = if leaks && returned { execution.leaks() } else { None };
        (fault, lost)
    });
    match found {
        (Some(fault), _) => Some(failure(&fault)),
        (None, Some((fault, count, bytes))) => {
            let Failure::Memory(mut error) = failure(&fault) else { return None };
            if count > 1 {
                error.message += &format!(", one of {count} with {bytes} bytes");
            }
            Some(Failure::Memory(error))
        }
        (None, None) => None,
    }
}

/// Returns the failure of a run with this error.
fn failure(fault: &Fault) -> Failure {
    let size = fault.size;
    let block = size.map_or("memory".to_owned(), |size| format!("an allocation of {size} B"));
    let byte = fault.offset;
    let at = match size {
        Some(size) if byte >= size as isize => {
            format!("byte {} behind {block}", byte - size as isize + 1)
        }
        Some(_) if byte < 0 => format!("byte {} before {block}", -byte),
        _ => format!("byte {byte} of {block}"),
    };
    let is_write = fault.steps.first().is_some_and(|step| ["write", "store"].contains(&step.label));
    let (problem, message, remedy) = match fault.problem {
        Problem::DoubleFree => ("double free", format!("{block} is freed twice"), ""),
        Problem::InvalidFree => {
            ("invalid free", "no allocation begins at the address freed".to_owned(), "")
        }
        Problem::UseAfterFree => {
            let how = if is_write { "written" } else { "used" };
            ("use after free", format!("{block} is {how} after it was freed"), "")
        }
        Problem::WriteAfterFree => {
            ("use after free", format!("{at} was written after it was freed"), WRITTEN)
        }
        Problem::UseAfterReturn if fault.steps.iter().any(|step| step.label == "returned") => {
            let message = "nothing orders the return of a function after the use of its variable";
            ("use after return", message.to_owned(), "")
        }
        Problem::UseAfterReturn => {
            let how = if is_write { "written" } else { "used" };
            let message = format!("a variable of a function that has returned is {how}");
            ("use after return", message, "")
        }
        Problem::OutOfBounds if fault.steps.first().is_some_and(is_access) => {
            ("out of bounds", format!("{at} is accessed"), "")
        }
        Problem::OutOfBounds => ("out of bounds", format!("{at} was written"), WRITTEN),
        Problem::Leak => ("leak", format!("{block} is never freed, and nothing refers to it"), ""),
        Problem::DataRace => ("data race", "nothing orders the two accesses".to_owned(), ""),
    };
    let remedy = match (&fault.missing, fault.problem) {
        (Some(missing), _) => stronger(missing),
        (None, Problem::DataRace) => UNORDERED.to_owned(),
        (None, _) => remedy.to_owned(),
    };
    let steps = fault.steps.iter().map(shown).collect();
    let too_weak = fault.missing.as_ref().map_or_else(Vec::new, links);
    debug_assert!(Failure::KINDS.contains(&problem), "the schema of reports lacks {problem}");
    Failure::Memory(MemoryError { problem, message, steps, remedy, too_weak, unordered: None })
}

/// Returns the operations that are too weak to order a data race, with the changes for an order.
fn links(missing: &TooWeak) -> Vec<WeakLink> {
    let [write, read] = &missing.operations;
    let changes = [(write, Stronger::Release), (read, Stronger::Acquire)];
    let links = changes.map(|((step, order), by)| {
        let place = site(&step.frames()).place;
        WeakLink { raise: Raise { place, by }, op: step.label, order: orders::order(*order) }
    });
    links.into_iter().filter(|link| link.raise.of(link.order) != link.order).collect()
}

/// Returns the remedy for memory orders that are too weak.
fn stronger(missing: &TooWeak) -> String {
    let [(write, released), (read, acquired)] = &missing.operations;
    let tell = |step: &Step, order: u8| {
        let MemoryStep { place, called_from, .. } = shown(step);
        let from = match called_from.is_empty() {
            true => String::new(),
            false => format!(", called from {}", in_text(called_from)),
        };
        format!("the {} `{}` at {}{from}", order_name(order), step.label, in_text(place))
    };
    format!(
        "After the first access comes {}, and before the second one {}, of the same word. They order the accesses if \
         the former is a Release (or follows a Release fence) and the latter an Acquire (or precedes an Acquire fence).",
        tell(write, *released),
        tell(read, *acquired)
    )
}

/// Returns the name of a memory order.
fn order_name(order: u8) -> &'static str {
    match order {
        0 => "Relaxed",
        1 | 2 => "Acquire",
        3 => "Release",
        4 => "AcqRel",
        _ => "SeqCst",
    }
}

/// The remedy for a data race without operations between the accesses.
const UNORDERED: &str = "Guard the memory by one lock, access it by atomic operations, or let one thread wait for the \
    other one between the accesses.";

/// The remedy for an invalid write that was detected later.
const WRITTEN: &str = "The write was found later than it was made. `cargo unpause test --races` checks each access, \
    and names its line.";

fn is_access(step: &Step) -> bool {
    ["read", "write", "load", "store", "update"].contains(&step.label)
}

fn shown(step: &Step) -> MemoryStep {
    let frames = step.frames();
    let place = site(&frames).place.to_string();
    let own = frames.iter().find(|frame| is_of_package(frame));
    let called_from = own.map_or(String::new(), |frame| {
        format!("{}:{}:{}", shortened(&frame.file), frame.line, frame.column)
    });
    MemoryStep {
        label: step.label.to_owned(),
        // The task number equals the thread number, because threads are spawned in the order of
        // their numbers, and each is a task.
        task: TaskId(step.thread as u32),
        called_from: if called_from == place { String::new() } else { called_from },
        place,
    }
}

/// Returns `true` for a function of the package under test.
pub(super) fn is_of_package(frame: &Frame) -> bool {
    let is_dependency =
        frame.file.contains("/registry/src/") || frame.file.contains("/git/checkouts/");
    let file = shortened(&frame.file);
    let is_between = frame.is_of_std() || frame.is_of_facade();
    !is_between && !is_dependency && !file.is_empty() && !file.starts_with('/')
}
