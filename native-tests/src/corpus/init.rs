//! Values created on first use, but twice or incompletely (like in CVE-2013-1792, in RADBench bug4 (NSPR 354593) and in
//! crossbeam, issue 971).

use super::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use super::sync::{Arc, Mutex, Once};
use super::{Program, Watched, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "double_checked_init",
        seeds: 300,
        buggy: || double_checked(false),
        fixed: || double_checked(true),
    },
    Program { name: "lazy_monitor", seeds: 200, buggy: || monitor(false), fixed: || monitor(true) },
    Program { name: "once_cell", seeds: 50, buggy: || once_cell(false), fixed: || once_cell(true) },
    Program {
        name: "once_claimed",
        seeds: 100,
        buggy: || once_claimed(false),
        fixed: || once_claimed(true),
    },
    Program {
        name: "two_step_init",
        seeds: 400,
        buggy: || two_steps(false),
        fixed: || two_steps(true),
    },
    Program {
        name: "cache_stampede",
        seeds: 50,
        buggy: || stampede(false),
        fixed: || stampede(true),
    },
];

/// Two keys are created under a lock, but users read the first key without it. Fixed: it is written last.
fn double_checked(fixed: bool) {
    #[derive(Default)]
    struct Keys {
        first: AtomicI64,
        second: AtomicI64,
        lock: Mutex<()>,
    }
    let keys = Arc::new(Keys::default());
    let user = || {
        on(&keys, move |Keys { first, second, lock }| {
            if first.load(SeqCst) == 0 {
                let _lock = lock.lock().unwrap();
                if first.load(SeqCst) == 0 {
                    let (early, late) = if fixed { (second, first) } else { (first, second) };
                    early.store(7, SeqCst);
                    late.store(7, SeqCst);
                }
            }
            assert_ne!(second.load(SeqCst), 0, "used before it was made");
        })
    };
    together([user(), user()]);
}

/// A thread that finds no monitor creates one. If two threads do so, one thread leaves another monitor than it entered.
/// Fixed: the creation takes a lock.
fn monitor(fixed: bool) {
    #[derive(Default)]
    struct Monitors {
        current: AtomicI64,
        entered: [AtomicI64; 3],
        lock: Mutex<()>,
    }
    let monitors = Arc::new(Monitors::default());
    let user = |fresh: i64| {
        on(&monitors, move |Monitors { current, entered, lock }| {
            let making = fixed.then(|| lock.lock().unwrap());
            let mut mine = current.load(SeqCst);
            if mine == 0 {
                mine = fresh;
                current.store(mine, SeqCst);
            }
            drop(making);
            entered[mine as usize].fetch_add(1, SeqCst);
            let left = current.load(SeqCst);
            assert_eq!(left, mine, "another monitor is left than was entered");
            entered[left as usize].fetch_sub(1, SeqCst);
        })
    };
    together([user(1), user(2)]);
}

/// Buggy: each thread that finds no value creates one. Fixed: one thread does, by `Once`.
fn once_cell(fixed: bool) {
    struct Cell {
        once: Once,
        there: AtomicBool,
        made: AtomicI64,
    }
    let cell = Cell { once: Once::new(), there: AtomicBool::new(false), made: AtomicI64::new(0) };
    let cell = Arc::new(cell);
    let user = || {
        on(&cell, move |Cell { once, there, made }| {
            let make = || {
                made.fetch_add(1, SeqCst);
                there.store(true, SeqCst);
            };
            if fixed {
                once.call_once(make);
            } else if !there.load(SeqCst) {
                make();
            }
        })
    };
    together([user(), user()]);
    assert_eq!(cell.made.load(SeqCst), 1);
}

/// The first thread creates the value by `Once`. The other threads see that it is claimed, and use it too early. Fixed:
/// each thread waits for the `Once`.
fn once_claimed(fixed: bool) {
    struct Cell {
        once: Once,
        claimed: AtomicBool,
        value: AtomicI64,
    }
    let cell =
        Cell { once: Once::new(), claimed: AtomicBool::new(false), value: AtomicI64::new(0) };
    let cell = Arc::new(cell);
    let user = || {
        on(&cell, move |Cell { once, claimed, value }| {
            if fixed || !claimed.swap(true, SeqCst) {
                once.call_once(|| value.store(7, SeqCst));
            }
            assert_eq!(value.load(SeqCst), 7, "used before it was made");
        })
    };
    together([user(), user(), user()]);
}

/// A channel is used between the two steps that create its first block. Fixed: the receiver waits for the second
/// step.
fn two_steps(fixed: bool) {
    #[derive(Default)]
    struct Channel {
        tail_block: AtomicI64,
        head_block: Watched,
        tail_index: AtomicI64,
    }
    let channel = Arc::new(Channel::default());
    let sender = || {
        on(&channel, |Channel { tail_block, head_block, tail_index }| {
            if tail_block.load(SeqCst) == 0
                && tail_block.compare_exchange(0, 1, SeqCst, SeqCst).is_ok()
            {
                head_block.store(1);
            }
            tail_index.fetch_add(1, SeqCst);
        })
    };
    let receiver = on(&channel, move |Channel { head_block, tail_index, .. }| {
        if tail_index.load(SeqCst) == 0 {
            return;
        }
        if fixed {
            head_block.wait(|block| block != 0);
        }
        assert_ne!(head_block.load(), 0, "messages, but no first block");
    });
    together([sender(), sender(), receiver]);
}

/// A cache that is filled by every thread that finds it empty. Fixed: one thread fetches, the others wait.
fn stampede(fixed: bool) {
    #[derive(Default)]
    struct Cache {
        /// The cached value, and true if a thread is fetching it.
        entry: Mutex<(Option<i64>, bool)>,
        filled: Watched,
        loads: AtomicI64,
    }
    let cache = Arc::new(Cache::default());
    let user = |_| {
        on(&cache, move |Cache { entry, filled, loads }| {
            let mut locked = entry.lock().unwrap();
            if locked.0.is_some() {
                return;
            }
            let fetched = std::mem::replace(&mut locked.1, true);
            drop(locked);
            if fixed && fetched {
                filled.wait(|filled| filled > 0);
                return;
            }
            loads.fetch_add(1, SeqCst);
            entry.lock().unwrap().0 = Some(7);
            filled.store(1);
        })
    };
    together((0..3).map(user));
    assert_eq!(cache.loads.load(SeqCst), 1);
}
