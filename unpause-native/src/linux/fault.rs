//! Errors in memory use, with the places that led to them.

use super::blocks::Trace;
use super::places::{self, Frame};

/// A kind of error in memory use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    /// Memory is freed a second time.
    DoubleFree,
    /// A pointer is freed that is not the start of an allocation.
    InvalidFree,
    /// Memory is accessed after it was freed.
    UseAfterFree,
    /// Memory was written after it was freed; the write was detected later.
    WriteAfterFree,
    /// A variable of a function that has returned is accessed.
    UseAfterReturn,
    /// Memory outside of an allocation is accessed, or was written.
    OutOfBounds,
    /// An allocation is not freed, and has no references at the end of the run.
    Leak,
    /// Two accesses are not ordered, at least one of them is a write, and at least one of them is
    /// plain.
    DataRace,
}

/// An access, an allocation or a free that led to an error.
#[derive(Clone, Debug)]
pub struct Step {
    /// The kind, for example `write`, `freed` or `allocated`.
    pub label: &'static str,
    /// The number of the thread.
    pub thread: usize,
    pub(crate) addresses: Vec<usize>,
}

impl Step {
    pub(crate) fn new(label: &'static str, thread: usize, trace: Trace) -> Step {
        Step::at(label, thread, trace)
    }

    pub(crate) fn at(
        label: &'static str,
        thread: usize,
        addresses: impl IntoIterator<Item = usize>,
    ) -> Step {
        let addresses = addresses.into_iter().take_while(|address| *address != 0).collect();
        Step { label, thread, addresses }
    }

    /// Returns the functions on the call stack of the step, innermost first.
    pub fn frames(&self) -> Vec<Frame> {
        self.addresses.iter().flat_map(|address| places::frames(*address)).collect()
    }
}

/// Two operations that could order a data race, but are too weak: an operation of the first thread
/// and an operation of the second thread.
#[derive(Clone, Debug)]
pub struct TooWeak {
    /// The two operations. Each has a kind, and a memory order as in
    /// [`Access::order`](crate::Access::order).
    pub operations: [(Step, u8); 2],
}

/// An error in memory use.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The kind of error.
    pub problem: Problem,
    /// The size of the allocation in bytes, if known.
    pub size: Option<usize>,
    /// The first wrong byte, relative to the start of the allocation.
    pub offset: isize,
    /// The steps that led to the error; the error itself is first.
    pub steps: Vec<Step>,
    /// The operations that would order a data race if they were stronger.
    pub missing: Option<TooWeak>,
}

impl Fault {
    pub(crate) fn new(problem: Problem, step: Step) -> Fault {
        Fault { problem, size: None, offset: 0, steps: vec![step], missing: None }
    }

    /// Returns an error at an address that belongs to no allocation.
    pub(crate) fn of_address(problem: Problem, address: usize, step: Step) -> Fault {
        let into = super::heap::start(address).map_or(0, |start| address - start);
        Fault { offset: into as isize, ..Fault::new(problem, step) }
    }

    /// Adds a step.
    pub(crate) fn and(mut self, step: Step) -> Fault {
        self.steps.push(step);
        self
    }
}
