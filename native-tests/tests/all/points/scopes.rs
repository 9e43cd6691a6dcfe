//! Notifications that scopes of threads leave behind: a later `park` returns at once.
//!
//! The last thread of a scope decrements the count of running threads, and then unparks the thread that waits for the
//! scope. The waiting thread may return between these two operations, because it reads the count. So the notification
//! may arrive at any moment after the scope, for example between two calls of `park`. If the notification came with the
//! decrement, it could only merge with other notifications that arrive before the first of these calls.
//!
//! In a search, both operations are steps. Random programs have the outcomes of a model.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use super::{outcome, search};

bodies! { 60: 0 10 20 30 40 50 }

/// Set before the thread that parks is unparked.
static WORD: AtomicU64 = AtomicU64::new(0);

/// A command of the first thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Command {
    /// Executes a scope with this number of threads, which do nothing.
    Scope(u32),
    /// Unparks itself.
    Unpark,
    /// Spawns a thread that increments the word, and then unparks the first thread.
    Notify,
    /// Parks, and then reads the word.
    Park,
}

use Command::{Notify, Park, Scope, Unpark};

/// Returns the program of this number.
fn program(number: u64) -> Vec<Command> {
    // The second `park` returns at once if the notification of a scope is late.
    match number {
        0 => return vec![Scope(1), Unpark, Park, Notify, Park],
        1 => return vec![Scope(1), Scope(1), Unpark, Park, Notify, Park],
        2 => return vec![Scope(2), Unpark, Park, Notify, Park],
        _ => {}
    }
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 7;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    let mut program: Vec<Command> = (0..2 + below(3))
        .map(|_| match below(8) {
            0 | 1 => Scope(1),
            2 => Scope(2),
            3 | 4 => Unpark,
            5 => Notify,
            _ => Park,
        })
        .collect();
    program.extend([Notify, Park]);
    program
}

/// Runs the generated program of this number.
fn generated(number: u64) {
    let (mut seen, mut others) = (Vec::new(), Vec::new());
    for command in program(number) {
        match command {
            Scope(threads) => thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| ());
                }
            }),
            Unpark => thread::current().unpark(),
            Notify => {
                let main = thread::current();
                others.push(thread::spawn(move || {
                    WORD.fetch_add(1, SeqCst);
                    main.unpark();
                }));
            }
            Park => {
                thread::park();
                seen.push(WORD.load(SeqCst));
            }
        }
    }
    others.into_iter().for_each(|other| other.join().unwrap());
    outcome(&format!("scopes_{number}"), seen);
}

/// The next effect of a thread of the model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Other {
    /// Drops its reference to the packet of this number. The last reference decrements the count of the scope.
    Drop(usize),
    /// Decrements the count.
    Decrement,
    /// Increments the word.
    Increment,
    /// Sets the word of the first thread. If that thread has parked, it is woken later.
    Unpark,
    /// Wakes the first thread. If it was not waiting yet, it may be waiting again, and then parks in vain.
    Wake,
    End,
}

/// The word on which the first thread parks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Parker {
    #[default]
    Empty,
    Notified,
    Parked,
}

/// A state of the model. Only one scope at a time has running threads.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct State {
    /// The number of completed commands, and of completed effects of the current command.
    at: usize,
    stage: u32,
    parker: Parker,
    is_waiting: bool,
    word: u64,
    /// The number of running threads of the scope.
    running: u32,
    /// For each scoped thread, the references to its packet: of the thread, and of the handle.
    packets: Vec<u32>,
    others: Vec<Other>,
    seen: Vec<u64>,
}

impl State {
    /// Decrements the count. Returns `true` if no thread is left.
    fn decrement(&mut self) -> bool {
        self.running -= 1;
        self.running == 0
    }

    /// Sets the word of the first thread. Returns `true` if the thread must be woken.
    fn unpark(&mut self) -> bool {
        std::mem::replace(&mut self.parker, Parker::Notified) == Parker::Parked
    }

    /// Executes effect `stage` of `park`. Returns the next stage; `None` at the end.
    fn park(&mut self, stage: u32) -> Option<u32> {
        let was = self.parker;
        match stage {
            0 if was == Parker::Notified => {
                self.parker = Parker::Empty;
                None
            }
            0 => {
                self.parker = Parker::Parked;
                Some(1)
            }
            1 => {
                self.is_waiting = was == Parker::Parked;
                Some(2)
            }
            _ => {
                // Also without a notification: `park` may return at any time, if it is woken.
                self.parker = Parker::Empty;
                None
            }
        }
    }

