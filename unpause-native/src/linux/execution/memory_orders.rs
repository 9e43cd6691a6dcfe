//! Weak memory of a run: the stores that operations may choose, and their memory orders.

use super::super::apart::recorded;
use super::super::orders::{self, Manner, OrderS};
use super::super::race;
use super::{Execution, Side};

impl Execution {
    /// Enables weak memory in the run: operations have [candidates](Self::candidates). `s` is the order of sequentially
    /// consistent operations. A run of a search records the outcomes that it [misses](Self::has_missed). Called at the
    /// start of a run.
    pub fn weaken(&self, s: OrderS, is_search: bool) {
        if let Some(Side::Here(_) | Side::Child(_)) = &self.0 {
            orders::weaken(s, is_search);
        }
    }

    /// Makes the run a run of a search that sees the newest stores. If the test searches for data races, the run then
    /// records if it [hides a race](Self::has_hidden_race). Called at the start of a run.
    pub fn begin_search(&self) {
        if let Some(Side::Here(_) | Side::Child(_)) = &self.0 {
            orders::begin_search();
        }
    }

    /// Returns `true` if the run belongs to a search, and an equivalent order of its steps may have a data race that
    /// the run has not.
    pub fn has_hidden_race(&self) -> bool {
        answer!(38, &self.0, false, |_local| race::detector().is_some_and(|it| it.has_hidden()))
    }

    /// Sets the treatment of the next operation by a search. Without a call, the operation is no step of the search.
    pub fn set_manner(&self, manner: Manner) {
        if let Some(Side::Here(_) | Side::Child(_)) = &self.0
            && let Some(orders) = orders::orders()
        {
            orders.set_manner(manner);
        }
    }

    /// Returns `true` if a search may have missed an outcome because of the run so far.
    pub fn has_missed(&self) -> bool {
        answer!(36, &self.0, false, |_local| orders::orders().is_some_and(|it| it.has_missed()))
    }

    /// Records that the last requested compare-exchange of `thread` is not tried with a spurious failure on an older
    /// store. It fails on the newest store.
    pub fn fails_on_newest_only(&mut self, thread: usize) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.fails_on_newest_only(thread);
        }
    }

    /// Excludes a store from the candidates of the last requested operation of `thread`: the store that the previous
    /// operation of the thread has read, unless it is the newest store.
    pub fn await_change(&mut self, thread: usize) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.await_change(thread);
        }
    }

    /// Executes a fence of `thread` before its last requested operation, as if the program contained the fence.
    pub fn fence_before(&mut self, thread: usize, order: u8) {
        if let Some(Side::Here(_) | Side::Child(_)) = &self.0
            && let Some(orders) = orders::orders()
        {
            orders.fence(thread, order);
        }
    }

    /// Makes each store take effect after the stores that were executed before it, from now on. By default, a store may
    /// take effect earlier.
    pub fn forbid_moves(&mut self) {
        if let Some(Side::Here(_) | Side::Child(_)) = &self.0
            && let Some(orders) = orders::orders()
        {
            orders.forbid_moves();
        }
    }

    /// Returns the number of stores that the last requested operation of `thread` may choose. A load sees the chosen
    /// store, and a store follows the chosen store in modification order. Returns 1 in a run without [weak
    /// memory](Self::weaken). If `is_loop`, the operation is a read-modify-write that the compiler turned into a loop
    /// over compare-exchanges.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    #[inline]
    pub fn candidates(&mut self, thread: usize, is_loop: bool) -> u32 {
        answer!(29, &mut self.0, 1, |local| local.candidates(thread, is_loop))
    }

    /// Returns the value of one of the last [candidates](Self::candidates) of `thread`; 0 is the newest store. `None`
    /// if the access is an error in memory use.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    pub fn value_of_candidate(&self, thread: usize, nth: u32) -> Option<u64> {
        answer!(39, &self.0, None, |local| local.value_of_candidate(thread, nth))
    }

    /// Performs the last requested operation of `thread` on one of its candidates. 0 is the newest store, like in
    /// [`perform`](Self::perform). With any other candidate, the memory stays unchanged. Returns the value that the
    /// operation has seen and the value that it has left.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access, or if the request has fewer candidates.
    #[inline]
    pub fn perform_seeing(&mut self, thread: usize, nth: u32) -> (u64, u64) {
        answer!(30, &mut self.0, (0, 0), |local| local.perform_seeing(thread, nth))
    }

    /// Replaces the memory orders of the last requested operation of `thread`: its order, and the order of its failure.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    pub fn set_orders(&mut self, thread: usize, orders: (u8, u8)) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.set_orders(thread, orders);
        }
    }
}
