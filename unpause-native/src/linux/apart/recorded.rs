//! The run of a child from the parent's view: replies from the tape, in their order.
//!
//! A reply that is missing, because the child has died, is `None`. All later replies are then `None`, too. The next
//! request of any thread is then the death of the process.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::written::Written;
use super::{ProcessEnd, tape};
use crate::linux::death::Death;
use crate::linux::local::Workers;
use crate::linux::request::Request;
use crate::linux::{compiled, output};

/// The maximum of [`last_threads`], because a child may have destroyed its record.
const THREADS_MAX: usize = 4096;

/// The number of threads of the last run of a child.
static LAST_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads of the last run of a child, or a smaller number if it had very many threads; 0 before
/// the first child.
pub(crate) fn last_threads() -> usize {
    LAST_THREADS.load(Ordering::Relaxed)
}

/// The number of a kind of reply on the tape.
pub(crate) type Question = u8;

/// The child has written a note: see [`Request::Noted`].
pub(crate) const NOTE: Question = 0;
/// A thread was resumed.
pub(crate) const RESUME: Question = 1;

/// Writes the reply to a question. Called in the child.
pub(crate) fn write<T: Written>(question: Question, answer: &T) {
    thread_local! {
        static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BYTES.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.push(question);
        answer.write(bytes);
        tape::append(bytes);
    });
}

/// The record that the child writes at the end of its run: the entered std functions, the output, and the data left by
/// the engine.
type Last = (Vec<&'static str>, Vec<u8>, Vec<u8>);

/// Ends the child, whose run is over, and passes the data left by its engine to the parent's engine.
pub(crate) fn end(left: Vec<u8>) -> ! {
    let last: Last = (compiled::take_entered(), output::take_bytes(), left);
    let mut bytes = Vec::new();
    last.write(&mut bytes);
    tape::end(&bytes);
    super::process::leave();
}

/// The run of a child that has ended.
pub(crate) struct Recorded {
    answers: Vec<u8>,
    /// The position of the next reply.
    at: Cell<usize>,
    /// True after a reply was missing.
    lost: Cell<bool>,
    /// The end of the process, reported as the death of a thread if a reply is missing.
    end: ProcessEnd,
    last: Option<Last>,
    /// The last note.
    note: Vec<u8>,
    /// The number of threads so far.
    threads: usize,
    /// For each thread, the place of its last request, in the format of
    /// [`Execution::caller`](crate::Execution::caller).
    callers: RefCell<Vec<u64>>,
    /// The guard that excludes other runs.
    _workers: Workers,
}

impl Recorded {
    /// Returns the run on the tape. `end` is the end of its process.
    pub(crate) fn of(end: Option<ProcessEnd>, workers: Workers) -> Recorded {
        let content = tape::read();
        let last = content.last.and_then(|last| Last::read(&mut &last[..]));
        let end = match end {
            _ if content.full => ProcessEnd::Full,
            // The process has called `_exit` itself, or its engine has panicked.
            None if last.is_none() => ProcessEnd::Exit(0),
            None => ProcessEnd::Strayed,
            Some(end) => end,
        };
        Recorded {
            answers: content.answers,
            at: Cell::new(0),
            lost: Cell::new(false),
            end,
            last,
            note: Vec::new(),
            threads: 1,
            callers: RefCell::default(),
            _workers: workers,
        }
    }

    /// Returns the next reply, if it answers this question.
    pub(crate) fn answer<T: Written>(&self, question: Question) -> Option<T> {
        if self.lost.get() {
            return None;
        }
        let mut from = self.answers.get(self.at.get()..).unwrap_or_default();
        let before = from.len();
        let answer = (u8::read(&mut from) == Some(question)).then(|| T::read(&mut from)).flatten();
        match answer {
            Some(_) => self.at.set(self.at.get() + before - from.len()),
            None => self.lost.set(true),
        }
        answer
    }

    /// Returns the next request.
    pub(crate) fn resume(&mut self) -> Request {
        let is_note = !self.lost.get() && self.answers.get(self.at.get()) == Some(&NOTE);
        if is_note && let Some(note) = self.answer(NOTE) {
            self.note = note;
            return Request::Noted;
        }
        let request = self.answer(RESUME).unwrap_or(Request::Died(Death::Process(self.end)));
        if let Request::Spawn { thread } = request {
            self.threads = self.threads.max(thread.saturating_add(1));
        }
        request
    }

    /// Returns the end of the process, if the process did not complete the run.
    pub(crate) fn died(&self) -> Option<ProcessEnd> {
        self.last.is_none().then_some(self.end)
    }

    /// Returns the note of the last request.
    pub(crate) fn take_note(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.note)
    }

    /// Returns the data left by the engine of the child; empty if the child did not reach the end of its run.
    pub(crate) fn take_left(&mut self) -> Vec<u8> {
        self.last.as_mut().map(|(.., left)| std::mem::take(left)).unwrap_or_default()
    }

    /// Stores and returns the reply to `caller`. If it is missing, returns the stored reply of the thread's last
    /// request.
    pub(crate) fn caller(&self, question: Question, thread: usize) -> u64 {
        let mut callers = self.callers.borrow_mut();
        match self.answer(question) {
            Some(caller) => {
                if callers.len() <= thread && thread < 1 << 20 {
                    callers.resize(thread + 1, 0);
                }
                if let Some(of_thread) = callers.get_mut(thread) {
                    *of_thread = caller;
                }
                caller
            }
            None => callers.get(thread).copied().unwrap_or(0),
        }
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        LAST_THREADS.store(self.threads.min(THREADS_MAX), Ordering::Relaxed);
        let (entered, written, _) = self.last.take().unwrap_or_default();
        compiled::set_entered(entered);
        output::set(written);
    }
}
