//! Explanations of failures over shared locks. Runs of whole lock calls leave out orders of readers, so the remedy is
//! proved in the detail of searches.

use std::hint::black_box;
use std::sync::RwLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use sim::Runner;
use sim::report::{Finding, Tested};
use sim::run::{Failure, Outcome};

use super::why::{both, found, regions, runner, why};

/// The number of the line with a mark.
fn line_of(mark: &str) -> u32 {
    let mark = format!("// {mark}");
    let is_marked = |line: &str| line.trim_end().ends_with(&mark);
    let line = include_str!("why_locks.rs").lines().position(is_marked).expect("the mark");
    line as u32 + 1
}

/// The result of the runs with the remedy, if any.
fn tested(finding: &Finding) -> Option<Tested> {
    finding.why.as_ref()?.remedy.as_ref().map(|remedy| remedy.tested)
}

/// Returns the seeds below 200 whose run fails with whole lock calls.
fn seeds_with_calls(body: fn()) -> impl Iterator<Item = u64> {
    (0..200).filter(move |seed| {
        let runner = Runner::new().hermetic().prove(0).why(0).seeds(*seed..*seed + 1);
        let finding = runner.run_native(body).finding;
        finding.is_some_and(|finding| {
            let mut draws = finding.run.draws.iter();
            let detail = draws.find(|draw| draw.why.contains("detail of locks"));
            detail.expect("the decision").value % 4 == 0
        })
    })
}

/// Threads check as readers and act as writers.
fn check_as_a_reader() {
    let reserve = |seats: &RwLock<Vec<u32>>| {
        let is_free = seats.read().unwrap().is_empty(); // checks as a reader
        if is_free {
            seats.write().unwrap().push(7); // acts as a writer
        }
    };
    let seats = both(RwLock::new(Vec::new()), reserve, reserve);
    assert_eq!(seats.read().unwrap().len(), 1, "reserved twice");
}

/// The same with a lock that has its queue in other memory.
fn check_as_a_reader_of_parking_lot() {
    let reserve = |seats: &parking_lot::RwLock<Vec<u32>>| {
        let is_free = seats.read().is_empty(); // checks as another reader
        if is_free {
            seats.write().push(7); // acts as another writer
        }
    };
    let seats = both(parking_lot::RwLock::new(Vec::new()), reserve, reserve);
    assert_eq!(seats.read().len(), 1, "reserved twice");
}

/// Runs of whole calls leave out orders of readers, and the proof needs all orders.
#[test]
fn a_region_over_shared_locks_is_proved() {
    let bodies: [(fn(), [&str; 2]); 2] = [
        (check_as_a_reader, ["checks as a reader", "acts as a writer"]),
        (check_as_a_reader_of_parking_lot, ["checks as another reader", "acts as another writer"]),
    ];
    for (body, [from, to]) in bodies {
        // Each seed selects a detail of locks.
        for seed in seeds_with_calls(body).take(2) {
            let finding = found(&runner().seeds(seed..seed + 1).run_native(body));
            let why = why(&finding);
            let tested = tested(&finding);
            assert!(matches!(tested, Some(Tested::All { .. })), "{from}, {seed}: {why:?}");
            assert_eq!(regions(why), [(line_of(from), line_of(to))], "{from}, {seed}: {why:?}");
        }
    }
}

/// A thread reads twice, and a writer queues in between: only the own code of the lock has this deadlock.
fn reads_twice() {
    both(
        RwLock::new(0),
        |lock| {
            let one = lock.read().unwrap(); // reads first
            let other = lock.read().unwrap(); // reads again
            black_box(*one + *other);
        },
        |lock| *lock.write().unwrap() += 1,
    );
}

#[test]
fn a_writer_in_the_queue_of_readers_has_a_region_that_is_proved() {
    let finding = found(&runner().run_native(reads_twice));
    assert!(matches!(finding.run.outcome, Outcome::Failed(Failure::Deadlock { .. })));
    let why = why(&finding);
    assert_eq!(regions(why), [(line_of("reads first"), line_of("reads again"))], "{why:?}");
    let tested = tested(&finding);
    assert!(matches!(tested, Some(Tested::All { .. })), "{tested:?}");
}

/// An update is lost beside the deadlock of [`reads_twice`].
fn loses_an_update_and_reads_twice() {
    let add = |(count, lock): &(AtomicU32, RwLock<u32>)| {
        let old = count.load(SeqCst); // reads the count
        count.store(old + 1, SeqCst); // writes the count
        *lock.write().unwrap() += 1;
    };
    let shared = both((AtomicU32::new(0), RwLock::new(0)), add, |(count, lock)| {
        let one = lock.read().unwrap();
        let other = lock.read().unwrap();
        black_box(*one + *other);
        let old = count.load(SeqCst);
        count.store(old + 1, SeqCst);
    });
    assert_eq!(shared.0.load(SeqCst), 2, "an update is lost");
}

/// In runs of whole calls, the update is the only failure. With the update as one step, the program still has a
/// deadlock. So this region is not proved, but a region with the lock may be.
#[test]
fn a_region_is_not_proved_if_another_order_of_the_lock_fails() {
    let body = loses_an_update_and_reads_twice;
    let of_update = [(line_of("reads the count"), line_of("writes the count"))];
    for seed in seeds_with_calls(body).take(2) {
        let finding = found(&runner().seeds(seed..seed + 1).run_native(body));
        assert!(matches!(finding.run.outcome, Outcome::Failed(Failure::Panic { .. })));
        let is_proved = matches!(tested(&finding), Some(Tested::All { .. }));
        assert!(!is_proved || regions(why(&finding)) != of_update, "{:?}", finding.why);
    }
}
