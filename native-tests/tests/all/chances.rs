//! Chances: timers that end early, spurious wake-ups, spurious failures. Each bug here needs its chance, and its fixed
//! version passes with all chances.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use sim::Runner;
use sim::report::{Report, Style, text};
use sim::run::Run;

const ALL: &str = "timers, spurious, weak";
const LONG: Duration = Duration::from_secs(3600);

fn runner(chances: &str) -> Runner {
    let out = std::env::temp_dir().join(format!("unpause-chances-{}", std::process::id()));
    Runner::new().hermetic().chances(chances).seeds(0..2000).why(0).out(out)
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

/// Asserts that `bug` fails with this chance only, and that `fixed` passes with all of them. Returns the screen.
fn only_with(chance: &str, bug: fn(), fixed: fn()) -> String {
    let others: Vec<&str> = ALL.split(", ").filter(|other| *other != chance).collect();
    for chances in ["none", &others.join(",")] {
        let report = runner(chances).run_native(bug);
        assert!(report.passed(), "{chances}: {}", screen(&report));
    }
    let report = runner(ALL).run_native(fixed);
    assert!(report.passed(), "{}", screen(&report));
    let report = runner(ALL).run_native(bug);
    assert!(!report.passed(), "{chance} is not enough");
    screen(&report)
}

/// The number of times that a screen has each of the three.
fn happened(screen: &str) -> [usize; 3] {
    ["the timer ends early", "wakes spuriously", "fails spuriously"]
        .map(|words| screen.matches(words).count())
}

/// A flag and its condition variable. The other thread sets the flag.
fn wait_for_flag(wait: fn(&Mutex<bool>, &Condvar) -> bool) {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = shared.clone();
    let setter = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    assert!(wait(&shared.0, &shared.1));
    setter.join().unwrap();
}

#[test]
fn a_wait_in_an_if_is_woken_spuriously() {
    fn bug() {
        wait_for_flag(|flag, condition| {
            let mut flag = flag.lock().unwrap();
            if !*flag {
                flag = condition.wait(flag).unwrap();
            }
            *flag
        });
    }
    fn fixed() {
        wait_for_flag(|flag, condition| {
            let flag = flag.lock().unwrap();
            *condition.wait_while(flag, |flag| !*flag).unwrap()
        });
    }
    let screen = only_with("spurious", bug, fixed);
    assert_eq!(happened(&screen), [0, 1, 0], "{screen}");
}

#[test]
fn a_park_without_a_loop_is_woken_spuriously() {
    fn program(wait: fn(&AtomicBool)) {
        let done = Arc::new(AtomicBool::new(false));
        let (other, waiter) = (done.clone(), thread::current());
        let setter = thread::spawn(move || {
            other.store(true, SeqCst);
            waiter.unpark();
        });
        wait(&done);
        assert!(done.load(SeqCst));
        setter.join().unwrap();
    }
    fn bug() {
        program(|_| thread::park());
    }
    fn fixed() {
        program(|done| {
            while !done.load(SeqCst) {
                thread::park();
            }
        });
    }
    let screen = only_with("spurious", bug, fixed);
    assert_eq!(happened(&screen), [0, 1, 0], "{screen}");
}

#[test]
fn a_time_limit_is_taken_for_the_absence_of_what_was_awaited() {
    fn program(is_over: fn(&Mutex<bool>, &Condvar) -> bool) {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = shared.clone();
        let setter = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        if is_over(&shared.0, &shared.1) {
            assert!(!*shared.0.lock().unwrap(), "it was set");
        }
        setter.join().unwrap();
    }
    fn bug() {
        program(|flag, condition| {
            let flag = flag.lock().unwrap();
            let (flag, result) = condition.wait_timeout_while(flag, LONG, |flag| !*flag).unwrap();
            drop(flag);
            result.timed_out()
        });
    }
    fn fixed() {
        program(|flag, condition| {
            let flag = flag.lock().unwrap();
            let (flag, _) = condition.wait_timeout_while(flag, LONG, |flag| !*flag).unwrap();
            // It may be set as soon as the lock is free.
            drop(flag);
            false
        });
    }
    let screen = only_with("timers", bug, fixed);
    let [_, spurious, weak] = happened(&screen);
    assert!(screen.contains("ends early") && spurious + weak == 0, "{screen}");
}

#[test]
fn a_sleep_synchronises_nothing() {
    fn program(wait: fn(mpsc::Receiver<u8>)) {
        let value = Arc::new(AtomicU8::new(0));
        let (sender, receiver) = mpsc::channel();
        let other = value.clone();
        let writer = thread::spawn(move || {
            other.store(7, SeqCst);
            sender.send(0).unwrap();
        });
        wait(receiver);
        assert_eq!(value.load(SeqCst), 7);
        writer.join().unwrap();
    }
    fn bug() {
        program(|receiver| {
            thread::sleep(LONG);
            let _ = receiver.recv();
        });
    }
    fn sleeps_only() {
        program(|receiver| {
            thread::sleep(LONG);
            // The receiver is not dropped before the end, or the sender would fail.
            std::mem::forget(receiver);
        });
    }
    fn fixed() {
        program(|receiver| assert_eq!(receiver.recv(), Ok(0)));
    }
    assert!(runner(ALL).run_native(bug).passed(), "the channel synchronises");
    let screen = only_with("timers", sleeps_only, fixed);
    assert_eq!(happened(&screen), [1, 0, 0], "{screen}");
}

#[test]
fn a_time_limit_of_a_channel_and_of_park_ends_early() {
    fn channel() {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || _ = sender.send(7));
        assert_eq!(receiver.recv_timeout(LONG), Ok(7));
        thread.join().unwrap();
    }
    fn park() {
        let begun = Instant::now();
        let (parked, done) = (thread::current(), Arc::new(AtomicBool::new(false)));
        let other = done.clone();
        let thread = thread::spawn(move || {
            other.store(true, SeqCst);
            parked.unpark();
        });
        thread::park_timeout(LONG);
        // Without chances, the time does not move while the other thread can continue.
        assert!(done.load(SeqCst) || begun.elapsed() < LONG);
        thread.join().unwrap();
    }
    fn fixed() {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || _ = sender.send(7));
        while receiver.recv_timeout(LONG).is_err() {}
        thread.join().unwrap();
    }
    only_with("timers", channel, fixed);
    only_with("timers", park, fixed);
}

