//! Records the calls of clients with their results, and checks the history.
//!
//! # When an operation begins
//!
//! An invocation is stamped in the step of the operation's first visible access, and a return in the step of its last
//! visible access. If an invocation were stamped when the call is made, it would share a step with the previous return.
//! The reason is that a task runs from one operation into the next, up to its next point. So no scheduler could let an
//! operation of another task end in between, and most violations would stay hidden.
//!
//! ```text
//!           step 7                     step 9
//! task A    …last access, return │      first access of the next operation…
//! task B                         │ last access, return
//!                                ▲                    ▲
//!              stamped here: overlaps B   stamped here: after B
//! ```
//!
//! A command of a generated program is stamped when it is first polled. The stamp is never too late, although effects
//! of the command before its first access, for example on a channel or an atomic of `std`, may already be visible to
//! other tasks. A task has a point between two commands, so that a scheduler can run another task's command in between.
//!
//! A call that waits for something outside of this library, for example a message of another crate's channel, is
//! stamped when it begins to wait. From this moment on, another task may perform the work of the call.

mod feed;
mod precedence;
mod recorded_calls;
mod records;
mod source;
mod time_limit;

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::run::Failure;
use crate::run::board::CallPoint;
use crate::run::ids::Place;
use crate::seam;
use crate::seam::on_carrier;
use crate::testing::generate::Guess;
use unpause_check::history::Operation;
use unpause_check::online::OnlineChecker;
use unpause_check::verdict::Verdict;
use unpause_check::{Budget, Model};

pub use self::recorded_calls::{Invoked, Recorded};

use self::feed::Feed;
pub(crate) use self::feed::Make;
use self::recorded_calls::OpenCall;
use self::records::{Lane, Looks, RecorderCall, Records};

/// The default number of configurations of a check: at most a few seconds, in optimized code.
const NODES: u64 = 20_000_000;

/// The calls of clients on an object, with their results, to be checked against a model.
///
/// A clone is another handle for the same history. Each task is a client; a task with two concurrently open calls, for
/// example in a `join!`, counts as two clients.
///
/// ```
/// use sim::check::models::{Counter, CounterOp, CounterRet};
/// use sim::{Atomic, History, Ordering::SeqCst};
///
/// # sim::block_on(async {
/// let counter = Atomic::new(0);
/// let history = History::new(Counter::default());
/// history.call(CounterOp::Increment, async {
///     counter.fetch_add(1, SeqCst).await;
///     CounterRet::Done
/// }).await;
/// history.call(CounterOp::Get, async { CounterRet::Value(counter.load(SeqCst).await) }).await;
/// history.assert_linearizable();
/// # });
/// ```
pub struct History<M: Model> {
    recorder: Arc<Recorder<M>>,
}

/// The state that the handles of a history share.
struct Recorder<M: Model> {
    initial: M,
    /// The source place that created the history.
    place: Place,
    /// `true` if the program has checked or read the history.
    is_used: AtomicBool,
    /// `true` if real time orders the calls also with the memory `c11`.
    is_real_time: AtomicBool,
    /// The number of the history in the run that records it.
    number: OnceLock<usize>,
    records: Mutex<Records<M>>,
    /// The online checker, if any. The checker is fed while calls are recorded.
    feed: OnceLock<Feed<M>>,
}

