//! Weak memory of a run: the stores that operations may choose, and their orders.

use super::super::apart::recorded;
use super::super::orders;
use super::{Execution, Side};

impl Execution {
    /// Gives the run weak memory: operations have [candidates](Self::candidates). For the begin of a run.
    pub fn weaken(&self) {
        if let Some(Side::Here(_) | Side::Child(_)) = &self.0 {
            orders::weaken();
        }
    }

    /// Makes each store take effect after the stores that were executed before it, from now on. Without a call it may
    /// take effect earlier.
    pub fn forbid_moves(&mut self) {
        if let Some(Side::Here(_) | Side::Child(_)) = &self.0
            && let Some(orders) = orders::orders()
        {
            orders.forbid_moves();
        }
    }

    /// The number of stores that the operation requested last by `thread` may choose: a load sees the chosen store, and
    /// a store follows it in modification order. 1 in a run without [weak memory](Self::weaken).
    ///
    /// # Panics
    /// If its last request was not an access.
    #[inline]
    pub fn candidates(&mut self, thread: usize) -> u32 {
        answer!(29, &mut self.0, 1, |local| local.candidates(thread))
    }

    /// Does the operation that `thread` has requested last, on one of its candidates. 0 is the newest store, like in
    /// [`perform`](Self::perform). Any other one leaves the memory as it is. Returns the value that the operation has
    /// seen and the value that it has left.
    ///
    /// # Panics
    /// If its last request was not an access, or if it has fewer candidates.
    #[inline]
    pub fn perform_seeing(&mut self, thread: usize, nth: u32) -> (u64, u64) {
        answer!(30, &mut self.0, (0, 0), |local| local.perform_seeing(thread, nth))
    }

    /// Gives the operation that `thread` has requested last these memory orders in place of the orders in the code: its
    /// order, and the order of its failure.
    ///
    /// # Panics
    /// If its last request was not an access.
    pub fn set_orders(&mut self, thread: usize, orders: (u8, u8)) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.set_orders(thread, orders);
        }
    }
}
