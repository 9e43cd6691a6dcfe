//! Operations that are not points: an exhaustive search has the outcomes of a search with all as points.

/// The functions with these tens of numbers.
macro_rules! ten {
    ($body:ident $($n:literal)*) => { [$($body::<{ $n }>, $body::<{ $n + 1 }>, $body::<{ $n + 2 }>, $body::<{ $n + 3 }>,
        $body::<{ $n + 4 }>, $body::<{ $n + 5 }>, $body::<{ $n + 6 }>, $body::<{ $n + 7 }>, $body::<{ $n + 8 }>,
        $body::<{ $n + 9 }>),*] };
}

/// Defines `BODIES`, the bodies of the programs that `generated` runs, and `IN_DETAIL`, the same bodies. A search of the
/// latter begins again when it sees the lock, and then steps all instructions.
macro_rules! bodies {
    ($count:literal: $($n:literal)*) => {
        fn body<const N: u64>() {
            generated(N);
        }
        fn in_detail<const N: u64>() {
            drop(std::sync::RwLock::new(()).try_read());
            generated(N);
        }
        const BODIES: [fn(); $count] = ten! { body $($n)* };
        const IN_DETAIL: [fn(); $count] = ten! { in_detail $($n)* };
    };
}

mod channels;
mod condvars;
mod counting;
mod generated;
mod initialized;
mod left;
mod merged;
mod merged_objects;
mod notified;
mod patient;
mod readings;
mod references;
mod scopes;
mod shared;
mod states;
mod timed;
mod undone;

use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use std::thread;
use std::time::Instant;

/// The folder with the outcomes of runs: their memory ends with them, and statics are initialized again.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/points");

