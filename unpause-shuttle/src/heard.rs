//! The `tracing` subscriber of a test, as the global subscriber of its runs. In a run, the statics of `tracing` have
//! their first values, so a run would have no subscriber.
//!
//! The subscriber is not a part of a run: it is called outside of the run, on the thread that executes the runs. So its
//! locks and counters are no steps, and its memory outlives the runs. `tracing` subscribers store the entered spans of
//! each OS thread, and all threads of a run are one OS thread there. So if another thread of the run calls, the spans
//! of the previous thread are exited, and the spans of this thread are entered. shuttle does the same.
//!
//! Dispatchers that the test passes in, for `with_default` in a run, are called like any code of the run. They are not
//! in the run's list of dispatchers. So if such a dispatcher is the current one when an event or a span is executed for
//! the first time in a run, `tracing` caches its answer for all other dispatchers.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::dispatcher::{self, Dispatch};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

thread_local! {
    /// The number of the current thread in [`Entered`]; `None` before its first call.
    static OWN: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The subscriber of the test that executes a check, for its runs.
#[derive(Debug)]
pub(crate) struct Heard {
    subscriber: Forward,
    /// The dispatcher of `subscriber`. It is created before the runs, because the run that creates a dispatcher would
    /// have further operations.
    global: Dispatch,
}

/// The global subscriber of a run. It calls the subscriber of the test.
#[derive(Clone, Debug)]
struct Forward {
    /// The maximum level of all subscribers that exist.
    level: LevelFilter,
    /// The process of the check. Copies of it execute runs that do not count, such as repetitions.
    process: u32,
    /// The subscriber of the test. `None` after the check: another OS thread may keep the dispatcher of a run.
    dispatch: Arc<Mutex<Option<Dispatch>>>,
    entered: Arc<Mutex<Entered>>,
}

/// The spans that the threads of the run have entered.
#[derive(Default, Debug)]
struct Entered {
    /// The spans of each thread, outermost first.
    spans: Vec<Vec<Id>>,
    /// The thread whose spans are entered.
    now: usize,
}

impl Entered {
    /// Enters the spans of a thread. Returns its number. A new thread gets a number.
    fn switch(&mut self, dispatch: &Dispatch, thread: Option<usize>) -> usize {
        let thread = thread.unwrap_or_else(|| {
            self.spans.push(Vec::new());
            self.spans.len() - 1
        });
        if thread != self.now {
            self.leave(dispatch);
            self.now = thread;
            self.spans[thread].iter().for_each(|span| dispatch.enter(span));
        }
        thread
    }

    /// Exits the entered spans.
    fn leave(&self, dispatch: &Dispatch) {
        let now = self.spans.get(self.now).map_or(&[][..], Vec::as_slice);
        now.iter().rev().for_each(|span| dispatch.exit(span));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Heard {
    /// Returns the current subscriber, if the engine steps the threads of runs and any subscriber exists.
    pub(crate) fn if_any() -> Option<Heard> {
        let level = LevelFilter::current();
        if !unpause_model::is_stepped() || level == LevelFilter::OFF {
            return None;
        }
        // `tracing` has a list of all dispatchers in a static.
        Some(unpause_model::between_tests(|| {
            let subscriber = Forward {
                level,
                process: std::process::id(),
                dispatch: Arc::new(Mutex::new(Some(dispatcher::get_default(Dispatch::clone)))),
                entered: Arc::default(),
            };
            let global = Dispatch::new(subscriber.clone());
            Heard { subscriber, global }
        }))
    }

    /// Makes the subscriber the global subscriber of the run that begins.
    pub(crate) fn begin(&self) {
        OWN.set(None);
        // The statics of `tracing` are changed outside of the run, so that the changes are no steps.
        let _ = unpause_model::outside(|| {
            self.subscriber.forget();
            // A run has no global subscriber when it begins.
            let _ = dispatcher::set_global_default(self.global.clone());
            tracing_core::callsite::rebuild_interest_cache();
        });
    }

    /// Ends the check.
    pub(crate) fn end(&self) {
        unpause_model::between_tests(|| {
            self.subscriber.forget();
            let dispatch = locked(&self.subscriber.dispatch).take();
            drop(dispatch);
        });
    }
}

impl Forward {
    /// Exits the spans that a run has left entered.
    fn forget(&self) {
        let entered = std::mem::take(&mut *locked(&self.entered));
        if let Some(dispatch) = self.dispatch() {
            entered.leave(&dispatch);
        }
    }

    fn dispatch(&self) -> Option<Dispatch> {
        locked(&self.dispatch).clone()
    }

    /// Calls `act` with the subscriber of the test and the spans of the current thread, outside of the run. Returns
    /// `none` after the check.
    fn call<R>(&self, none: R, act: impl FnOnce(&Dispatch, &mut Vec<Id>) -> R) -> R {
        let own = OWN.get();
        let mut act = Some((none, act));
        let called = unpause_model::outside(|| {
            let (none, act) = act.take()?;
            let Some(dispatch) = self.dispatch() else { return Some((own, none)) };
            let mut entered = locked(&self.entered);
            let own = entered.switch(&dispatch, own);
            Some((Some(own), act(&dispatch, &mut entered.spans[own])))
        });
        match (called, act) {
            (Some(Ok(Some((own, result)))), _) => {
                OWN.set(own);
                result
            }
            // The panic belongs to the thread that has called the subscriber.
            (Some(Err(payload)), _) => panic!("{}", text(&*payload)),
            // The subscriber itself uses `tracing`, or this is a thread outside of the run.
            (_, Some((none, act))) => match self.dispatch() {
                Some(dispatch) => act(&dispatch, &mut Vec::new()),
                None => none,
            },
            (_, None) => unreachable!("the function is called once"),
        }
    }
}

/// Returns the text of a panic.
fn text(payload: &(dyn std::any::Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (None, Some(message)) => message,
        (None, None) => "the tracing subscriber panicked",
    }
}

impl Subscriber for Forward {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        self.call((), |dispatch, _| _ = dispatch.register_callsite(metadata));
        // The answer is cached for all subscribers of the run.
        Interest::sometimes()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.call(false, |dispatch, _| dispatch.enabled(metadata))
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.call(Id::from_u64(1), |dispatch, _| dispatch.new_span(attributes))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.call((), |dispatch, _| dispatch.record(span, values));
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.call((), |dispatch, _| dispatch.record_follows_from(span, follows));
    }

    fn event(&self, event: &Event<'_>) {
        self.call((), |dispatch, _| {
            // A copy calls the subscriber for all else, because the program can observe the result.
            if std::process::id() == self.process {
                dispatch.event(event);
            }
        });
    }

    fn enter(&self, span: &Id) {
        self.call((), |dispatch, spans| {
            dispatch.enter(span);
            spans.push(span.clone());
        });
    }

    fn exit(&self, span: &Id) {
        self.call((), |dispatch, spans| {
            dispatch.exit(span);
            if let Some(at) = spans.iter().rposition(|entered| entered == span) {
                spans.remove(at);
            }
        });
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.call(span.clone(), |dispatch, _| dispatch.clone_span(span))
    }

    fn try_close(&self, span: Id) -> bool {
        self.call(false, |dispatch, _| dispatch.try_close(span))
    }

    fn current_span(&self) -> Current {
        self.call(Current::none(), |dispatch, _| dispatch.current_span())
    }
}
