//! Values created on first use, but twice or incompletely (like in CVE-2013-1792 and in RADBench
//! bug4, NSPR 354593).

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, Cell, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "double_checked_init",
        seeds: 300,
        buggy: |spawning| boxed(double_checked(spawning, false)),
        fixed: |spawning| boxed(double_checked(spawning, true)),
    },
    Program {
        name: "lazy_monitor",
        seeds: 200,
        buggy: |spawning| boxed(monitor(spawning, false)),
        fixed: |spawning| boxed(monitor(spawning, true)),
    },
    Program {
        name: "once_cell",
        seeds: 50,
        buggy: |spawning| boxed(once_cell(spawning, false)),
        fixed: |spawning| boxed(once_cell(spawning, true)),
    },
];

#[derive(Default)]
struct Keys {
    first: Cell<i64>,
    second: Cell<i64>,
    lock: Mutex<()>,
}

/// Two keys are created under a lock, but users read the first key without it. Fixed: it is written last.
async fn double_checked(spawning: Spawning, fixed: bool) {
    let keys = Arc::new(Keys::default());
    let user = || {
        let keys = keys.clone();
        boxed(async move {
            let Keys { first, second, lock } = &*keys;
            if first.get().await == 0 {
                let _lock = lock.lock().await;
                if first.get().await == 0 {
                    let (early, late) = if fixed { (second, first) } else { (first, second) };
                    early.set(7).await;
                    late.set(7).await;
                }
            }
            assert_ne!(second.get().await, 0, "used before it was made");
        })
    };
    together(spawning, vec![user(), user()]).await;
}

#[derive(Default)]
struct Monitors {
    current: Cell<i64>,
    entered: [Atomic<i64>; 3],
    lock: Mutex<()>,
}

/// A task that finds no monitor creates one. If two tasks do so, one task leaves another monitor
/// than it entered. Fixed: the creation takes a lock.
async fn monitor(spawning: Spawning, fixed: bool) {
    let monitors = Arc::new(Monitors::default());
    let user = |fresh: i64| {
        let monitors = monitors.clone();
        boxed(async move {
            let Monitors { current, entered, lock } = &*monitors;
            let making = if fixed { Some(lock.lock().await) } else { None };
            let mut mine = current.get().await;
            if mine == 0 {
                mine = fresh;
                current.set(mine).await;
            }
            drop(making);
            entered[mine as usize].fetch_add(1, SeqCst).await;
            let left = current.get().await;
            assert_eq!(left, mine, "another monitor is left than was entered");
            entered[left as usize].fetch_sub(1, SeqCst).await;
        })
    };
    together(spawning, vec![user(1), user(2)]).await;
}

#[derive(Default)]
struct Once {
    state: Watched,
    claimed: Atomic<bool>,
    made: Atomic<i64>,
}

/// Buggy: each task that finds no value creates one. Fixed: the first task to claim the value
/// creates it; the others wait.
async fn once_cell(spawning: Spawning, fixed: bool) {
    let once = Arc::new(Once::default());
    let user = || {
        let once = once.clone();
        boxed(async move {
            let Once { state, claimed, made } = &*once;
            if fixed {
                if claimed.swap(true, SeqCst).await {
                    state.wait(|state| state == 2).await;
                    return;
                }
            } else if state.load().await == 2 {
                return;
            }
            made.fetch_add(1, SeqCst).await;
            state.store(2).await;
        })
    };
    together(spawning, vec![user(), user()]).await;
    assert_eq!(once.made.load(SeqCst).await, 1);
}
