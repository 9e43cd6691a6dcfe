//! Threads that have ended. In a run with many threads a later one takes the worker of an earlier one. So a test may
//! spawn more threads in all than the system has at once.
//!
//! The first threads of a run have workers of their own: the stacks of small runs are never used twice.

use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU32;

use super::{Own, Thread, outside};
use crate::linux::arenas::Arena;
use crate::linux::clock::Readings;
use crate::linux::local::Run;
use crate::linux::orders;
use crate::linux::request::Request;
use crate::linux::switch::Context;

/// The number of threads of a run that have workers of their own.
const OWN: usize = 256;

/// The threads that have ended.
#[derive(Default)]
pub(crate) struct Past {
    /// The numbers of threads without a joiner, whose workers are free.
    done: Vec<usize>,
    /// The remains of threads, which have lost their workers.
    #[expect(clippy::vec_box, reason = "the run refers to them by their addresses")]
    left: Vec<Box<Thread>>,
}

impl Run {
    /// Notes the end of a thread without a joiner.
    pub(crate) fn note_done(&mut self, number: usize) {
        self.past.done.push(number);
    }

    /// The worker of an ended thread, for a child of the thread `parent`. `None` if the run has few threads, or no
    /// worker with such a stack.
    pub(crate) fn take_worker(&mut self, stack: usize, parent: usize) -> Option<NonNull<Thread>> {
        if self.threads.len() < OWN {
            return None;
        }
        // SAFETY: a thread that has ended is suspended.
        let fits = |number: &usize| unsafe { self.threads[*number].as_ref() }.stack == stack;
        let at = self.past.done.iter().rposition(fits)?;
        let number = self.past.done.remove(at);
        // SAFETY: as above, and this is the only reference.
        let left = Box::new(unsafe { self.threads[number].as_mut() }.leave_worker());
        let worker = std::mem::replace(&mut self.threads[number], NonNull::from(&*left));
        self.past.left.push(left);
        // The stack of the worker is used again, like freed memory.
        if let Some(orders) = orders::orders() {
            outside(|| orders.joined(parent, number));
        }
        Some(worker)
    }
}

impl Thread {
    /// A worker that does not exist yet.
    pub(super) fn without_stack(stack: usize) -> Thread {
        Thread {
            context: Context::default(),
            run: null_mut(),
            parked: AtomicU32::new(0),
            base: 0,
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
            starts_child: 0,
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
        }
    }

    /// The remains of an ended thread, when another one takes its worker.
    pub(crate) fn leave_worker(&mut self) -> Thread {
        Thread {
            number: self.number,
            ended: true,
            path: self.path,
            children: self.children,
            allocations: self.allocations,
            panics: std::mem::take(&mut self.panics),
            panicked_by: std::mem::take(&mut self.panicked_by),
            ..Thread::without_stack(1)
        }
    }

    /// Returns `true` if another thread has its worker.
    pub(crate) fn is_past(&self) -> bool {
        self.base == 0
    }
}
