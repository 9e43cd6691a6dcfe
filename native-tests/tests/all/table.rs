//! Searches over the primitives of std, parking_lot and crossbeam, by two and three threads: the table of `docs/search.md`.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{TryRecvError, channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
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

fn rendezvous<const N: u32>() {
    send::<N, _, _>(sync_channel(0), |sender, n| sender.send(n).unwrap());
}

fn rendezvous_of_crossbeam<const N: u32>() {
    send::<N, _, _>(crossbeam_channel::bounded(0), |sender, n| sender.send(n).unwrap());
}

fn bounded_of_crossbeam<const N: u32>() {
    send::<N, _, _>(crossbeam_channel::bounded(1), |sender, n| sender.send(n).unwrap());
}

/// Sends a number to each of some channels. One thread receives them, from whichever channel has one.
fn select_of<const N: u32>(
    channel: fn() -> (crossbeam_channel::Sender<u32>, crossbeam_channel::Receiver<u32>),
) {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..2.max(N - 1)).map(|_| channel()).unzip();
    let spawn = |n: u32| {
        let sender = senders[n as usize - 1].clone();
        thread::spawn(move || sender.send(n).unwrap())
    };
    let threads: Vec<_> = (1..N).map(spawn).collect();
    let mut sum = 0;
    for _ in 1..N {
        let mut select = crossbeam_channel::Select::new();
        for receiver in &receivers {
            select.recv(receiver);
        }
        let selected = select.select();
        let at = selected.index();
        sum += selected.recv(&receivers[at]).unwrap();
    }
    assert_eq!(sum, (1..N).sum());
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn select<const N: u32>() {
    select_of::<N>(crossbeam_channel::unbounded);
}

fn select_rendezvous<const N: u32>() {
    select_of::<N>(|| crossbeam_channel::bounded(0));
}

fn once_lock<const N: u32>() {
    on(N, OnceLock::new(), |once| assert_eq!(*once.get_or_init(|| 7), 7));
}

fn lazy_lock<const N: u32>() {
    on(N, LazyLock::new(|| 7), |lazy| assert_eq!(**lazy, 7));
}

fn scope<const N: u32>() {
    let sum = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..N {
            scope.spawn(|| sum.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(sum.into_inner(), N);
}

fn park<const N: u32>() {
    let (main, set) = (thread::current(), Arc::new(AtomicU32::new(0)));
    let spawn = |_| {
        let (main, set) = (main.clone(), set.clone());
        thread::spawn(move || {
            set.fetch_add(1, SeqCst);
            main.unpark();
        })
    };
    let others: Vec<_> = (1..N).map(spawn).collect();
    while set.load(SeqCst) < N - 1 {
        thread::park();
    }
    others.into_iter().for_each(|other| other.join().unwrap());
}

fn once_cell<const N: u32>() {
    on(N, once_cell::sync::OnceCell::new(), |once| assert_eq!(*once.get_or_init(|| 7), 7));
}

fn parker<const N: u32>() {
    let (parker, set) = (crossbeam_utils::sync::Parker::new(), Arc::new(AtomicU32::new(0)));
    let spawn = |_| {
        let (unparker, set) = (parker.unparker().clone(), set.clone());
        thread::spawn(move || {
            set.fetch_add(1, SeqCst);
            unparker.unpark();
        })
    };
    let others: Vec<_> = (1..N).map(spawn).collect();
    while set.load(SeqCst) < N - 1 {
        parker.park();
    }
    others.into_iter().for_each(|other| other.join().unwrap());
}

fn wait_group<const N: u32>() {
    let group = crossbeam_utils::sync::WaitGroup::new();
    let spawn = |_| {
        let group = group.clone();
        thread::spawn(move || group.wait())
    };
    let others: Vec<_> = (1..N).map(spawn).collect();
    group.wait();
    others.into_iter().for_each(|other| other.join().unwrap());
}

fn sharded_lock<const N: u32>() {
    let sum = on(N, crossbeam_utils::sync::ShardedLock::new(0), |sum| {
        let seen = *sum.read().unwrap();
        assert!(seen < N);
        *sum.write().unwrap() += 1;
    });
    assert_eq!(*sum.read().unwrap(), N);
}

fn once_of_parking_lot<const N: u32>() {
    let made = on(N, (parking_lot::Once::new(), AtomicU32::new(0)), |(once, made)| {
        once.call_once(|| made.store(1 + made.load(SeqCst), SeqCst));
        assert_eq!(made.load(SeqCst), 1);
    });
    assert_eq!(made.1.load(SeqCst), 1);
}

fn deque<const N: u32>() {
    let worker = crossbeam_deque::Worker::new_fifo();
    worker.push(1);
    let stealers: Vec<_> = (1..N).map(|_| worker.stealer()).collect();
    let spawn = |stealer: crossbeam_deque::Stealer<u32>| {
        thread::spawn(move || u32::from(stealer.steal().is_success()))
    };
    let others: Vec<_> = stealers.into_iter().map(spawn).collect();
    let own = u32::from(worker.pop().is_some());
    let sum: u32 = others.into_iter().map(|other| other.join().unwrap()).sum();
    assert!(own + sum <= 1);
}

fn dashmap<const N: u32>() {
    let map = on(N, dashmap::DashMap::with_shard_amount(2), |map| {
        *map.entry(1).or_insert(0) += 1;
    });
    assert_eq!(*map.get(&1).unwrap(), N);
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
        (condvar_of_parking_lot::<3>, true),
    ),
    ("crossbeam_channel", (crossbeam::<2>, true), (crossbeam::<3>, true)),
    ("ArrayQueue", (array_queue::<2>, true), (array_queue::<3>, true)),
    ("SegQueue", (seg_queue::<2>, true), (seg_queue::<3>, true)),
    ("mpsc::sync_channel(0)", (rendezvous::<2>, true), (rendezvous::<3>, true)),
    (
        "crossbeam_channel::bounded(0)",
        (rendezvous_of_crossbeam::<2>, true),
        (rendezvous_of_crossbeam::<3>, true),
    ),
    (
        "crossbeam_channel::bounded(1)",
        (bounded_of_crossbeam::<2>, true),
        (bounded_of_crossbeam::<3>, true),
    ),
    ("crossbeam_channel::Select", (select::<2>, true), (select::<3>, true)),
    (
        "crossbeam_channel::Select(0)",
        (select_rendezvous::<2>, true),
        (select_rendezvous::<3>, true),
    ),
    ("OnceLock", (once_lock::<2>, true), (once_lock::<3>, true)),
    ("LazyLock", (lazy_lock::<2>, true), (lazy_lock::<3>, true)),
    ("scope", (scope::<2>, true), (scope::<3>, true)),
    ("park", (park::<2>, true), (park::<3>, true)),
    ("once_cell", (once_cell::<2>, true), (once_cell::<3>, true)),
    ("Parker", (parker::<2>, true), (parker::<3>, true)),
    ("WaitGroup", (wait_group::<2>, true), (wait_group::<3>, true)),
    ("ShardedLock", (sharded_lock::<2>, true), (sharded_lock::<3>, false)),
    ("parking_lot::Once", (once_of_parking_lot::<2>, true), (once_of_parking_lot::<3>, true)),
    ("crossbeam_deque", (deque::<2>, true), (deque::<3>, false)),
    ("dashmap", (dashmap::<2>, true), (dashmap::<3>, true)),
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
