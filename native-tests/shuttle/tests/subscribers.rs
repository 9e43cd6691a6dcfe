//! Subscribers of `tracing` that a test installs before a check.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use shuttle::thread;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{set_default, with_default};
use tracing::{Dispatch, Event, Metadata, Subscriber, info, info_span, trace};

/// The message of an event, and the entered spans at that time.
type Recorded = (String, Vec<String>);

/// A subscriber that stores the events and the entered spans, like other subscribers for the OS thread.
#[derive(Clone, Default)]
struct Recorder {
    spans: Arc<Mutex<Vec<String>>>,
    entered: Arc<Mutex<Vec<u64>>>,
    events: Arc<Mutex<Vec<Recorded>>>,
    switches: Arc<AtomicU64>,
}

impl Recorder {
    fn events(&self) -> Vec<Recorded> {
        self.events.lock().unwrap().clone()
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= &tracing::Level::INFO
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut spans = self.spans.lock().unwrap();
        spans.push(attributes.metadata().name().to_owned());
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        assert_ne!(message.0, "refused", "the subscriber refuses an event");
        if message.0 == "run finished" {
            return;
        }
        let spans = self.spans.lock().unwrap();
        let entered = self.entered.lock().unwrap();
        let names = entered.iter().map(|id| spans[*id as usize - 1].clone()).collect();
        self.events.lock().unwrap().push((message.0, names));
    }

    fn enter(&self, span: &Id) {
        self.switches.fetch_add(1, Relaxed);
        self.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let mut entered = self.entered.lock().unwrap();
        let at = entered.iter().rposition(|id| *id == span.into_u64());
        entered.remove(at.expect("a span that is entered"));
    }
}

/// A thread within a span, and a body without one.
fn two_that_report() {
    let other = thread::spawn(|| {
        let _entered = info_span!("of_thread").entered();
        thread::yield_now();
        info!("thread");
    });
    info!("body");
    thread::yield_now();
    trace!("not enabled");
    info!("body");
    other.join().unwrap();
}

#[test]
fn events_of_a_run_reach_the_subscriber_of_the_test() {
    let recorder = Recorder::default();
    let _default = set_default(recorder.clone());
    let runs = Arc::new(AtomicU64::new(0));
    let counted = runs.clone();
    shuttle::check_random(
        move || {
            counted.fetch_add(1, Relaxed);
            two_that_report();
        },
        50,
    );
    assert_eq!(runs.load(Relaxed), 50);
    let events = recorder.events();
    let of = |message: &str| events.iter().filter(|event| event.0 == message).count();
    assert_eq!((of("body"), of("thread"), events.len()), (100, 50, 150));
    for (message, spans) in events {
        assert_eq!(spans.is_empty(), message == "body", "{message} in {spans:?}");
    }
    assert!(recorder.entered.lock().unwrap().is_empty());
    // A thread that continues enters its span again.
    assert!(recorder.switches.load(Relaxed) > 50);
}

/// The spans around a check also surround its runs.
#[test]
fn spans_of_a_check_are_entered_in_its_runs() {
    let recorder = Recorder::default();
    let _default = set_default(recorder.clone());
    let around = info_span!("around").entered();
    shuttle::check_random(two_that_report, 1);
    drop(around);
    let events = recorder.events();
    assert!(events.len() >= 3, "{events:?}");
    for (message, spans) in events {
        let wanted = if message == "body" { &["around"][..] } else { &["around", "of_thread"] };
        assert_eq!(spans, wanted);
    }
    assert!(recorder.entered.lock().unwrap().is_empty());
}

/// A thread uses another subscriber. Its events do not reach the subscriber of the test.
#[test]
fn a_thread_may_have_another_subscriber() {
    let [first, second] = [Recorder::default(), Recorder::default()];
    let _default = set_default(first.clone());
    let dispatch = Dispatch::new(second.clone());
    let reports = |message| info!("{message}");
    shuttle::check_random(
        move || {
            reports("first");
            tracing::dispatcher::with_default(&Dispatch::none(), || reports("lost"));
            let dispatch = dispatch.clone();
            let other = thread::spawn(move || {
                tracing::dispatcher::with_default(&dispatch, || {
                    reports("second");
                    thread::yield_now();
                    reports("second");
                });
            });
            reports("first");
            other.join().unwrap();
        },
        20,
    );
    let messages = |recorder: &Recorder| -> Vec<String> {
        recorder.events().into_iter().map(|(message, _)| message).collect()
    };
    assert_eq!(messages(&first), ["first"; 40]);
    assert_eq!(messages(&second), ["second"; 40]);
}

#[test]
#[should_panic(expected = "the subscriber refuses an event")]
fn a_panic_of_a_subscriber_fails_the_run() {
    with_default(Recorder::default(), || {
        shuttle::check_dfs(|| thread::spawn(|| info!("refused")).join().unwrap(), None);
    });
}

/// The locks of a subscriber are no steps of the run. It has three locks, and would add many orders.
#[test]
fn a_subscriber_is_not_searched() {
    let searched = || {
        let scheduler = shuttle::scheduler::DfsScheduler::new(None, false);
        let body = || {
            let reports = || (0..3).for_each(|_| info!("reports"));
            let other = thread::spawn(reports);
            reports();
            other.join().unwrap();
        };
        shuttle::Runner::new(scheduler, shuttle::Config::new()).run(body)
    };
    let recorder = Recorder::default();
    let runs = with_default(recorder.clone(), searched);
    assert!(recorder.events().len() >= 6 * runs);
    assert!(runs < 200, "{runs} runs");
}

/// `tracing` has a static list of all dispatchers. A check on one thread adds its dispatcher while checks on other
/// threads begin runs, which give statics their first values.
#[test]
fn checks_on_many_threads_have_the_subscriber_of_the_test() {
    let recorder = Recorder::default();
    let dispatch = Dispatch::new(recorder.clone());
    let checks = [(); 3].map(|()| {
        let dispatch = dispatch.clone();
        std::thread::spawn(move || {
            tracing::dispatcher::with_default(&dispatch, || {
                for _ in 0..100 {
                    shuttle::check_random(|| info!("in a run"), 2);
                }
            });
        })
    });
    checks.into_iter().for_each(|check| check.join().unwrap());
    // A check also repeats some of its runs.
    let events = recorder.events();
    assert!(events.iter().filter(|(message, _)| message == "in a run").count() >= 600);
}
