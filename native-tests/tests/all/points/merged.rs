//! Calls and guards of locks in branches with the same code. The compiler merges the branches, and the merged operation
//! has no function of the lock in its place. It is still part of a call: a search steps whole calls.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;

use super::shared::{exhaustive, steps_instructions};

/// A value behind each kind of lock.
#[derive(Default)]
struct Locks {
    /// The way of a branch, which the compiler does not know.
    flag: AtomicBool,
    mutex: Mutex<u64>,
    rwlock: RwLock<u64>,
    raw: parking_lot::Mutex<u64>,
    raw_rwlock: parking_lot::RwLock<u64>,
}

/// Programs of one thread that use a lock in two branches: by calls, and by guards that end.
macro_rules! of {
    ($field:ident, $call:ident) => {
        [
            (concat!(stringify!($field), ", called in two equal branches"), |locks: &Locks| {
                drop(match locks.flag.load(SeqCst) {
                    true => locks.$field.$call(),
                    false => locks.$field.$call(),
                });
            }),
            (
                concat!(stringify!($field), ", called at the ends of two branches"),
                |locks: &Locks| {
                    drop(match locks.flag.load(SeqCst) {
                        true => locks.$field.$call(),
                        false => {
                            black_box(0);
                            locks.$field.$call()
                        }
                    });
                },
            ),
            (concat!(stringify!($field), ", dropped in two branches"), |locks: &Locks| {
                let guard = locks.$field.$call();
                match locks.flag.load(SeqCst) {
                    true => drop(guard),
                    false => {
                        black_box(0);
                        drop(guard);
                    }
                }
            }),
            (concat!(stringify!($field), ", dropped as one of two"), |locks: &Locks| {
                let guard = locks.$field.$call();
                let either = if locks.flag.load(SeqCst) { Ok(guard) } else { Err((guard, 1)) };
                drop(black_box(either));
            }),
        ]
    };
}

type Program = (&'static str, fn(&Locks));

const PROGRAMS: [[Program; 4]; 6] = [
    of!(mutex, lock),
    of!(rwlock, read),
    of!(rwlock, write),
    of!(raw, lock),
    of!(raw_rwlock, read),
    of!(raw_rwlock, write),
];

/// A body for each number below 24, because a body has no captures.
fn body<const N: usize>() {
    let locks = Arc::new(Locks::default());
    let other = locks.clone();
    let (_, work) = PROGRAMS[N / 4][N % 4];
    let thread = thread::spawn(move || work(&other));
    work(&locks);
    thread.join().unwrap();
}

macro_rules! bodies {
    ($($n:literal)*) => { [$(body::<$n>),*] };
}

const BODIES: [fn(); 24] =
    bodies! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 };

#[test]
fn calls_that_the_compiler_has_merged_are_whole() {
    let mut in_detail = Vec::new();
    for (n, body) in BODIES.into_iter().enumerate() {
        let (name, _) = PROGRAMS[n / 4][n % 4];
        let report = exhaustive(body);
        assert!(report.finding.is_none(), "{name}: {:?}", report.finding);
        assert!(report.searched.as_ref().unwrap().is_proof(), "{name}: {report:?}");
        in_detail.extend(steps_instructions(&report).map(|note| format!("{name}: {note}")));
    }
    assert!(in_detail.is_empty(), "{in_detail:#?}");
}
