//! Locks that threads share: a call is one operation of a search, and a writer that waits is another. Generated programs
//! have the outcomes and the deadlocks of a search that steps all instructions.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, RwLock, RwLockWriteGuard};
use std::thread;

use sim::run::{Failure, Outcome};

use super::{Compared, compare, outcome};

/// A body for each number below 120.
fn body<const N: u64>() {
    generated(N);
}

const BODIES: [fn(); 120] = ten! { body 0 10 20 30 40 50 60 70 80 90 100 110 };

/// The objects that the threads of a generated program share.
#[derive(Default)]
struct Shared {
    word: AtomicU64,
    mutex: Mutex<u64>,
    of_std: RwLock<u64>,
    parking: parking_lot::RwLock<u64>,
}

/// A small generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// The kinds of commands of a program over std's lock, and over the lock of parking_lot.
const KINDS: [&[u64]; 2] = [&[0, 1, 2, 3, 4, 5, 6, 7], &[0, 1, 8, 9, 10, 11, 12]];

/// Executes a command, and returns the values that it saw.
fn act(kind: u64, by: u64, shared: &Shared) -> u64 {
    let Shared { word, mutex, of_std, parking } = shared;
    match kind {
        0 => word.fetch_add(by, SeqCst),
        1 => {
            let mut value = mutex.lock().unwrap();
            *value += by;
            *value
        }
        2 => *of_std.read().unwrap(),
        3 => {
            let mut value = of_std.write().unwrap();
            *value = 2 * *value + by;
            *value
        }
        // A writer between the two waits for the first, and the second waits for the writer.
        4 => {
            let first = of_std.read().unwrap();
            let second = of_std.read().unwrap();
            10 * *first + *second
        }
        5 => {
            let value = of_std.read().unwrap();
            *value + word.swap(by, SeqCst)
        }
        6 => {
            let value = of_std.read().unwrap();
            *value + *mutex.lock().unwrap()
        }
        7 => {
            let _held = mutex.lock().unwrap();
            let mut value = of_std.write().unwrap();
            *value += by;
            *value
        }
        8 => *parking.read(),
        9 => {
            let mut value = parking.write();
            *value = 2 * *value + by;
            *value
        }
        10 => {
            let first = parking.read();
            let second = parking.read();
            10 * *first + *second
        }
        11 => {
            let value = parking.read();
            *value + word.swap(by, SeqCst)
        }
        _ => {
            let first = parking.read();
            let _held = mutex.lock().unwrap();
            *first
        }
    }
}

/// Runs the generated program of this number.
fn generated(number: u64) {
    let mut numbers = Numbers(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 11);
    let kinds = KINDS[numbers.below(2) as usize];
    let threads = 2 + numbers.below(2) as usize;
    // With more commands, there are too many interleavings of instructions.
    let each = if threads == 2 && numbers.below(3) == 0 { 2 } else { 1 };
    let mut command = || (kinds[numbers.below(kinds.len() as u64) as usize], 1 + numbers.below(2));
    let plan: Vec<Vec<(u64, u64)>> =
        (0..threads).map(|_| (0..each).map(|_| command()).collect()).collect();
    let shared = Shared::default();
    let run = |commands: &[(u64, u64)]| -> Vec<u64> {
        commands.iter().map(|(kind, by)| act(*kind, *by, &shared)).collect()
    };
    let mut seen = vec![Vec::new(); threads];
    let (own, others) = seen.split_first_mut().unwrap();
    thread::scope(|scope| {
        for (slot, commands) in others.iter_mut().zip(&plan[1..]) {
            let run = &run;
            scope.spawn(move || *slot = run(commands));
        }
        *own = run(&plan[0]);
    });
    let left =
        (*shared.of_std.read().unwrap(), *shared.parking.read(), *shared.mutex.lock().unwrap());
    outcome(&format!("shared_{number}"), (plan, seen, shared.word.load(SeqCst), left));
}

#[test]
fn locks_that_are_shared_have_the_same_outcomes_with_all_points() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (programs, most) = if long { (120, 5_000) } else { (20, 700) };
    let Compared { programs: compared, fail } = compare("shared", &BODIES[..programs], most);
    assert!(compared > programs / 5 && fail > 2, "{compared} programs, {fail} with a deadlock");
}

pub(super) fn exhaustive(body: fn()) -> sim::report::Report {
    sim::Runner::new().hermetic().strategy("exhaustive").seeds(0..20_000).run_native(body)
}

/// The note of a search that steps the instructions of locks.
pub(super) fn steps_instructions(report: &sim::report::Report) -> Option<&str> {
    report.notes.iter().map(String::as_str).find(|note| note.contains("the instructions of locks"))
}

