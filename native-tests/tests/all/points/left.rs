//! Notifications that an operation of a channel or of a cell leaves behind: a later `park` returns at once. In a
//! search, an operation takes few steps. The programs have the outcomes of a search that steps all instructions.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread::{self, Thread};

use super::{Compared, compare_with, outcome, search};

bodies! { 20: 0 10 }

/// Set before the thread that parks is unparked.
static WORD: AtomicU64 = AtomicU64::new(0);

/// Executes `there` on another thread, and `here` meanwhile. Returns the word after a `park`. If `is_early`, the other
/// thread sets the word and unparks this thread, which may be too early. Otherwise a third thread does so later.
fn parks_after(is_early: bool, here: impl FnOnce(), there: impl FnOnce() + Send + 'static) -> u64 {
    let (main, again) = (thread::current(), thread::current());
    let other = thread::spawn(move || {
        there();
        if is_early {
            notify(&main);
        }
    });
    here();
    let later = (!is_early).then(|| thread::spawn(move || notify(&again)));
    thread::park();
    let seen = WORD.load(SeqCst);
    other.join().unwrap();
    later.into_iter().for_each(|later| later.join().unwrap());
    seen
}

fn notify(thread: &Thread) {
    WORD.fetch_add(1, SeqCst);
    thread.unpark();
}

/// Runs the program of this number.
fn generated(number: u64) {
    let is_early = number >= 10;
    let seen = match number % 10 {
        0 => {
            let (sender, receiver) = mpsc::channel();
            parks_after(
                is_early,
                move || receiver.recv().unwrap(),
                move || sender.send(()).unwrap(),
            )
        }
        1 => {
            let (sender, receiver) = mpsc::sync_channel(1);
            sender.send(()).unwrap();
            let receive = move || assert!(receiver.recv().is_ok() && receiver.recv().is_ok());
            parks_after(is_early, move || sender.send(()).unwrap(), receive)
        }
        2 => {
            let (sender, receiver) = mpsc::sync_channel(0);
            parks_after(
                is_early,
                move || receiver.recv().unwrap(),
                move || sender.send(()).unwrap(),
            )
        }
        3 => {
            let (sender, receiver) = crossbeam_channel::unbounded();
            parks_after(
                is_early,
                move || receiver.recv().unwrap(),
                move || sender.send(()).unwrap(),
            )
        }
        4 => {
            let (sender, receiver) = crossbeam_channel::bounded(0);
            parks_after(
                is_early,
                move || receiver.recv().unwrap(),
                move || sender.send(()).unwrap(),
            )
        }
        5 => {
            let cell = Arc::new(once_cell::sync::OnceCell::new());
            let there = cell.clone();
            let get = |cell: Arc<once_cell::sync::OnceCell<()>>| *cell.get_or_init(|| ());
            parks_after(is_early, move || get(cell), move || get(there))
        }
        6 => {
            let (sender, receiver) = mpsc::channel();
            let end = || assert!(receiver.recv().is_err());
            parks_after(is_early, end, move || drop::<mpsc::Sender<()>>(sender))
        }
        7 => parks_after(is_early, || thread::scope(|scope| drop(scope.spawn(|| ()))), || ()),
        8 => {
            // A loop is right, because `park` may return at any time.
            let (sender, receiver) = mpsc::channel();
            let main = thread::current();
            let other = thread::spawn(move || {
                sender.send(()).unwrap();
                notify(&main);
            });
            receiver.recv().unwrap();
            while WORD.load(SeqCst) == 0 {
                thread::park();
            }
            other.join().unwrap();
            WORD.load(SeqCst)
        }
        _ => {
            // The program has unparked the thread before.
            let (sender, receiver) = mpsc::channel();
            thread::current().unpark();
            parks_after(
                is_early,
                move || receiver.recv().unwrap(),
                move || sender.send(()).unwrap(),
            )
        }
    };
    outcome(&format!("left_{number}"), seen);
}

#[test]
fn parks_after_other_waits_have_the_same_outcomes_as_their_instructions() {
    let searches =
        IN_DETAIL.iter().zip(&BODIES).map(|(fine, few)| [(*fine, "default"), (*few, "default")]);
    let Compared { programs, .. } = compare_with("left", searches.enumerate(), 4_000);
    assert!(programs >= 10, "{programs} programs");
}

/// The searches that step all instructions of these programs are too large.
#[test]
fn a_park_after_an_operation_of_a_channel_may_return_at_once() {
    for number in [0, 1, 2, 3, 4, 6] {
        let found =
            search(&format!("left_{number}"), BODIES[number], "default", "exhaustive", 4_000);
        let outcomes: Vec<&str> = found.outcomes.iter().map(String::as_str).collect();
        assert!(found.through && outcomes == ["0", "1"], "{number}: {outcomes:?}, {}", found.text);
    }
}
