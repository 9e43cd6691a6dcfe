//! Searches over the primitives of std, parking_lot and crossbeam, by two and three threads: the table of `docs/search.md`.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{TryRecvError, channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;
use std::time::Instant;

/// Runs `act` with a shared value on `threads` threads, including this thread.
fn on<S: Send + Sync + 'static>(threads: u32, shared: S, act: fn(&S)) -> Arc<S> {
    let shared = Arc::new(shared);
    let spawn = |_| {
        let shared = shared.clone();
        thread::spawn(move || act(&shared))
    };
    let others: Vec<_> = (1..threads).map(spawn).collect();
    act(&shared);
    others.into_iter().for_each(|other| other.join().unwrap());
    shared
}

fn mutex<const N: u32>() {
    let sum = on(N, Mutex::new(0), |sum| *sum.lock().unwrap() += 1);
    assert_eq!(*sum.lock().unwrap(), N);
}

fn read_write<const N: u32>() {
    let sum = on(N, RwLock::new(0), |sum| {
        let seen = *sum.read().unwrap();
        assert!(seen < N);
        *sum.write().unwrap() += 1;
    });
    assert_eq!(*sum.read().unwrap(), N);
}

fn condvar<const N: u32>() {
    on(N, (Mutex::new(0), Condvar::new()), |(count, changed)| {
        let mut count = count.lock().unwrap();
        *count += 1;
        changed.notify_all();
        while *count < N {
            count = changed.wait(count).unwrap();
        }
    });
}

fn once<const N: u32>() {
    let made = on(N, (Once::new(), AtomicU32::new(0)), |(once, made)| {
        once.call_once(|| made.store(1 + made.load(SeqCst), SeqCst));
        assert_eq!(made.load(SeqCst), 1);
    });
    assert_eq!(made.1.load(SeqCst), 1);
}

fn barrier<const N: u32>() {
    let leaders = on(N, (Barrier::new(N as usize), AtomicU32::new(0)), |(barrier, leaders)| {
        if barrier.wait().is_leader() {
            leaders.fetch_add(1, SeqCst);
        }
    });
    assert_eq!(leaders.1.load(SeqCst), 1);
}

/// Sends a number from each of all threads but one, which receives them.
fn send<const N: u32, S, R>((sender, receiver): (S, R), send: fn(&S, u32))
where
    S: Clone + Send + 'static,
    R: IntoIterator<Item = u32>,
{
    let spawn = |n| {
        let sender = sender.clone();
        thread::spawn(move || send(&sender, n))
    };
    let senders: Vec<_> = (1..N).map(spawn).collect();
    drop(sender);
    assert_eq!(receiver.into_iter().sum::<u32>(), (1..N).sum());
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}

fn mpsc<const N: u32>() {
    send::<N, _, _>(channel(), |sender, n| sender.send(n).unwrap());
}

fn sync_mpsc<const N: u32>() {
    send::<N, _, _>(sync_channel(1), |sender, n| sender.send(n).unwrap());
}

fn of_parking_lot<const N: u32>() {
    let sum = on(N, parking_lot::Mutex::new(0), |sum| *sum.lock() += 1);
    assert_eq!(*sum.lock(), N);
}

fn read_write_of_parking_lot<const N: u32>() {
    let sum = on(N, parking_lot::RwLock::new(0), |sum| {
        let seen = *sum.read();
        assert!(seen < N);
        *sum.write() += 1;
    });
    assert_eq!(*sum.read(), N);
}

fn condvar_of_parking_lot<const N: u32>() {
    on(N, (parking_lot::Mutex::new(0), parking_lot::Condvar::new()), |(count, changed)| {
        let mut count = count.lock();
        *count += 1;
        changed.notify_all();
        while *count < N {
            changed.wait(&mut count);
        }
    });
}

fn crossbeam<const N: u32>() {
    send::<N, _, _>(crossbeam_channel::unbounded(), |sender, n| sender.send(n).unwrap());
}

fn array_queue<const N: u32>() {
    let queue = on(N, crossbeam_queue::ArrayQueue::new(4), |queue| {
        queue.push(1).unwrap();
        assert!(queue.pop().is_some());
    });
    assert!(queue.is_empty());
}

fn seg_queue<const N: u32>() {
    let queue = on(N, crossbeam_queue::SegQueue::new(), |queue| {
        queue.push(1);
        assert!(queue.pop().is_some());
    });
    assert!(queue.is_empty());
}

