//! The operations on memory that threads have requested.

use super::frames::hash_around;
use super::local::Local;
use super::orders::{self, Done, Orders};
use super::request::{Access, Operation, Request};
use super::{arch, passing, race};

impl Local {
    /// Returns a hash of the memory around the word of the last access of `thread`; 0 if its last request is no access.
    pub(crate) fn hash_around_word(&self, thread: usize) -> u64 {
        match self.thread(thread).request {
            Request::Access(access) if self.run.may_access(self.thread(thread), &access) => {
                // SAFETY: the thread accesses the word in this request, so its page is in memory.
                unsafe { hash_around(access.address) }
            }
            _ => 0,
        }
    }

    /// Performs the operation that `thread` has requested last, or the change of its [`Request::WakeOp`]. Returns the
    /// previous and the new value.
    ///
    /// # Panics
    /// Panics if the last request of `thread` contains no access.
    #[inline]
    pub(crate) fn perform(&mut self, thread: usize) -> (u64, u64) {
        match self.thread(thread).request {
            Request::Access(access) | Request::WakeOp { access, .. } => {
                if !self.run.may_access(self.thread(thread), &access) {
                    return self.misuse(thread, access);
                }
                let values = Access::perform(&access);
                if let Some(orders) = orders::orders() {
                    self.record(orders, thread, (access, values.0), 0);
                }
                // SAFETY: the thread is suspended while the carrier runs, so this is the only reference.
                let suspended = unsafe { self.run.threads[thread].as_mut() };
                suspended.readings.has_changed |= access.changes(values.0);
                passing::note_values(values.0, values.1);
                values
            }
            other => panic!("thread {thread} has requested {other:?} and no access"),
        }
    }

    /// Makes the last requested compare-exchange of `thread` fail. Returns the value that it has seen, twice. Returns
    /// `None` if the compare-exchange cannot be made to fail.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not a compare-exchange.
    pub(crate) fn perform_failing(&mut self, thread: usize) -> Option<(u64, u64)> {
        let of = self.thread(thread);
        let (Request::Access(access), Some(returns)) = (of.request, arch::failure(of)) else {
            return None;
        };
        assert!(access.operation == Operation::CompareExchange, "{access:?} cannot fail");
        let seen = Access { operation: Operation::Load, order: access.failure, ..access };
        // SAFETY: the thread is suspended while the carrier runs, so this is the only reference.
        let suspended = unsafe { self.run.threads[thread].as_mut() };
        suspended.request = Request::Access(seen);
        let values = self.perform(thread);
        // SAFETY: as above.
        let suspended = unsafe { self.run.threads[thread].as_mut() };
        suspended.request = Request::Access(access);
        suspended.returns = returns.packed();
        Some(values)
    }

    /// Records that the last requested compare-exchange of `thread` is not tried with a spurious failure on an older
    /// store. It fails on the newest store.
    pub(crate) fn fails_on_newest_only(&self, thread: usize) {
        let Request::Access(access) = self.thread(thread).request else { return };
        let Some(orders) = orders::orders().filter(|orders| orders.is_weak()) else { return };
        if self.run.may_access(self.thread(thread), &access) {
            let failure = Access { operation: Operation::Load, order: access.failure, ..access };
            let memory = failure.perform().0;
            orders.fails_on_newest_only(thread, &failure, (memory, access.operand));
        }
    }

    /// Excludes the store that the previous operation of `thread` has read from the candidates of its last requested
    /// operation, unless it is the newest store.
    pub(crate) fn await_change(&self, thread: usize) {
        let Request::Access(access) = self.thread(thread).request else { return };
        if let Some(orders) = orders::orders().filter(|orders| orders.is_weak()) {
            let events = orders.clock(thread).get(thread);
            orders.wait_for(thread, Some((access.address, events)));
        }
    }

