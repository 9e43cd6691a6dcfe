//! Critical sections in a wrong order, or wrongly split in two (SCTBench: account, lazy01, token_ring, wronglock,
//! circular_buffer, stack; CB: stringbuffer-jdk1.4).

use std::collections::VecDeque;

use super::sync::atomic::{AtomicI64, Ordering::SeqCst};
use super::sync::{Arc, Mutex, RwLock};
use super::{Body, Program, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "account",
        seeds: 200,
        buggy: || account(1 - 2 - 4),
        fixed: || account(1 + 2 - 4),
    },
    Program { name: "lazy01", seeds: 100, buggy: || lazy(2), fixed: || lazy(3) },
    Program {
        name: "token_ring",
        seeds: 200,
        buggy: || token_ring(false),
        fixed: || token_ring(true),
    },
    Program { name: "bank_transfer", seeds: 150, buggy: || bank(false), fixed: || bank(true) },
    Program {
        name: "wronglock_3",
        seeds: 300,
        buggy: || wronglock(3, false),
        fixed: || wronglock(3, true),
    },
    Program {
        name: "wronglock",
        seeds: 400,
        buggy: || wronglock(7, false),
        fixed: || wronglock(7, true),
    },
    Program {
        name: "stringbuffer",
        seeds: 200,
        buggy: || stringbuffer(false),
        fixed: || stringbuffer(true),
    },
    Program {
        name: "circular_buffer",
        seeds: 50,
        buggy: || circular_buffer(false),
        fixed: || circular_buffer(true),
    },
    Program { name: "stack", seeds: 100, buggy: || stack(false), fixed: || stack(true) },
    Program {
        name: "notify_drop",
        seeds: 200,
        buggy: || notify_drop(false),
        fixed: || notify_drop(true),
    },
    Program {
        name: "rwlock_upgrade",
        seeds: 100,
        buggy: || rwlock_upgrade(false),
        fixed: || rwlock_upgrade(true),
    },
    Program {
        name: "two_reads",
        seeds: 100,
        buggy: || two_reads(false),
        fixed: || two_reads(true),
    },
];

/// If the auditor runs last, it checks the balance. In the buggy version, it expects a wrong balance.
fn account(expected: i64) {
    struct Account {
        balance: i64,
        deposited: bool,
        withdrawn: bool,
    }
    let account = Account { balance: 1, deposited: false, withdrawn: false };
    let account = Arc::new(Mutex::new(account));
    let auditor = on(&account, move |account| {
        let account = account.lock().unwrap();
        if account.deposited && account.withdrawn {
            assert_eq!(account.balance, expected);
        }
    });
    let depositor = on(&account, |account| {
        let mut account = account.lock().unwrap();
        account.balance += 2;
        account.deposited = true;
    });
    let withdrawer = on(&account, |account| {
        let mut account = account.lock().unwrap();
        account.balance -= 4;
        account.withdrawn = true;
    });
    together([auditor, depositor, withdrawer]);
}

/// The checker assumes that at most one of the two other threads has run before it.
fn lazy(most: i64) {
    let data = Arc::new(Mutex::new(0));
    together([
        on(&data, |data| *data.lock().unwrap() += 1),
        on(&data, |data| *data.lock().unwrap() += 2),
        on(&data, move |data| assert!(*data.lock().unwrap() <= most)),
    ]);
}

/// Each thread passes a value to the next thread. Only in one order does the value get around the ring. Fixed: a thread
/// without a value to pass on does not report success.
fn token_ring(fixed: bool) {
    let ring = Arc::new(Mutex::new(([1, 2, 1], [false; 3])));
    let pass = |to: usize| {
        on(&ring, move |ring| {
            let (values, done) = &mut *ring.lock().unwrap();
            values[to] = if to == 0 { (values[2] + 1) % 4 } else { values[to - 1] };
            done[to] = !fixed || to == 0 || done[to - 1];
        })
    };
    let checker = on(&ring, |ring| {
        let (values, done) = *ring.lock().unwrap();
        assert!(done != [true; 3] || values == [values[0]; 3]);
    });
    together([pass(0), pass(1), pass(2), checker]);
}

/// Money in transit between two accounts, which an auditor fails to count. Fixed: a transfer holds the locks of both
/// accounts.
fn bank(fixed: bool) {
    let accounts = Arc::new([100; 3].map(Mutex::new));
    let transfer = |from: usize| {
        on(&accounts, move |accounts| {
            let mut source = accounts[from].lock().unwrap();
            *source -= 10;
            if fixed {
                *accounts[from + 1].lock().unwrap() += 10;
                return;
            }
            drop(source);
            *accounts[from + 1].lock().unwrap() += 10;
        })
    };
    let auditor = on(&accounts, |accounts| {
        let [first, second, third] = accounts;
        let (first, second) = (first.lock().unwrap(), second.lock().unwrap());
        assert_eq!(*first + *second + *third.lock().unwrap(), 300);
    });
    together([transfer(0), transfer(1), auditor]);
}

/// Data that two threads protect by different locks. Fixed: all use one lock.
fn wronglock(others: usize, fixed: bool) {
    #[derive(Default)]
    struct Shared {
        locks: [Mutex<()>; 2],
        data: AtomicI64,
    }
    let shared = Arc::new(Shared::default());
    let first = on(&shared, |Shared { locks, data }| {
        let _lock = locks[0].lock().unwrap();
        let before = data.load(SeqCst);
        data.store(data.load(SeqCst) + 1, SeqCst);
        assert_eq!(data.load(SeqCst), before + 1);
    });
    let other = |_| {
        on(&shared, move |Shared { locks, data }| {
            let _lock = locks[usize::from(!fixed)].lock().unwrap();
            data.store(data.load(SeqCst) + 1, SeqCst);
        })
    };
    together([first].into_iter().chain((0..others).map(other)));
}