/// A primitive; the programs of two and of three threads; for each whether the search ends, and is a proof, within the runs of
/// the gate.
type Row = (&'static str, (fn(), bool), (fn(), bool));

/// The runs of the gate.
const SMALL: u64 = 20_000;
/// The runs of the other searches, which are made with `UNPAUSE_LONG`. `RUNS` names another number, and `ONLY` selects rows.
const LARGE: u64 = 50_000;

const ROWS: &[Row] = &[
    ("Mutex", (mutex::<2>, true), (mutex::<3>, true)),
    ("RwLock", (read_write::<2>, true), (read_write::<3>, true)),
    ("Condvar", (condvar::<2>, true), (condvar::<3>, true)),
    ("Once", (once::<2>, true), (once::<3>, true)),
    ("Barrier", (barrier::<2>, true), (barrier::<3>, true)),
    ("mpsc::channel", (mpsc::<2>, true), (mpsc::<3>, true)),
    ("mpsc::sync_channel(1)", (sync_mpsc::<2>, true), (sync_mpsc::<3>, true)),
    ("parking_lot::Mutex", (of_parking_lot::<2>, true), (of_parking_lot::<3>, true)),
    (
        "parking_lot::RwLock",
        (read_write_of_parking_lot::<2>, true),
        (read_write_of_parking_lot::<3>, true),
    ),
    (
        "parking_lot::Condvar",
        (condvar_of_parking_lot::<2>, true),
        (condvar_of_parking_lot::<3>, false),
    ),
    ("crossbeam_channel", (crossbeam::<2>, true), (crossbeam::<3>, true)),
    ("ArrayQueue", (array_queue::<2>, true), (array_queue::<3>, true)),
    ("SegQueue", (seg_queue::<2>, true), (seg_queue::<3>, true)),
];

/// The runs of brute force: all interleavings of the same operations, with the fewest preemptions first.
const FORCED: u64 = 1_000;
/// The runs of brute force with `UNPAUSE_LONG`.
const FORCED_LONG: u64 = 100_000;

/// Executes all interleavings of a program. Returns their number as text, which begins with `>` if there are more. The
/// search has a run for each class of interleavings, so it must not have more runs.
fn by_force(name: &str, body: fn(), most: u64, classes: Option<u64>) -> String {
    let runner = sim::Runner::new().hermetic().strategy("preemptions").seeds(0..most);
    let report = runner.run_native(body);
    assert!(report.finding.is_none(), "{name}, by force: {:?}", report.finding);
    if !report.searched.as_ref().is_some_and(|searched| searched.is_proof()) {
        return format!("> {}", report.runs);
    }
    assert!(classes.is_none_or(|classes| classes <= report.runs), "{name}: {classes:?} classes");
    report.runs.to_string()
}

#[test]
fn searches_of_primitives_are_proofs() {
    let long = std::env::var_os("UNPAUSE_LONG").is_some();
    let only = std::env::var("ONLY").unwrap_or_default();
    for (name, two, three) in ROWS.iter().filter(|(name, ..)| name.contains(&only)) {
        for (threads, (body, is_small)) in [(2, two), (3, three)] {
            if !is_small && !long {
                continue;
            }
            let start = Instant::now();
            let named = std::env::var("RUNS").ok().map(|runs| runs.parse().expect("a number"));
            let runs = if *is_small { SMALL } else { named.unwrap_or(LARGE) };
            let runner = sim::Runner::new().hermetic().strategy("exhaustive").seeds(0..runs);
            let report = runner.run_native(*body);
            assert!(report.finding.is_none(), "{name}, {threads} threads: {:?}", report.finding);
            let searched = report.searched.as_ref().unwrap();
            let (runs, seconds) = (report.runs + searched.blocked, start.elapsed().as_secs_f64());
            let proof = if searched.is_proof() { "proof" } else { "none" };
            let classes = searched.is_proof().then_some(report.runs);
            let most = if long { FORCED_LONG } else { FORCED };
            let forced = by_force(name, *body, most, classes);
            eprintln!("| {name} | {threads} | {runs} | {seconds:.1} s | {proof} | {forced} |");
            let is_expected = searched.is_proof() || !is_small;
            assert!(is_expected, "{name}, {threads} threads: {searched:?}");
        }
    }
}

/// A sender is dropped with the last reference of an `Arc`, whose counts are not points. The end of the sender is one.
#[test]
fn a_sender_in_an_arc_ends_at_a_point() {
    fn body() {
        let (sender, receiver) = channel::<u32>();
        let sender = Arc::new(sender);
        let told = Arc::new(AtomicU32::new(0));
        let other = told.clone();
        let thread = thread::spawn(move || {
            other.store(1, SeqCst);
            drop(sender);
        });
        if told.load(SeqCst) == 1 {
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        }
        thread.join().unwrap();
    }
    let runner = sim::Runner::new().hermetic().strategy("exhaustive").seeds(0..SMALL);
    let report = runner.run_native(body);
    assert!(
        report.finding.is_some(),
        "nothing happens between the store and the end of the sender"
    );
}