/// Records the outcome of a run of a program.
fn outcome(program: &str, outcome: impl Debug) {
    let mut line = String::new();
    writeln!(line, "{outcome:?}").unwrap();
    let path = format!("{FOLDER}/{program}");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

/// Takes the outcomes recorded so far.
fn outcomes(program: &str) -> BTreeSet<String> {
    let path = format!("{FOLDER}/{program}");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    text.lines().map(str::to_owned).collect()
}

fn runner(strategy: &str, runs: u64) -> sim::Runner {
    sim::Runner::new()
        .hermetic()
        .strategy(strategy)
        .seeds(0..runs)
        .shrink(false)
        .prove(0)
        .max_steps(3_000)
}

/// The result of a search.
struct Searched {
    runs: u64,
    blocked: u64,
    /// True if it is through, and claims a proof unless a run failed.
    through: bool,
    fails: bool,
    outcomes: BTreeSet<String>,
    /// In microseconds.
    time: u128,
    text: String,
}

fn search(program: &str, body: fn(), points: &str, strategy: &str, runs: u64) -> Searched {
    fs::create_dir_all(FOLDER).unwrap();
    drop(outcomes(program));
    let begin = Instant::now();
    let report = runner(strategy, runs).points(points).run_native(body);
    let time = begin.elapsed().as_micros();
    let fails = report.finding.is_some();
    let searched = report.searched.clone();
    let through = fails || searched.as_ref().is_some_and(|searched| searched.is_proof());
    let text = format!("{searched:?} {:?}", report.finding.as_ref().map(|f| &f.run.outcome));
    let blocked = searched.map_or(0, |searched| searched.blocked);
    Searched { runs: report.runs, blocked, through, fails, outcomes: outcomes(program), time, text }
}

/// A named program, for measurements and for comparisons.
macro_rules! programs {
    ($($name:ident $body:block)*) => {
        $(fn $name() { outcome(stringify!($name), $body); })*
        const NAMED: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}

fn two<S: Sync, T: Send>(shared: S, there: fn(&S) -> T, here: fn(&S) -> T) -> (T, T, S) {
    let (mut a, mut b) = (None, None);
    thread::scope(|scope| {
        scope.spawn(|| a = Some(there(&shared)));
        b = Some(here(&shared));
    });
    (a.unwrap(), b.unwrap(), shared)
}

fn add(lock: &Mutex<u64>) -> u64 {
    let mut value = lock.lock().unwrap();
    *value += 1;
    *value
}

programs! {
    spin_on_a_flag {
        two(AtomicU64::new(0), |f| { while f.load(SeqCst) == 0 {} f.load(SeqCst) }, |f| {
            f.store(1, SeqCst); f.swap(2, SeqCst)
        }).0
    }
    spin_with_yield {
        two(AtomicU64::new(0), |f| { while f.load(SeqCst) == 0 { thread::yield_now() } f.load(SeqCst) }, |f| {
            f.store(1, SeqCst); f.swap(2, SeqCst)
        }).0
    }
    spin_on_two_words {
        two([AtomicU64::new(0), AtomicU64::new(0)],
            |f| { while f[0].load(SeqCst) == 0 && f[1].load(SeqCst) == 0 {} (f[0].load(SeqCst), f[1].load(SeqCst)) },
            |f| { f[1].store(1, SeqCst); f[0].store(1, SeqCst); (0, 0) }).0
    }
    spin_lock {
        let add = |(lock, value): &(AtomicU64, AtomicU64)| {
            while lock.swap(1, SeqCst) == 1 {}
            let seen = value.load(SeqCst);
            value.store(seen + 1, SeqCst);
            lock.store(0, SeqCst);
            seen
        };
        let (a, b, (_, value)) = two((AtomicU64::new(0), AtomicU64::new(0)), add, add);
        (a, b, value.into_inner())
    }
    spin_lock_alone {
        let add = |lock: &AtomicU64| {
            let mut rounds = 0u64;
            while lock.swap(1, SeqCst) == 1 {}
            rounds += 1;
            lock.store(0, SeqCst);
            rounds
        };
        let (a, b, _) = two(AtomicU64::new(0), add, add);
        (a, b)
    }
    spin_lock_compare_exchange {
        let add = |(lock, value): &(AtomicU64, AtomicU64)| {
            while lock.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {}
            let seen = value.load(SeqCst);
            value.store(seen + 1, SeqCst);
            lock.store(0, SeqCst);
            seen
        };
        let (a, b, (_, value)) = two((AtomicU64::new(0), AtomicU64::new(0)), add, add);
        (a, b, value.into_inner())
    }
    spin_lock_read_first {
        let add = |(lock, value): &(AtomicU64, AtomicU64)| {
            while lock.load(SeqCst) == 1 || lock.swap(1, SeqCst) == 1 {}
            let seen = value.load(SeqCst);
            value.store(seen + 1, SeqCst);
            lock.store(0, SeqCst);
            seen
        };
        let (a, b, (_, value)) = two((AtomicU64::new(0), AtomicU64::new(0)), add, add);
        (a, b, value.into_inner())
    }
    spin_reads_guard_a_value {
        two((AtomicU64::new(0), AtomicU64::new(0)), |(flag, value)| {
            let _ = value.load(SeqCst);
            while flag.load(SeqCst) == 0 {}
            value.fetch_add(1, SeqCst)
        }, |(flag, value)| { let seen = value.load(SeqCst); value.store(seen + 1, SeqCst); flag.store(1, SeqCst); value.fetch_add(4, SeqCst) })
        .0
    }
    four_reads {
        two(AtomicU64::new(0), |f| [0; 4].map(|_| f.load(SeqCst)).to_vec(), |f| { f.store(1, SeqCst); vec![] }).0
    }
    rounds_counted_then_written {
        two((AtomicU64::new(0), AtomicU64::new(0)), |(flag, gave_up)| {
            for _ in 0..6 { if flag.load(SeqCst) == 1 { return 1 } }
            gave_up.store(1, SeqCst);
            0
        }, |(flag, gave_up)| { flag.store(1, SeqCst); gave_up.load(SeqCst) })
        .0
    }
    the_number_of_rounds {
        two(AtomicU64::new(0), |flag| {
            (0..std::hint::black_box(8)).find(|_| flag.load(SeqCst) == 1)
        }, |flag| { flag.store(1, SeqCst); None })
        .0
    }
    tiny {
        let add = |word: &AtomicU64| { let seen = word.load(SeqCst); word.store(seen + 1, SeqCst); seen };
        let (a, b, word) = two(AtomicU64::new(0), add, add);
        (a, b, word.into_inner())
    }
    mutex_2x1 {
        let (a, b, _) = two(Mutex::new(0), add, add);
        (a, b)
    }
    mutex_2x2 {
        let (a, b, _) = two(Mutex::new(0), |m| (add(m), add(m)), |m| (add(m), add(m)));
        (a, b)
    }
    two_locks {
        let (a, b, _) = two([Mutex::new(0), Mutex::new(0)], |m| (add(&m[0]), add(&m[1])), |m| (add(&m[0]), add(&m[1])));
        (a, b)
    }
    condvar_flag {
        two((Mutex::new(false), Condvar::new()), |(flag, changed)| {
            let (mut flag, mut waits) = (flag.lock().unwrap(), 0);
            while !*flag { waits = 1; flag = changed.wait(flag).unwrap(); }
            waits
        }, |(flag, changed)| { *flag.lock().unwrap() = true; changed.notify_one(); 0 }).0
    }
    rwlock_read_write {
        two(RwLock::new(0), |l| *l.read().unwrap(), |l| { *l.write().unwrap() = 1; 0 }).0
    }
    value_then_try_lock {
        two((Mutex::new(()), AtomicU64::new(0)), |(lock, word)| {
            let held = lock.lock().unwrap(); word.store(1, SeqCst); drop(held); (0, 0)
        }, |(lock, word)| { let seen = word.load(SeqCst); (seen, u64::from(lock.try_lock().is_ok())) }).1
    }
    value_then_is_locked {
        two((parking_lot::Mutex::new(()), AtomicU64::new(0)), |(lock, word)| {
            let held = lock.lock(); word.store(1, SeqCst); drop(held); (0, 0)
        }, |(lock, word)| { let seen = word.load(SeqCst); (seen, u64::from(lock.is_locked())) }).1
    }
    mpsc_one_sender {
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || { sender.send(1).unwrap(); sender.send(2).unwrap(); });
            (receiver.recv(), receiver.try_recv(), receiver.recv())
        })
    }
    mpsc_two_senders {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        thread::scope(|scope| {
            scope.spawn(move || sender.send(1).unwrap());
            scope.spawn(move || other.send(2).unwrap());
            (receiver.recv(), receiver.recv())
        })
    }
}

