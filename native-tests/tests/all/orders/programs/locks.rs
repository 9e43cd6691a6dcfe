//! Locks and counts of owners.

use super::super::names::{Bug, Runs, word};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

program! {
    /// Dekker's lock with a turn. A thread gives up if it is not its turn.
    fn dekker(o: [Ordering; 2]) {
        let (flags, turn) = ([word(0), word(0)], word(0));
        let (data, entered) = (word(0), word(0));
        let mut tasks = Vec::new();
        for own in 0..2 {
            tasks.push(task!((flags, turn, data, entered) {
                op!(flags[own as usize].store(1, o[0]));
                for _ in 0..2 {
                    if op!(flags[1 - own as usize].load(o[1])) == 0 {
                        op!(entered.fetch_add(1, Relaxed));
                        let before = op!(data.load(Relaxed));
                        op!(data.store(before + 1, Relaxed));
                        break;
                    }
                    if op!(turn.load(Acquire)) != own {
                        break;
                    }
                }
                op!(turn.store(1 - own, Release));
                op!(flags[own as usize].store(0, Release));
            }));
        }
        for task in tasks {
            end!(task);
        }
        assert_eq!(op!(data.load(Relaxed)), op!(entered.load(Relaxed)));
    }
}

program! {
    /// Peterson's lock: a thread tries twice.
    fn peterson(o: [Ordering; 4]) {
        let (flags, turn) = ([word(0), word(0)], word(0));
        let (data, entered) = (word(0), word(0));
        let mut tasks = Vec::new();
        for own in 0..2 {
            tasks.push(task!((flags, turn, data, entered) {
                op!(flags[own as usize].store(1, o[0]));
                op!(turn.store(1 - own, o[1]));
                for _ in 0..2 {
                    if op!(flags[1 - own as usize].load(o[2])) == 0 || op!(turn.load(o[3])) == own {
                        op!(entered.fetch_add(1, Relaxed));
                        let before = op!(data.load(Relaxed));
                        op!(data.store(before + 1, Relaxed));
                        break;
                    }
                }
                op!(flags[own as usize].store(0, Release));
            }));
        }
        for task in tasks {
            end!(task);
        }
        assert_eq!(op!(data.load(Relaxed)), op!(entered.load(Relaxed)));
    }
}

program! {
    /// The lock of Mellor-Crummey and Scott, of two threads.
    fn queued_lock(hand_over: Ordering) {
        let (tail, data) = (word(0), word(0));
        let (next, held) = ([word(0), word(0)], [word(1), word(1)]);
        let mut tasks = Vec::new();
        for own in 0..2_usize {
            tasks.push(task!((tail, data, next, held) {
                let before = op!(tail.swap(own as u64 + 1, AcqRel));
                if before != 0 {
                    op!(next[before as usize - 1].store(own as u64 + 1, Release));
                    until!(op!(held[own].load(Acquire)) == 0);
                }
                let seen = op!(data.load(Relaxed));
                op!(data.store(seen + 1, Relaxed));
                if op!(tail.compare_exchange(own as u64 + 1, 0, AcqRel, Acquire)).is_err() {
                    until!(op!(next[own].load(Acquire)) != 0);
                    let after = op!(next[own].load(Acquire));
                    op!(held[after as usize - 1].store(0, hand_over));
                }
            }));
        }
        for task in tasks {
            end!(task);
        }
        assert_eq!(op!(data.load(Relaxed)), 2);
    }
}

program! {
    /// A lock with tickets, of three threads.
    fn ticket_lock(release: Ordering) {
        let (next, serving, data) = (word(0), word(0), word(0));
        let mut tasks = Vec::new();
        for _ in 0..3 {
            tasks.push(task!((next, serving, data) {
                let own = op!(next.fetch_add(1, Relaxed));
                until!(op!(serving.load(Acquire)) == own);
                let seen = op!(data.load(Relaxed));
                op!(data.store(seen + 1, Relaxed));
                op!(serving.store(own + 1, release));
            }));
        }
        for task in tasks {
            end!(task);
        }
        assert_eq!(op!(data.load(Relaxed)), 3);
    }
}

program! {
    /// A spin lock. A thread tries three times.
    fn spin_lock(acquire: Ordering) {
        let (lock, data, entered) = (word(0), word(0), word(0));
        let mut tasks = Vec::new();
        for _ in 0..2 {
            tasks.push(task!((lock, data, entered) {
                for _ in 0..3 {
                    if op!(lock.compare_exchange(0, 1, acquire, Relaxed)).is_ok() {
                        op!(entered.fetch_add(1, Relaxed));
                        let seen = op!(data.load(Relaxed));
                        op!(data.store(seen + 1, Relaxed));
                        op!(lock.store(0, Release));
                        break;
                    }
                }
            }));
        }
        for task in tasks {
            end!(task);
        }
        assert_eq!(op!(data.load(Relaxed)), op!(entered.load(Relaxed)));
    }
}

program! {
    /// Three owners of shared data. Each owner uses the data, and then drops its reference. The last owner frees it.
    fn owners(decrement: Ordering, fence: Ordering) {
        let (count, used) = (word(3), [word(0), word(0), word(0)]);
        let mut tasks = Vec::new();
        for own in 0..3_usize {
            tasks.push(task!((count, used) {
                op!(used[own].store(1, Relaxed));
                if op!(count.fetch_sub(1, decrement)) == 1 {
                    order_by!(fence);
                    for each in &used {
                        assert_eq!(op!(each.load(Relaxed)), 1);
                    }
                }
            }));
        }
        for task in tasks {
            end!(task);
        }
    }
}

program! {
    /// A value that is created by the first thread that needs it.
    fn double_checked(load: Ordering, store: Ordering) {
        let (ready, lock, value) = (word(0), word(0), word(0));
        let mut tasks = Vec::new();
        for _ in 0..2 {
            tasks.push(task!((ready, lock, value) {
                if op!(ready.load(load)) == 1 {
                    assert_eq!(op!(value.load(Relaxed)), 7);
                } else if op!(lock.compare_exchange(0, 1, Acquire, Relaxed)).is_ok() {
                    if op!(ready.load(Relaxed)) == 0 {
                        op!(value.store(7, Relaxed));
                        op!(ready.store(1, store));
                    }
                    op!(lock.store(0, Release));
                }
            }));
        }
        for task in tasks {
            end!(task);
        }
    }
}

pub(crate) const LOCKS: &[Bug] = &[
    bug!(
        "Dekker's lock, release and acquire",
        3.0,
        dekker([Release, Acquire]),
        dekker([SeqCst; 2])
    ),
    bug!(
        "Peterson's lock, release and acquire",
        3.0,
        peterson([Release, Release, Acquire, Acquire]),
        peterson([SeqCst; 4])
    ),
    bug!("queued lock, hand-over relaxed", race 4.0, queued_lock(Relaxed), queued_lock(Release)),
    bug!("ticket lock, release relaxed", race 1.0, ticket_lock(Relaxed), ticket_lock(Release)),
    bug!("spin lock without acquire", race 1.3, spin_lock(Relaxed), spin_lock(Acquire)),
    bug!("owners relaxed", race 1.0, owners(Relaxed, Relaxed), owners(Release, Acquire)),
    bug!(
        "double-checked lock, flag relaxed",
        race 3.7,
        double_checked(Relaxed, Relaxed),
        double_checked(Acquire, Release)
    ),
];
