//! Searches for data races: planted races are found, or the search is no proof. Programs without races are proved.
//! Random programs are compared with all orders of all their operations.
#![allow(unsafe_code, reason = "the races that are planted need it")]

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread;

use sim::report::Report;
use sim::{Runner, run::Failure, run::Outcome};

/// A value that threads access without a lock.
#[derive(Default)]
struct Plain(UnsafeCell<u64>);

// SAFETY: violated, because the tests need races.
unsafe impl Sync for Plain {}

impl Plain {
    #[inline(never)]
    fn get(&self) -> u64 {
        // SAFETY: none.
        black_box(unsafe { *self.0.get() })
    }

    #[inline(never)]
    fn set(&self, value: u64) {
        // SAFETY: none.
        unsafe { *self.0.get() = black_box(value) }
    }
}

fn searched(strategy: &str, body: fn()) -> Report {
    let runner = Runner::new().hermetic().strategy(strategy).seeds(0..20_000);
    runner.shrink(false).prove(0).run_native(body)
}

fn has_race(report: &Report) -> bool {
    let outcome = report.finding.as_ref().map(|finding| &finding.run.outcome);
    match outcome {
        Some(Outcome::Failed(Failure::Memory(error))) if error.problem == "data race" => true,
        None => false,
        other => panic!("{other:?}"),
    }
}

fn is_proof(report: &Report) -> bool {
    report.passed() && report.searched.as_ref().is_some_and(|searched| searched.is_proof())
}

/// Returns `true` in a build that searches for races.
fn finds_races() -> bool {
    has_race(&searched("exhaustive", || {
        twice(Plain::default(), |value, number| value.set(number));
    }))
}

/// Calls `act` on two threads with `state` and the number of the thread.
fn twice<T: Send + Sync + 'static>(state: T, act: fn(&T, u64)) -> Arc<T> {
    let state = Arc::new(state);
    let threads = [0, 1].map(|number| {
        let state = state.clone();
        thread::spawn(move || act(&state, number))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    state
}

/// Like [`twice`], but the threads own the state, so one of them drops it.
fn given_away<T: Send + Sync + 'static>(state: T, act: fn(&T, u64)) {
    let state = Arc::new(state);
    let other = state.clone();
    let threads =
        [(0, state), (1, other)].map(|(number, state)| thread::spawn(move || act(&state, number)));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

static ENDED: Plain = Plain(UnsafeCell::new(0));

/// A value whose destructor writes memory.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        ENDED.set(1);
    }
}

