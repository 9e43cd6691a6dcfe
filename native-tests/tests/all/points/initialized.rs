//! Values that are initialized once, and scopes of threads: in a search, an operation takes few steps. Generated
//! programs have the outcomes and the deadlocks of a search that steps all instructions.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{LazyLock, Once, OnceLock};
use std::thread::{self, Thread};

use super::{Compared, compare_with, outcome};

bodies! { 160: 0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 }

/// The words that the commands change. A function of a `LazyLock` has no other access to them.
static WORD: AtomicU64 = AtomicU64::new(0);

fn lazy_value() -> u64 {
    5 + WORD.fetch_add(1, SeqCst)
}

struct Shared {
    lock: OnceLock<u64>,
    lazy: LazyLock<u64>,
    cell: once_cell::sync::OnceCell<u64>,
    once: Once,
    other: parking_lot::Once,
    main: Thread,
}

/// The number of kinds of commands of a program: two commands of one object, one of a scope, and one of the word.
const KINDS: u64 = 5;

/// Executes a command, and returns the value that it saw.
fn act(object: u64, kind: u64, value: u64, shared: &Shared) -> u64 {
    let Shared { lock, lazy, cell, once, other, main } = shared;
    // The initializer accesses the word, or nothing.
    let init = || if value % 2 == 0 { value } else { value + 10 * WORD.fetch_add(1, SeqCst) };
    match (kind, object) {
        (0 | 1, 0) => *lock.get_or_init(init),
        (2, 0) => lock.get().copied().unwrap_or(70),
        (0 | 1, 1) => **lazy,
        (2, 1) => lock.set(value).map_or(90, |()| 80),
        (0 | 1, 2) => *cell.get_or_init(init),
        (2, 2) => cell.get().copied().unwrap_or(70),
        (0 | 1, 3) => {
            let mut own = 0;
            once.call_once(|| own = init());
            own
        }
        (2, 3) => u64::from(once.is_completed()),
        (0 | 1, 4) => {
            let mut own = 0;
            other.call_once(|| own = init());
            own
        }
        (2, 4) => u64::from(other.state().done()),
        (0 | 1, 5) => thread::scope(|scope| {
            scope.spawn(|| WORD.fetch_add(1, SeqCst));
            value
        }),
        (2, 5) => {
            main.unpark();
            0
        }
        _ => WORD.fetch_add(100, SeqCst),
    }
}

/// Runs the generated program of this number.
fn generated(number: u64) {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 31;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    let object = number % 6;
    // A scope has threads of its own.
    let threads = if object < 5 && below(3) == 0 { 3 } else { 2 };
    let mut plan: Vec<Vec<(u64, u64)>> = (0..threads)
        .map(|_| (0..1 + below(2)).map(|_| (below(KINDS), below(4))).collect())
        .collect();
    plan[0][0].0 = 0;
    let shared = Shared {
        lock: OnceLock::new(),
        lazy: LazyLock::new(lazy_value),
        cell: once_cell::sync::OnceCell::new(),
        once: Once::new(),
        other: parking_lot::Once::new(),
        main: thread::current(),
    };
    let run = |commands: &[(u64, u64)]| {
        commands.iter().map(|(kind, value)| act(object, *kind, *value, &shared)).collect()
    };
    let mut seen: Vec<Vec<u64>> = vec![Vec::new(); threads as usize];
    let (own, others) = seen.split_first_mut().unwrap();
    thread::scope(|scope| {
        for (slot, commands) in others.iter_mut().zip(&plan[1..]) {
            scope.spawn(|| *slot = run(commands));
        }
        *own = run(&plan[0]);
    });
    if object == 5 && plan.iter().flatten().any(|(kind, _)| *kind == 2) {
        // Another thread has unparked this one, and a scope may have taken the token.
        WORD.fetch_add(1000, SeqCst);
        thread::park();
    }
    outcome(&format!("initialized_{number}"), (plan, seen, WORD.load(SeqCst)));
}

#[test]
fn initializations_have_the_same_outcomes_as_their_instructions() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (programs, most) = if long { (160, 60_000) } else { (60, 1_000) };
    let searches =
        IN_DETAIL.iter().zip(&BODIES).map(|(fine, few)| [(*fine, "default"), (*few, "default")]);
    let Compared { programs: compared, .. } =
        compare_with("initialized", searches.take(programs).enumerate(), most);
    assert!(compared > programs / 4, "{compared} programs");
}
