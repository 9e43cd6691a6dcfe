//! Shrinking of runs with loops that wait for ever, or for many rounds.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;

use planted::process::number_of_calls;
use sim::Runner;
use sim::report::{Report, Shrinking};
use sim::run::{Failure, Outcome};

fn report(shrink: bool, body: fn()) -> Report {
    Runner::new().hermetic().seeds(0..1).shrink(shrink).prove(0).why(0).run_native(body)
}

fn failure(report: &Report) -> Option<&Failure> {
    match &report.finding.as_ref()?.run.outcome {
        Outcome::Failed(failure) => Some(failure),
        Outcome::Passed => None,
    }
}

fn shrunk(report: &Report) -> Option<&Shrinking> {
    report.finding.as_ref()?.shrunk.as_ref()
}

#[derive(Default)]
struct Flags {
    count: AtomicU32,
    here: AtomicBool,
    there: AtomicBool,
}

impl Flags {
    fn add(&self) {
        (0..5).for_each(|_| _ = self.count.fetch_add(1, SeqCst));
    }
}

/// Two threads wait for each other in loops. A static of C counts the rounds: no run restores it, and it is no point.
fn two_loops() {
    let flags = Arc::new(Flags::default());
    let shared = flags.clone();
    let thread = thread::spawn(move || {
        shared.add();
        while !shared.there.load(SeqCst) {
            number_of_calls();
        }
        shared.here.store(true, SeqCst);
    });
    flags.add();
    while !flags.here.load(SeqCst) {
        number_of_calls();
    }
    flags.there.store(true, SeqCst);
    thread.join().unwrap();
}

#[test]
fn replays_of_endless_loops_end_soon() {
    let rounds_and_replays = |shrink| {
        let before = number_of_calls();
        let report = report(shrink, two_loops);
        let rounds = u64::from(number_of_calls() - before);
        let found = failure(&report);
        assert!(matches!(found, Some(Failure::Deadlock { .. })), "{found:?}");
        (rounds, shrunk(&report).map(|shrunk| (u64::from(shrunk.replays), shrunk.complete)))
    };
    // The run of the seed and its repetitions give the loops all their rounds.
    let (whole, _) = rounds_and_replays(false);
    assert!(whole > 50_000, "{whole} rounds");
    let (rounds, shrunk) = rounds_and_replays(true);
    let (replays, complete) = shrunk.expect("it is the same again");
    assert!(complete && replays >= 10, "{replays} replays");
    // Besides the replays, there are two more repetitions, because the small run is confirmed.
    assert!(
        rounds < 3 * whole + 1_000 * replays,
        "{rounds} rounds in {replays} replays, {whole} without"
    );
}

/// A loop waits for a flag that is never set. It gives up after 500 rounds, which it counts on the heap.
fn loop_that_gives_up() {
    let flags = Arc::new(Flags::default());
    let shared = flags.clone();
    let thread = thread::spawn(move || shared.add());
    flags.add();
    thread.join().unwrap();
    let mut rounds = black_box(Box::new(0));
    while !flags.here.load(SeqCst) {
        *rounds += 1;
        if **black_box(&rounds) == 500 {
            panic!("planted");
        }
    }
}

/// The replays that leave out rounds do not reproduce the failure, so shrinking begins again without them.
#[test]
fn a_loop_that_ends_after_many_rounds_is_shrunk_with_all_of_them() {
    let report = report(true, loop_that_gives_up);
    let Some(Failure::Panic { message, .. }) = failure(&report) else {
        panic!("{:?}", failure(&report));
    };
    assert!(message.contains("planted"), "{message}");
    let shrunk = shrunk(&report).expect("it is the same again");
    assert!(shrunk.complete && shrunk.replays >= 2, "{shrunk:?}");
}
