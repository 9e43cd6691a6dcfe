//! The calls in which plain threads request operations, noted in a run that is shown.

use std::cell::{Cell, RefCell};

use unpause_native::{Execution, Frame, shortened};

use super::by_number::ByNumber;
use super::memory::is_of_package;
use super::sites::{is_of_runtime, is_ours, primitive};
use super::threads::with;
use crate::rt::WORLD;
use crate::run::event::Event;
use crate::run::ids::TaskId;
use crate::run::{CallRecord, Requested, Within};
use crate::seam::sim::client;

thread_local! {
    static SHOWN: Cell<bool> = const { Cell::new(false) };
    /// The functions at the return addresses met so far.
    static FRAMES: RefCell<ByNumber<Vec<Frame>>> = RefCell::new(ByNumber::default());
    static REQUESTED: RefCell<Vec<Requested>> = const { RefCell::new(Vec::new()) };
}

/// Does `act` with calls noted in its runs.
pub(crate) fn noting_calls<T>(act: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            SHOWN.set(self.0);
            // Those of a run that was not extracted.
            begin();
        }
    }
    let _before = Before(SHOWN.replace(true));
    act()
}

/// The calls of the run with these events, which has ended on this thread of the system.
pub(crate) fn take_calls(events: &[Event]) -> Vec<CallRecord> {
    crate::run::calls(&REQUESTED.take(), events)
}

/// Forgets what was requested in the run before.
pub(super) fn begin() {
    REQUESTED.with_borrow_mut(Vec::clear);
}

/// Returns `true` if each request is noted.
pub(super) fn are_noted() -> bool {
    SHOWN.get()
}

/// Notes what a thread, which the current task steps, was in when it made its last request.
pub(super) fn note(thread: usize) {
    if !SHOWN.get() {
        return;
    }
    let (position, within) =
        FRAMES.with_borrow_mut(|known| with(|threads| within(threads.execution(), thread, known)));
    let task = TaskId(client() as u32);
    let events = WORLD.with(|world| world.events());
    let requested = Requested { task, events, position, within };
    REQUESTED.with_borrow_mut(|all| all.push(requested));
}

/// The position of the innermost function of the package that is tested, and the call that it is in.
fn within(
    execution: &Execution,
    thread: usize,
    known: &mut ByNumber<Vec<Frame>>,
) -> (usize, Option<Within>) {
    let (mut inner, mut operation) = (Vec::new(), 0u64);
    for (position, address) in execution.calls(thread) {
        operation =
            (operation ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        let frames = known.entry(address as u64);
        for frame in frames.or_insert_with(|| execution.frames_at(address)) {
            if is_of_runtime(frame) {
                return (usize::MAX, None);
            }
            if !is_of_package(frame) {
                inner.push(frame.clone());
                continue;
            }
            let within = called(&inner).map(|function| Within {
                function,
                place: format!("{}:{}:{}", shortened(&frame.file), frame.line, frame.column),
                operation,
            });
            return (position, within);
        }
    }
    (usize::MAX, None)
}

/// The name of the function that was called, of functions that called each other, innermost first: that of another
/// package if one was, else that of a primitive of std. None if there is neither.
fn called(inner: &[Frame]) -> Option<String> {
    let of_package =
        |frame: &&Frame| !frame.file.is_empty() && !frame.is_of_std() && !is_ours(frame);
    let of_std = |frame: &&Frame| primitive(frame).is_some_and(|name| name != "thread");
    let outermost =
        inner.iter().rev().find(of_package).or_else(|| inner.iter().rev().find(of_std))?;
    Some(name(&outermost.function).to_owned())
}

/// The name of a function without its path: `insert` of `<dashmap::DashMap<u64, u64>>::insert`.
pub(super) fn name(function: &str) -> &str {
    let (mut depth, mut begin, mut last) = (0usize, 0, "");
    for (at, letter) in function.char_indices().chain([(function.len(), ':')]) {
        match letter {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                let part = &function[begin..at];
                if part.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                    last = part.split('<').next().unwrap_or(part);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
    if last.is_empty() { function } else { last }
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;

    pub(in super::super) fn a_function_has_the_last_name_of_its_path() {
        for (function, expected) in [
            ("<dashmap::DashMap<u64, u64>>::insert", "insert"),
            ("dashmap::DashMap<K,V,S>::entry", "entry"),
            ("<dashmap::Ref<u64> as core::ops::drop::Drop>::drop", "drop"),
            ("crossbeam_queue::array_queue::ArrayQueue<T>::push::{{closure}}", "push"),
            ("crossbeam_queue::run::<u8>", "run"),
        ] {
            assert_eq!(name(function), expected);
        }
    }
}