impl<M> History<M>
where
    M: Model + Send + Sync + 'static,
    M::Op: Send + Sync,
    M::Ret: Send + Sync,
{
    /// Creates an empty history of an object whose initial state is `initial`.
    #[track_caller]
    pub fn new(initial: M) -> History<M> {
        let place = Location::caller();
        on_carrier(|| History::begin(initial, place))
    }

    fn begin(initial: M, place: Place) -> History<M> {
        let records = Mutex::new(Records::default());
        let (number, feed) = (OnceLock::new(), OnceLock::new());
        let (is_used, is_real_time) = (AtomicBool::new(false), AtomicBool::new(false));
        let recorder =
            Arc::new(Recorder { initial, place, is_used, is_real_time, number, records, feed });
        if let Some(number) = seam::add_history(recorder.clone()) {
            // No other handle refers to the recorder yet.
            let _ = recorder.number.set(number);
        }
        History { recorder }
    }

    /// Feeds each call to a checker when it is recorded. The run fails, and its trace ends, at the first return after
    /// which the history is not linearizable. `make` returns a checker for an object in its initial state, for example
    /// [`Online::new`](unpause_check::online::Online::new) or [`Chain::by_key`](unpause_check::chain::Chain::by_key).
    ///
    /// A call without a return may take effect at any later time. A checker that gives up reports nothing, so check the
    /// whole history at the end as well. Under a search, each order of calls is a separate run.
    ///
    /// # Panics
    /// If the history already has such a checker. Outside of runs, the call that ends with a violation panics.
    ///
    /// ```
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    /// use sim::check::online::Online;
    /// use sim::{Atomic, History, Ordering::SeqCst};
    ///
    /// # sim::block_on(async {
    /// let word = Atomic::new(0);
    /// let history = History::new(Register::new(0)).check_online(Online::new);
    /// let write = async {
    ///     word.store(7, SeqCst).await;
    ///     RegisterRet::Done
    /// };
    /// history.call(RegisterOp::Write(7), write).await;
    /// let read = async { RegisterRet::Value(word.load(SeqCst).await) };
    /// assert_eq!(history.call(RegisterOp::Read, read).await, RegisterRet::Value(7));
    /// # });
    /// ```
    #[must_use]
    #[track_caller]
    pub fn check_online<C>(self, make: impl Fn(M) -> C + Send + Sync + 'static) -> History<M>
    where
        C: OnlineChecker<M> + Send + 'static,
    {
        // From here on, the behaviour of the run depends on the order of its calls.
        self.recorder.mark(CallPoint::Shown);
        let make: Make<M> = Box::new(move |initial| Box::new(make(initial)));
        self.feed_at(make, Location::caller());
        self
    }

    /// Feeds each call to the checker that `make` creates, for a history that is checked at its end
    /// in all orders.
    #[track_caller]
    pub(crate) fn feed_at(&self, make: Make<M>, place: Place) {
        let feed = Feed::new(make, place);
        assert!(
            self.recorder.feed.set(feed).is_ok(),
            "a history with two online checks: give it one"
        );
    }

    /// Records one call: `op` is the operation, and `work` performs it and returns its result.
    ///
    /// If the future is dropped before it is ready, the effect of the call is recorded as unknown: the call may have
    /// taken effect or not.
    ///
    /// In a run the call begins with the first access of `work` to a primitive of this library, or when it first waits
    /// for something else. If `work` has earlier effects that other tasks can see, for example on an atomic of `std` or
    /// a channel, the recorded start of the call is too late. The history of a correct object may then be rejected.
    /// Start such work with [`yield_now`](crate::task::yield_now). Commands of [`parallel()`](crate::parallel()) do not
    /// need this, because they begin when they are first polled.
    pub fn call<F>(&self, op: M::Op, work: F) -> Recorded<M, F>
    where
        F: Future<Output = M::Ret>,
    {
        let (history, call) = (self.clone(), OpenCall(None));
        Recorded { history, op: Some(op), call, at_once: false, future: work }
    }

    /// Like [`call`](Self::call), but the call begins when it is first polled, because `work` may have effects before
    /// its first access. Place a point before the call if other tasks must be able to run between it and a call that
    /// ended in the same step.
    pub(crate) fn command<F>(&self, op: M::Op, work: F) -> Recorded<M, F>
    where
        F: Future<Output = M::Ret>,
    {
        let (history, call) = (self.clone(), OpenCall(None));
        Recorded { history, op: Some(op), call, at_once: true, future: work }
    }

    /// Records that the current task invokes `op`. The returned [`Invoked`] records the result.
    ///
    /// The invocation is stamped in the step of the task's next visible access.
    #[must_use = "an invocation without ok, fail or info is one whose outcome is unknown"]
    pub fn invoke(&self, op: M::Op) -> Invoked<M> {
        on_carrier(|| {
            let made = seam::clock();
            let call = self.recorder.open(op, made, true);
            self.recorder.mark(CallPoint::Announced(call));
            Invoked { history: self.clone(), call: Some(call) }
        })
    }

    /// Records one call of a plain thread. `op` is the operation, and `work` performs it and returns its result. If
    /// `work` panics, the outcome of the call is unknown.
    ///
    /// ```
    /// use sim::History;
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    /// use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    ///
    /// let (word, history) = (AtomicU64::new(0), History::new(Register::new(0)));
    /// let read = || RegisterRet::Value(word.load(SeqCst));
    /// assert_eq!(history.call_blocking(RegisterOp::Read, read), RegisterRet::Value(0));
    /// history.assert_linearizable();
    /// ```
    pub fn call_blocking(&self, op: M::Op, work: impl FnOnce() -> M::Ret) -> M::Ret {
        let invoked = self.invoke(op);
        let ret = work();
        invoked.ok(ret.clone());
        ret
    }

    /// Returns the operations so far, sorted by invocation time, without failed operations.
    pub fn operations(&self) -> Vec<Operation<M::Op, M::Ret>> {
        on_carrier(|| {
            self.recorder.is_used.store(true, Ordering::Relaxed);
            self.recorder.mark(CallPoint::Shown);
            self.recorder.operations()
        })
    }

    /// Checks that the history so far is linearizable, within a budget of 20 million configurations.
    ///
    /// In a run, a check may take half of the time limit of [a step](crate::Runner::hang). After that, the verdict is
    /// unknown.
    ///
    /// ```
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    ///
    /// let history = sim::History::new(Register::new(0));
    /// history.invoke(RegisterOp::Read).ok(RegisterRet::Value(7));
    /// assert!(history.check().is_violated());
    /// ```
    pub fn check(&self) -> Verdict {
        self.checked(&Budget::nodes(NODES), true)
    }

    /// Checks that the history so far is linearizable, within `budget`. The time that it takes does not count as a
    /// hang.
    pub fn check_within(&self, budget: &Budget<'_>) -> Verdict {
        self.checked(budget, false)
    }

    fn checked(&self, budget: &Budget<'_>, timed: bool) -> Verdict {
        on_carrier(|| self.checked_here(budget, timed))
    }

    fn checked_here(&self, budget: &Budget<'_>, timed: bool) -> Verdict {
        self.recorder.is_used.store(true, Ordering::Relaxed);
        self.recorder.mark(CallPoint::Checked);
        let verdict = self.recorder.check(budget, timed);
        self.recorder.lock().verdict = Some(verdict.clone());
        verdict
    }

    /// Fails the run unless the history so far is linearizable. The report shows the operation that fits in no order.
    /// The run also fails if the budget runs out, because unknown is not a pass.
    ///
    /// # Panics
    /// Outside of runs, if the history is not linearizable.
    #[track_caller]
    pub fn assert_linearizable(&self) {
        self.assert_linearizable_at(&Budget::nodes(NODES), Location::caller());
    }

    /// Like [`assert_linearizable`](Self::assert_linearizable), on behalf of the caller at `place`, within this budget.
    #[track_caller]
    pub(crate) fn assert_linearizable_at(&self, budget: &Budget<'_>, place: Place) {
        let verdict = self.checked(budget, true);
        if verdict.is_consistent() {
            return;
        }
        on_carrier(|| self.recorder.not_linearizable(verdict, place))
    }
}

impl<M: Model> History<M> {
    /// Guesses a version, or another value that calls reveal, from the calls so far. Returns `None` if there is no
    /// value to guess.
    ///
    /// `version` gets a call with its result, and returns the version that the call revealed to its client. For a call
    /// without a result, it returns the version that the call may create. If the selected way of guessing finds
    /// nothing, the newest version is used.
    ///
    /// The client is the current task. This call is not a point, but from here on a search treats the order of the
    /// calls as relevant.
    ///
    /// ```
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    /// use sim::{History, generate::Guess};
    ///
    /// let history = History::new(Register::new(0));
    /// history.invoke(RegisterOp::Write(7)).ok(RegisterRet::Done);
    /// let open = history.invoke(RegisterOp::Write(8));
    /// let version = |op: &RegisterOp<u64>, ret: Option<&RegisterRet<u64>>| match (op, ret) {
    ///     (RegisterOp::Write(value), _) | (_, Some(RegisterRet::Value(value))) => Some(*value),
    ///     _ => None,
    /// };
    /// assert_eq!(history.guess(Guess::Own, version), Some(7));
    /// assert_eq!(history.guess(Guess::Open, version), Some(8));
    /// # drop(open);
    /// ```
    pub fn guess<T: PartialEq>(
        &self,
        guess: Guess,
        version: impl Fn(&M::Op, Option<&M::Ret>) -> Option<T>,
    ) -> Option<T> {
        on_carrier(|| {
            self.recorder.mark(CallPoint::Shown);
            let client = seam::client();
            self.recorder.lock().guess(guess, client, version)
        })
    }
}

impl<M: Model> Recorder<M> {
    fn lock(&self) -> MutexGuard<'_, Records<M>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the operations so far.
    fn operations(&self) -> Vec<Operation<M::Op, M::Ret>> {
        self.stamp_open();
        self.lock().ranked(|call| call.op.clone(), |ret| ret.clone())
    }

    /// Records a point of a call in the run.
    fn mark(&self, point: CallPoint) {
        seam::mark_call(self.number.get(), point);
    }

    /// Like [`Records::invoked`], but also marks the call in the run.
    fn invoked(&self, call: usize, clock: u64) {
        if self.lock().invoked(call, clock) {
            self.mark(CallPoint::Invoked(call));
        }
    }

    /// Like [`Records::waits`], but also marks the call in the run.
    fn waits(&self, call: usize, clock: u64) {
        if self.lock().waits(call, clock) {
            self.mark(CallPoint::Invoked(call));
        }
    }

    /// Like [`Records::ended`], but also marks the call in the run.
    fn ended(&self, call: usize, clock: u64, ret: Option<M::Ret>) {
        let returns = ret.is_some();
        let end = seam::look();
        self.lock().calls[call].looks.end = end;
        if self.lock().ended(call, clock, ret) {
            self.mark(CallPoint::Invoked(call));
        }
        if returns {
            self.mark(CallPoint::Returned(call));
        }
    }

    /// Fails the run; outside of runs, panics.
    fn not_linearizable(&self, verdict: Verdict, place: Place) -> ! {
        if let Some(history) = self.number.get() {
            let condition = "linearizability".to_owned();
            seam::fail(|| Failure::History {
                history: *history,
                condition,
                verdict: verdict.clone(),
                place,
            });
        }
        panic!("the history is not linearizable: {verdict:?}");
    }

    /// Adds a call of the current task. Returns the number of the call.
    fn open(&self, op: M::Op, made: u64, explicit: bool) -> usize {
        let task = seam::client();
        let looks = Looks { begin: seam::look(), end: None };
        let records = &mut *self.lock();
        let new = u32::try_from(records.lanes.len()).expect("fewer than 2^32 clients");
        let own = records.of_tasks.entry(task).or_default();
        let lane = own.free.pop_first().unwrap_or_else(|| {
            own.count += 1;
            let (name, count) = (seam::client_name(), own.count);
            let name = if count == 1 { name } else { format!("{name} ({count})") };
            records.lanes.push(Lane { task, name });
            new
        });
        let (invoked, returned) = (None, None);
        let (failed, lost) = (false, false);
        records.calls.push(RecorderCall {
            lane,
            op,
            made,
            invoked,
            returned,
            failed,
            lost,
            explicit,
            looks,
        });
        records.calls.len() - 1
    }

    /// Stamps the invocations of explicit calls without a known outcome, because other tasks may have observed their
    /// effects.
    fn stamp_open(&self) {
        let calls = self.lock().calls.len();
        for call in 0..calls {
            self.stamp_explicit(call);
        }
    }

    /// Stamps the invocation of an explicit call at the first access of its task. If the task made no access but other
    /// tasks did, maybe on its behalf, stamps it at the call itself.
    fn stamp_explicit(&self, call: usize) {
        let (made, task) = {
            let records = self.lock();
            let RecorderCall { made, lane, explicit, failed, invoked, .. } = records.calls[call];
            if !explicit || failed || invoked.is_some() {
                return;
            }
            (made, records.lanes[lane as usize].task)
        };
        let others = seam::moved_since(made);
        if let Some(first) = seam::first_access_since(made, task).or(others.then_some(made)) {
            self.lock().invoked(call, first);
        }
    }
}

impl<M: Model> Clone for History<M> {
    fn clone(&self) -> History<M> {
        History { recorder: self.recorder.clone() }
    }
}

impl<M: Model> fmt::Debug for History<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = self.recorder.lock().calls.len();
        f.debug_struct("History").field("model", &M::name()).field("calls", &calls).finish()
    }
}
