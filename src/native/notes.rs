//! Notes of runs in a process of their own. That process writes down the effects of calls of this library; this process
//! repeats them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use unpause_native::Written;

use super::carried::{self, Carried, Replica};
use crate::rt::WORLD;
use crate::run::Condition;
use crate::run::board::CallPoint;
use crate::run::ids::{Spot, TaskId};
use crate::run::note::Note;
use crate::seam;

thread_local! {
    /// The histories and programs from the process of this run, in the order of their starts.
    static LEFT: RefCell<Left> = RefCell::default();
}

#[derive(Default)]
struct Left {
    histories: VecDeque<Arc<Replica>>,
    programs: VecDeque<Arc<Carried>>,
    error: Option<String>,
}

/// The report text for a part that a search with process isolation does not check: other orders of the recorded calls
/// of a run.
const ORDERS: &str = "other orders of recorded calls, which isolate = \"process\" does not check";

/// Writes a note for the process that reports the run.
pub(super) fn write(note: Note) {
    let mut bytes = Vec::new();
    match note {
        Note::Drawn { bound, why } => (0u8, bound, why).write(&mut bytes),
        Note::Given { bound, value, why } => (1u8, bound, value, why).write(&mut bytes),
        Note::History => 2u8.write(&mut bytes),
        Note::Call { history, point } => (3u8, history, WrittenPoint::of(point)).write(&mut bytes),
        Note::Program => 4u8.write(&mut bytes),
        Note::Condition(Condition { name, place, percent, runs }) => {
            (5u8, name, (place.file(), place.line(), place.column()), (percent, runs))
                .write(&mut bytes);
        }
        Note::Failed(failure) => {
            6u8.write(&mut bytes);
            carried::write_failure(failure, &mut bytes);
        }
        Note::Error(text) => (7u8, text).write(&mut bytes),
    }
    unpause_native::note(bytes);
}

/// Performs the effect of a note. An unreadable note has no effect: the process has destroyed its memory, and its next
/// answer is missing.
pub(super) fn repeat(bytes: &[u8]) {
    match read(bytes) {
        Some(Note::Drawn { bound, why }) => _ = seam::draw(bound, why),
        Some(Note::Given { bound, value, why }) => _ = seam::given(bound, value, why),
        Some(Note::History) => {
            let history = LEFT.with_borrow_mut(|left| left.histories.pop_front());
            seam::add_history(history.unwrap_or_default());
            WORLD.with(|world| world.note_unseen(ORDERS));
        }
        Some(Note::Call { history, point }) => seam::mark_call(Some(&history), point),
        Some(Note::Program) => {
            let program = LEFT.with_borrow_mut(|left| left.programs.pop_front());
            if let Some(program) = program {
                seam::add_program(program);
            }
        }
        Some(Note::Condition(condition)) => seam::note_condition(condition),
        Some(Note::Failed(failure)) => seam::fail(|| failure),
        Some(Note::Error(text)) => LEFT.with_borrow_mut(|left| left.error = Some(text)),
        None => {}
    }
}

fn read(bytes: &[u8]) -> Option<Note> {
    let from = &mut &bytes[..];
    Some(match u8::read(from)? {
        0 => {
            let (bound, why) = Written::read(from)?;
            // Checks the bound as the library does: a failure means that the process has overwritten the bytes.
            (bound > 0).then_some(Note::Drawn { bound, why })?
        }
        1 => {
            let (bound, value, why) = Written::read(from)?;
            (value < bound).then_some(Note::Given { bound, value, why })?
        }
        2 => Note::History,
        3 => {
            let (history, point): (usize, WrittenPoint) = Written::read(from)?;
            Note::Call { history, point: point.call_point() }
        }
        4 => Note::Program,
        5 => {
            type Parts = (&'static str, (&'static str, u32, u32), (u32, u64));
            let (name, (file, line, column), (percent, runs)): Parts = Written::read(from)?;
            Note::Condition(Condition { name, place: Spot::new(file, line, column), percent, runs })
        }
        6 => Note::Failed(carried::read_failure(from)?),
        7 => Note::Error(Written::read(from)?),
        _ => return None,
    })
}

/// The point of a call, as two numbers.
#[derive(Clone, Copy)]
struct WrittenPoint(u8, usize);

impl WrittenPoint {
    fn of(point: CallPoint) -> WrittenPoint {
        match point {
            CallPoint::Invoked(call) => WrittenPoint(0, call),
            CallPoint::Announced(call) => WrittenPoint(1, call),
            CallPoint::Returned(call) => WrittenPoint(2, call),
            CallPoint::Checked => WrittenPoint(3, 0),
            CallPoint::Shown => WrittenPoint(4, 0),
        }
    }

    fn call_point(self) -> CallPoint {
        match self.0 {
            0 => CallPoint::Invoked(self.1),
            1 => CallPoint::Announced(self.1),
            2 => CallPoint::Returned(self.1),
            3 => CallPoint::Checked,
            _ => CallPoint::Shown,
        }
    }
}

impl Written for WrittenPoint {
    fn write(&self, to: &mut Vec<u8>) {
        (self.0, self.1).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<WrittenPoint> {
        <(u8, usize)>::read(from).map(|(kind, call)| WrittenPoint(kind, call))
    }
}

/// Returns the histories and the programs of this run as bytes, for the end of its process.
pub(super) fn leave() -> Vec<u8> {
    let (histories, programs) = WORLD.with(|world| (world.histories(), world.programs()));
    let mut bytes = Vec::new();
    histories.len().write(&mut bytes);
    histories.iter().for_each(|source| carried::write_history(&source.record(), &mut bytes));
    programs.len().write(&mut bytes);
    for source in programs {
        (source.record(), source.layout()).write(&mut bytes);
    }
    bytes
}

/// Stores the histories and programs that the process of the run, which begins here, has left.
pub(super) fn take_over(bytes: &[u8]) {
    let from = &mut &bytes[..];
    let histories = usize::read(from).and_then(|count| {
        let replica = |_| Some(Arc::new(Replica(carried::read_history(from)?)));
        (0..count).map(replica).collect::<Option<_>>()
    });
    let programs = usize::read(from).and_then(|count| {
        let carried = |_| Some(Arc::new(Carried::of(Written::read(from)?)));
        (0..count).map(carried).collect::<Option<_>>()
    });
    let (histories, programs) = (histories.unwrap_or_default(), programs.unwrap_or_default());
    LEFT.set(Left { histories, programs, error: None });
}

/// Returns the error that the body has returned in its process.
pub(super) fn take_error() -> Option<String> {
    LEFT.with_borrow_mut(|left| left.error.take())
}

/// Returns the task of a failure, or the first task if the number is not a task.
pub(super) fn task(number: u32) -> TaskId {
    let known = WORLD.with(|world| world.knows(TaskId(number)));
    if known { TaskId(number) } else { TaskId::MAIN }
}
