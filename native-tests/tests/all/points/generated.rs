//! Generated programs of two threads over atomics and locks.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, OnceLock, RwLock};
use std::thread;

use super::{compare, outcome};

/// A body for each number below 300.
fn body<const N: u64>() {
    generated(N);
}

const BODIES: [fn(); 300] = ten! { body 0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 170 180 190 200 210 220 230
240 250 260 270 280 290 };

/// The objects that the threads of a generated program share.
#[derive(Default)]
struct Shared {
    words: [AtomicU64; 2],
    locks: [Mutex<u64>; 2],
    parking: parking_lot::Mutex<u64>,
    shared: RwLock<u64>,
    changed: Condvar,
    once: OnceLock<u64>,
}

/// A small generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// The number of kinds of commands.
const KINDS: u64 = 17;

/// Executes a command, and returns the values that it saw.
fn act(kind: u64, which: usize, by: u64, shared: &Shared) -> u64 {
    let word = &shared.words[which];
    let lock = &shared.locks[which];
    match kind {
        0 => word.load(SeqCst),
        1 => {
            word.store(by, SeqCst);
            0
        }
        2 => word.fetch_add(by, SeqCst),
        3 | 4 => {
            let mut value = lock.lock().unwrap();
            *value = 2 * *value + by;
            *value
        }
        5 => {
            let mut value = lock.lock().unwrap();
            *value += by;
            shared.words[0].fetch_add(by, SeqCst)
        }
        6 => {
            let first = lock.lock().unwrap();
            let mut second = shared.locks[1 - which].lock().unwrap();
            *second += *first + by;
            *second
        }
        7 => match lock.try_lock() {
            Ok(mut value) => {
                *value += by;
                *value
            }
            Err(_) => 99,
        },
        8 => {
            let mut value = shared.parking.lock();
            *value = 2 * *value + by;
            *value
        }
        9 => {
            let _held = shared.parking.lock();
            word.fetch_add(by, SeqCst)
        }
        10 => shared.parking.try_lock().map_or(99, |mut value| {
            *value += by;
            *value
        }),
        11 => u64::from(shared.parking.is_locked()),
        12 => *shared.shared.read().unwrap(),
        13 => {
            let mut value = shared.shared.write().unwrap();
            *value += by;
            *value
        }
        14 => *shared.once.get_or_init(|| by),
        15 => {
            word.store(3, SeqCst);
            let _held = lock.lock().unwrap();
            shared.changed.notify_one();
            1
        }
        _ => {
            for round in 0..3 {
                if word.load(SeqCst) != 0 {
                    return round;
                }
            }
            50
        }
    }
}

/// Runs the generated program of this number.
fn generated(number: u64) {
    let mut numbers = Numbers(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 77);
    // Only some of the kinds, so that the commands of the two threads conflict.
    let kinds = [numbers.below(KINDS), numbers.below(KINDS), numbers.below(KINDS)];
    let plan: [[(u64, usize, u64); 2]; 2] = [0, 1].map(|_| {
        [0, 1].map(|_| {
            (
                kinds[numbers.below(3) as usize],
                usize::from(numbers.below(3) == 0),
                1 + numbers.below(2),
            )
        })
    });
    let shared = Shared::default();
    let run = |commands: &[(u64, usize, u64); 2]| {
        commands.map(|(kind, which, by)| act(kind, which, by, &shared))
    };
    let mut seen = [[0; 2]; 2];
    let [first, second] = &mut seen;
    thread::scope(|scope| {
        scope.spawn(|| *first = run(&plan[0]));
        *second = run(&plan[1]);
    });
    let words = shared.words.each_ref().map(|word| word.load(SeqCst));
    let locks = shared.locks.each_ref().map(|lock| *lock.lock().unwrap());
    outcome(&format!("generated_{number}"), (plan, seen, words, locks));
}

/// Programs of two threads over atomics and locks.
#[test]
fn generated_programs_have_the_same_outcomes_with_all_points() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (programs, most) = if long { (300, 3_000) } else { (30, 500) };
    let compared = compare("generated", &BODIES[..programs], most).programs;
    assert!(compared > programs / 3);
}
