//! Functions of std with locks of their own, which are not instrumented.

use std::fmt::{self, Display, Formatter};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use sim::Runner;

/// A value whose text is the result of an operation.
struct Counts<'a>(&'a AtomicU32);

impl Display for Counts<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "count {}", self.0.fetch_add(1, SeqCst))
    }
}

/// Returns the functions that a search of `body` names.
fn unseen(body: fn()) -> Vec<String> {
    let runner = Runner::new().hermetic().strategy("exhaustive").seeds(0..10_000);
    let report = runner.run_native(body);
    assert!(report.finding.is_none(), "{:?}", report.finding);
    let searched = report.searched.unwrap();
    assert_eq!(searched.is_proof(), searched.unseen.is_empty());
    searched.unseen
}

/// Functions of std with locks of their own end each claim of a proof, with their names.
#[test]
fn an_entry_of_code_that_is_not_instrumented_is_no_proof() {
    // A thread prints within one step, and the environment does not change.
    let none = unseen(|| {
        let thread = thread::spawn(|| {
            println!("printed by a thread");
            std::env::var("HOME").is_ok()
        });
        eprintln!("printed {} by the first thread", thread.join().unwrap());
    });
    assert!(none.is_empty(), "{none:?}");
    let printed = unseen(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = word.clone();
        let thread = thread::spawn(move || print!("{}", Counts(&other)));
        println!("{}", Counts(&word));
        thread.join().unwrap();
    });
    assert_eq!(printed, ["std::io::stdio::_print"]);
    let held = unseen(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = word.clone();
        let thread = thread::spawn(move || {
            let _out = std::io::stdout().lock();
            other.store(1, SeqCst);
        });
        word.store(2, SeqCst);
        thread.join().unwrap();
    });
    assert!(!held.is_empty());
    let hook = unseen(|| {
        let thread = thread::spawn(|| ());
        std::panic::set_hook(std::panic::take_hook());
        thread.join().unwrap();
    });
    assert_eq!(hook, ["std::panicking::set_hook", "std::panicking::take_hook"]);
    let none = unseen(|| {
        let thread = thread::spawn(|| resume_unwind(Box::new(())));
        assert!(thread.join().is_err());
    });
    assert!(none.is_empty(), "{none:?}");
}

/// Functions with locks of their own are in one order with all operations while there is no other thread: before the
/// first spawn, and after all joins.
#[test]
fn an_entry_while_there_is_no_other_thread_leaves_the_proof() {
    let alone = unseen(|| {
        std::panic::set_hook(std::panic::take_hook());
        let folder = std::env::temp_dir().join("unpause-entered");
        std::fs::create_dir_all(folder.join("in")).unwrap();
        let word = Arc::new(AtomicU32::new(0));
        let threads = [0, 1].map(|_| {
            let word = word.clone();
            thread::spawn(move || thread::spawn(move || word.fetch_add(1, SeqCst)).join())
        });
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    });
    assert_eq!(alone, [""; 0]);
    // A thread that is not joined may execute in another order.
    let ended = unseen(|| {
        let (sender, receiver) = std::sync::mpsc::channel();
        drop(thread::spawn(move || sender.send(1)));
        receiver.recv().unwrap();
        std::panic::set_hook(std::panic::take_hook());
    });
    assert_eq!(ended, ["std::panicking::set_hook", "std::panicking::take_hook"]);
    let second = unseen(|| {
        let thread = thread::spawn(|| std::panic::set_hook(std::panic::take_hook()));
        thread.join().unwrap();
    });
    assert_eq!(second, ["std::panicking::set_hook", "std::panicking::take_hook"]);
}

/// Calls `act` in a frame of at least `ROOM` bytes, which are not written.
#[inline(never)]
fn within<const ROOM: usize>(act: impl FnOnce()) {
    let room = MaybeUninit::<[u8; ROOM]>::uninit();
    black_box(&room);
    act();
    black_box(&room);
}

/// A call that prints ends when it returns, for each position of its frame and of the frames of later operations.
#[test]
fn an_operation_after_a_print_is_not_an_operation_of_the_print() {
    /// Prints in a frame of this size, and then drops an owner, executes an operation, and locks in frames of all
    /// sizes.
    fn body<const ROOM: usize>() {
        let word = Arc::new(AtomicU32::new(0));
        let other = word.clone();
        let thread = thread::spawn(move || {
            for to_error in [true, false] {
                within::<ROOM>(
                    || if to_error { eprintln!("printed") } else { println!("printed") },
                );
                within::<0>(|| _ = other.fetch_add(1, SeqCst));
                within::<64>(|| drop(other.clone()));
                within::<256>(|| drop(Mutex::new(0).lock()));
                within::<512>(|| drop(other.clone()));
                within::<1024>(|| _ = other.fetch_add(1, SeqCst));
                within::<4096>(|| drop(other.clone()));
            }
            within::<4096>(|| drop(other));
        });
        within::<ROOM>(|| println!("{}", word.load(SeqCst)));
        thread.join().unwrap();
    }
    for body in [body::<0>, body::<16>, body::<48>, body::<128>, body::<320>, body::<1000>] {
        assert_eq!(unseen(body), [""; 0]);
    }
}

/// A print whose argument panics does not hide a later print.
#[test]
fn an_operation_of_a_print_after_a_panic_of_a_print_is_named() {
    struct Panics;
    impl Display for Panics {
        fn fmt(&self, _: &mut Formatter<'_>) -> fmt::Result {
            resume_unwind(Box::new(()))
        }
    }
    let printed = unseen(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = word.clone();
        let thread = thread::spawn(move || {
            assert!(catch_unwind(|| println!("{Panics}")).is_err());
            eprintln!("{}", Counts(&other));
        });
        word.fetch_add(1, SeqCst);
        thread.join().unwrap();
    });
    assert!(printed.iter().any(|name| name.starts_with("std::io::stdio::_")), "{printed:?}");
}
