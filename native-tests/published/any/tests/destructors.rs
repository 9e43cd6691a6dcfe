//! A destructor that a current release runs where a lock is held: a test of docs/found.md.

use std::thread;

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// A subscriber that logs a last line.
struct Logging;

impl Subscriber for Logging {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Drop for Logging {
    fn drop(&mut self) {
        tracing::info!("the log ends");
    }
}

/// The last handle of one subscriber is dropped while another subscriber is registered.
#[test]
fn tracing_subscriber_is_dropped_while_another_one_is_registered() {
    let first = Dispatch::new(Logging);
    let dropping = thread::spawn(move || drop(first));
    let _second = Dispatch::new(NoSubscriber::default());
    dropping.join().unwrap();
}
