//! The calls in which plain threads request operations, recorded for a run that a report shows.

use std::cell::{Cell, RefCell};

use unpause_native::{Execution, Frame, Request, shortened};

use super::by_number::ByNumber;
use super::facts;
use super::memory::is_of_package;
use super::sites::{Site, is_of_runtime, is_of_user, primitive};
use super::threads::with;
use crate::rt::WORLD;
use crate::run::functions::{is_of_primitives, last_name};
use crate::run::ids::TaskId;
use crate::run::{Requested, Run, Within};
use crate::seam::client;

thread_local! {
    static SHOWN: Cell<bool> = const { Cell::new(false) };
    /// The functions at the return addresses seen so far.
    static FRAMES: RefCell<ByNumber<Vec<Frame>>> = RefCell::new(ByNumber::default());
    static REQUESTED: RefCell<Vec<Requested>> = const { RefCell::new(Vec::new()) };
}

/// Calls `act`, and records the calls of the runs in it.
pub(crate) fn noting_calls<T>(act: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            SHOWN.set(self.0);
            // Drops the requests of a run that nothing has extracted.
            begin();
        }
    }
    let _before = Before(SHOWN.replace(true));
    act()
}

/// Adds the calls and the thread facts to a run that has ended on this OS thread.
pub(crate) fn complete(run: &mut Run) {
    let requested = REQUESTED.take();
    run.threads = facts::take(&requested, &run.events);
    run.calls = crate::run::calls(&requested, &run.events);
}

/// Forgets the requests of the previous run.
pub(super) fn begin() {
    REQUESTED.with_borrow_mut(Vec::clear);
    facts::begin();
}

/// Returns `true` if each request is recorded.
pub(super) fn are_noted() -> bool {
    SHOWN.get()
}

/// Records the functions in which a thread, stepped by the current task, made its last request, at `site`.
pub(super) fn note(thread: usize, request: &Request, site: Site) {
    if !SHOWN.get() {
        return;
    }
    let (position, within) =
        FRAMES.with_borrow_mut(|known| with(|threads| within(threads.execution(), thread, known)));
    let task = TaskId(client() as u32);
    let events = WORLD.with(|world| world.events());
    let requested = Requested { task, events, position, within };
    let number = REQUESTED.with_borrow_mut(|all| {
        all.push(requested);
        all.len() - 1
    });
    facts::note(number, request, site);
}

/// Returns the functions at return addresses, in their order.
pub(super) fn frames(addresses: &[usize]) -> Vec<Frame> {
    let at = |known: &mut ByNumber<Vec<Frame>>, address: usize| {
        let find = || with(|threads| threads.execution().frames_at(address));
        known.entry(address as u64).or_insert_with(find).clone()
    };
    FRAMES
        .with_borrow_mut(|known| addresses.iter().flat_map(|address| at(known, *address)).collect())
}

/// Returns the position of the innermost function of the package under test, and its current call. If the stack has no
/// such function, as in threads of a library, the function that [uses](between) the primitive takes its place.
fn within(
    execution: &Execution,
    thread: usize,
    known: &mut ByNumber<Vec<Frame>>,
) -> (usize, Option<Within>) {
    let (mut inner, mut operation) = (Vec::new(), 0u64);
    // The position, the number of inner functions, and the operation of the intermediate crate.
    let mut other = None;
    'stack: for (position, address) in execution.calls(thread) {
        operation =
            (operation ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        let frames = known.entry(address as u64);
        for frame in frames.or_insert_with(|| execution.frames_at(address)) {
            if is_of_runtime(frame) {
                break 'stack;
            }
            if is_of_package(frame) {
                let through = between(&inner).map_or(String::new(), place);
                return (position, call(&inner, place(frame), through, operation));
            }
            if other.is_none() && is_between(frame) {
                other = Some((position, inner.len(), operation));
            }
            inner.push(frame.clone());
        }
    }
    let Some((position, depth, operation)) = other else { return (usize::MAX, None) };
    // If the crate itself performs the operation, there is no call: the place of the operation is in the crate.
    match inner[..depth].iter().any(is_of_user) {
        true => (position, call(&inner[..depth], place(&inner[depth]), String::new(), operation)),
        false => (usize::MAX, None),
    }
}

/// Returns the call of the functions `inner`, innermost first, made at `place`.
fn call(inner: &[Frame], place: String, through: String, operation: u64) -> Option<Within> {
    Some(Within { function: called(inner)?, place, through, operation })
}

/// Returns `true` for a function that is neither of std nor of a crate of primitives.
pub(super) fn is_between(frame: &Frame) -> bool {
    is_of_user(frame) && !is_of_primitives(shortened(&frame.file))
}

/// Returns the innermost function that uses a primitive of another crate. `inner` is a call chain, innermost first.
fn between(inner: &[Frame]) -> Option<&Frame> {
    inner.iter().find(|frame| is_between(frame) && frame.line > 0)
}

/// Returns the place in a function, in the format of reports.
pub(super) fn place(frame: &Frame) -> String {
    format!("{}:{}:{}", shortened(&frame.file), frame.line, frame.column)
}

/// The name, in reports, of a call that waits for the threads of a scope.
const SCOPE: &str = "thread::scope";

/// Returns `true` for the std function that returns when the threads of a scope have ended.
fn is_scope(frame: &Frame) -> bool {
    frame.file.ends_with("/std/src/thread/scoped.rs") && last_name(&frame.function) == "scope"
}

/// Returns the name of the called function among nested calls, innermost first. A function of another package, if one
/// was called, has precedence over the function of a std primitive. `None` if there is neither.
fn called(inner: &[Frame]) -> Option<String> {
    let of_package = |frame: &&Frame| is_of_user(frame) && !frame.function.is_empty();
    let of_std = |frame: &&Frame| primitive(frame).is_some_and(|name| name != "thread");
    if inner.last().is_some_and(is_scope) {
        return Some(SCOPE.to_owned());
    }
    let outermost =
        inner.iter().rev().find(of_package).or_else(|| inner.iter().rev().find(of_std))?;
    Some(last_name(&outermost.function).to_owned())
}