    /// Changes the memory order of the operation that `thread` has requested last, and its order in case of failure.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    pub(crate) fn set_orders(&mut self, thread: usize, (order, failure): (u8, u8)) {
        // SAFETY: the thread is suspended while the carrier runs, so this is the only reference.
        let suspended = unsafe { self.run.threads[thread].as_mut() };
        match &mut suspended.request {
            Request::Access(access) => (access.order, access.failure) = (order, failure),
            other => panic!("thread {thread} has requested {other:?} and no access"),
        }
    }

    /// Returns the number of stores that the last requested operation of `thread` may choose. Returns 1 if the run sees
    /// only the newest store. If `is_loop`, the operation always writes, and the compiler turned it into a loop.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    pub(crate) fn candidates(&mut self, thread: usize, is_loop: bool) -> u32 {
        let Request::Access(access) = self.thread(thread).request else {
            panic!("thread {thread} has requested no access")
        };
        let Some(orders) = orders::orders().filter(|orders| orders.is_weak()) else { return 1 };
        if access.size == 0 || !self.run.may_access(self.thread(thread), &access) {
            return 1;
        }
        let memory = Access { operation: Operation::Load, ..access }.perform().0;
        // The thread computes the new value from the value of the chosen store.
        let operation = if is_loop { Operation::Swap } else { access.operation };
        orders.candidates(thread, &Access { operation, ..access }, memory) as u32
    }

    /// Returns the value of one of the last [candidates](Self::candidates) of `thread`. `None` if the access is an
    /// error in memory use.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    pub(crate) fn value_of_candidate(&self, thread: usize, nth: u32) -> Option<u64> {
        let Request::Access(access) = self.thread(thread).request else {
            panic!("thread {thread} has requested no access")
        };
        if !self.run.may_access(self.thread(thread), &access) {
            return None;
        }
        match orders::orders() {
            Some(orders) if nth > 0 => Some(orders.offered(nth as usize)),
            _ => Some(Access { operation: Operation::Load, ..access }.perform().0),
        }
    }

    /// Performs the last requested operation of `thread` on one of its candidates; 0 is the newest store. On any other
    /// candidate, the operation leaves memory unchanged. Returns the value that it has seen and the value that it has
    /// left.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access, or if the request has fewer candidates.
    pub(crate) fn perform_seeing(&mut self, thread: usize, nth: u32) -> (u64, u64) {
        let Request::Access(access) = self.thread(thread).request else {
            panic!("thread {thread} has requested no access")
        };
        let Some(orders) = orders::orders().filter(|_| nth > 0) else {
            return self.perform(thread);
        };
        let memory = Access { operation: Operation::Load, ..access }.perform().0;
        let done = self.record(orders, thread, (access, memory), nth as usize);
        assert!(!done.in_memory, "the newest store is candidate 0");
        (done.old, done.new)
    }

    /// Returns the newest value of the memory that `thread` has requested to access.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    pub(crate) fn value(&self, thread: usize) -> u64 {
        match self.thread(thread).request {
            Request::Access(access) => Access { operation: Operation::Load, ..access }.perform().0,
            other => panic!("thread {thread} has requested {other:?} and no access"),
        }
    }

    /// Records an operation that finds a value in memory, and checks for a data race.
    fn record(
        &mut self,
        orders: &mut Orders,
        thread: usize,
        (access, memory): (Access, u64),
        nth: usize,
    ) -> Done {
        if let Some(detector) = race::detector() {
            let of = self.thread(thread);
            let owner = self.run.owner(access.address, (of, of.called_from));
            detector.lend(&owner, access.address, access.size.into());
            detector.begin_atomic(orders, &access, memory);
        }
        let done = orders.perform(thread, &access, memory, nth);
        if let Some(detector) = race::detector() {
            let trace = self.thread(thread).last_trace();
            let fault = detector.atomic(orders, thread, &access, done.old, &trace);
            self.run.fault = self.run.fault.take().or(fault);
        }
        done
    }

    /// Returns the value that the last requested access of `thread` would see, if the access would leave the memory
    /// unchanged.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    #[inline]
    pub(crate) fn look(&self, thread: usize) -> Option<u64> {
        match self.thread(thread).request {
            Request::Access(access) => access.look(),
            other => panic!("thread {thread} has requested {other:?} and no access"),
        }
    }
}