#[test]
fn the_time_does_not_go_back_and_earlier_timers_end_first() {
    let report = runner("timers").run_native(|| {
        let long = thread::spawn(|| {
            let begun = Instant::now();
            thread::sleep(LONG);
            assert!(begun.elapsed() >= LONG);
            begun.elapsed()
        });
        let begun = Instant::now();
        thread::sleep(Duration::from_millis(5));
        let short = begun.elapsed();
        assert!(short >= Duration::from_millis(5) && long.join().unwrap() >= LONG);
        assert!(begun.elapsed() >= short);
    });
    assert!(report.passed(), "{}", screen(&report));
}

#[test]
fn a_weak_exchange_needs_a_loop() {
    fn program(add: fn(&AtomicUsize) -> bool) {
        let count = Arc::new(AtomicUsize::new(0));
        let other = count.clone();
        let thread = thread::spawn(move || add(&other));
        assert!(thread.join().unwrap(), "no other thread was there");
        add(&count);
    }
    fn bug() {
        program(|count| {
            let seen = count.load(SeqCst);
            count.compare_exchange_weak(seen, seen + 1, SeqCst, Relaxed).is_ok()
        });
    }
    fn fixed() {
        program(|count| {
            let mut seen = count.load(SeqCst);
            while let Err(now) = count.compare_exchange_weak(seen, seen + 1, SeqCst, Relaxed) {
                assert!(now == seen, "no value that was never there");
                seen = now;
            }
            true
        });
    }
    fn strong() {
        program(|count| {
            let seen = count.load(SeqCst);
            count.compare_exchange(seen, seen + 1, SeqCst, Relaxed).is_ok()
        });
    }
    let screen = only_with("weak", bug, fixed);
    assert_eq!(happened(&screen), [0, 0, 1], "{screen}");
    let report = runner(ALL).seeds(0..10_000).run_native(strong);
    assert!(report.passed(), "a strong exchange does not fail so");
}

