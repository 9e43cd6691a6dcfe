//! The rules that keep false alarms out: each program is correct by its rule, and fails without it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, compiler_fence, fence};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use planted::orders::{membarrier, read_unseen, write_unseen};
use planted::unseen::fence_in_assembly;
use sim::__private::OrderRule as Rule;

use super::{Program, Right, alone, assert_silent, never, run, screen, silent_seeds};

fn new() -> AtomicU64 {
    AtomicU64::new(0)
}

/// Store buffering, with a fence in each thread.
fn sb(first: fn(), second: fn()) -> bool {
    let (x, y) = (new(), new());
    let exchange = |own: &AtomicU64, other: &AtomicU64, fence: fn()| {
        own.store(1, Relaxed);
        fence();
        other.load(Relaxed)
    };
    let results = thread::scope(|scope| {
        let first = scope.spawn(|| exchange(&x, &y, first));
        let second = scope.spawn(|| exchange(&y, &x, second));
        (first.join().unwrap(), second.join().unwrap())
    });
    results == (0, 0)
}

fn full_fence() {
    fence(SeqCst);
}

fn update() {
    let _ = new().compare_exchange(0, 1, SeqCst, SeqCst);
}

fn update_and_compiler_fence() {
    update();
    compiler_fence(SeqCst);
}

/// A write that no operation shows publishes the stores of its thread.
fn unseen_write() -> bool {
    let (data, flag) = (new(), AtomicU32::new(0));
    // Its value is known before the write.
    flag.store(0, Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            write_unseen(&flag, 1);
        });
        flag.load(Acquire) == 1 && data.load(Relaxed) == 0
    })
}

/// The new owner of freed memory does not know the threads of the old owner.
fn memory_used_again() -> bool {
    let slot = Mutex::new(None);
    thread::scope(|scope| {
        scope.spawn(|| {
            let value = Arc::new(new());
            value.store(1, Relaxed);
            value.store(0, Relaxed);
        });
        scope.spawn(|| *slot.lock().unwrap() = Some(Arc::new(new())));
        let value: Option<Arc<AtomicU64>> = slot.lock().unwrap().clone();
        value.is_some_and(|value| value.load(Relaxed) == 1)
    })
}

/// A lock without a holder is free, also for a thread that does not know of the unlock.
fn lock_that_is_free() -> bool {
    let (lock, flag) = (Mutex::new(()), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(lock.lock().unwrap());
            flag.store(true, Relaxed);
        });
        flag.load(Relaxed) && lock.try_lock().is_err()
    })
}

fn message_by_a_socket() -> bool {
    let (mut here, mut there) = UnixStream::pair().unwrap();
    let data = new();
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            there.write_all(b"x").unwrap();
        });
        here.read_exact(&mut [0]).unwrap();
        data.load(Relaxed) == 0
    })
}

fn flag_after_a_sleep() -> bool {
    let flag = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| flag.store(true, Relaxed));
        thread::sleep(Duration::from_millis(100));
        !flag.load(Relaxed)
    })
}

/// A thread sees an old value again and again.
fn old_for_ever() -> bool {
    let (word, is_stored) = (new(), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            word.store(1, Relaxed);
            write_unseen(&is_stored, 1);
        });
        let is_old = |_: &u32| read_unseen(&is_stored) == 1 && word.load(Relaxed) == 0;
        (0..20).filter(is_old).count() > 3
    })
}

/// A rule, a program that is right by it, and the number of seeds within which the program fails without it.
const RULES: &[(Rule, u64, Program)] = &[
    (Rule::Unseen, 100, || never(unseen_write())),
    (Rule::Allocations, 1_000, || never(memory_used_again())),
    (Rule::Primitives, 300, || never(lock_that_is_free())),
    (Rule::SignalFences, 100, || never(sb(update_and_compiler_fence, full_fence))),
    (Rule::Membarrier, 100, || never(sb(|| compiler_fence(SeqCst), || assert!(membarrier())))),
    (Rule::Instructions, 100, || never(sb(fence_in_assembly, full_fence))),
    (Rule::Calls, 100, || never(message_by_a_socket())),
    (Rule::Fairness, 300, || never(old_for_ever())),
    (Rule::Time, 100, || never(flag_after_a_sleep())),
];

/// Puts all rules back.
struct Complete;

