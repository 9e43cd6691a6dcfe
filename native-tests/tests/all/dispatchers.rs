//! Dispatchers of `tracing`, whose statics the engine has too: each run begins without the dispatchers of other runs.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Keeps the names of the targets of its events, in memory of its run.
struct Listens {
    targets: Mutex<Vec<String>>,
    count: Arc<AtomicUsize>,
}

impl Listens {
    fn new() -> (Listens, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        (Listens { targets: Mutex::default(), count: count.clone() }, count)
    }
}

impl Subscriber for Listens {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "of the test"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.targets.lock().unwrap().push(event.metadata().target().to_owned());
        self.count.fetch_add(1, SeqCst);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Logs an event on two threads.
fn say() {
    let other = thread::spawn(|| tracing::info!(target: "of the test", "said by the thread"));
    tracing::info!(target: "of the test", "said");
    other.join().unwrap();
}

#[sim::test(native, seeds = 60)]
fn the_dispatcher_of_a_thread_is_made_in_each_run() {
    let threads = [0, 1].map(|_| {
        thread::spawn(|| {
            let (listens, count) = Listens::new();
            tracing::dispatcher::with_default(&Dispatch::new(listens), || {
                tracing::info!(target: "of the test", "said");
            });
            count.load(SeqCst)
        })
    });
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 1, "each thread hears itself");
    }
}

#[sim::test(native, seeds = 60)]
fn the_dispatcher_of_the_program_is_set_in_each_run() {
    let (listens, count) = Listens::new();
    tracing::dispatcher::set_global_default(Dispatch::new(listens)).expect("no run before set it");
    say();
    assert_eq!(count.load(SeqCst), 2);
}

#[sim::test(native, seeds = 60)]
fn without_a_dispatcher_nothing_is_heard() {
    assert!(!tracing::dispatcher::has_been_set(), "of another run");
    say();
}

/// A lost update in the subscriber, so that a failure is found, shrunk and replayed with all its runs.
#[sim::test(native, seeds = 200, must_fail)]
fn a_bug_of_a_subscriber_is_found() {
    let (listens, count) = Listens::new();
    tracing::dispatcher::set_global_default(Dispatch::new(listens)).expect("no run before set it");
    let other = thread::spawn({
        let count = count.clone();
        move || count.store(count.load(SeqCst) + 1, SeqCst)
    });
    tracing::info!(target: "of the test", "said");
    other.join().unwrap();
    assert_eq!(count.load(SeqCst), 2);
}
