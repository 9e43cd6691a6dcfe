//! Searches with the memory `c11`: their outcomes are exactly the outcomes of the axioms of C++20, and they are proofs.
//! A search that may miss an outcome says that it is no proof. `litmus` and `weak_proofs` of `sim-tests` test the same
//! with tasks.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::Duration;

use sim::report::{OrdersTaken, Report};
use sim::{History, Runner};
use unpause_orders::litmus::{Act, GENMC, Limits, Litmus, Random, TABLE, outcomes, random_within};

use super::litmus_table::outcome;
use super::{Program, alone, runner, screen, silent_seeds};

fn search(memory: &str) -> Runner {
    runner(memory, 1_000_000).strategy("exhaustive")
}

/// The results of searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Searches {
    programs: usize,
    /// The number of execution graphs that the axioms allow.
    graphs: usize,
    /// The number of runs, and the number of runs that were abandoned.
    runs: [u64; 2],
    /// The number of searches that are no proof, because a thread reads one word more than three times.
    unproved: usize,
}

impl Searches {
    /// Searches a program. The search must be a proof, and its runs must have exactly the outcomes that the axioms
    /// allow.
    fn add(&mut self, name: &str, program: &Litmus) {
        let allowed = outcomes(program);
        let found = Arc::new(Mutex::new(BTreeSet::new()));
        let (of_runs, of_program) = (found.clone(), Arc::new(program.clone()));
        // Copies of this process would keep their outcomes for themselves.
        let report = search("c11").jobs(1).run_native(move || {
            let outcome = outcome(&of_program);
            of_runs.lock().unwrap().insert(outcome);
        });
        assert!(report.passed(), "{name}: {}", screen(&report));
        let found = found.lock().unwrap().clone();
        assert_eq!(found, allowed.by_cpp20, "{name}: {program:?}");
        let searched = report.searched.as_ref().expect("a search");
        let is_proof = searched.is_proof();
        assert!(!is_proof || searched.audit.is_some(), "{name}: {}", screen(&report));
        let reads = |thread: &Vec<Act>, word| {
            thread.iter().filter(|act| act.reads() && act.word() == Some(word)).count()
        };
        let may_be_limited = |thread| (0..program.words).any(|word| reads(thread, word) > 3);
        let is_limited = program.threads.iter().any(may_be_limited);
        let is_expected = searched.complete && (is_proof || is_limited);
        assert!(is_expected, "{name}: {program:?}: {}", screen(&report));
        self.programs += 1;
        self.graphs += allowed.graphs_by_cpp20;
        self.runs = [self.runs[0] + report.runs, self.runs[1] + searched.blocked];
        self.unproved += usize::from(!is_proof);
    }
}

fn searched<'a>(programs: impl IntoIterator<Item = (&'a str, Litmus)>) -> Searches {
    let mut searches = Searches::default();
    programs.into_iter().for_each(|(name, program)| searches.add(name, &program));
    if std::env::var_os("UNPAUSE_SHOW").is_some() {
        println!("{searches:?}");
    }
    searches
}

/// Returns one of this number of programs, and all programs in long tests.
fn part<T>(of: usize, programs: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    programs.step_by(if is_long() { 1 } else { of })
}

fn is_long() -> bool {
    silent_seeds(0) > 0
}

#[test]
fn a_search_finds_all_outcomes_of_the_table() {
    let _alone = alone();
    let programs = TABLE.lines().map(|line| {
        let (name, program) = line.split_once('\t').expect("a name and a program");
        (name, Litmus::parse(program))
    });
    let searches = searched(part(3, programs));
    assert!(searches.unproved <= 1, "{searches:?}");
    assert!(!is_long() || (searches.graphs, searches.unproved) == (646, 1), "{searches:?}");
}

/// Two programs of the table have several hundred execution graphs, and are left out.
#[test]
fn a_search_finds_all_outcomes_of_the_programs_of_genmc() {
    let _alone = alone();
    let programs = GENMC.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, program, graphs] = fields[..] else { panic!("three fields: {line}") };
        let is_small = graphs.parse::<u32>().expect("a number") < 200;
        is_small.then(|| (name, Litmus::parse(program)))
    });
    let searches = searched(part(4, programs));
    assert_eq!(searches.unproved, 0, "{searches:?}");
    assert!(!is_long() || searches.graphs == 488, "{searches:?}");
}

#[test]
fn a_search_finds_all_outcomes_of_random_programs() {
    let _alone = alone();
    let programs = silent_seeds(48).min(4_000) as usize;
    for (seed, programs, limits) in [
        (5, programs, Limits { acts: 6, threads: 3, words: 2 }),
        (6, programs / 8, Limits { acts: 8, threads: 4, words: 3 }),
    ] {
        let mut stream = Random(seed);
        let programs = (0..programs).map(|_| ("random", random_within(&mut stream, limits)));
        let searches = searched(programs);
        assert!(searches.unproved <= searches.programs.div_ceil(100), "{searches:?}");
    }
}

