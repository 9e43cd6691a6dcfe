//! Screens of threads that wait or panic inside std and libraries: the user's line, and the holders of objects.

use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use std::thread;

use dashmap::DashMap;

/// The hash of a number: the number.
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// The screen of the first failing run, with single blanks.
fn screen(body: fn()) -> String {
    let report = sim::Runner::new().hermetic().seeds(0..3000).run_native(body);
    let screen = sim::report::text(&report, &Default::default());
    // libtest shows it if the test fails.
    println!("{screen}");
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The report beside the trace has the screen, and the calls of the threads.
#[test]
fn a_failure_of_threads_leaves_its_report() {
    let out = std::env::temp_dir().join(format!("unpause-reports-{}", std::process::id()));
    let runner = sim::Runner::new().hermetic().seeds(0..3000).out(&out);
    let report = runner.run_native(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let thread = thread::spawn(move || *other.lock().unwrap() += 1);
        assert_eq!(*lock.lock().unwrap(), 1);
        thread.join().unwrap();
    });
    let trace = report.finding.as_ref().unwrap().trace_file.clone().unwrap();
    let file = std::path::Path::new(&trace).with_extension("json");
    let written = std::fs::read_to_string(file).unwrap();
    std::fs::remove_dir_all(out).unwrap();
    let screen = |document: &str| {
        let (_, after) = document.split_once(",\"screen\":").unwrap();
        after.split_once(",\"places\":").unwrap().0.to_owned()
    };
    let width = screen(&written).split([':', ',']).nth(1).unwrap().parse().unwrap();
    let style = sim::report::Style { width, color: false };
    assert_eq!(screen(&written), screen(&sim::report::json(&report, &style)));
    assert!(
        written.contains("\"calls\":[{") && written.contains("\"function\":\"lock\""),
        "{written}"
    );
    assert!(written.contains("let thread = thread::spawn(move || *other.lock().unwrap() += 1);"));
}

/// The line of this file with the mark, in the form in which a place begins.
fn line_of(mark: &str) -> String {
    let mark = format!("// {mark}");
    let is_marked = |line: &str| line.trim_end().ends_with(&mark);
    let line = include_str!("screens.rs").lines().position(is_marked).expect("the mark");
    format!("screens.rs:{}:", line + 1)
}

