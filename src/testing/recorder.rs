//! Records the calls of clients with their results, and checks the history.
//!
//! # When an operation begins
//!
//! An invocation is stamped in the step of the operation's first visible access, and a return in
//! the step of its last visible access. Stamped when the call is made, an invocation would share a
//! step with the return before it: a task runs on from one operation into the next up to its next
//! point, so no scheduler could ever have another task's operation end in between, and most
//! violations would stay hidden.
//!
//! ```text
//!           step 7                     step 9
//! task A    …last access, return │      first access of the next operation…
//! task B                         │ last access, return
//!                                ▲                    ▲
//!              stamped here: overlaps B   stamped here: after B
//! ```
//!
//! A command of a generated program is stamped when it is first polled, which is never too late: its effects
//! before its first access, on a channel or an atomic of `std`, may be visible to others from then on. A task
//! has a point between two commands, so that a scheduler can run another task's command in between.
//!
//! A call that waits for something outside of this library, such as a message of another crate's channel, is
//! stamped when it begins to wait: another task may do its work from then on.

mod calls;
mod feed;
mod patience;
mod records;
mod source;

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
use unpause_check::online::{OnlineChecker, OnlineStatus};
use unpause_check::verdict::Verdict;
use unpause_check::{Budget, Model, linearizable};

pub use self::calls::{Invoked, Recorded};

use self::calls::OpenCall;
use self::feed::Feed;
pub(crate) use self::feed::Make;
use self::records::{Lane, RecorderCall, Records};

/// The default number of configurations of a check: some seconds at the most, in optimised code.
const NODES: u64 = 20_000_000;

/// The calls of clients on an object with their results, to be checked against a model.
///
/// A clone is another handle of the same history. A client is a task; a task with two calls open at once, in a
/// `join!`, counts as two.
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

/// The state shared by the handles of a history.
struct Recorder<M: Model> {
    initial: M,
    /// The place that created it.
    place: Place,
    /// True if the program has checked or read the history.
    is_used: AtomicBool,
    /// Its number in the run it is recorded in.
    number: OnceLock<usize>,
    records: Mutex<Records<M>>,
    /// The checker that is fed while calls are recorded, if any.
    feed: OnceLock<Feed<M>>,
}

