//! Threads that have ended. In a run with many threads, a later thread takes over the worker of an earlier thread. So a
//! test may spawn more threads in total than the system supports at once.
//!
//! The first threads of a run have their own workers, so the stacks of small runs are never reused.

use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU32;

use super::{Own, Program, Thread, outside};
use crate::linux::arenas::Arena;
use crate::linux::clock::Readings;
use crate::linux::heap::{self, Memory};
use crate::linux::local::Run;
use crate::linux::orders;
use crate::linux::request::Request;
use crate::linux::std_calls::StdCalls;
use crate::linux::switch::Context;

/// The number of threads of a run that have their own workers.
const OWN: usize = 256;

/// The threads that have ended.
#[derive(Default)]
pub(crate) struct Past {
    /// The numbers of ended threads that will not be joined any more. Their workers are free.
    done: Vec<usize>,
    /// The number of joined threads.
    joined: usize,
    /// The remaining data of threads without workers.
    #[expect(clippy::vec_box, reason = "the run refers to them by their addresses")]
    left: Vec<Box<Thread>>,
}

impl Run {
    /// Records the end of a thread that will not be joined any more.
    pub(crate) fn note_done(&mut self, number: usize) {
        self.past.done.push(number);
    }

    /// Records that a thread has joined the thread `number`.
    pub(crate) fn note_joined(&mut self, number: usize) {
        self.past.joined += 1;
        self.note_done(number);
    }

    /// Takes the worker of an ended thread, for a child of the thread `parent`. Returns `None` if the run has few
    /// threads, or no free worker with this stack size.
    pub(crate) fn take_worker(&mut self, stack: usize, parent: usize) -> Option<NonNull<Thread>> {
        if self.threads.len() < OWN {
            return None;
        }
        // SAFETY: a thread that has ended is suspended.
        let fits = |number: &usize| unsafe { self.threads[*number].as_ref() }.stack == stack;
        let at = self.past.done.iter().rposition(fits)?;
        let number = self.past.done.remove(at);
        // SAFETY: the thread is suspended, and this is the only reference.
        let left = Box::new(unsafe { self.threads[number].as_mut() }.leave_worker());
        let worker = std::mem::replace(&mut self.threads[number], NonNull::from(&*left));
        self.past.left.push(left);
        // The stack of the worker is reused, like freed memory.
        if let Some(orders) = orders::orders() {
            outside(|| orders.reused(parent, number));
        }
        Some(worker)
    }
}

impl Thread {
    /// Returns `true` if this is the first thread and all other threads were joined. A chain of joins then leads from
    /// each of them to the first thread, so all their steps precede its next step in every order.
    pub(crate) fn is_alone(&mut self) -> bool {
        let is_first = self.number == 0;
        let run = self.run();
        is_first && run.past.joined + 1 == run.threads.len()
    }

    /// Returns the initial state of a worker that does not exist yet.
    pub(super) fn without_stack(stack: usize) -> Thread {
        Thread {
            context: Context::default(),
            run: null_mut(),
            parked: AtomicU32::new(0),
            base: 0,
            program: Program::default(),
            stack,
            lowest: 0,
            pthread: 0,
            number: 0,
            start: None,
            argument: null_mut(),
            own: Own::None,
            result: null_mut(),
            ended: false,
            detached: false,
            outside: 1,
            destructors: Vec::new(),
            specific: Vec::new(),
            std_calls: StdCalls::default(),
            path: 0,
            children: 0,
            allocations: 0,
            arena: Arena::NONE,
            readings: Readings::default(),
            request: Request::End,
            call: None,
            caller: (0, 0),
            called_from: 0,
            lent: Cell::new(usize::MAX),
            reply: 0,
            returns: 0,
            panics: Vec::new(),
            panicked_by: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Returns the remaining data of an ended thread, when another thread takes over its worker.
    pub(crate) fn leave_worker(&mut self) -> Thread {
        Thread {
            number: self.number,
            ended: true,
            path: self.path,
            children: self.children,
            allocations: self.allocations,
            panics: std::mem::take(&mut self.panics),
            panicked_by: std::mem::take(&mut self.panicked_by),
            left: self.references(),
            ..Thread::without_stack(1)
        }
    }

    /// Returns the addresses on the heap in its thread-locals, if the run searches for leaks.
    fn references(&self) -> Vec<usize> {
        // SAFETY: see `heap::Shared`.
        if unsafe { (*heap::heap()).memory } == Memory::Plain {
            return Vec::new();
        }
        let (block, size) = self.thread_locals();
        let (begin, end) = (block.next_multiple_of(8), block + size);
        let words = (begin..end.saturating_sub(7)).step_by(8);
        // SAFETY: these words are in the thread-local block of a thread that has ended.
        let read = words.map(|address| unsafe { (address as *const usize).read_volatile() });
        read.filter(|word| heap::has(*word)).collect()
    }

    /// Returns `true` if another thread has taken over its worker.
    pub(crate) fn is_past(&self) -> bool {
        self.base == 0
    }
}
