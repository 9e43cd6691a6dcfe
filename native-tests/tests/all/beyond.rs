//! Runs beyond their step limit: they end, and keep what they have explored.
//!
//! Each program does many times as many operations as its limit allows.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use sim::Runner;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};

/// The step limit. The programs take some ten thousand operations.
const STEPS: u32 = 1_000;
const TIMES: u32 = 4_000;

fn runner() -> Runner {
    Runner::new().hermetic().seeds(0..3).max_steps(STEPS).shrink(false).prove(0)
}

fn failure(report: &Report) -> Option<&Failure> {
    match &report.finding.as_ref()?.run.outcome {
        Outcome::Failed(failure) => Some(failure),
        Outcome::Passed => None,
    }
}

/// Threads that the program has, with the state that they share.
fn both<T: Send + Sync + 'static>(state: T, one: fn(&T), other: fn(&T)) -> Arc<T> {
    let state = Arc::new(state);
    let shared = state.clone();
    let thread = thread::spawn(move || one(&shared));
    other(&state);
    thread.join().unwrap();
    state
}

fn add(count: &AtomicU32) {
    (0..TIMES).for_each(|_| _ = count.fetch_add(1, SeqCst));
}

/// Programs that are right, by name.
const RIGHT: &[(&str, fn())] = &[
    ("a count", || {
        let count = both(AtomicU32::new(0), add, add);
        assert_eq!(count.load(SeqCst), 2 * TIMES);
    }),
    ("a channel", || {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || (0..TIMES).for_each(|n| sender.send(n).unwrap()));
        assert!(receiver.iter().eq(0..TIMES));
        thread.join().unwrap();
    }),
    ("a channel without room", || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || (0..TIMES / 4).for_each(|n| sender.send(n).unwrap()));
        assert!(receiver.iter().eq(0..TIMES / 4));
        thread.join().unwrap();
    }),
    ("a mutex", || {
        let work = |count: &Mutex<u32>| (0..TIMES).for_each(|_| *count.lock().unwrap() += 1);
        let count = both(Mutex::new(0), work, work);
        assert_eq!(*count.lock().unwrap(), 2 * TIMES);
    }),
    ("a mutex of parking_lot", || {
        let work = |count: &parking_lot::Mutex<u32>| (0..TIMES).for_each(|_| *count.lock() += 1);
        let count = both(parking_lot::Mutex::new(0), work, work);
        assert_eq!(*count.lock(), 2 * TIMES);
    }),
    ("a reader and a writer", || {
        let count = both(
            RwLock::new(0),
            |count| (0..TIMES).for_each(|_| *count.write().unwrap() += 1),
            |count| (0..TIMES).for_each(|_| assert!(*count.read().unwrap() <= TIMES)),
        );
        assert_eq!(*count.read().unwrap(), TIMES);
    }),
    ("a condition", || {
        let turn = |mine: bool| {
            move |(turn, changed): &(Mutex<(bool, u32)>, Condvar)| {
                for _ in 0..TIMES / 4 {
                    let mut turn =
                        changed.wait_while(turn.lock().unwrap(), |t| t.0 != mine).unwrap();
                    *turn = (!mine, turn.1 + 1);
                    changed.notify_one();
                }
            }
        };
        let state = Arc::new((Mutex::new((false, 0)), Condvar::new()));
        let shared = state.clone();
        let thread = thread::spawn(move || turn(true)(&shared));
        turn(false)(&state);
        thread.join().unwrap();
        assert_eq!(state.0.lock().unwrap().1, 2 * (TIMES / 4));
    }),
    ("a loop that waits from before the limit", || {
        let set = |state: &(AtomicU32, AtomicBool)| {
            add(&state.0);
            state.1.store(true, SeqCst);
        };
        both(
            (AtomicU32::new(0), AtomicBool::new(false)),
            set,
            |state| while !state.1.load(SeqCst) {},
        );
    }),
    ("a lock that is held at the limit", || {
        let set = |state: &(AtomicU32, Mutex<u32>)| {
            let mut locked = state.1.lock().unwrap();
            add(&state.0);
            *locked += 1;
        };
        let state = both((AtomicU32::new(0), Mutex::new(0)), set, set);
        assert_eq!(*state.1.lock().unwrap(), 2);
    }),
    ("loops that wait for each other", || {
        let turn = |mine: u32| {
            move |count: &AtomicU32| {
                for _ in 0..200 {
                    while count.load(SeqCst) % 2 != mine {}
                    count.fetch_add(1, SeqCst);
                }
            }
        };
        let count = Arc::new(AtomicU32::new(0));
        let shared = count.clone();
        let work = Arc::new(AtomicU32::new(0));
        let worked = work.clone();
        let thread = thread::spawn(move || {
            add(&worked);
            turn(1)(&shared);
        });
        turn(0)(&count);
        thread.join().unwrap();
        assert_eq!(count.load(SeqCst), 400);
    }),
    ("a loop that yields", || {
        let set = |state: &(AtomicU32, AtomicBool)| {
            add(&state.0);
            state.1.store(true, SeqCst);
        };
        both((AtomicU32::new(0), AtomicBool::new(false)), set, |state| {
            while !state.1.load(SeqCst) {
                thread::yield_now();
            }
        });
    }),
    ("a loop that sleeps", || {
        let set = |state: &(AtomicU32, AtomicBool)| {
            add(&state.0);
            thread::sleep(Duration::from_millis(30));
            state.1.store(true, SeqCst);
        };
        both((AtomicU32::new(0), AtomicBool::new(false)), set, |state| {
            while !state.1.load(SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
        });
    }),
    ("many threads", || {
        let count = AtomicU32::new(0);
        thread::scope(|scope| (0..20).for_each(|_| drop(scope.spawn(|| add(&count)))));
        assert_eq!(count.load(SeqCst), 20 * TIMES);
    }),
];