/// Runs both functions on a thread each.
fn both<T: Send + Sync + 'static>(state: T, work: [fn(&T); 2]) {
    let state = Arc::new(state);
    let threads = work.map(|work| {
        let state = state.clone();
        thread::spawn(move || work(&state))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A reader that reads again waits for the writer between, who waits for the reader. The same with one reader is right.
#[test]
fn a_search_finds_a_reader_that_reads_again_behind_a_writer() {
    let planted: [fn(); 2] = [
        || {
            both(
                RwLock::new(0),
                [|lock| drop((lock.read(), lock.read())), |lock| *lock.write().unwrap() += 1],
            );
        },
        || {
            both(
                parking_lot::RwLock::new(0),
                [|lock| drop((lock.read(), lock.read())), |lock| *lock.write() += 1],
            );
        },
    ];
    for body in planted {
        let found = exhaustive(body).finding.expect("the second read waits behind the writer").run;
        let Outcome::Failed(Failure::Deadlock { waits }) = &found.outcome else {
            panic!("{:?}", found.outcome)
        };
        let waits: Vec<_> = waits.iter().filter_map(|wait| wait.op.map(|op| op.name)).collect();
        assert!(waits.contains(&"read") && waits.contains(&"write"), "{waits:?}");
    }
    let right: [fn(); 4] = [
        || {
            both(
                RwLock::new(0),
                [
                    |lock| {
                        drop(lock.read());
                        drop(lock.read());
                    },
                    |lock| *lock.write().unwrap() += 1,
                ],
            );
        },
        || {
            both(
                RwLock::new(0),
                [|lock| drop((lock.read(), lock.read())), |lock| drop(lock.read())],
            )
        },
        || {
            both(
                parking_lot::RwLock::new(0),
                [
                    |lock| {
                        drop(lock.read());
                        drop(lock.read());
                    },
                    |lock| *lock.write() += 1,
                ],
            );
        },
        || {
            both(
                parking_lot::RwLock::new(0),
                [|lock| drop((lock.read(), lock.read())), |lock| drop(lock.read())],
            );
        },
    ];
    for body in right {
        let report = exhaustive(body);
        assert!(report.finding.is_none(), "{:?}", report.finding);
        assert!(report.searched.as_ref().unwrap().is_proof() && report.runs < 20, "{report:?}");
        assert_eq!(steps_instructions(&report), None);
    }
}

/// Runs `has` on a thread, and `sees` on this one. Fails if `sees` returns `true` and the test looks for it.
fn seen<L: Default + Send + Sync + 'static>(find: bool, has: fn(&L), sees: fn(&L) -> bool) {
    let lock = Arc::new(L::default());
    let other = lock.clone();
    let thread = thread::spawn(move || has(&other));
    let seen = sees(&lock);
    thread.join().unwrap();
    assert!(!(find && seen), "the other thread was seen");
}

fn tries_to_read<const FIND: bool>() {
    seen::<RwLock<u64>>(FIND, |lock| drop(lock.write()), |lock| lock.try_read().is_err());
}

fn tries_to_write<const FIND: bool>() {
    seen::<RwLock<u64>>(FIND, |lock| drop(lock.read()), |lock| lock.try_write().is_err());
}

fn downgrades<const FIND: bool>() {
    let downgrade = |lock: &RwLock<u64>| {
        let mut value = lock.write().unwrap();
        *value = 1;
        drop(RwLockWriteGuard::downgrade(value));
    };
    seen(FIND, downgrade, |lock| *lock.read().unwrap() == 1);
}

fn tries_to_read_of_parking_lot<const FIND: bool>() {
    let sees = |lock: &parking_lot::RwLock<u64>| lock.try_read().is_none();
    seen(FIND, |lock| *lock.write() = 1, sees);
}

fn reads_upgradably<const FIND: bool>() {
    let upgrade = |lock: &parking_lot::RwLock<u64>| {
        let reader = lock.upgradable_read();
        *parking_lot::RwLockUpgradableReadGuard::upgrade(reader) = 1;
    };
    seen(FIND, upgrade, |lock| *lock.read() == 1);
}

/// A use without an operation of its own: the search restarts, with the instructions of locks as steps.
#[test]
fn a_lock_that_is_used_otherwise_is_searched_by_its_instructions() {
    const USES: [(fn(), fn()); 5] = [
        (tries_to_read::<true>, tries_to_read::<false>),
        (tries_to_write::<true>, tries_to_write::<false>),
        (downgrades::<true>, downgrades::<false>),
        (tries_to_read_of_parking_lot::<true>, tries_to_read_of_parking_lot::<false>),
        (reads_upgradably::<true>, reads_upgradably::<false>),
    ];
    for (nth, (planted, right)) in USES.into_iter().enumerate() {
        assert!(exhaustive(planted).finding.is_some(), "{nth}");
        let report = exhaustive(right);
        assert!(report.finding.is_none(), "{nth}: {:?}", report.finding);
        let note = steps_instructions(&report).expect("the report names the other use");
        assert!(note.contains(" is used at "), "{note}");
        assert!(report.searched.as_ref().unwrap().is_proof(), "{nth}: {:?}", report.searched);
        // A search within a bound does not restart, so it is no proof.
        let bounded = sim::Runner::new().hermetic().strategy("preemptions").seeds(0..20_000);
        let searched = bounded.run_native(right).searched.unwrap();
        assert!(!searched.is_proof() && !searched.untried().is_empty(), "{nth}: {searched:?}");
    }
}