/// Compares the outcomes of named programs.
#[test]
fn named_programs_have_the_same_outcomes_with_all_points() {
    let most = if std::env::var("UNPAUSE_LONG").is_ok() { 200_000 } else { 1_000 };
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut differences = Vec::new();
    for (name, body) in NAMED.iter().filter(|(name, _)| name.contains(&only)) {
        let few = search(name, *body, "default", "exhaustive", most);
        let all = search(name, *body, "all", "exhaustive", most);
        eprintln!(
            "{name}: all {} + {} in {} us, {}; default {} + {} in {} us, {}: {} outcomes; {}",
            all.runs,
            all.blocked,
            all.time,
            all.through,
            few.runs,
            few.blocked,
            few.time,
            few.through,
            few.outcomes.len(),
            if few.through { "" } else { &few.text }
        );
        let open = !few.through && name.contains("spin");
        if all.through && !all.fails && few.outcomes != all.outcomes || few.fails || open {
            differences.push(format!("{name}: {:?} {:?} {}", few.outcomes, all.outcomes, few.text));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Loops that have endless runs under some strategies if each read is a point.
#[test]
fn loops_that_wait_for_a_value_do_not_reach_the_step_limit() {
    fs::create_dir_all(FOLDER).unwrap();
    for strategy in ["random", "pct", "portfolio", "surw", "pos", "orders"] {
        for (name, body) in
            NAMED.iter().filter(|(name, _)| name.contains("spin") || name.contains("mpsc"))
        {
            let report = runner(strategy, 300).max_steps(2_000).run_native(*body);
            assert!(
                report.passed() && report.notes.is_empty(),
                "{name}, {strategy}: {:?} {:?}",
                report.finding.map(|f| f.run.outcome),
                report.notes
            );
        }
    }
}

/// Two threads that wait for each other in loops are a deadlock, and its message names the words that they read.
#[test]
fn loops_that_wait_for_each_other_are_a_deadlock() {
    fn planted() {
        two(
            [AtomicU64::new(0), AtomicU64::new(0)],
            |f| {
                while f[0].load(SeqCst) == 0 {}
                f[1].store(1, SeqCst)
            },
            |f| {
                while f[1].load(SeqCst) == 0 {}
                f[0].store(1, SeqCst)
            },
        );
    }
    let report = runner("random", 1).run_native(planted);
    let outcome = format!("{:?}", report.finding.unwrap().run.outcome);
    assert!(outcome.contains("Deadlock") && outcome.contains("spin_until"), "{outcome}");
}

/// The counts of `Arc` decide which thread drops a value; they are points on request.
#[test]
fn counts_of_arc_are_points_on_request() {
    struct Names(&'static AtomicU64, u64);
    impl Drop for Names {
        fn drop(&mut self) {
            self.0.store(
                u64::from(thread::current().id() == thread::current().id()) + self.1,
                SeqCst,
            );
        }
    }
    fn body() {
        let value = Arc::new(Names(Box::leak(Box::new(AtomicU64::new(0))), 1));
        let other = value.clone();
        let thread = thread::spawn(move || drop(other));
        drop(value);
        thread.join().unwrap();
    }
    let runs = |arc: bool| runner("exhaustive", 10_000).arc(arc).run_native(body).runs;
    assert_eq!(runs(false), 1);
    assert!(runs(true) > 1);
}

/// Two threads under a spin lock that `take` takes: the number of updates that are not lost.
fn under_a_spin_lock(take: fn(&AtomicU64)) -> u64 {
    let add = |(lock, value): &(AtomicU64, AtomicU64)| {
        take(lock);
        let seen = value.load(SeqCst);
        value.store(seen + 1, SeqCst);
        lock.store(0, SeqCst);
    };
    let shared = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| add(&shared));
        add(&shared);
    });
    shared.1.into_inner()
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_spin_lock_taken_in_two_parts_is_taken_twice() {
    let updates = under_a_spin_lock(|lock| {
        while lock.load(SeqCst) == 1 {}
        lock.store(1, SeqCst);
    });
    assert_eq!(updates, 2);
}

#[sim::test(native, strategy = "exhaustive", must_prove)]
fn a_spin_lock_taken_in_one_part_is_not() {
    assert_eq!(under_a_spin_lock(|lock| while lock.swap(1, SeqCst) == 1 {}), 2);
}

#[sim::test(native, seeds = 100, points = "all", arc)]
fn points_of_a_test() {
    let counted = Arc::new(AtomicU64::new(0));
    let other = counted.clone();
    thread::spawn(move || other.fetch_add(1, SeqCst)).join().unwrap();
    assert_eq!(counted.load(SeqCst), 1);
}

/// Looks at a flag in six rounds, which are counted on the stack. Returns `true` if the flag was set.
fn is_set_within_six_rounds(flag: &AtomicU64) -> bool {
    let mut rounds = 0;
    while flag.load(SeqCst) == 0 {
        *std::hint::black_box(&mut rounds) += 1;
        if *std::hint::black_box(&rounds) == 6 {
            return false;
        }
    }
    true
}

/// The loop is not held: it can give up before the other thread sets the flag.
#[sim::test(native, seeds = 1000, must_fail)]
fn a_loop_that_counts_on_the_stack_gives_up() {
    let flag = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| flag.store(1, SeqCst));
        assert!(is_set_within_six_rounds(&flag), "gave up");
    });
}