/// The compiler turns `fetch_max` into a loop over compare-exchanges. It is still one operation.
#[test]
fn a_search_finds_all_outcomes_of_programs_with_largest_values() {
    let _alone = alone();
    let mut stream = Random(7);
    let limits = Limits { acts: 6, threads: 3, words: 2 };
    let programs = (0..silent_seeds(40).min(1_000)).map(|_| {
        let mut program = random_within(&mut stream, limits);
        for act in program.threads.iter_mut().flatten() {
            match *act {
                Act::Add(word, value, order) | Act::Swap(word, value, order) => {
                    *act = Act::Max(word, value, order);
                }
                Act::Store(word, 2, order) => *act = Act::Max(word, 2, order),
                _ => {}
            }
        }
        ("largest", program)
    });
    let searches = searched(programs);
    assert!(searches.unproved <= searches.programs.div_ceil(100), "{searches:?}");
}

pub(super) fn proof(
    program: impl Fn() + Send + Sync + Clone + 'static,
) -> (bool, OrdersTaken, Report) {
    let report = search("c11").run_native(program);
    assert!(report.passed(), "{}", screen(&report));
    let searched = report.searched.as_ref().expect("a search");
    (searched.is_proof(), searched.orders, report)
}

/// Asserts that a search proves the program, also if a proof is required.
pub(super) fn proves(name: &str, program: impl Fn() + Send + Sync + Clone + 'static) {
    let (is_proof, orders, report) = proof(program.clone());
    let shown = screen(&report);
    assert!(is_proof && orders == OrdersTaken::AsInC11, "{name}: {shown}");
    assert!(shown.contains("memory orders act as in C11"), "{name}: {shown}");
    assert!(search("c11").must_prove(true).run_native(program).passed(), "{name}");
}

/// Asserts that a search finds no failure of the program, but is no proof because of memory orders.
pub(super) fn does_not_prove(name: &str, program: impl Fn() + Send + Sync + Clone + 'static) {
    let (is_proof, orders, report) = proof(program.clone());
    let shown = screen(&report);
    assert!(!is_proof && orders == OrdersTaken::InPart, "{name}: {shown}");
    assert!(shown.contains("NOT A PROOF"), "{name}: {shown}");
    assert!(!search("c11").must_prove(true).run_native(program).passed(), "{name}");
}

type Words = [AtomicU32; 2];

/// One thread does `first`, and another thread does `then`.
fn two(first: fn(&Words), then: fn(&Words)) {
    let words = Words::default();
    thread::scope(|scope| {
        scope.spawn(|| first(&words));
        scope.spawn(|| then(&words));
    });
}

fn publishes(words: &Words, order: Ordering) {
    words[0].store(1, Relaxed);
    words[1].store(1, order);
}

fn reads(words: &Words, order: Ordering) {
    if words[1].load(order) == 1 {
        assert_eq!(words[0].load(Relaxed), 1);
    }
}

#[test]
fn orders_that_suffice_are_proved() {
    let _alone = alone();
    proves("release and acquire", || {
        two(|words| publishes(words, Release), |words| reads(words, Acquire));
    });
}

/// Programs with an order that is too weak.
#[test]
fn orders_that_do_not_suffice_fail() {
    let _alone = alone();
    let programs: [(&str, Program); 4] = [
        ("no release", || two(|words| publishes(words, Relaxed), |words| reads(words, Acquire))),
        ("no acquire", || two(|words| publishes(words, Release), |words| reads(words, Relaxed))),
        ("a swap of the same value", || {
            let first = |words: &Words| {
                words[0].store(1, Relaxed);
                words[1].swap(0, Release);
            };
            let then = |words: &Words| {
                words[1].load(Acquire);
                assert_eq!(words[0].load(Relaxed), 1);
            };
            two(first, then);
        }),
        ("both first stores are last", || {
            let words = Words::default();
            thread::scope(|scope| {
                for first in [0, 1] {
                    let words = &words;
                    scope.spawn(move || {
                        words[first].store(1, Relaxed);
                        words[1 - first].store(2, Relaxed);
                    });
                }
            });
            assert_ne!(words.map(AtomicU32::into_inner), [1, 1]);
        }),
    ];
    for (name, program) in programs {
        assert!(!search("c11").run_native(program).passed(), "{name}");
        let under_sc = search("sc").run_native(program);
        assert!(under_sc.passed() || name == "a swap of the same value", "{name}");
    }
}