    /// Executes the next effect of the first thread, which does not wait.
    fn step(&mut self, command: Command) {
        let stage = self.stage;
        let next = match command {
            // Spawns a thread, and drops the handle.
            Scope(threads) if stage < 2 * threads => {
                if stage % 2 == 0 {
                    self.running += 1;
                    self.others.push(Other::Drop(self.packets.len()));
                    self.packets.push(2);
                } else {
                    let packet = self.packets.last_mut().unwrap();
                    *packet -= 1;
                    if *packet == 0 && self.decrement() {
                        self.unpark();
                    }
                }
                Some(stage + 1)
            }
            // Reads the count, and parks until it is 0.
            Scope(threads) if stage == 2 * threads => (self.running > 0).then_some(stage + 1),
            Scope(threads) => {
                let begin = 2 * threads + 1;
                Some(self.park(stage - begin).map_or(begin - 1, |next| begin + next))
            }
            Unpark => {
                self.unpark();
                None
            }
            Notify => {
                self.others.push(Other::Increment);
                None
            }
            Park if stage == 3 => {
                self.seen.push(self.word);
                None
            }
            Park => Some(self.park(stage).unwrap_or(3)),
        };
        self.at += usize::from(next.is_none());
        self.stage = next.unwrap_or_default();
    }

    /// Executes the next effect of another thread.
    fn step_other(&mut self, number: usize) {
        self.others[number] = match self.others[number] {
            Other::Drop(packet) => {
                self.packets[packet] -= 1;
                if self.packets[packet] == 0 { Other::Decrement } else { Other::End }
            }
            Other::Decrement => {
                if self.decrement() {
                    Other::Unpark
                } else {
                    Other::End
                }
            }
            Other::Increment => {
                self.word += 1;
                Other::Unpark
            }
            Other::Unpark => {
                if self.unpark() {
                    Other::Wake
                } else {
                    Other::End
                }
            }
            Other::Wake => {
                self.is_waiting = false;
                Other::End
            }
            Other::End => Other::End,
        };
    }
}

/// Returns the outcomes of all interleavings of a program, and `true` if it may wait for ever.
fn outcomes(program: &[Command]) -> (BTreeSet<String>, bool) {
    let (mut left, mut known) = (vec![State::default()], HashSet::new());
    let (mut ends, mut waits) = (BTreeSet::new(), false);
    while let Some(state) = left.pop() {
        if !known.insert(state.clone()) {
            continue;
        }
        let before = left.len();
        match program.get(state.at) {
            Some(_) if state.is_waiting => {}
            Some(command) => {
                let mut next = state.clone();
                next.step(*command);
                left.push(next);
            }
            None => _ = ends.insert(format!("{:?}", state.seen)),
        }
        for number in 0..state.others.len() {
            if state.others[number] != Other::End {
                let mut next = state.clone();
                next.step_other(number);
                left.push(next);
            }
        }
        waits |= left.len() == before && state.at < program.len();
    }
    (ends, waits)
}

#[test]
fn parks_after_scopes_have_the_outcomes_of_a_model() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (programs, wanted) = if long { (60, 80) } else { (12, 16) };
    let (mut compared, mut late) = (0, 0);
    for (number, (body, fine)) in (0..programs).zip(BODIES.iter().zip(IN_DETAIL)) {
        let program = program(number);
        let (expected, waits) = outcomes(&program);
        for body in [*body, fine] {
            let name = format!("scopes_{number}");
            let found = search(&name, body, "default", "exhaustive", 3_000);
            let is_same = found.outcomes == expected;
            assert!(
                found.outcomes.is_subset(&expected),
                "{program:?}: {:?}, {expected:?}",
                found.outcomes
            );
            if found.through {
                assert_eq!(found.fails, waits, "{program:?}: {}", found.text);
                assert!(is_same || waits, "{program:?}: {:?}, {expected:?}", found.outcomes);
                compared += 1;
            }
        }
        late += u32::from(number < 3 && expected.len() == 2);
    }
    eprintln!("{compared} searches compared");
    assert!(compared > wanted && late == 3, "{compared} searches, {late} with a late notification");
}