/// Weak exchanges of several sizes, and with values that the compiled code compares in different ways. The new value
/// may be the expected value.
#[test]
fn weak_exchanges_of_several_sizes_fail_and_see_the_value() {
    /// A test that fails if the exchange fails.
    macro_rules! program {
        ($name:ident, $atomic:ty, $expected:expr, $new:expr) => {
            fn $name() {
                let word = <$atomic>::new($expected);
                match word.compare_exchange_weak($expected, $new, AcqRel, Relaxed) {
                    Ok(_) => {}
                    Err(seen) if seen == $expected => panic!("seen"),
                    Err(_) => panic!("another value"),
                }
            }
        };
    }
    program!(byte, AtomicU8, 200, 1);
    program!(word, AtomicU32, u32::MAX, 1);
    program!(none, AtomicUsize, 0, 1);
    program!(long, AtomicUsize, std::hint::black_box(usize::MAX - 7), 1);
    program!(equal, AtomicU32, 7, 7);
    program!(equal_byte, AtomicU8, 0, 0);
    fn flag() {
        let flag = AtomicBool::new(false);
        if flag.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            panic!("seen");
        }
    }
    for (memory, program) in ["sc", "c11"].into_iter().flat_map(|memory| {
        [byte, word, none, long, equal, equal_byte, flag].map(|program| (memory, program as fn()))
    }) {
        assert!(runner("none").memory(memory).run_native(program).passed());
        for weak in [runner("weak"), runner("weak").strategy("exhaustive")] {
            let screen = screen(&weak.memory(memory).run_native(program));
            // Without "fails", after which a line may be broken.
            assert!(screen.contains("  seen") && screen.contains("spuriously"), "{screen}");
        }
    }
}

/// `fetch_update` is a loop over a weak exchange: a closure with an effect is called twice.
#[test]
fn a_closure_of_fetch_update_is_called_again() {
    fn bug() {
        let (count, calls) = (AtomicUsize::new(3), AtomicUsize::new(0));
        let update = |value| {
            calls.fetch_add(1, Relaxed);
            Some(value + 1)
        };
        assert_eq!(count.fetch_update(SeqCst, Relaxed, update), Ok(3));
        assert_eq!((count.load(Relaxed), calls.load(Relaxed)), (4, 1));
    }
    fn fixed() {
        let count = AtomicUsize::new(3);
        assert_eq!(count.fetch_update(SeqCst, Relaxed, |value| Some(value + 1)), Ok(3));
        assert_eq!(count.load(Relaxed), 4);
    }
    only_with("weak", bug, fixed);
}

/// A program in which all three happen: it fails if some thread has waited or added without effect.
fn all_three() {
    let shared = Arc::new((Mutex::new(0), Condvar::new(), AtomicUsize::new(0)));
    let other = shared.clone();
    let thread = thread::spawn(move || {
        thread::sleep(LONG);
        let seen = other.2.load(SeqCst);
        let added = other.2.compare_exchange_weak(seen, seen + 1, SeqCst, Relaxed).is_ok();
        *other.0.lock().unwrap() += 1;
        other.1.notify_one();
        added
    });
    let state = shared.0.lock().unwrap();
    let state = shared.1.wait_timeout(state, LONG / 2).unwrap();
    let in_vain = *state.0 == 0 && !state.1.timed_out();
    drop(state);
    let added = thread.join().unwrap();
    assert!(!in_vain, "woken in vain");
    assert!(added, "added in vain");
}

/// Tasks, operations, values and decisions of a run.
fn told(run: &Run) -> String {
    format!("{:?} {:?} {:?} {:?}", run.outcome, run.steps, run.draws, run.events)
}

#[test]
fn a_trace_is_replayed_without_the_setting() {
    for chances in ["spurious", "weak", ALL] {
        let report = runner(chances).run_native(all_three);
        let finding = report.finding.expect("one of the two is found");
        let file = finding.trace_file.expect("the trace is written");
        let again = runner("none").replay(&file).run_native(all_three);
        let again = again.finding.expect("the replay fails");
        assert_eq!(told(&finding.run), told(&again.run), "{chances}");
    }
}

#[test]
fn the_same_seed_is_the_same_run_in_both_isolations() {
    let of = |seed: u64, isolate: &str| {
        let runner = runner(ALL).seeds(seed..seed + 1).shrink(false).isolate(isolate);
        runner.run_native(all_three).finding.map(|finding| told(&finding.run))
    };
    let mut failed = 0;
    for seed in 0..60 {
        let first = of(seed, "run");
        assert_eq!(first, of(seed, "run"), "seed {seed}");
        assert_eq!(first, of(seed, "process"), "seed {seed}");
        failed += usize::from(first.is_some());
    }
    assert!((2..58).contains(&failed), "{failed} of 60 fail");
}

