//! Operations of channels and queues that take effect at several moments. A search treats other operations of these
//! objects as single steps.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_queue::ArrayQueue;

/// The folder with the outcomes of runs: their memory ends with them.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/several_moments");

fn record(outcome: (i64, i64)) {
    let path = format!("{FOLDER}/outcomes");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{} {}\n", outcome.0, outcome.1).as_bytes()).unwrap();
}

/// Returns the outcomes of a search that must be a proof, and the number of its runs.
fn outcomes(body: fn()) -> (BTreeSet<String>, u64) {
    // The runs of all programs write to one file.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    fs::create_dir_all(FOLDER).unwrap();
    let path = format!("{FOLDER}/outcomes");
    let _ = fs::remove_file(&path);
    let runner = sim::Runner::new().hermetic().strategy("exhaustive").seeds(0..1_000);
    let report = runner.run_native(body);
    assert!(report.finding.is_none(), "{:?}", report.finding);
    let searched = report.searched.unwrap();
    assert!(searched.is_proof(), "{searched:?}");
    (fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect(), report.runs)
}

/// Checks the outcomes of a program. Returns the number of runs.
fn has_outcomes(body: fn(), expected: &[&str]) -> u64 {
    let expected: BTreeSet<String> = expected.iter().map(|text| (*text).to_owned()).collect();
    let (seen, runs) = outcomes(body);
    assert_eq!(seen, expected);
    runs
}

/// Runs two functions on a full queue with one place.
fn full(there: fn(&ArrayQueue<i64>) -> i64, here: fn(&ArrayQueue<i64>) -> i64) {
    let queue = Arc::new(ArrayQueue::new(1));
    queue.push(5).unwrap();
    let other = queue.clone();
    let thread = thread::spawn(move || there(&other));
    let here = here(&queue);
    record((thread.join().unwrap(), here));
}

/// The queue is empty between the removal of its oldest value and the insertion of the new value.
#[test]
fn a_queue_is_empty_while_it_replaces_a_value() {
    fn forces(queue: &ArrayQueue<i64>) -> i64 {
        queue.force_push(6).unwrap_or(0)
    }
    let length = || full(forces, |queue| queue.len() as i64);
    has_outcomes(length, &["5 0", "5 1"]);
    // `pop` waits for the new value.
    let pop = || full(forces, |queue| queue.pop().unwrap_or(0));
    has_outcomes(pop, &["0 5", "5 6"]);
}

/// The fixed twin: a value is removed by a call, and inserted by another one. Each of them is one step.
#[test]
fn a_queue_removes_a_value_in_one_step() {
    let pop = || full(|queue| queue.pop().unwrap_or(0), |queue| queue.len() as i64);
    assert_eq!(has_outcomes(pop, &["5 0", "5 1"]), 2);
}

/// A channel refuses messages before it has dropped those that it has.
#[test]
fn a_channel_without_receivers_has_messages_for_a_moment() {
    fn body() {
        let (sender, receiver) = crossbeam_channel::unbounded();
        sender.send(1).unwrap();
        let thread = thread::spawn(move || drop(receiver));
        let is_sent = sender.send(2).is_ok();
        let length = sender.len() as i64;
        thread.join().unwrap();
        record((is_sent.into(), length));
    }
    has_outcomes(body, &["0 0", "0 1", "1 0", "1 2"]);
}