/// Each thread holds a shard of the map and waits for the shard of the other thread.
#[test]
fn a_deadlock_in_a_library_has_the_lines_of_the_user() {
    let screen = screen(|| {
        let hasher = BuildHasherDefault::<Itself>::default();
        let map = Arc::new(DashMap::with_capacity_and_hasher_and_shard_amount(8, hasher, 2));
        // Two keys of different shards.
        let other = 1u64 << 56;
        [0, other].into_iter().for_each(|key| assert_eq!(map.insert(key, 0), None));
        let both = [(0, other), (other, 0)].map(|(seen, changed)| {
            let map = map.clone();
            thread::spawn(move || {
                let value = map.get(&seen).unwrap(); // holds
                map.insert(changed, *value); // waits
            })
        });
        both.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let deadlock = deadlock(&screen);
    for mark in ["holds", "waits"] {
        let line = line_of(mark);
        assert_eq!(deadlock.matches(&line).count(), 2, "{mark} {line}: {screen}");
    }
}

/// The part of a screen about its deadlock.
fn deadlock(screen: &str) -> &str {
    let deadlock = &screen[screen.find("── deadlock").expect(screen)..];
    &deadlock[..deadlock.find("── schedule").expect(screen)]
}

/// A thread reads again behind a writer, which only the detail of locks shows. The writer holds a mutex that main waits for.
fn std_locks() {
    let locks = Arc::new((Mutex::new(()), RwLock::new(())));
    let (tell, told) = mpsc::channel();
    let (reads, writes) = (locks.clone(), locks.clone());
    let reader = thread::spawn(move || {
        let first = reads.1.read(); // std reads
        drop((reads.1.read(), first)); // std reads again
    });
    let writer = thread::spawn(move || {
        let own = writes.0.lock(); // std locks
        tell.send(()).unwrap();
        drop((writes.1.write(), own)); // std writes
    });
    told.recv().unwrap();
    drop(locks.0.lock()); // std waits
    [reader, writer].into_iter().for_each(|thread| thread.join().unwrap());
}

/// The same with locks of parking_lot.
fn raw_locks() {
    let locks = Arc::new((parking_lot::Mutex::new(()), parking_lot::RwLock::new(())));
    let (tell, told) = mpsc::channel();
    let (reads, writes) = (locks.clone(), locks.clone());
    let reader = thread::spawn(move || {
        let first = reads.1.read(); // raw reads
        drop((reads.1.read(), first)); // raw reads again
    });
    let writer = thread::spawn(move || {
        let own = writes.0.lock(); // raw locks
        tell.send(()).unwrap();
        drop((writes.1.write(), own)); // raw writes
    });
    told.recv().unwrap();
    drop(locks.0.lock()); // raw waits
    [reader, writer].into_iter().for_each(|thread| thread.join().unwrap());
}

/// Locks whose code is stepped have holders: readers, writers and owners.
#[test]
fn locks_in_detail_have_holders() {
    for (body, of) in [(std_locks as fn(), "std"), (raw_locks, "raw")] {
        let screen = screen(body);
        let deadlock = deadlock(&screen);
        for (task, waits, holder, holds) in [
            ("0.0", "reads again", "itself", "reads"),
            ("0.1", "writes", "0.0", "reads"),
            ("main", "waits", "0.1", "locks"),
        ] {
            let row = &deadlock[deadlock.find(&format!(" {task} waits")).expect(deadlock)..];
            let holder = row.find(&format!("held by {holder} since step")).expect(deadlock);
            let waits = row.find(&line_of(&format!("{of} {waits}"))).expect(deadlock);
            let holds = row.find(&line_of(&format!("{of} {holds}"))).expect(deadlock);
            assert!(waits < holder && holder < holds, "{task}: {deadlock}");
        }
    }
}

/// The lines of the future and of its executor's call come before the lines of the executor.
#[test]
fn a_future_of_an_executor_has_the_line_at_which_it_awaits() {
    /// Reads a flag, and is never ready.
    async fn never(flag: &AtomicBool) {
        let flag = black_box(flag);
        // Awaits at the line of its last operation.
        assert!(!flag.load(SeqCst)); // awaits
        std::future::pending::<()>().await;
    }
    let futures = || futures_executor::block_on(never(&AtomicBool::new(false))); // futures
    let pollster = || pollster::block_on(never(&AtomicBool::new(false))); // pollster
    for (body, executor) in [(futures as fn(), "futures"), (pollster, "pollster")] {
        let screen = screen(body);
        let deadlock = deadlock(&screen);
        let (awaits, call) = (line_of("awaits"), line_of(executor));
        for row in [
            format!("main its future awaits tests/all/{awaits}"),
            format!("in `block_on` tests/all/{call}"),
        ] {
            assert!(deadlock.contains(&row), "no {row}: {deadlock}");
        }
    }
}

/// A library that panics shows the line of the user.
#[test]
fn a_panic_in_a_library_has_the_line_of_the_user() {
    let screen = screen(|| {
        futures_executor::block_on(async {
            futures_executor::block_on(async {}); // nested
        });
    });
    let at = format!("at tests/all/{}", line_of("nested"));
    assert!(screen.contains(&at), "{at} {screen}");
    assert!(screen.contains(", in futures-executor-"), "{screen}");
}

/// The message of the thread's own panic is shown, and its place.
#[test]
fn a_panic_in_a_scope_has_its_message() {
    let screen = screen(|| {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| assert!(!flag.load(SeqCst), "the flag is up already")); // panics
            scope.spawn(|| flag.store(true, SeqCst));
        });
    });
    assert!(screen.contains("a scoped thread panicked"), "{screen}");
    assert!(screen.contains("the flag is up already"), "{screen}");
    assert!(screen.contains(&line_of("panics")), "{screen}");
}

/// A panic that is passed on by its payload has a message, too, although it calls no hook.
#[test]
fn a_panic_that_is_resumed_has_its_message() {
    let screen = screen(|| {
        let flag = AtomicBool::new(true);
        let thread = thread::spawn(move || assert!(!flag.load(SeqCst), "out of paper")); // resumed
        if let Err(payload) = thread.join() {
            std::panic::resume_unwind(payload);
        }
    });
    assert!(screen.contains("out of paper"), "{screen}");
    assert!(screen.contains(&line_of("resumed")), "{screen}");
}