impl Drop for Complete {
    fn drop(&mut self) {
        Rule::leave_out(None);
    }
}

#[test]
fn each_rule_keeps_a_right_program_silent() {
    let _alone = alone();
    let _complete = Complete;
    for rule in Rule::ALL {
        let of_rule = RULES.iter().find(|(other, ..)| *other == rule);
        let (_, seeds, program) =
            *of_rule.unwrap_or_else(|| panic!("write a program for {rule:?}"));
        let with = run("c11", silent_seeds(seeds), program);
        assert!(with.passed(), "{rule:?}: {}", screen(&with));
        Rule::leave_out(Some(rule));
        let without = run("c11", seeds, program);
        Rule::leave_out(None);
        if std::env::var_os("UNPAUSE_SHOW").is_some() {
            let seed = without.finding.as_ref().map(|finding| finding.run.seed.0);
            println!("{rule:?}: {seed:?} of {seeds}");
        }
        assert!(!without.passed(), "without {rule:?} nothing fails");
    }
}

/// `get_mut` writes another value, and then the value that the newest store has.
fn plain_writes() -> bool {
    [0, 5].into_iter().any(|again| {
        let mut word = new();
        thread::scope(|scope| {
            scope.spawn(|| {
                word.store(7, Relaxed);
                word.store(5, Relaxed);
            });
        });
        *word.get_mut() = again;
        let is_ready = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| is_ready.load(Acquire) && word.load(Relaxed) != again);
            is_ready.store(true, Release);
            reader.join().unwrap()
        })
    })
}

/// Words at one address, one after the other.
fn stack_frames() -> bool {
    fn frame(number: u64) -> bool {
        let (word, is_done) = (AtomicU64::new(number), AtomicBool::new(false));
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let is_wrong = word.load(Relaxed) != number;
                word.store(number + 1, Relaxed);
                is_done.store(true, Release);
                is_wrong
            });
            let is_wrong = is_done.load(Acquire) && word.load(Relaxed) != number + 1;
            other.join().unwrap() || is_wrong
        })
    }
    (0..3).any(frame)
}

/// New words that are published by a release.
fn new_words() -> bool {
    let slot = AtomicPtr::<AtomicU64>::new(std::ptr::null_mut());
    let words = [new(), new()];
    let reads = |place: *mut AtomicU64| {
        let word = words.iter().find(|word| std::ptr::eq(*word, place));
        word.is_some_and(|word| word.load(Relaxed) < 10)
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for word in &words {
                word.store(10, Relaxed);
                slot.store(std::ptr::from_ref(word).cast_mut(), Release);
            }
        });
        reads(slot.load(Acquire))
    })
}

/// Channels, parked threads and loops.
fn primitives() -> bool {
    let word = Arc::new(new());
    let (sender, receiver) = mpsc::channel();
    let other = word.clone();
    let thread = thread::spawn(move || {
        other.store(1, Relaxed);
        sender.send(()).unwrap();
        thread::park();
        other.load(Relaxed) != 2
    });
    receiver.recv().unwrap();
    let is_wrong = word.load(Relaxed) != 1;
    word.store(2, Relaxed);
    thread.thread().unpark();
    thread.join().unwrap() || is_wrong
}

/// A loop that yields and looks at two words.
fn yields() -> bool {
    let (go, count) = (AtomicBool::new(false), new());
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..3).for_each(|_| _ = count.fetch_add(1, Relaxed));
            go.store(true, Release);
        });
        while !go.load(Acquire) || count.load(Relaxed) < 3 {
            thread::yield_now();
        }
        count.load(Relaxed) != 3
    })
}

const RIGHT: &[Right] = &[
    Right("plain writes", || never(plain_writes())),
    Right("stack frames", || never(stack_frames())),
    Right("new words", || never(new_words())),
    Right("primitives", || never(primitives())),
    Right("a loop that yields", || never(yields())),
];

#[test]
fn right_programs_are_silent() {
    let _alone = alone();
    assert_silent(RIGHT, 200);
}

/// An operation that looks like a fence, but is not a fence.
#[test]
fn other_operations_are_no_fences() {
    let _alone = alone();
    let programs: [Program; 2] = [
        || never(sb(update, full_fence)),
        || never(sb(|| compiler_fence(SeqCst), || compiler_fence(SeqCst))),
    ];
    for program in programs {
        assert!(!run("c11", 100, program).passed());
    }
}
