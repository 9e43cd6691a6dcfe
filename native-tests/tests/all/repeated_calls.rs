//! Loops of the user that call a library in each round: each call has its own result. The loops of such a library count
//! their rounds, so a search leaves out later rounds of them, but not later calls.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

/// The folder with the outcomes of runs: their memory ends with them.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/repeated_calls");

/// The number of calls.
const CALLS: usize = 4;

fn record(outcome: &[i64]) {
    let path = format!("{FOLDER}/outcomes");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{outcome:?}\n").as_bytes()).unwrap();
}

/// Reads an object some times in a loop, while another thread changes it once. Records the values.
fn calls<S: Send + Sync + 'static>(shared: S, change: fn(&S), read: fn(&S) -> i64) {
    let shared = Arc::new(shared);
    let other = shared.clone();
    let thread = thread::spawn(move || change(&other));
    let mut seen = Vec::new();
    for _ in 0..CALLS {
        seen.push(read(&shared));
    }
    thread.join().unwrap();
    record(&seen);
}

/// The same for the receiver of a channel of std, which only one thread has.
fn receives(
    send: impl FnOnce() + Send + 'static,
    receiver: &mpsc::Receiver<i64>,
    read: fn(&mpsc::Receiver<i64>) -> i64,
) {
    let thread = thread::spawn(send);
    let mut seen = Vec::new();
    for _ in 0..CALLS {
        seen.push(read(receiver));
    }
    thread.join().unwrap();
    record(&seen);
}

/// Returns the outcomes of a search that must be a proof, and the number of its runs.
fn outcomes(strategy: &str, body: fn()) -> (BTreeSet<String>, u64) {
    // The runs of all programs write to one file.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    fs::create_dir_all(FOLDER).unwrap();
    let path = format!("{FOLDER}/outcomes");
    let _ = fs::remove_file(&path);
    let runner = sim::Runner::new().hermetic().strategy(strategy).seeds(0..1_000);
    let report = runner.run_native(body);
    assert!(report.finding.is_none(), "{:?}", report.finding);
    let searched = report.searched.unwrap();
    assert!(searched.is_proof(), "{searched:?}");
    (fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect(), report.runs)
}

/// The programs, each with its name, and with the library of the list of the engine that it calls.
const REPEATED: [(&str, &str, fn()); 9] = [
    ("once", "/parking_lot", || {
        let state = |once: &parking_lot::Once| once.state().done().into();
        calls(parking_lot::Once::new(), |once| once.call_once(|| ()), state);
    }),
    ("array_pop", "/crossbeam-", || {
        let queue = crossbeam_queue::ArrayQueue::new(2);
        calls(queue, |queue| queue.push(1).unwrap(), |queue| queue.pop().unwrap_or(0));
    }),
    ("seg_len", "/crossbeam-", || {
        let queue = crossbeam_queue::SegQueue::new();
        calls(queue, |queue| queue.push(1), |queue| queue.len() as i64);
    }),
    ("bounded", "/crossbeam-", || {
        let channel = crossbeam_channel::bounded(1);
        calls(channel, |ends| ends.0.send(1).unwrap(), |ends| ends.1.try_recv().unwrap_or(0));
    }),
    ("cell", "/crossbeam-", || {
        let cell = crossbeam_utils::atomic::AtomicCell::new(0_i64);
        calls(cell, |cell| cell.store(1), |cell| cell.load());
    }),
    ("mpsc", "/std/src/sync/mpmc/", || {
        let (sender, receiver) = mpsc::channel();
        let kept = sender.clone();
        receives(move || sender.send(1).unwrap(), &receiver, |own| own.try_recv().unwrap_or(0));
        drop(kept);
    }),
    ("sync_channel", "/std/src/sync/mpmc/", || {
        let (sender, receiver) = mpsc::sync_channel(1);
        let kept = sender.clone();
        receives(move || sender.send(1).unwrap(), &receiver, |own| own.try_recv().unwrap_or(0));
        drop(kept);
    }),
    ("flume", "/flume-", || {
        let channel = flume::bounded(1);
        calls(channel, |ends| ends.0.send(1).unwrap(), |ends| ends.1.try_recv().unwrap_or(0));
    }),
    ("scope", "/crossbeam-", || {
        // The code of the user is called by a library.
        let word = AtomicI64::new(0);
        let mut seen = Vec::new();
        crossbeam_utils::thread::scope(|scope| {
            scope.spawn(|_| word.store(1, SeqCst));
            for _ in 0..CALLS {
                seen.push(word.load(SeqCst));
            }
        })
        .unwrap();
        record(&seen);
    }),
];

/// The other thread acts before one of the calls, or after all of them.
#[test]
fn each_call_of_a_loop_is_tried() {
    for (name, _, body) in REPEATED {
        // A scope has many interleavings.
        let strategies =
            if name == "scope" { &["exhaustive"][..] } else { &["exhaustive", "preemptions"] };
        for strategy in strategies {
            let (seen, runs) = outcomes(strategy, body);
            eprintln!("{name}, {strategy}: {runs} runs");
            assert_eq!(seen.len(), CALLS + 1, "{name}, {strategy}: {seen:?}");
        }
    }
}

/// The library without a program: it has a fence in assembly, so none of its searches is a proof.
const NO_PROOF: &str = "/concurrent-queue-";

/// Each other library whose loops are held by a rule of their own has a program above.
#[test]
fn each_library_of_the_list_is_called() {
    let source = include_str!("../../../src/native/library_calls.rs");
    let (_, list) = source.split_once("const LIBRARIES: &[&str] =").expect("the list");
    let (list, _) = list.split_once(';').expect("the end of the list");
    let listed: BTreeSet<&str> = list.split('"').skip(1).step_by(2).collect();
    let called = REPEATED.iter().map(|(_, library, _)| *library).chain([NO_PROOF]);
    assert_eq!(listed, called.collect());
}

/// The fixed twin: a loop that has no end of its own waits for the other thread.
#[test]
fn a_loop_that_polls_a_library_is_held() {
    let polls: [(&str, fn()); 3] = [
        ("pop", || {
            let queue = Arc::new(crossbeam_queue::ArrayQueue::new(2));
            let other = queue.clone();
            let thread = thread::spawn(move || other.push(1).unwrap());
            let value = loop {
                if let Some(value) = queue.pop() {
                    break value;
                }
                std::hint::spin_loop();
            };
            thread.join().unwrap();
            record(&[value]);
        }),
        ("try_recv", || {
            let (sender, receiver) = mpsc::channel();
            let thread = thread::spawn(move || sender.send(1).unwrap());
            let value = loop {
                match receiver.try_recv() {
                    Ok(value) => break value,
                    Err(_) => thread::yield_now(),
                }
            };
            thread.join().unwrap();
            record(&[value]);
        }),
        ("scope", || {
            let word = AtomicI64::new(0);
            crossbeam_utils::thread::scope(|scope| {
                scope.spawn(|_| word.store(1, SeqCst));
                while word.load(SeqCst) == 0 {
                    std::hint::spin_loop();
                }
            })
            .unwrap();
            record(&[word.load(SeqCst)]);
        }),
    ];
    for (name, body) in polls {
        let (seen, runs) = outcomes("exhaustive", body);
        assert_eq!(seen, BTreeSet::from(["[1]".to_owned()]), "{name}");
        assert!(runs < 100, "{name}: {runs}");
    }
}
