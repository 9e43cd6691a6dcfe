//! Functions of std with locks of their own, which are not instrumented.

use std::fmt::{self, Display, Formatter};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use sim::Runner;

/// A value whose text is the result of an operation.
struct Counts<'a>(&'a AtomicU32);

impl Display for Counts<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "count {}", self.0.fetch_add(1, SeqCst))
    }
}

/// Functions of std with locks of their own end each claim of a proof, with their names.
#[test]
fn an_entry_of_code_that_is_not_instrumented_is_no_proof() {
    fn unseen(body: fn()) -> Vec<String> {
        let runner = Runner::new().hermetic().strategy("exhaustive").seeds(0..10_000);
        let report = runner.run_native(body);
        assert!(report.finding.is_none(), "{:?}", report.finding);
        let searched = report.searched.unwrap();
        assert_eq!(searched.is_proof(), searched.unseen.is_empty());
        searched.unseen
    }
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
    let hook = unseen(|| std::panic::set_hook(std::panic::take_hook()));
    assert_eq!(hook, ["std::panicking::set_hook", "std::panicking::take_hook"]);
    let none = unseen(|| {
        let thread = thread::spawn(|| resume_unwind(Box::new(())));
        assert!(thread.join().is_err());
    });
    assert!(none.is_empty(), "{none:?}");
}