/// Changes between later rounds are not tried, so nothing is proven.
#[test]
fn a_search_of_a_loop_with_many_rounds_is_no_proof() {
    fn body() {
        two(
            AtomicU64::new(0),
            |flag| (0..std::hint::black_box(40)).find(|_| flag.load(SeqCst) == 1),
            |flag| {
                flag.store(1, SeqCst);
                None
            },
        );
    }
    let searched = runner("exhaustive", 10_000).run_native(body).searched.unwrap();
    assert!(searched.complete && !searched.is_proof(), "{searched:?}");
    let [unseen] = &searched.unseen[..] else { panic!("{searched:?}") };
    assert!(
        unseen.starts_with("later rounds of a loop that counts them, at tests/all/points.rs:"),
        "{unseen}"
    );
}

/// The programs that were small enough to compare, and how many of them fail.
struct Compared {
    programs: usize,
    fail: usize,
}

/// Searches each body with all operations as points and with the points of a test. Both searches must have the same
/// outcomes. Bodies whose search with all operations takes more than `most` runs are left out.
fn compare(kind: &str, bodies: &[fn()], most: u64) -> Compared {
    let searches = bodies.iter().map(|body| [(*body, "all"), (*body, "default")]);
    compare_with(kind, searches.enumerate(), most)
}

/// Like [`compare`], for other searches: each is a body and a setting of its points. The first search of a program is the
/// finer one. Each program has a number.
fn compare_with(
    kind: &str,
    searches: impl Iterator<Item = (usize, [(fn(), &'static str); 2])>,
    most: u64,
) -> Compared {
    let (mut compared, mut fail, mut left, mut runs, mut all_runs) = (0, 0, 0, 0, 0);
    let mut differences = Vec::new();
    for (number, [(fine, of_fine), (coarse, of_coarse)]) in searches {
        let name = format!("{kind}_{number}");
        let all = search(&name, fine, of_fine, "exhaustive", most);
        if !all.through {
            left += 1;
            continue;
        }
        let few = search(&name, coarse, of_coarse, "exhaustive", most);
        (compared, fail) = (compared + 1, fail + usize::from(all.fails));
        (runs, all_runs) = (runs + few.runs + few.blocked, all_runs + all.runs + all.blocked);
        let same = few.fails == all.fails && (few.fails || few.outcomes == all.outcomes);
        if !same || !few.through {
            let missing: Vec<_> = all.outcomes.difference(&few.outcomes).collect();
            let more: Vec<_> = few.outcomes.difference(&all.outcomes).collect();
            differences.push(format!(
                "{name}: fails {} {}, missing {missing:?}, more {more:?}, {}, with all points {}",
                few.fails, all.fails, few.text, all.text
            ));
        }
    }
    eprintln!(
        "{compared} programs, {fail} with a deadlock, {left} too large; {all_runs} runs with all points, {runs} without"
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    Compared { programs: compared, fail }
}
