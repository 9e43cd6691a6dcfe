//! Threads that tell each other about their stores.

use super::super::names::{Bug, Runs, word};
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

program! {
    /// A word of data and a flag, with the orders of the data and of the flag's store and load.
    fn passes(data_order: Ordering, o: [Ordering; 2]) {
        let (data, flag) = (word(0), word(0));
        let first = task!((data, flag) {
            op!(data.store(1, data_order));
            op!(flag.store(1, o[0]));
        });
        let second = task!((data, flag) {
            if op!(flag.load(o[1])) == 1 {
                assert_eq!(op!(data.load(data_order)), 1);
            }
        });
        end!(first);
        end!(second);
    }
}

program! {
    /// The same, but each thread also does twenty operations on words of its own.
    fn passes_behind_others(o: [Ordering; 2]) {
        let (data, flag, own, other) = (word(0), word(0), word(0), word(0));
        let first = task!((data, flag, own) {
            for n in 0..20 {
                op!(own.store(n, Relaxed));
            }
            op!(data.store(1, Relaxed));
            op!(flag.store(1, o[0]));
            for n in 0..20 {
                op!(own.store(n, Relaxed));
            }
        });
        let second = task!((data, flag, other) {
            for n in 0..20 {
                op!(other.store(n, Relaxed));
            }
            if op!(flag.load(o[1])) == 1 {
                assert_eq!(op!(data.load(Relaxed)), 1);
            }
        });
        end!(first);
        end!(second);
    }
}

program! {
    /// The same, among loads and stores of a counter.
    fn passes_among_others(o: [Ordering; 2]) {
        let (data, flag, busy) = (word(0), word(0), word(0));
        let first = task!((data, flag, busy) {
            for n in 0..5 {
                op!(busy.store(n, Relaxed));
            }
            op!(data.store(1, Relaxed));
            op!(flag.store(1, o[0]));
            for n in 5..10 {
                op!(busy.store(n, Relaxed));
            }
        });
        let second = task!((data, flag, busy) {
            for _ in 0..5 {
                op!(busy.load(Relaxed));
            }
            let seen = op!(flag.load(o[1]));
            for _ in 0..5 {
                op!(busy.load(Relaxed));
            }
            if seen == 1 {
                assert_eq!(op!(data.load(Relaxed)), 1);
            }
        });
        end!(first);
        end!(second);
    }
}

program! {
    /// The same, with a consumer that polls.
    fn passes_to_a_poll(o: [Ordering; 2]) {
        let (data, flag) = (word(0), word(0));
        let first = task!((data, flag) {
            for n in 1..=3 {
                op!(data.store(n, Relaxed));
            }
            op!(flag.store(1, o[0]));
        });
        let second = task!((data, flag) {
            for _ in 0..10 {
                if op!(flag.load(o[1])) == 1 {
                    assert_ne!(op!(data.load(Relaxed)), 0);
                    break;
                }
            }
        });
        end!(first);
        end!(second);
    }
}

program! {
    /// A message that a third thread hands on.
    fn hands_on(o: [Ordering; 2]) {
        let (x, y) = (word(0), word(0));
        let first = task!((x) {
            op!(x.store(1, Release));
        });
        let second = task!((x, y) {
            if op!(x.load(Acquire)) == 1 {
                op!(y.store(1, o[0]));
            }
        });
        let third = task!((x, y) {
            if op!(y.load(o[1])) == 1 {
                assert_eq!(op!(x.load(Relaxed)), 1);
            }
        });
        end!(first);
        end!(second);
        end!(third);
    }
}

program! {
    /// Two threads that each store a word and load the other word: at most one thread misses the other store.
    fn both_enter(o: [Ordering; 4]) {
        let (x, y, entered) = (word(0), word(0), word(0));
        let first = task!((x, y, entered) {
            op!(x.store(1, o[0]));
            if op!(y.load(o[1])) == 0 {
                op!(entered.fetch_add(1, SeqCst));
            }
        });
        let second = task!((x, y, entered) {
            op!(y.store(1, o[2]));
            if op!(x.load(o[3])) == 0 {
                op!(entered.fetch_add(1, SeqCst));
            }
        });
        end!(first);
        end!(second);
        assert!(op!(entered.load(SeqCst)) < 2);
    }
}

program! {
    /// Two threads that each store to two words: both first stores are last in the order of their word.
    fn both_lose(o: [Ordering; 2]) {
        let (x, y) = (word(0), word(0));
        let first = task!((x, y) {
            op!(x.store(1, o[0]));
            op!(y.store(2, o[1]));
        });
        let second = task!((x, y) {
            op!(y.store(1, o[0]));
            op!(x.store(2, o[1]));
        });
        end!(first);
        end!(second);
        let last = [op!(x.load(Relaxed)), op!(y.load(Relaxed))];
        assert_ne!(last, [1, 1]);
    }
}

program! {
    /// Two readers that see two stores in different orders.
    fn readers_disagree(o: [Ordering; 3]) {
        let (x, y, missed) = (word(0), word(0), word(0));
        let first = task!((x) {
            op!(x.store(1, o[2]));
        });
        let second = task!((y) {
            op!(y.store(1, o[2]));
        });
        let third = task!((x, y, missed) {
            if op!(x.load(o[0])) == 1 && op!(y.load(o[1])) == 0 {
                op!(missed.fetch_add(1, Relaxed));
            }
        });
        let fourth = task!((x, y, missed) {
            if op!(y.load(o[0])) == 1 && op!(x.load(o[1])) == 0 {
                op!(missed.fetch_add(1, Relaxed));
            }
        });
        end!(first);
        end!(second);
        end!(third);
        end!(fourth);
        assert!(op!(missed.load(Relaxed)) < 2);
    }
}

pub(crate) const MESSAGES: &[Bug] = &[
    bug!(
        "both enter",
        2.3,
        both_enter([Release, Acquire, Release, Acquire]),
        both_enter([SeqCst; 4])
    ),
    bug!(
        "flag relaxed",
        11.0,
        passes(Relaxed, [Relaxed, Relaxed]),
        passes(Relaxed, [Release, Acquire])
    ),
    bug!(
        "flag relaxed, data SeqCst",
        quarter 11.0,
        passes(SeqCst, [Relaxed, Relaxed]),
        passes(SeqCst, [Release, Acquire])
    ),
    bug!(
        "flag relaxed, behind private stores",
        8.4,
        passes_behind_others([Relaxed, Relaxed]),
        passes_behind_others([Release, Acquire])
    ),
    bug!(
        "flag relaxed, among loads of a counter",
        9.0,
        passes_among_others([Relaxed, Relaxed]),
        passes_among_others([Release, Acquire])
    ),
    bug!(
        "flag relaxed, polled",
        5.6,
        passes_to_a_poll([Relaxed, Relaxed]),
        passes_to_a_poll([Release, Acquire])
    ),
    bug!(
        "message through a third thread",
        65.0,
        hands_on([Relaxed, Acquire]),
        hands_on([Release, Acquire])
    ),
    bug!(
        "both first stores are last",
        26.0,
        both_lose([Relaxed, Relaxed]),
        both_lose([SeqCst, SeqCst])
    ),
    bug!(
        "readers disagree",
        49.0,
        readers_disagree([Acquire, Acquire, Release]),
        readers_disagree([SeqCst; 3])
    ),
];