/// A panic that does not fail the run by itself may be the cause of the failure.
#[test]
fn a_panic_of_another_thread_is_shown_beside_each_failure() {
    fn worker<T: Send + 'static>(held: T) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            let _held = held;
            panic!("out of ink, 3 pages left"); // other
        })
    }
    let failures: [(&str, fn()); 5] = [
        ("assertion failed: worker(()).join().is_ok()", || assert!(worker(()).join().is_ok())),
        ("RecvError", || {
            let (sender, receiver) = mpsc::channel::<u32>();
            let worker = worker(sender);
            let received = receiver.recv();
            drop(worker.join());
            received.unwrap();
        }),
        ("PoisonError", || {
            let lock = Arc::new(Mutex::new(0));
            let other = lock.clone();
            let holds = thread::spawn(move || {
                let _held = other.lock();
                panic!("out of ink, 3 pages left"); // holder
            });
            drop(holds.join());
            drop(lock.lock().unwrap());
        }),
        ("deadlock", || {
            let (sender, receiver) = mpsc::channel::<u32>();
            drop(worker(sender.clone()).join());
            drop((receiver.recv(), sender));
        }),
        ("abort", || {
            drop(worker(()).join());
            std::process::abort();
        }),
    ];
    for (failure, body) in failures {
        let at = |mark| format!("panicked 0.0 at tests/all/{}", line_of(mark));
        for isolation in ["run", "process"] {
            let runner = sim::Runner::new().hermetic().seeds(0..10).shrink(false).prove(0);
            let report = runner.isolate(isolation).run_native(body);
            let screen = sim::report::text(&report, &Default::default());
            let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(screen.contains(failure), "{screen}");
            assert!(
                screen.contains(&at("other")) || screen.contains(&at("holder")),
                "{failure}: {screen}"
            );
            assert!(screen.contains(": out of ink, 3 pages left"), "{screen}");
        }
    }
    let is_caught = screen(|| {
        assert!(std::panic::catch_unwind(|| panic!("out of ink")).is_ok()); // caught
    });
    let at = format!("panicked main at tests/all/{}", line_of("caught"));
    assert!(is_caught.contains(&at), "{is_caught}");
}

/// The end of a scope names the threads that have not ended.
#[test]
fn a_scope_names_the_threads_that_it_waits_for() {
    let screen = screen(|| {
        let pair = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| *pair.0.lock().unwrap() = true);
            scope.spawn(|| {
                let done = pair.0.lock().unwrap();
                drop(pair.1.wait_while(done, |done| !*done));
            });
        });
    });
    assert!(screen.contains("main waits for the threads of a scope: 0.1"), "{screen}");
    assert!(!screen.contains("waits for the threads of a scope: 0.0"), "{screen}");
}

/// Two functions with the same code.
#[inline(never)]
fn grow_a(word: &AtomicU32) {
    let seen = word.load(SeqCst);
    word.store(seen + 1, SeqCst); // a
}

#[inline(never)]
fn grow_b(word: &AtomicU32) {
    let seen = word.load(SeqCst);
    word.store(seen + 1, SeqCst); // b
}

/// The compiler would keep one of two functions with the same code, and show its lines for both.
#[test]
fn places_are_those_of_the_function_that_ran() {
    fn two<const A: bool>() {
        let grow = if A { grow_a } else { grow_b };
        let word = AtomicU32::new(0);
        thread::scope(|scope| [0, 1].map(|_| drop(scope.spawn(|| grow(&word)))));
        assert_eq!(word.load(SeqCst), 2);
    }
    for (body, own, other) in [(two::<true> as fn(), "a", "b"), (two::<false>, "b", "a")] {
        let report = sim::Runner::new().hermetic().seeds(0..3000).run_native(body);
        let screen = sim::report::text(&report, &Default::default());
        assert!(screen.contains(&line_of(own)), "{own}: {screen}");
        assert!(!screen.contains(&line_of(other)), "{own}: {screen}");
    }
}

/// Panics in a crate of the registry.
fn panic_in_library() {
    drop(DashMap::<u8, u8>::with_shard_amount(black_box(1)));
}

/// Panics in std, at a line of std.
fn panic_in_std() {
    drop(black_box(Vec::<u64>::with_capacity(black_box(usize::MAX))));
}

/// Panics in a library when it is dropped.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        panic_in_library();
    }
}

/// A message with a place in a library has the package and the file in it, like the rows of a screen.
#[test]
fn a_message_names_a_place_in_a_library_by_its_package() {
    let bodies: [(fn(), &str); 6] = [
        (panic_in_library, "dashmap-6"),
        (panic_in_std, "alloc/src/"),
        (|| thread::scope(|scope| drop(scope.spawn(panic_in_library))), "dashmap-6"),
        (|| thread::scope(|scope| drop(scope.spawn(panic_in_std))), "alloc/src/"),
        (|| thread::spawn(panic_in_library).join().unwrap(), "dashmap-6"),
        (
            || {
                let _dropped = Dropped;
                panic_in_std();
            },
            "dashmap-6",
        ),
    ];
    for (body, package) in bodies {
        let screen = screen(body);
        assert!(screen.contains(package), "{screen}");
        for folder in ["/registry/", "/rustc/", "/library/"] {
            assert!(!screen.contains(folder), "{folder}: {screen}");
        }
    }
}
