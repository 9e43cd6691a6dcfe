//! Variables of functions that other threads access. The return of a function counts as a write to each of these
//! variables. An access that is not ordered before the return is a race, because the memory may be gone.
//!
//! The return is detected at the next event of the thread: an access, or a request.

use super::{Detector, FREE, RETURN, WRITE};
use crate::linux::blocks::Trace;
use crate::linux::fault::Fault;
use crate::linux::orders::{self, Orders};
use crate::linux::race;
use crate::linux::regions::Owner;
use crate::linux::request::Request;
use crate::linux::thread::{Thread, outside};

/// The maximum number of bytes per access that are recorded.
const NOTED: usize = 1 << 12;

/// The words that other threads have accessed, by the thread that owns the stack.
#[derive(Default)]
pub(super) struct Lent(Vec<Vec<usize>>);

impl Lent {
    pub(super) fn reset(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }
}

impl Detector {
    /// Records an access to a variable, if the variable belongs to another thread.
    pub(crate) fn lend(&mut self, owner: &Owner<'_>, address: usize, size: usize) {
        let Owner::Other(owner) = owner else { return };
        if self.lent.0.len() <= owner.number {
            self.lent.0.resize_with(owner.number + 1, Vec::new);
        }
        let words = &mut self.lent.0[owner.number];
        for word in (address & !7..address + size.min(NOTED)).step_by(8) {
            if !words.contains(&word) {
                words.push(word);
                owner.lent.set(owner.lent.get().min(word));
            }
        }
    }

    /// Processes the return of all functions of a thread with variables below this address.
    fn returned(
        &mut self,
        orders: &mut Orders,
        thread: &Thread,
        above: usize,
        trace: &Trace,
    ) -> Option<Fault> {
        let words = &mut self.lent.0[thread.number];
        let (gone, left): (Vec<usize>, Vec<usize>) = words.iter().partition(|word| **word < above);
        *words = left;
        thread.lent.set(words.iter().copied().min().unwrap_or(usize::MAX));
        let trace = self.number(trace);
        let kind = WRITE | FREE | RETURN;
        gone.into_iter().find_map(|word| self.add(orders, thread.number, word, 8, kind, trace))
    }
}

impl Thread {
    /// Records the functions that have returned, when a function with this frame pointer has accessed memory. Returns
    /// the race with another thread's access to their variables, if any.
    #[cold]
    pub(crate) fn returned(&self, above: usize, trace: &Trace) -> Option<Fault> {
        let (detector, orders) = (race::detector()?, orders::orders()?);
        outside(|| detector.returned(orders, self, above, trace))
    }

    /// Records the functions that have returned, when a thread is about to stop with its request.
    #[cold]
    pub(crate) fn note_return(&mut self) {
        let above = match (&self.request, self.caller) {
            (Request::End, _) => usize::MAX,
            (_, (0, 0)) => return,
            _ => self.lowest_of_program(),
        };
        let is_here = above == usize::MAX || self.has_on_stack(above);
        if !is_here || self.lent.get() >= above {
            return;
        }
        let trace = self.last_trace();
        if let Some(fault) = self.returned(above, &trace) {
            self.run().fault.get_or_insert(fault);
            self.request = Request::Fault;
        }
    }
}