#[test]
fn right_programs_pass_and_say_how_much_was_explored() {
    for (name, body) in RIGHT {
        for strategy in ["random", "portfolio"] {
            let report = runner().strategy(strategy).run_native(*body);
            assert!(report.passed(), "{name}, {strategy}: {:?}", failure(&report));
            let said = format!("3 of 3 runs were explored for {STEPS} steps and then ran on");
            assert!(
                report.notes.iter().any(|note| note.contains(&said)),
                "{name}: {:?}",
                report.notes
            );
        }
        let report = runner().memory("c11").run_native(*body);
        assert!(report.passed(), "{name}, with c11: {:?}", failure(&report));
        let report = runner().seeds(0..1).isolate("process").run_native(*body);
        assert!(report.passed(), "{name}, in a process: {:?}", failure(&report));
    }
}

/// Programs that panic beyond the limit, by name.
const PLANTED: &[(&str, fn())] = &[
    ("the total is wrong", || {
        let count = both(AtomicU32::new(0), add, add);
        assert_eq!(count.load(SeqCst), 2 * TIMES - 1, "planted");
    }),
    ("updates are lost", || {
        let add = |count: &AtomicU32| {
            for _ in 0..TIMES {
                // Between the two, the turn of the thread may end.
                let value = count.load(SeqCst);
                count.store(value + 1, SeqCst);
            }
        };
        let count = both(AtomicU32::new(0), add, add);
        assert_eq!(count.load(SeqCst), 2 * TIMES, "planted");
    }),
    ("a thread panics", || {
        both(AtomicU32::new(0), add, |count| {
            add(count);
            panic!("planted");
        });
    }),
];

