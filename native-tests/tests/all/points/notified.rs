//! Condition variables of parking_lot: in a search, an operation takes few steps. Generated programs have the outcomes
//! and the deadlocks of a search that steps all instructions.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{Compared, compare_with, outcome, search};

bodies! { 160: 0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 }

#[derive(Default)]
struct Shared {
    lock: Mutex<u64>,
    changed: Condvar,
    word: AtomicU64,
}

/// The number of kinds of commands.
const KINDS: u64 = 11;

/// Executes a command, and returns the value that it saw.
fn act(kind: u64, Shared { lock, changed, word }: &Shared) -> u64 {
    match kind {
        0 => {
            let mut value = lock.lock();
            if *value == 0 {
                changed.wait(&mut value);
            }
            *value += 1;
            *value
        }
        1 => {
            let (mut value, mut waits) = (lock.lock(), 0);
            while *value == 0 {
                changed.wait(&mut value);
                waits += 1;
            }
            10 * *value + waits
        }
        2 => {
            let mut value = lock.lock();
            *value += 1;
            u64::from(changed.notify_one())
        }
        3 => {
            *lock.lock() += 1;
            u64::from(changed.notify_one())
        }
        4 => changed.notify_all() as u64,
        5 => lock.try_lock().map_or(99, |mut value| {
            *value += 1;
            *value
        }),
        6 => u64::from(lock.is_locked()),
        7 => word.fetch_add(1, SeqCst),
        8 => {
            let mut value = lock.lock();
            let is_late =
                *value == 0 && changed.wait_for(&mut value, Duration::from_millis(1)).timed_out();
            *value += 1;
            10 * *value + u64::from(is_late)
        }
        9 => {
            let mut value = lock.lock();
            *value += 1;
            changed.notify_all() as u64
        }
        _ => u64::from(changed.notify_one()),
    }
}

/// Runs the generated program of this number.
fn generated(number: u64) {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 29;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    let threads = if below(5) == 0 { 3 } else { 2 };
    // With more commands, there are too many interleavings of instructions.
    let mut plan: Vec<Vec<u64>> =
        (0..threads).map(|_| (0..1 + below(5) / 4).map(|_| below(KINDS)).collect()).collect();
    // One thread waits, and in most programs another thread ends the wait in each run.
    plan[0][0] = [0, 0, 1, 8][below(4) as usize];
    if below(5) > 0 {
        *plan[1].last_mut().unwrap() = [2, 3, 9][below(3) as usize];
    }
    let shared = Shared::default();
    let run = |commands: &[u64]| commands.iter().map(|kind| act(*kind, &shared)).collect();
    let mut seen: Vec<Vec<u64>> = vec![Vec::new(); threads as usize];
    let (own, others) = seen.split_first_mut().unwrap();
    thread::scope(|scope| {
        for (slot, commands) in others.iter_mut().zip(&plan[1..]) {
            scope.spawn(|| *slot = run(commands));
        }
        *own = run(&plan[0]);
    });
    outcome(&format!("notified_{number}"), (plan, seen, *shared.lock.lock()));
}

/// Runs of seeds step each instruction of a condition variable. The search must have their outcomes.
#[test]
fn notifications_have_the_outcomes_of_runs_that_step_each_instruction() {
    let mut compared = 0;
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (programs, most) = if long { (160, 5_000) } else { (60, 1_000) };
    for (number, body) in BODIES[..programs].iter().enumerate() {
        let name = format!("notified_{number}");
        let few = search(&name, *body, "default", "exhaustive", most);
        let some = search(&name, *body, "default", "random", 40);
        let missing: Vec<_> = some.outcomes.difference(&few.outcomes).collect();
        let is_same = few.fails || !some.fails && missing.is_empty();
        assert!(!few.through || is_same, "{name}: {missing:?} {} {}", few.text, some.text);
        compared += usize::from(few.through && !few.fails);
    }
    assert!(compared > programs / 2, "{compared} programs");
}

#[test]
fn notifications_have_the_same_outcomes_as_their_instructions() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (programs, most) = if long { (160, 60_000) } else { (40, 500) };
    let searches =
        IN_DETAIL.iter().zip(&BODIES).map(|(fine, few)| [(*fine, "default"), (*few, "default")]);
    let Compared { programs: compared, fail } =
        compare_with("notified", searches.take(programs).enumerate(), most);
    assert!(compared > programs / 8 && fail > 2, "{compared} programs, {fail} with a deadlock");
}