impl<M> History<M>
where
    M: Model + Send + Sync + 'static,
    M::Op: Send + Sync,
    M::Ret: Send + Sync,
{
    /// An empty history of an object that begins as `initial`.
    #[track_caller]
    pub fn new(initial: M) -> History<M> {
        let place = Location::caller();
        on_carrier(|| History::begin(initial, place))
    }

    fn begin(initial: M, place: Place) -> History<M> {
        let records = Mutex::new(Records::default());
        let (number, feed) = (OnceLock::new(), OnceLock::new());
        let is_used = AtomicBool::new(false);
        let recorder = Arc::new(Recorder { initial, place, is_used, number, records, feed });
        if let Some(number) = seam::add_history(recorder.clone()) {
            // No other handle has the recorder yet.
            let _ = recorder.number.set(number);
        }
        History { recorder }
    }

    /// Feeds each call to a checker as it is recorded. The run fails at the first return after which the history is not
    /// linearizable, and its trace ends there. `make` returns a checker of an object in its first state, such as
    /// [`Online::new`](unpause_check::online::Online::new) or [`Chain::by_key`](unpause_check::chain::Chain::by_key).
    ///
    /// A call without a return may take effect at any later time. A checker that gives up says nothing: check the whole
    /// history at the end as well. Under a search each order of calls is a run of its own.
    ///
    /// # Panics
    /// If the history has such a checker. Later, outside a run, at the call that ends with a violation.
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
        // The run depends on the order of its calls from here on.
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
    /// If the future is dropped before it is ready, the call is recorded as one with an unknown
    /// effect: it may have happened or not.
    ///
    /// In a run the call begins with the first access of `work` to a primitive of this library, or when it
    /// first waits for something else. If `work` has earlier effects that others can see, such as on an atomic
    /// of `std` or a channel, the call is recorded as later than it was, and the history of a correct object
    /// may be rejected. Let such work begin with [`yield_now`](crate::task::yield_now). The commands of
    /// [`parallel()`](crate::parallel()) need not: they begin when they are first polled.
    pub fn call<F>(&self, op: M::Op, work: F) -> Recorded<M, F>
    where
        F: Future<Output = M::Ret>,
    {
        let (history, call) = (self.clone(), OpenCall(None));
        Recorded { history, op: Some(op), call, at_once: false, future: work }
    }

    /// Like [`call`](Self::call), for work that may have effects before its first access, so the
    /// call begins when it is first polled. A point must separate it from a call that ended in the
    /// same step, if others are to come in between.
    pub(crate) fn command<F>(&self, op: M::Op, work: F) -> Recorded<M, F>
    where
        F: Future<Output = M::Ret>,
    {
        let (history, call) = (self.clone(), OpenCall(None));
        Recorded { history, op: Some(op), call, at_once: true, future: work }
    }

    /// Records that the current task invokes `op`; the [`Invoked`] records the result.
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

    /// Records one call of a plain thread: `op` is the operation, and `work` performs it and returns its result. If
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

    /// The operations so far, by time of invocation, without failed ones.
    pub fn operations(&self) -> Vec<Operation<M::Op, M::Ret>> {
        on_carrier(|| {
            self.recorder.is_used.store(true, Ordering::Relaxed);
            self.recorder.mark(CallPoint::Shown);
            self.recorder.operations()
        })
    }

    /// Checks that the history so far is linearizable, within a budget of 20 million configurations.
    ///
    /// In a run it may take half as long as [a step](crate::Runner::hang); beyond that the verdict is unknown.
    pub fn check(&self) -> Verdict {
        self.checked(&Budget::nodes(NODES), true)
    }

    /// Checks that the history so far is linearizable, within `budget`. Its duration does not count as a hang.
    pub fn check_within(&self, budget: &Budget<'_>) -> Verdict {
        self.checked(budget, false)
    }

    fn checked(&self, budget: &Budget<'_>, timed: bool) -> Verdict {
        on_carrier(|| self.checked_here(budget, timed))
    }

    fn checked_here(&self, budget: &Budget<'_>, timed: bool) -> Verdict {
        self.recorder.is_used.store(true, Ordering::Relaxed);
        self.recorder.mark(CallPoint::Checked);
        let operations = self.recorder.operations();
        let check = |budget: &Budget<'_>| linearizable(&self.recorder.initial, &operations, budget);
        let verdict = patience::within(budget, timed, check)
            .expect("the recorder stamps what it records in order");
        self.recorder.lock().verdict = Some(verdict.clone());
        verdict
    }

    /// Fails the run unless the history so far is linearizable. The report shows the operation that fits
    /// nowhere. The run also fails if the budget runs out: unknown is not a pass.
    ///
    /// # Panics
    /// Outside a run, unless the history is linearizable.
    #[track_caller]
    pub fn assert_linearizable(&self) {
        self.assert_linearizable_at(&Budget::nodes(NODES), Location::caller());
    }

    /// Like [`assert_linearizable`](Self::assert_linearizable), called at `place`, within this
    /// budget.
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
    /// A version, or another value that calls show, guessed from the calls so far; `None` if there
    /// is none to guess.
    ///
    /// `version` is given a call with its result, and returns the version that the call showed to its client; of a call
    /// without a result, the version that it may bring about. A way that finds nothing falls back on the newest one.
    ///
    /// The client is the current task. Not a point; a search knows that the order of the calls matters from here on.
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

    /// The operations so far.
    fn operations(&self) -> Vec<Operation<M::Op, M::Ret>> {
        self.stamp_open();
        self.lock().ranked(|call| call.op.clone(), |ret| ret.clone())
    }

    /// Records a point of a call in the run.
    fn mark(&self, point: CallPoint) {
        seam::mark_call(self.number.get(), point);
    }

    /// The same as for [`Records::invoked`].
    fn invoked(&self, call: usize, clock: u64) {
        if self.lock().invoked(call, clock) {
            self.mark(CallPoint::Invoked(call));
        }
    }

    /// The same as for [`Records::waits`].
    fn waits(&self, call: usize, clock: u64) {
        if self.lock().waits(call, clock) {
            self.mark(CallPoint::Invoked(call));
        }
    }

    /// The same as for [`Records::ended`].
    fn ended(&self, call: usize, clock: u64, ret: Option<M::Ret>) {
        let returns = ret.is_some();
        if self.lock().ended(call, clock, ret) {
            self.mark(CallPoint::Invoked(call));
        }
        if returns {
            self.mark(CallPoint::Returned(call));
        }
    }

    /// Feeds the checker, if any, and ends the run if it finds a violation.
    fn feed(&self) {
        if let Some(feed) = self.feed.get() {
            self.feed_to(feed);
        }
    }

    #[cold]
    fn feed_to(&self, feed: &Feed<M>) {
        let polled = self.lock().polled.clone();
        for (call, before) in polled {
            // A call that this one is a part of.
            if seam::moved_since(before) {
                self.invoked(call, before);
            }
        }
        let place = feed.place;
        match feed.take(&self.initial, &self.lock()) {
            Ok(OnlineStatus::Violated) => {}
            Ok(OnlineStatus::Possible | OnlineStatus::Unknown) => return,
            Err(error) => {
                let message = format!("an online check refuses a call: {error}");
                let place = place.to_string();
                seam::fail(|| Failure::Misuse { message: message.clone(), place });
                panic!("{message}");
            }
        }
        self.stamp_open();
        let evidence = feed.confirm(&self.initial, &self.lock());
        let Some(verdict) = evidence.map(|evidence| Verdict::Violated(Box::new(evidence))) else {
            return;
        };
        self.lock().verdict = Some(verdict.clone());
        self.not_linearizable(verdict, place);
    }

    /// Fails the run, or panics outside of one.
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

    /// Adds a call of the current task. Returns its number.
    fn open(&self, op: M::Op, made: u64, explicit: bool) -> usize {
        let task = seam::client();
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
        });
        records.calls.len() - 1
    }

    /// Stamps the invocations of explicit calls without a known outcome, because their effects may have been
    /// seen.
    fn stamp_open(&self) {
        let calls = self.lock().calls.len();
        for call in 0..calls {
            self.stamp_explicit(call);
        }
    }

    /// Stamps the invocation of an explicit call at the first access of its task; at the call itself if the
    /// task made no access but other tasks did, maybe on its behalf.
    fn stamp_explicit(&self, call: usize) {
        let (made, task) = {
            let records = self.lock();
            let RecorderCall { made, lane, explicit, failed, invoked, .. } = records.calls[call];
            if !explicit || failed || invoked.is_some() {
                return;
            }
            (made, records.lanes[lane as usize].task)
        };
        let others = seam::clock() > made;
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