/// Two threads drop an owner each. The second one then calls `then`.
fn drops(then: fn()) {
    let owner = Arc::new(Ends);
    let threads = [(0, owner.clone()), (1, owner)].map(|(number, owner)| {
        thread::spawn(move || {
            drop(owner);
            if number == 1 {
                then();
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    ENDED.get();
}

/// A cell and a lock beside it.
type Beside<T> = (Plain, T);

/// A program, and the data race in it if it has one.
type Program = (&'static str, fn());

const RIGHT: &[Program] = &[
    ("a mutex", || {
        twice(Mutex::new(0), |value, _| *value.lock().unwrap() += 1);
    }),
    ("a mutex that the threads own", || {
        given_away(Mutex::new(vec![1]), |value, number| value.lock().unwrap().push(number));
    }),
    ("a write and a read of a lock", || {
        twice(RwLock::new(0), |value, number| match number {
            0 => *value.write().unwrap() = 1,
            _ => _ = black_box(*value.read().unwrap()),
        });
    }),
    ("reads and writes of a lock", || {
        twice(RwLock::new(0), |value, number| {
            black_box(*value.read().unwrap());
            *value.write().unwrap() = number;
        });
    }),
    ("two readers and a writer", || {
        let value = Arc::new(RwLock::new(0));
        let threads = [0, 1].map(|_| {
            let value = value.clone();
            thread::spawn(move || black_box(*value.read().unwrap()))
        });
        *value.write().unwrap() += 1;
        threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
    }),
    ("readers that the threads own", || {
        given_away(RwLock::new(vec![1]), |value, _| _ = black_box(value.read().unwrap().len()));
    }),
    ("a release and an acquire", || {
        twice(Beside::<AtomicBool>::default(), |(value, flag), number| match number {
            0 => {
                value.set(1);
                flag.store(true, Release);
            }
            _ if flag.load(Acquire) => _ = value.get(),
            _ => {}
        });
    }),
    ("the first of two swaps", || {
        let state = twice(Beside::<AtomicBool>::default(), |(value, flag), number| {
            if !flag.swap(true, AcqRel) {
                value.set(number);
            }
        });
        state.0.get();
    }),
    ("a scope", || {
        let (mut value, lock) = (0, Mutex::new(0));
        thread::scope(|scope| {
            scope.spawn(|| value = *lock.lock().unwrap());
            scope.spawn(|| *lock.lock().unwrap() += 1);
        });
        assert!(value < 2);
    }),
    ("a channel", || {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(Box::new(7)).unwrap());
        assert_eq!(*receiver.recv().unwrap(), 7);
        thread.join().unwrap();
    }),
    ("a condition", || {
        twice((Mutex::new(false), Condvar::new(), Plain::default()), |state, number| {
            let (lock, condition, value) = state;
            if number == 0 {
                value.set(1);
                *lock.lock().unwrap() = true;
                condition.notify_one();
            } else {
                drop(condition.wait_while(lock.lock().unwrap(), |is_set| !*is_set).unwrap());
                value.get();
            }
        });
    }),
    ("a value that is made once", || {
        twice(OnceLock::new(), |value, number| _ = black_box(*value.get_or_init(|| number)));
    }),
    ("a barrier", || {
        twice((Plain::default(), Barrier::new(2)), |(value, barrier), number| {
            if number == 0 {
                value.set(1);
            }
            barrier.wait();
            value.get();
        });
    }),
    ("the last of two owners", || {
        given_away(Plain::default(), |value, number| {
            if number == 0 {
                value.set(1);
            }
        });
    }),
    ("a destructor", || drops(|| ())),
];

const WRONG: &[Program] = &[
    // In the other order of the two reads, nothing orders the accesses.
    ("two reads of a lock, the first", || {
        twice(Beside::<RwLock<()>>::default(), |(value, lock), number| {
            if number == 0 {
                let _reading = lock.read().unwrap();
                value.set(1);
            } else {
                drop(lock.read().unwrap());
                value.get();
            }
        });
    }),
    ("two reads of a lock, the second", || {
        twice(Beside::<RwLock<()>>::default(), |(value, lock), number| {
            if number == 1 {
                let _reading = lock.read().unwrap();
                value.set(1);
            } else {
                drop(lock.read().unwrap());
                value.get();
            }
        });
    }),
    ("reads after a write", || {
        twice(Beside::<RwLock<u64>>::default(), |(value, lock), number| {
            *lock.write().unwrap() += 1;
            let guard = lock.read().unwrap();
            if *guard == 2 {
                value.set(number);
            }
        });
    }),
    // A swap that leaves the value is a store.
    ("two swaps of the same value", || {
        twice(Beside::<AtomicBool>::default(), |(value, flag), number| {
            if number == 0 {
                value.set(1);
                flag.swap(false, AcqRel);
            } else {
                flag.swap(false, AcqRel);
                value.get();
            }
        });
    }),
    ("a value that is added to nothing", || {
        twice(Beside::<AtomicU64>::default(), |(value, word), number| {
            if number == 1 {
                value.set(1);
                word.fetch_add(0, AcqRel);
            } else {
                word.fetch_or(0, AcqRel);
                value.get();
            }
        });
    }),
    ("two owners, and an access after the drop", || {
        static VALUE: Plain = Plain(UnsafeCell::new(0));
        let owners = Arc::new(());
        let threads = [(0, owners.clone()), (1, owners)].map(|(number, owner)| {
            thread::spawn(move || {
                if number == 0 {
                    VALUE.set(1);
                    drop(owner);
                } else {
                    drop(owner);
                    VALUE.get();
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }),
    ("a destructor that the other thread may run", || drops(|| _ = ENDED.get())),
    ("a relaxed store", || {
        twice(Beside::<AtomicBool>::default(), |(value, flag), number| match number {
            0 => {
                value.set(1);
                flag.store(true, Relaxed);
            }
            _ if flag.load(Acquire) => _ = value.get(),
            _ => {}
        });
    }),
];

#[test]
fn programs_without_races_are_proved() {
    if !finds_races() {
        return;
    }
    let mut refused = Vec::new();
    for (name, program) in RIGHT {
        let report = searched("exhaustive", *program);
        assert!(!has_race(&report), "{name}");
        if !is_proof(&report) {
            refused.push(format!("{name}: {:?}", report.searched));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn programs_with_races_are_not_proved() {
    if !finds_races() {
        return;
    }
    for (name, program) in WRONG {
        let report = searched("exhaustive", *program);
        assert!(!is_proof(&report), "{name}: {:?}", report.searched);
    }
}

/// The folder with the number of the current random program.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/searched");

/// The objects of a random program.
#[derive(Default)]
struct Objects {
    values: [Plain; 2],
    shared: RwLock<()>,
    lock: Mutex<()>,
    flag: AtomicU64,
}

/// Returns a stream of numbers below a bound.
fn stream(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    move |bound| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    }
}

impl Objects {
    fn access(&self, number: u64) {
        let value = &self.values[number as usize % 2];
        match number / 2 {
            0 => value.set(1),
            _ => _ = value.get(),
        }
    }

    /// Performs one of the operations.
    fn perform(&self, (operation, access): (u64, u64), owner: &mut Option<Arc<()>>) {
        match operation {
            0 => self.access(access),
            1 => {
                let _guard = self.shared.read().unwrap();
                self.access(access);
            }
            2 => drop(self.shared.read().unwrap()),
            3 => {
                let _guard = self.shared.write().unwrap();
                self.access(access);
            }
            4 => {
                let _guard = self.lock.lock().unwrap();
                self.access(access);
            }
            5 => drop(owner.take()),
            6 => _ = self.flag.swap(0, AcqRel),
            7 => self.flag.store(1, Release),
            8 if self.flag.load(Acquire) == 1 => self.access(access),
            9 => _ = self.flag.fetch_add(0, Release),
            10 => drop(self.lock.lock().unwrap()),
            _ => {}
        }
    }
}

/// A random program of two threads.
fn random() {
    let number = fs::read_to_string(format!("{FOLDER}/number")).unwrap().parse().unwrap();
    let mut draw = stream(number);
    let lists = [0, 1].map(|_| [0, 1, 2].map(|_| (draw(11), draw(4))));
    let objects: Arc<Objects> = Arc::default();
    let owner = Arc::new(());
    let owners = [owner.clone(), owner];
    let threads: Vec<_> = lists
        .into_iter()
        .zip(owners)
        .map(|(list, owner)| {
            let objects = objects.clone();
            let mut owner = Some(owner);
            thread::spawn(move || {
                list.into_iter().for_each(|step| objects.perform(step, &mut owner));
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// Compares searches with all orders of all operations: the instructions of locks, and counts of `Arc`, are points.
#[test]
fn random_programs_have_the_races_of_all_orders() {
    if !finds_races() {
        return;
    }
    fs::create_dir_all(FOLDER).unwrap();
    let (first, count) = (setting("FIRST", 0), setting("PROGRAMS", 60));
    let (mut sum, mut differences) = (BTreeMap::new(), Vec::new());
    for number in first..first + count {
        fs::write(format!("{FOLDER}/number"), number.to_string()).unwrap();
        let report = searched("exhaustive", random);
        let all = Runner::new().hermetic().strategy("preemptions").seeds(0..4_000);
        let all = all.shrink(false).prove(0).points("all").arc(true).run_native(random);
        let (is_proof, is_racy) = (is_proof(&report), has_race(&report));
        if is_proof && has_race(&all) {
            differences.push(format!("{number}: {:?}", report.searched));
        }
        *sum.entry((has_race(&all), is_racy, is_proof)).or_insert(0) += 1;
    }
    eprintln!("(a race in all orders, a race in the search, a proof): {sum:?}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