#[test]
fn a_search_finds_each_chance_and_says_what_it_does_not_try() {
    fn search(chances: &str, body: fn()) -> (bool, String) {
        let report = runner(chances).strategy("exhaustive").seeds(0..100_000).run_native(body);
        let why = report.searched.as_ref();
        let why = why.map(|own| format!("{:?}", [&own.beyond[..], &own.unseen].concat()));
        let proof = report.searched.is_some_and(|searched| searched.is_proof());
        assert!(report.finding.is_some() || proof == (why.as_deref() == Some("[]")));
        (report.finding.is_some(), why.unwrap_or_default())
    }
    fn one_wait() {
        wait_for_flag(|flag, condition| {
            let mut flag = flag.lock().unwrap();
            if !*flag {
                flag = condition.wait(flag).unwrap();
            }
            *flag
        });
    }
    fn weak() {
        let count = AtomicUsize::new(0);
        count.compare_exchange_weak(0, 1, SeqCst, Relaxed).unwrap();
    }
    fn weak_twice() {
        let count = Arc::new(AtomicUsize::new(0));
        let other = count.clone();
        let add = |count: &AtomicUsize| {
            count.compare_exchange_weak(0, 1, SeqCst, Relaxed).is_ok()
                || count.compare_exchange_weak(0, 1, SeqCst, Relaxed).is_ok()
        };
        let thread = thread::spawn(move || _ = add(&other));
        add(&count);
        thread.join().unwrap();
        assert!(count.load(SeqCst) <= 1);
    }
    fn in_a_loop() {
        let count = AtomicUsize::new(0);
        while count.compare_exchange_weak(0, 1, SeqCst, Relaxed).is_err() {}
    }
    fn sleeps() {
        let thread = thread::spawn(|| thread::sleep(LONG));
        thread.join().unwrap();
    }
    for (chances, body) in [("spurious", one_wait as fn()), ("weak", weak)] {
        assert!(search(chances, body).0, "{chances}");
        assert_eq!(search("none", body), (false, "[]".to_owned()), "{chances}");
    }
    let (failed, why) = search("weak", weak_twice);
    assert!(!failed && why.contains("spurious failures"), "{why}");
    let (failed, why) = search("weak", in_a_loop);
    assert!(!failed && why.contains("more than two spurious failures"), "{why}");
    let (failed, why) = search("timers", sleeps);
    assert!(!failed && why.contains("clocks"), "{why}");
}

/// The file with the outcomes of the runs of a program: the memory of a run ends with it.
const OUTCOMES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/chances");

/// Takes the outcomes recorded so far.
fn outcomes() -> BTreeSet<String> {
    let text = fs::read_to_string(OUTCOMES).unwrap_or_default();
    let _ = fs::remove_file(OUTCOMES);
    text.lines().map(str::to_owned).collect()
}

/// A search reaches all results of random runs.
#[test]
fn a_search_has_the_outcomes_of_random_runs() {
    fn record(outcome: impl Debug) {
        let mut file = OpenOptions::new().create(true).append(true).open(OUTCOMES).unwrap();
        file.write_all(format!("{outcome:?}\n").as_bytes()).unwrap();
    }
    fn a_waiter() {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let other = shared.clone();
        let waiter = thread::spawn(move || {
            let state = other.0.lock().unwrap();
            if *state == 0 { (1, *other.1.wait(state).unwrap()) } else { (0, *state) }
        });
        for state in [1, 2] {
            *shared.0.lock().unwrap() = state;
            shared.1.notify_one();
        }
        record(waiter.join().unwrap());
    }
    fn counts() {
        let count = Arc::new(AtomicUsize::new(0));
        let add = |count: &AtomicUsize| count.compare_exchange_weak(0, 1, SeqCst, Relaxed).is_ok();
        let other = count.clone();
        let thread = thread::spawn(move || add(&other));
        let here = add(&count);
        record((here, thread.join().unwrap(), count.load(SeqCst)));
    }
    for (chances, body, least) in [("spurious", a_waiter as fn(), 5), ("weak", counts, 3)] {
        let explored = |strategy: &str, runs: u64, chances: &str| {
            drop(outcomes());
            let report = runner(chances).strategy(strategy).seeds(0..runs).run_native(body);
            assert!(report.passed(), "{}", screen(&report));
            let proof = report.searched.as_ref().is_some_and(|searched| searched.is_proof());
            assert!(proof == (strategy == "exhaustive"), "{}", screen(&report));
            outcomes()
        };
        let found = explored("random", 20_000, chances);
        let searched = explored("exhaustive", 1_000_000, chances);
        let without = explored("exhaustive", 1_000_000, "none");
        assert_eq!(found, searched, "{chances}");
        assert!(found.len() >= least && without.len() < found.len(), "{found:?}");
    }
}
