//! The order between calls that a check respects.
//!
//! With the memory `c11`, a call precedes another call if its last operation happens before the other call, or if both
//! are calls of one client. So a call may miss the effects of a call that does not happen before it, although it
//! returned earlier: C11 allows this for each object without `SeqCst` operations. Otherwise, and in a run in which all
//! operations so far are `SeqCst`, a call precedes all calls that begin after its return.

use std::sync::atomic::Ordering;

use super::records::{Looks, RecorderCall};
use super::{History, Recorder, time_limit};
use crate::seam::{self, Knowledge};
use unpause_check::history::Operation;
use unpause_check::verdict::Verdict;
use unpause_check::{Budget, Model, linearizable, linearizable_within};

impl<M: Model> History<M> {
    /// Orders the calls by real time also with the memory `c11`: a call precedes all calls that begin after its return.
    ///
    /// With the memory `c11`, a call otherwise precedes only the calls that it happens before, because objects with
    /// weaker memory orders need not promise more. If all operations of a run are `SeqCst`, or the memory is `sc`, real
    /// time always orders the calls.
    ///
    /// ```
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    /// use sim::{Atomic, History, Ordering::Relaxed, Runner};
    /// use std::sync::Arc;
    ///
    /// let reads = |in_real_time: bool| {
    ///     Runner::new().hermetic().memory("c11").seeds(0..50).run(async move || {
    ///         let mut history = History::new(Register::new(0));
    ///         if in_real_time {
    ///             history = history.real_time();
    ///         }
    ///         let shared = Arc::new((Atomic::new(0), history.clone()));
    ///         let other = shared.clone();
    ///         let writer = sim::spawn(async move {
    ///             other.1.call(RegisterOp::Write(1), async {
    ///                 other.0.store(1, Relaxed).await;
    ///                 RegisterRet::Done
    ///             }).await;
    ///         });
    ///         // The load may return 0 after the store.
    ///         let load = async { RegisterRet::Value(shared.0.load(Relaxed).await) };
    ///         shared.1.call(RegisterOp::Read, load).await;
    ///         writer.await.unwrap();
    ///         history.assert_linearizable();
    ///     })
    /// };
    /// assert!(reads(false).passed());
    /// assert!(!sim::SIMULATED || !reads(true).passed());
    /// ```
    #[must_use]
    pub fn real_time(self) -> History<M> {
        self.recorder.is_real_time.store(true, Ordering::Relaxed);
        self
    }
}

impl<M: Model> Recorder<M> {
    /// Returns the clocks of the run, if they order the calls.
    pub(super) fn knowledge(&self) -> Option<Knowledge> {
        match self.is_real_time.load(Ordering::Relaxed) {
            true => None,
            false => seam::knowledge(),
        }
    }

    /// Checks that the calls so far are linearizable.
    pub(super) fn check(&self, budget: &Budget<'_>, timed: bool) -> Verdict {
        self.stamp_open();
        let knowledge = self.knowledge();
        let mut records = self.lock();
        records.by_knowledge = knowledge.is_some();
        let (mut looks, mut operations) = (Vec::new(), Vec::new());
        let asked = |call: &RecorderCall<M>| (call.op.clone(), call.looks);
        for call in records.ranked(asked, M::Ret::clone) {
            let Operation { client, op: (op, of_call), invoked, returned } = call;
            looks.push(of_call);
            operations.push(Operation { client, op, invoked, returned });
        }
        drop(records);
        let check = |budget: &Budget<'_>| match &knowledge {
            None => linearizable(&self.initial, &operations, budget),
            Some(knowledge) => {
                let precedes =
                    |first: usize, then: usize| orders(knowledge, looks[first], looks[then]);
                linearizable_within(&self.initial, &operations, &precedes, budget)
            }
        };
        time_limit::within(budget, timed, check)
            .expect("the recorder stamps what it records in order")
    }
}

/// Returns `true` if a call happens before another call. Calls outside of the run have no clocks, and order nothing.
fn orders(knowledge: &Knowledge, first: Looks, then: Looks) -> bool {
    let (Looks { begin: Some(begin), end: Some(end) }, Some(next)) = (first, then.begin) else {
        return false;
    };
    knowledge.orders((begin, end), next)
}