/// Orders that a search does not vary, and operations that see the newest store although they may see an older one.
#[test]
fn outcomes_that_are_missed_are_no_proof() {
    let _alone = alone();
    let programs: [(&str, Program); 9] = [
        ("a try_lock may fail because of an older store", || {
            let (word, lock) = (AtomicU32::new(0), Mutex::new(()));
            thread::scope(|scope| {
                scope.spawn(|| {
                    drop(lock.lock().unwrap());
                    word.store(1, Relaxed);
                });
                if word.load(Relaxed) == 1 {
                    _ = lock.try_lock().is_ok();
                }
            });
        }),
        ("a OnceLock may be seen empty", || {
            let (word, once) = (AtomicU32::new(0), OnceLock::new());
            thread::scope(|scope| {
                scope.spawn(|| {
                    once.get_or_init(|| 1);
                    word.store(1, Relaxed);
                });
                if word.load(Relaxed) == 1 {
                    _ = once.get();
                }
            });
        }),
        ("the end of an Arc orders two threads", || {
            let words = Words::default();
            let (first, then) = {
                let arc = Arc::new(());
                (arc.clone(), arc)
            };
            let words = &words;
            thread::scope(|scope| {
                scope.spawn(move || {
                    publishes(words, Relaxed);
                    drop(first);
                });
                scope.spawn(move || {
                    drop(then);
                    words[1].load(Relaxed);
                    words[0].load(Relaxed);
                });
            });
        }),
        ("a wake orders more than the condition variable promises", || {
            let (words, lock, condition) = (Words::default(), Mutex::new(false), Condvar::new());
            thread::scope(|scope| {
                scope.spawn(|| {
                    *lock.lock().unwrap() = true;
                    words[0].store(1, Relaxed);
                    condition.notify_one();
                });
                let waits = |is_set: &mut bool| !*is_set;
                drop(condition.wait_while(lock.lock().unwrap(), waits).unwrap());
                words[0].load(Relaxed);
            });
        }),
        ("two readers of a lock are ordered", || {
            let (words, lock) = (Words::default(), RwLock::new(()));
            thread::scope(|scope| {
                for own in [0, 1] {
                    let (words, lock) = (&words, &lock);
                    scope.spawn(move || {
                        words[own].store(1, Relaxed);
                        drop(lock.read().unwrap());
                        words[1 - own].load(Relaxed);
                    });
                }
            });
        }),
        ("a channel", || {
            let (word, (sender, receiver)) = (AtomicU32::new(0), mpsc::channel());
            thread::scope(|scope| {
                let word = &word;
                scope.spawn(move || {
                    word.store(1, Relaxed);
                    sender.send(()).unwrap();
                });
                receiver.recv().unwrap();
                assert_eq!(word.load(Relaxed), 1);
            });
        }),
        ("time makes stores visible", || {
            let word = AtomicU32::new(0);
            thread::scope(|scope| {
                scope.spawn(|| word.store(1, Relaxed));
                thread::sleep(Duration::from_secs(1));
                word.load(Relaxed);
            });
        }),
        ("the fourth read of an older store", || {
            let first = |words: &Words| words[0].store(1, Relaxed);
            let then = |words: &Words| (0..4).for_each(|_| _ = words[0].load(Relaxed));
            two(first, then);
        }),
        ("a history", || {
            use sim::check::models::{Register, RegisterOp, RegisterRet};
            let (history, word) = (History::new(Register::new(0_u32)), AtomicU32::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    history.call_blocking(RegisterOp::Write(1), || {
                        word.store(1, Relaxed);
                        RegisterRet::Done
                    });
                });
                let read = || RegisterRet::Value(word.load(Relaxed));
                history.call_blocking(RegisterOp::Read, read);
            });
            history.assert_linearizable();
        }),
    ];
    for (name, program) in programs {
        does_not_prove(name, program);
    }
}

/// A search of a program whose operations are all `SeqCst` has the same runs with both memories. The threads have no
/// scope, because with `c11` each access of a scope is a step.
#[test]
fn strong_orders_cost_nothing() {
    fn both(work: [fn(&Words, &Mutex<u32>); 2]) {
        let shared = Arc::new((Words::default(), Mutex::new(0)));
        let threads = work.map(|work| {
            let shared = shared.clone();
            thread::spawn(move || work(&shared.0, &shared.1))
        });
        threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
    }
    let _alone = alone();
    let programs: [Program; 2] = [
        || {
            let add = |words: &Words, _: &Mutex<u32>| {
                words[0].fetch_add(1, SeqCst);
                words[1].load(SeqCst);
            };
            both([add, |words, _| words[1].store(1, SeqCst)]);
        },
        || {
            let add = |words: &Words, lock: &Mutex<u32>| {
                *lock.lock().unwrap() += words[0].fetch_add(1, SeqCst);
            };
            both([add; 2]);
        },
    ];
    for program in programs {
        let [sc, c11] = ["sc", "c11"].map(|memory| {
            let report = search(memory).run_native(program);
            let searched = report.searched.clone().expect("a search");
            assert!(report.passed() && searched.is_proof(), "{}", screen(&report));
            (report.runs, searched.blocked, searched.orders, searched.audit.map(|audit| audit.runs))
        });
        assert_eq!(sc, c11);
    }
}
