//! The memory to which an address belongs, and accesses to memory that is not in use.
//!
//! Only one thread runs at a time, so the innermost function of each other thread is known. A variable below the frame
//! of this function belongs to a function that has returned. If a later function of the thread reuses the memory, this
//! is not detected.

use std::ptr::NonNull;

use super::blocks;
use super::execution::Region;
use super::fault::{Fault, Problem, Step};
use super::heap;
use super::local::{FRAMES, Local, Run};
use super::request::{Access, Operation};
use super::thread::Thread;

/// The owner of a variable on a stack.
pub(crate) enum Owner<'a> {
    /// The accessing thread, or the address is not on a stack of the run.
    None,
    /// Another thread.
    Other(&'a Thread),
    /// A thread whose function has returned.
    Returned(&'a Thread),
}

impl Owner<'_> {
    #[inline]
    pub(crate) fn has_returned(&self) -> bool {
        matches!(self, Owner::Returned(_))
    }
}

impl Run {
    /// Returns the memory to which an address belongs. Called by the carrier, or by the running thread.
    pub(crate) fn region(&self, address: usize) -> Region {
        // SAFETY: workers are never freed, and their numbers and stacks change only between runs.
        let mut threads = self.threads.iter().map(|thread| unsafe { thread.as_ref() });
        if heap::has(address) {
            return Region::Heap;
        }
        if let Some(thread) = threads.find(|thread| thread.has_on_stack(address)) {
            return Region::Stack(thread.number);
        }
        match address.wrapping_sub(super::image::load_address()) < super::image::size() {
            true => Region::Program,
            false => Region::Unknown,
        }
    }

    /// Extends the address range of the stacks by the stack of a worker.
    pub(crate) fn note_stack(&mut self, worker: NonNull<Thread>) {
        // SAFETY: workers are never freed.
        let worker = unsafe { worker.as_ref() };
        self.stacks = (self.stacks.0.min(worker.lowest), self.stacks.1.max(worker.base));
    }

    /// Returns `false` if the memory that a thread is about to access is freed, is a red zone, or belongs to a function
    /// that has returned.
    #[inline]
    pub(crate) fn may_access(&self, thread: &Thread, access: &Access) -> bool {
        // `called_from` is the address of the return address, and all variables of the caller are above it.
        blocks::may_access(access.address, access.size.into())
            && !self.owner(access.address, (thread, thread.called_from)).has_returned()
    }

    /// Returns the owner of the variable at an address. `by` is the accessing thread, and an address on its stack below
    /// all variables of its functions.
    #[inline]
    pub(crate) fn owner<'a>(&'a self, address: usize, by: (&'a Thread, usize)) -> Owner<'a> {
        let (lowest, end) = self.stacks;
        if heap::has(address) || address < lowest || address >= end {
            return Owner::None;
        }
        let (thread, above) = by;
        if !thread.owns(address) {
            return self.other_owner(address);
        }
        // A function may have another stack, for example in a coroutine.
        match address < above && thread.owns(above) {
            true => Owner::Returned(thread),
            false => Owner::None,
        }
    }

    /// Returns the owner of an address that is not on the stack of the accessing thread.
    fn other_owner(&self, address: usize) -> Owner<'_> {
        // SAFETY: workers are never freed, and all threads except the accessing thread are suspended.
        let mut threads = self.threads.iter().map(|thread| unsafe { thread.as_ref() });
        let Some(owner) = threads.find(|thread| thread.owns(address)) else {
            return Owner::None;
        };
        let above = owner.lowest_of_program();
        match owner.ended || address < above && owner.owns(above) {
            true => Owner::Returned(owner),
            false => Owner::Other(owner),
        }
    }

    /// Returns the error for an access that is not [allowed](Run::may_access).
    pub(crate) fn misuse(&self, address: usize, by: (&Thread, usize), step: Step) -> Fault {
        let Owner::Returned(owner) = self.owner(address, by) else {
            return blocks::misuse(address, step);
        };
        let fault = Fault::new(Problem::UseAfterReturn, step);
        match owner.number == by.0.number {
            true => fault,
            false => {
                let label = if owner.ended { "ended" } else { "is now at" };
                fault.and(Step::at(label, owner.number, owner.return_addresses().take(FRAMES)))
            }
        }
    }
}

impl Thread {
    /// Returns the run of the thread for reading.
    pub(crate) fn run_of(&self) -> &Run {
        // SAFETY: the run is boxed and outlives its threads.
        unsafe { &*self.run }
    }

    /// Returns `true` if a variable of its functions can have this address. Thread-locals are above this range.
    fn owns(&self, address: usize) -> bool {
        self.lowest <= address && address < self.base
    }

    /// Returns the lowest address that a variable of the program can have on the stack of a suspended thread.
    pub(crate) fn lowest_of_program(&self) -> usize {
        match self.caller {
            (0, 0) => self.context.stack_pointer,
            // This is the frame pointer of the function in this crate that has made the request.
            (0, frame) => frame,
            // This is the address of the return address of the function of instrumentation.
            _ => self.called_from,
        }
    }
}

impl Local {
    /// Returns the memory to which an address belongs.
    pub(crate) fn region(&self, address: usize) -> Region {
        self.run.region(address)
    }

    /// Records an invalid access of a thread. Returns the values to show as the previous value and the new value.
    #[cold]
    pub(crate) fn misuse(&mut self, thread: usize, access: Access) -> (u64, u64) {
        let label = match access.operation {
            Operation::Load => "load",
            Operation::Store => "store",
            _ => "update",
        };
        let of = self.thread(thread);
        let step = Step::at(label, thread, of.return_addresses().take(FRAMES));
        let fault = self.run.misuse(access.address, (of, of.called_from), step);
        // The remains on a stack differ from run to run, so they are not shown. Freed memory contains its poison.
        let values = match fault.problem {
            Problem::UseAfterReturn => {
                let poison = u64::MAX / 0xFF * u64::from(blocks::FREED);
                let seen = poison >> (64 - 8 * u32::from(access.size));
                (seen, seen)
            }
            _ => Access::perform(&access),
        };
        self.run.fault.get_or_insert(fault);
        values
    }
}