/// A length is read, and the string is shorter when the length is used. Needs two preemptions. Fixed: the lock is held
/// from the read of the length to its use.
fn stringbuffer(fixed: bool) {
    let length = Arc::new(Mutex::new(3));
    let user = on(&length, move |length| {
        let mut guard = length.lock().unwrap();
        let taken = *guard;
        if !fixed {
            drop(guard);
            guard = length.lock().unwrap();
        }
        assert!(taken <= *guard, "characters that are not there");
    });
    let writer = on(&length, |length| {
        *length.lock().unwrap() = 0;
        *length.lock().unwrap() += 3;
    });
    together([user, writer]);
}

/// Buggy: a round counts even if no item could be sent or received. Fixed: it does not count.
fn circular_buffer(fixed: bool) {
    const ROUNDS: usize = 7;
    struct Buffer {
        items: VecDeque<usize>,
        may_send: bool,
        may_receive: bool,
    }
    let buffer = Buffer { items: VecDeque::new(), may_send: true, may_receive: false };
    let buffer = Arc::new(Mutex::new(buffer));
    let sender = on(&buffer, move |buffer| {
        let mut item = 0;
        for _ in 0..ROUNDS {
            let mut buffer = buffer.lock().unwrap();
            let sends = buffer.may_send;
            if sends {
                buffer.items.push_back(item);
                (buffer.may_send, buffer.may_receive) = (false, true);
            }
            item += usize::from(sends || !fixed);
        }
    });
    let receiver = on(&buffer, move |buffer| {
        let mut expected = 0;
        for _ in 0..ROUNDS {
            let mut buffer = buffer.lock().unwrap();
            let receives = buffer.may_receive;
            if receives {
                assert_eq!(buffer.items.pop_front(), Some(expected));
                (buffer.may_send, buffer.may_receive) = (true, false);
            }
            expected += usize::from(receives || !fixed);
        }
    });
    together([sender, receiver]);
}

/// Buggy: the flag is set at the first item and never cleared. Fixed: removing the last item clears it.
fn stack(fixed: bool) {
    const ROUNDS: usize = 10;
    let stack = Arc::new(Mutex::new((0, false)));
    let pusher = on(&stack, |stack| {
        for _ in 0..ROUNDS {
            let (height, filled) = &mut *stack.lock().unwrap();
            (*height, *filled) = (*height + 1, true);
        }
    });
    let popper = on(&stack, move |stack| {
        for _ in 0..ROUNDS {
            let (height, filled) = &mut *stack.lock().unwrap();
            if *filled {
                assert!(*height > 0, "taken from an empty stack");
                *height -= 1;
                *filled = !fixed || *height > 0;
            }
        }
    });
    together([pusher, popper]);
}

/// A notified waiter leaves the list and loses the permit (tokio, pull request 3652). Fixed: a thread that leaves the
/// list resets the permit only if it is `Waiting`.
fn notify_drop(fixed: bool) {
    #[derive(Clone, Copy, PartialEq, Eq, Default)]
    enum Permit {
        #[default]
        Empty,
        Waiting,
        Notified,
    }
    #[derive(Default)]
    struct Notify {
        permit: Permit,
        /// True if the only thread that waits is in the list.
        queued: bool,
        /// True if a permit was given to this thread.
        handed: bool,
    }
    let notify = Arc::new(Mutex::new(Notify::default()));
    let waiter = on(&notify, move |notify| {
        let mut state = notify.lock().unwrap();
        if state.permit == Permit::Notified {
            (state.permit, state.handed) = (Permit::Empty, true);
            return;
        }
        (state.permit, state.queued) = (Permit::Waiting, true);
        drop(state);
        // The waiter gives up.
        let mut state = notify.lock().unwrap();
        state.queued = false;
        if !fixed || state.permit == Permit::Waiting {
            state.permit = Permit::Empty;
        }
    });
    let notifier = on(&notify, |notify| {
        let mut state = notify.lock().unwrap();
        state.queued = false;
        if state.permit == Permit::Waiting {
            state.permit = Permit::Empty;
        }
        drop(state);
        let mut state = notify.lock().unwrap();
        if state.queued {
            (state.queued, state.handed, state.permit) = (false, true, Permit::Empty);
        } else {
            state.permit = Permit::Notified;
        }
    });
    together([waiter, notifier]);
    let state = notify.lock().unwrap();
    assert!(state.handed || state.permit == Permit::Notified, "the permit is lost");
}

/// A value is read under a read lock and written under a write lock, so updates are lost. Fixed: one write lock.
fn rwlock_upgrade(fixed: bool) {
    let cache = Arc::new(RwLock::new(0));
    let increment = || {
        on(&cache, move |cache| {
            if fixed {
                *cache.write().unwrap() += 1;
                return;
            }
            let seen = *cache.read().unwrap();
            *cache.write().unwrap() = seen + 1;
        })
    };
    together([increment(), increment()]);
    assert_eq!(*cache.read().unwrap(), 2);
}

/// Two halves of a value are read under two read locks; a writer may come between. Fixed: one read lock.
fn two_reads(fixed: bool) {
    let value = Arc::new(RwLock::new((0, 0)));
    let writer = |by: i32| -> Body {
        on(&value, move |value| {
            let mut value = value.write().unwrap();
            *value = (value.0 + by, value.1 + by);
        })
    };
    let reader = on(&value, move |value| {
        let both = if fixed {
            *value.read().unwrap()
        } else {
            let first = value.read().unwrap().0;
            (first, value.read().unwrap().1)
        };
        assert_eq!(both.0, both.1, "halves of two values");
    });
    together([writer(1), writer(2), reader]);
}