#[test]
fn a_failure_beyond_the_limit_is_a_failure_of_the_seed_and_is_replayed() {
    for isolate in ["run", "process"] {
        for (name, body) in PLANTED {
            let out = std::env::temp_dir().join(format!("unpause-beyond-{}", std::process::id()));
            let runner = || runner().name(name.replace(' ', "_")).isolate(isolate).out(&out);
            let report = runner().run_native(*body);
            // A run that is not the same again would be another failure.
            let Some(Failure::Panic { message, .. }) = failure(&report) else {
                panic!("{name}: {:?}", failure(&report));
            };
            assert!(message.contains("planted"), "{name}: {message}");
            let finding = report.finding.as_ref().unwrap();
            assert!(finding.run.steps.len() > STEPS as usize, "{name}: within the limit");
            let again = runner().replay(finding.trace_file.as_ref().unwrap()).run_native(*body);
            assert_eq!(failure(&again), failure(&report), "{name}");
            let again = again.finding.unwrap();
            assert_eq!(again.run.steps.len(), finding.run.steps.len(), "{name}");
        }
    }
}

/// Programs that wait for ever, by name. They are deadlocks within the limit, too.
const ENDLESS: &[(&str, fn())] = &[
    ("a loop alone", || {
        let state = (AtomicU32::new(0), AtomicBool::new(false));
        add(&state.0);
        while !state.1.load(SeqCst) {}
    }),
    ("two loops", || {
        both(
            (AtomicU32::new(0), AtomicBool::new(false), AtomicBool::new(false)),
            |state| {
                add(&state.0);
                while !state.1.load(SeqCst) {}
                state.2.store(true, SeqCst);
            },
            |state| {
                while !state.2.load(SeqCst) {}
                state.1.store(true, SeqCst);
            },
        );
    }),
    ("a loop that yields", || {
        let state = (AtomicU32::new(0), AtomicBool::new(false));
        add(&state.0);
        while !state.1.load(SeqCst) {
            thread::yield_now();
        }
    }),
    ("a lock of a loop", || {
        let lock = AtomicBool::new(false);
        add(&AtomicU32::new(0));
        while lock.swap(true, SeqCst) {}
        while lock.compare_exchange(false, true, SeqCst, SeqCst).is_err() {}
    }),
    ("two locks", || {
        let state =
            Arc::new((AtomicU32::new(0), Mutex::new(0), Mutex::new(0), std::sync::Barrier::new(2)));
        let shared = state.clone();
        let thread = thread::spawn(move || {
            add(&shared.0);
            let _one = shared.1.lock().unwrap();
            shared.3.wait();
            let _two = shared.2.lock().unwrap();
        });
        add(&state.0);
        let _two = state.2.lock().unwrap();
        state.3.wait();
        let _one = state.1.lock().unwrap();
        thread.join().unwrap();
    }),
];

#[test]
fn a_thread_that_waits_for_ever_beyond_the_limit_is_found() {
    for (name, body) in ENDLESS {
        let report = runner().run_native(*body);
        let found = failure(&report);
        assert!(matches!(found, Some(Failure::Deadlock { .. })), "{name}: {found:?}");
    }
}

/// The failure is the same as without such a part: the limit, and the loop at its end.
#[test]
fn a_run_that_never_ends_has_reached_its_limit() {
    fn body() {
        let count = AtomicU32::new(1);
        while count.load(SeqCst) > 0 {
            count.fetch_xor(2, SeqCst);
        }
    }
    let report = runner().time(Duration::from_secs(1)).run_native(body);
    let Some(Failure::StepLimit { steps, cycle }) = failure(&report) else {
        panic!("{:?}", failure(&report));
    };
    assert_eq!((*steps, cycle.len()), (STEPS, 2));
    assert_eq!(report.finding.unwrap().run.steps.len(), STEPS as usize);
}

/// Other work on the machine takes no time from this part of a run. Here, an awaited process is such work.
#[test]
fn a_run_has_its_time_also_on_a_machine_with_other_work() {
    let report = runner().seeds(0..1).time(Duration::from_millis(1)).run_native(|| {
        let count = AtomicU32::new(0);
        add(&count);
        assert!(std::process::Command::new("sleep").arg("3.5").status().unwrap().success());
        (0..25).for_each(|_| add(&count));
        assert_eq!(count.load(SeqCst), 26 * TIMES);
    });
    assert!(report.passed(), "{:?}", failure(&report));
}

/// The number of messages in the test below.
const MESSAGES: u32 = 100_000;

