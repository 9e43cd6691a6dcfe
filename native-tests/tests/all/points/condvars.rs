//! Condition variables of parking_lot, which move threads to the queue of their mutex: a call of the mutex is one operation
//! of a search, and so is each instruction of the condition variable on the mutex.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{outcome, search};

#[derive(Default)]
struct Shared {
    lock: Mutex<u64>,
    changed: Condvar,
    word: AtomicU64,
}

/// Waits until the value is not 0. Returns the number of waits.
fn wait(Shared { lock, changed, .. }: &Shared) -> u64 {
    let (mut value, mut waits) = (lock.lock(), 0);
    while *value == 0 {
        changed.wait(&mut value);
        waits += 1;
    }
    *value += 10;
    10 * *value + waits
}

/// Waits once, if the value is 0.
fn wait_once(Shared { lock, changed, word }: &Shared) -> u64 {
    let mut value = lock.lock();
    if *value == 0 {
        changed.wait(&mut value);
    }
    *value + word.load(SeqCst)
}

/// Reads the value, and waits under another lock of the mutex.
fn wait_late(Shared { lock, changed, .. }: &Shared) -> u64 {
    let seen = *lock.lock();
    if seen == 0 {
        changed.wait(&mut lock.lock());
    }
    seen
}

fn set_and_notify(Shared { lock, changed, .. }: &Shared) -> u64 {
    let mut value = lock.lock();
    *value += 1;
    u64::from(changed.notify_one())
}

fn set_then_notify(Shared { lock, changed, .. }: &Shared) -> u64 {
    *lock.lock() += 1;
    u64::from(changed.notify_one())
}

fn set_and_notify_all(Shared { lock, changed, .. }: &Shared) -> u64 {
    let mut value = lock.lock();
    *value += 1;
    changed.notify_all() as u64
}

fn set_then_notify_all(Shared { lock, changed, .. }: &Shared) -> u64 {
    *lock.lock() += 1;
    changed.notify_all() as u64
}

/// Notifies a thread that may not wait yet.
fn only_notify(Shared { changed, word, .. }: &Shared) -> u64 {
    word.store(1, SeqCst);
    u64::from(changed.notify_one())
}

fn add(Shared { lock, .. }: &Shared) -> u64 {
    let mut value = lock.lock();
    *value += 1;
    *value
}

fn try_to_add(Shared { lock, .. }: &Shared) -> u64 {
    lock.try_lock_for(Duration::from_millis(1)).map_or(99, |mut value| {
        *value += 1;
        *value
    })
}

type Act = fn(&Shared) -> u64;

/// A program: its name; the acts of its threads, the first on the main thread.
type Program = (&'static str, &'static [Act]);

const PROGRAMS: [Program; 11] = [
    ("set_and_notify", &[wait, set_and_notify]),
    ("set_then_notify", &[wait, set_then_notify]),
    ("notify_all", &[wait, set_and_notify_all]),
    ("then_notify_all", &[wait, set_then_notify_all]),
    ("wait_once", &[wait_once, set_and_notify]),
    ("wait_late", &[wait_late, set_and_notify]),
    ("only_notify", &[wait_once, only_notify]),
    ("two_wait", &[wait, wait, set_and_notify_all]),
    ("one_of_two", &[wait, wait, set_and_notify]),
    ("third_locks", &[wait, set_then_notify, add]),
    ("with_a_limit", &[try_to_add, add]),
];

/// The programs that have a run without an end.
const DEADLOCKS: [&str; 3] = ["wait_late", "only_notify", "one_of_two"];

fn run((name, acts): Program) {
    let shared = Shared::default();
    let mut seen = vec![0; acts.len()];
    let (own, others) = seen.split_first_mut().unwrap();
    thread::scope(|scope| {
        for (slot, act) in others.iter_mut().zip(&acts[1..]) {
            let shared = &shared;
            scope.spawn(move || *slot = act(shared));
        }
        *own = acts[0](&shared);
    });
    outcome(&format!("condvar_{name}"), (seen, *shared.lock.lock()));
}

fn body<const N: usize>() {
    run(PROGRAMS[N]);
}

const BODIES: [fn(); 11] = [
    body::<0>, body::<1>, body::<2>, body::<3>, body::<4>, body::<5>, body::<6>, body::<7>,
    body::<8>, body::<9>, body::<10>,
];

#[test]
fn condition_variables_have_the_same_outcomes_with_all_points() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let most = if long { 40_000 } else { 300 };
    let (mut compared, mut differences) = (0, Vec::new());
    for ((name, _), body) in PROGRAMS.iter().zip(BODIES) {
        let file = format!("condvar_{name}");
        let few = search(&file, body, "default", "exhaustive", 20_000);
        let all = search(&file, body, "all", "exhaustive", most);
        eprintln!(
            "{name}: {} runs, {}; all {} runs, {}; {} outcomes",
            few.runs + few.blocked,
            few.through,
            all.runs + all.blocked,
            all.through,
            few.outcomes.len()
        );
        let known = few.through && few.fails == DEADLOCKS.contains(name);
        let same = !all.through || all.fails || few.outcomes == all.outcomes;
        compared += usize::from(all.through);
        if !known || !same || !few.outcomes.is_superset(&all.outcomes) && !few.fails {
            let missing: Vec<_> = all.outcomes.difference(&few.outcomes).collect();
            let more: Vec<_> = few.outcomes.difference(&all.outcomes).collect();
            differences.push(format!("{name}: missing {missing:?}, more {more:?}, {}", few.text));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared >= 3, "{compared} programs");
}
