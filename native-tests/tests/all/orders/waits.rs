//! Searches with the memory `c11` of programs that wait: in loops, on condition variables, and for locks with several
//! holders. A loop that reads a single value is searched completely, because it repeats its round while it reads the
//! same store.

use std::collections::BTreeSet;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread;

use super::all_stores::{does_not_prove, proof, proves};
use super::{Program, alone, runner, screen, silent_seeds};

type Words = [AtomicU32; 3];

/// One thread does `first`, and another thread does `then`.
fn two(first: impl Fn(&Words) + Sync, then: impl Fn(&Words) + Sync) {
    let words = Words::default();
    thread::scope(|scope| {
        let threads = [scope.spawn(|| first(&words)), scope.spawn(|| then(&words))];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

fn publish(words: &Words, order: Ordering) {
    words[0].store(1, Relaxed);
    words[1].store(1, order);
}

fn wait(words: &Words, order: Ordering, pause: fn()) {
    while words[1].load(order) == 0 {
        pause();
    }
    assert_eq!(words[0].load(Relaxed), 1, "the outcome");
}

/// A lock that spins, and a count under it.
fn spin_lock(words: &Words, order: Ordering) {
    while words[1].compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        spin_loop();
    }
    let count = words[0].load(Relaxed);
    words[0].store(count + 1, Relaxed);
    words[1].store(0, order);
}

fn locked_twice(order: Ordering) {
    let words = Words::default();
    thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| spin_lock(&words, order)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(words[0].load(Relaxed), 2, "the outcome");
}

#[test]
fn loops_that_wait_for_a_value_are_proved() {
    let _alone = alone();
    let programs: [(&str, Program); 3] = [
        ("a loop", || {
            two(|words| publish(words, Release), |words| wait(words, Acquire, spin_loop));
        }),
        ("a loop that yields", || {
            two(|words| publish(words, Release), |words| wait(words, Acquire, thread::yield_now));
        }),
        ("a spin lock", || locked_twice(Release)),
    ];
    for (name, program) in programs {
        proves(name, program);
    }
}

#[test]
fn loops_with_an_order_that_is_too_weak_fail() {
    let _alone = alone();
    let programs: [(&str, Program); 3] = [
        ("a relaxed store", || {
            two(|words| publish(words, Relaxed), |words| wait(words, Acquire, spin_loop));
        }),
        ("a relaxed load", || {
            two(|words| publish(words, Release), |words| wait(words, Relaxed, thread::yield_now));
        }),
        ("a spin lock", || locked_twice(Relaxed)),
    ];
    for (name, program) in programs {
        let report = runner("c11", 1_000_000).strategy("exhaustive").run_native(program);
        assert!(!report.passed(), "{name}: {}", screen(&report));
    }
}

/// The loop gives up after some rounds, which it counts on the heap.
#[test]
fn a_loop_that_ends_by_itself_is_no_proof() {
    let _alone = alone();
    let (is_proof, _, report) = proof(|| {
        let gives_up = |words: &Words| {
            let mut list: Box<([u64; 64], Vec<u64>, [u64; 64])> =
                Box::new(([0; 64], vec![0; 9], [0; 64]));
            while words[1].load(Acquire) == 0 && black_box(&mut list).1.pop().is_some() {}
        };
        two(|words| publish(words, Release), gives_up);
    });
    assert!(!is_proof, "{}", screen(&report));
}

/// The thread that notifies has no event between the end of its hold and the notification.
#[test]
fn a_condition_variable_beside_weaker_orders_is_proved() {
    let _alone = alone();
    proves("a condition", || {
        let (lock, condition) = (Mutex::new(false), Condvar::new());
        let set = |words: &Words| {
            words[0].store(1, Relaxed);
            *lock.lock().unwrap() = true;
            condition.notify_one();
        };
        let wait = |words: &Words| {
            drop(condition.wait_while(lock.lock().unwrap(), |is_set| !*is_set).unwrap());
            assert_eq!(words[0].load(Relaxed), 1);
        };
        two(set, wait);
    });
}

/// The order of a writer and a reader is certain, the order of two readers is not.
#[test]
fn a_writer_and_a_reader_of_a_lock_are_ordered() {
    let _alone = alone();
    proves("a writer and a reader", || {
        let lock = RwLock::new(0);
        let write = |words: &Words| {
            words[0].store(1, Relaxed);
            *lock.write().unwrap() = 1;
        };
        let read = |words: &Words| {
            if *lock.read().unwrap() == 1 {
                assert_eq!(words[0].load(Relaxed), 1);
            }
        };
        two(write, read);
    });
    does_not_prove("two readers", || {
        let lock = RwLock::new(0);
        let read = |words: &Words, own: usize| {
            words[own].store(1, Relaxed);
            drop(lock.read().unwrap());
            words[1 - own].load(Relaxed);
        };
        two(|words| read(words, 0), |words| read(words, 1));
    });
}

/// An operation of a random program: a kind, a word, a value and an order.
type Act = (usize, usize, u32, Ordering);

fn perform(words: &Words, (kind, word, value, order): Act) -> u32 {
    match (kind, order) {
        (0, Relaxed | Acquire) => words[word].load(order),
        (1, Relaxed | Release) => {
            words[word].store(value, order);
            0
        }
        _ => words[word].fetch_add(value, order),
    }
}

/// A random program: two threads perform operations. A third waits until the last word is not 0, and reads the others.
#[derive(Clone, Debug)]
struct Waiting {
    threads: [Vec<Act>; 2],
    order: Ordering,
    yields: bool,
}

/// A stream of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

fn one_of<T: Copy>(random: &mut Random, values: &[T]) -> T {
    values[random.below(values.len())]
}

impl Waiting {
    fn generate(random: &mut Random) -> Waiting {
        let mut act = |word| {
            let order = one_of(random, &[Relaxed, Acquire, Release, AcqRel]);
            (random.below(3), word, 1 + random.below(2) as u32, order)
        };
        let (first, then) = (vec![act(0), (1, 2, 1, Relaxed)], vec![act(0), act(2)]);
        let mut threads = [first, then];
        threads[0][1].3 = one_of(random, &[Relaxed, Release]);
        if random.below(3) == 0 {
            threads[1].pop();
        }
        let order = one_of(random, &[Relaxed, Acquire]);
        Waiting { threads, order, yields: random.below(2) == 0 }
    }

    /// Executes the program. Without a loop, returns `None` if the thread would have to wait.
    fn run(&self, has_loop: bool) -> Option<Vec<u32>> {
        let words = Words::default();
        thread::scope(|scope| {
            let words = &words;
            let threads = self.threads.each_ref().map(|acts| {
                scope.spawn(move || acts.iter().map(|act| perform(words, *act)).collect::<Vec<_>>())
            });
            // The stack of the waiting thread has no words that other threads change.
            let waits = scope.spawn(move || {
                let mut last = words[2].load(self.order);
                while has_loop && last == 0 {
                    if self.yields {
                        thread::yield_now();
                    }
                    last = words[2].load(self.order);
                }
                [last, words[0].load(Relaxed)]
            });
            let [last, read] = waits.join().unwrap();
            let mut outcome: Vec<_> =
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            outcome.extend([last, read]);
            (last != 0).then_some(outcome)
        })
    }

    /// Returns the outcomes of a search, and `true` if it is a proof.
    fn outcomes(&self, has_loop: bool) -> (BTreeSet<Vec<u32>>, bool) {
        let found = Arc::new(Mutex::new(BTreeSet::new()));
        let (of_runs, program) = (found.clone(), self.clone());
        let search = runner("c11", 1_000_000).strategy("exhaustive").jobs(1);
        let report = search.run_native(move || {
            let outcome = program.run(has_loop);
            of_runs.lock().unwrap().extend(outcome);
        });
        assert!(report.passed(), "{self:?}: {}", screen(&report));
        let searched = report.searched.as_ref().expect("a search");
        let is_proof = searched.is_proof();
        assert!(!is_proof || searched.audit.is_some(), "{self:?}: {}", screen(&report));
        if !is_proof {
            eprintln!("loop: {has_loop}, {self:?}: {}", screen(&report));
        }
        let found = found.lock().unwrap().clone();
        (found, is_proof)
    }
}

/// A loop ends with the values that a single read may see, except the value for which it waits.
#[test]
fn a_loop_has_the_outcomes_of_its_last_round() {
    let _alone = alone();
    let mut random = Random(11);
    let (mut proofs, programs) = (0, silent_seeds(6).min(100));
    for _ in 0..programs {
        let program = Waiting::generate(&mut random);
        let (with_loop, is_proof) = program.outcomes(true);
        let (expected, is_expected) = program.outcomes(false);
        assert!(with_loop.is_subset(&expected), "{program:?}: {with_loop:?} {expected:?}");
        if is_proof && is_expected {
            assert_eq!(with_loop, expected, "{program:?}");
            proofs += 1;
        }
    }
    assert!(proofs * 10 >= programs * 8, "{proofs} of {programs}");
}