/// A queue with three slots, of one sender and one receiver. Both wait in loops.
#[derive(Default)]
struct ThreeSlots {
    slots: [AtomicU32; 3],
    sent: AtomicU32,
    received: AtomicU32,
}

impl ThreeSlots {
    /// Sends all numbers. Returns the number of rounds in which the queue was full.
    fn send_all(&self) -> u32 {
        let mut in_vain = 0;
        for number in 0..MESSAGES {
            while number - self.received.load(SeqCst) == 3 {
                in_vain += 1;
            }
            self.slots[number as usize % 3].store(number, SeqCst);
            self.sent.store(number + 1, SeqCst);
        }
        in_vain
    }

    /// Receives all numbers. Returns the number of rounds in which the queue was empty.
    fn receive_all(&self) -> u32 {
        let mut in_vain = 0;
        for number in 0..MESSAGES {
            while self.sent.load(SeqCst) == number {
                in_vain += 1;
            }
            assert_eq!(self.slots[number as usize % 3].load(SeqCst), number);
            self.received.store(number + 1, SeqCst);
        }
        in_vain
    }
}

/// A thread that waits for another thread in a loop does not waste a whole turn of a thousand operations.
#[test]
fn a_full_or_empty_queue_ends_the_turn_of_a_thread() {
    let report = runner().seeds(0..1).strategy("random").run_native(|| {
        let queue = Arc::new(ThreeSlots::default());
        let sender = queue.clone();
        let thread = thread::spawn(move || sender.send_all());
        let in_vain = queue.receive_all() + thread.join().unwrap();
        // A thread that the strategy chooses again after its turn wastes another turn.
        assert!(in_vain / MESSAGES < 200, "{in_vain} rounds in vain");
    });
    assert!(report.passed(), "{:?}", failure(&report));
}

/// A search ends at the limit, so it proves nothing about the rest.
#[test]
fn a_search_does_not_continue() {
    let report = runner().strategy("exhaustive").max_steps(200).run_native(RIGHT[0].1);
    assert!(!report.passed() && matches!(failure(&report), Some(Failure::StepLimit { .. })));
}

/// Shrinking is limited by steps, not by replays, and the screen says if it ended too early.
#[test]
fn a_long_run_is_shrunk_within_a_budget_of_steps() {
    let report = Runner::new().hermetic().seeds(0..1).max_steps(1_000_000).run_native(|| {
        let adds = |count: &AtomicU32| (0..3).for_each(|_| add(count));
        let count = both(AtomicU32::new(0), adds, adds);
        assert_ne!(count.load(SeqCst), 6 * TIMES, "planted");
    });
    let finding = report.finding.as_ref().unwrap();
    let shrunk = finding.shrunk.as_ref().expect("it is the same again");
    let steps = u64::from(shrunk.replays) * u64::from(6 * TIMES);
    assert!(!shrunk.complete && steps < 4_000_000, "{shrunk:?}");
    let screen = text(&report, &Style::default());
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("then the budget was used up"), "{screen}");
}

/// Beyond the limit, operations cost the same with both memories.
#[test]
fn operations_beyond_the_limit_do_not_choose_stores() {
    let messages = || {
        let (sender, receiver) = crossbeam_channel::bounded(100);
        let thread = thread::spawn(move || (0..40_000).for_each(|n| sender.send(n).unwrap()));
        assert!(receiver.iter().eq(0..40_000));
        thread.join().unwrap();
    };
    let time = |memory: &str| {
        let begin = Instant::now();
        // The portfolio has another mix with `c11`.
        let runner = runner().strategy("random").seeds(0..2).memory(memory);
        let report = runner.run_native(messages);
        assert!(report.passed(), "{:?}", failure(&report));
        begin.elapsed()
    };
    // Other processes may take the processor for a while.
    let least = |memory| (0..4).map(|_| time(memory)).min().expect("several times");
    let (sc, c11) = (least("sc"), least("c11"));
    println!("{sc:?} with sc, {c11:?} with c11");
    assert!(c11 < sc.mul_f64(2.0), "{sc:?} with sc, {c11:?} with c11");
}
