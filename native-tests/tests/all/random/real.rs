//! Generated programs over the objects of std, parking_lot and crossbeam.

use std::collections::VecDeque;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize,
};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, Weak};
use std::thread::{self, Thread};

use super::any_channel::{Receiver, Sender, channel};
use super::model::{EMPTY, FIRST, HELD, NONE, Outcome};
use super::program::{Act, Counter, ENDLESS, Family, Program, Width};

/// Defines the words of all widths.
macro_rules! words {
    ($($width:ident $atomic:ident $number:ty;)*) => {
        enum Word {
            $($width($atomic),)*
        }

        impl Word {
            fn new(width: Width, value: i64) -> Word {
                match width {
                    $(Width::$width => Word::$width($atomic::new(value as $number)),)*
                }
            }

            /// Performs a command on the word, and returns the previous value.
            fn act(&self, act: Act) -> i64 {
                match self {
                    $(Word::$width(word) => {
                        let old = match act {
                            Act::Load(_) => word.load(SeqCst),
                            Act::Swap(_, by) => word.swap(by as $number, SeqCst),
                            Act::Add(_, by) => word.fetch_add(by as $number, SeqCst),
                            Act::And(_, by) => word.fetch_and(by as $number, SeqCst),
                            Act::Max(_, by) => word.fetch_max(by as $number, SeqCst),
                            Act::Min(_, by) => word.fetch_min(by as $number, SeqCst),
                            Act::Exchange(_, from, to) => word
                                .compare_exchange(from as $number, to as $number, SeqCst, SeqCst)
                                .unwrap_or_else(|old| old),
                            other => unreachable!("{other:?} is no command on a word"),
                        };
                        old as i64
                    })*
                }
            }

            fn store(&self, value: i64) {
                match self {
                    $(Word::$width(word) => word.store(value as $number, SeqCst),)*
                }
            }
        }
    };
}

words! {
    U8 AtomicU8 u8;
    I8 AtomicI8 i8;
    U16 AtomicU16 u16;
    I16 AtomicI16 i16;
    U32 AtomicU32 u32;
    I32 AtomicI32 i32;
    U64 AtomicU64 u64;
    I64 AtomicI64 i64;
    Usize AtomicUsize usize;
    Isize AtomicIsize isize;
}

/// The objects that all threads of a program share.
struct Shared {
    words: [Word; 2],
    locks: [Mutex<i64>; 2],
    parking: parking_lot::Mutex<i64>,
    shared: RwLock<i64>,
    condition: (Mutex<i64>, Condvar),
    barrier: Barrier,
    once: OnceLock<i64>,
    spinning: AtomicBool,
}

/// The objects that belong to one thread.
#[derive(Default)]
struct Own {
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    /// The threads that it unparks, by number.
    threads: Vec<Option<Thread>>,
    references: Vec<Arc<()>>,
    weak: Weak<()>,
}

impl Shared {
    fn new(program: &Program) -> Shared {
        Shared {
            words: FIRST.map(|value| Word::new(program.width, value)),
            locks: Default::default(),
            parking: parking_lot::Mutex::new(0),
            shared: RwLock::new(0),
            condition: Default::default(),
            barrier: Barrier::new(program.threads.len()),
            once: OnceLock::new(),
            spinning: AtomicBool::new(false),
        }
    }

    /// Performs the commands of a thread. Returns the values that it has seen.
    fn run(&self, acts: &[Act], mut own: Own) -> Vec<i64> {
        let mut seen = Vec::new();
        for act in acts {
            seen.extend(self.act(*act, &mut own));
        }
        // One reference after the other, as in the model.
        while let Some(reference) = own.references.pop() {
            drop(reference);
        }
        seen
    }

    fn act(&self, act: Act, own: &mut Own) -> Option<i64> {
        let value = match act {
            Act::Store(word, by) => {
                self.words[word].store(by);
                return None;
            }
            Act::Load(word)
            | Act::Swap(word, _)
            | Act::Add(word, _)
            | Act::And(word, _)
            | Act::Max(word, _)
            | Act::Min(word, _)
            | Act::Exchange(word, ..) => self.words[word].act(act),
            Act::Lock(2, by) => twice(&mut self.parking.lock(), by),
            Act::Lock(lock, by) => twice(&mut self.locks[lock].lock().unwrap(), by),
            Act::TryLock(2, by) => {
                self.parking.try_lock().map_or(HELD, |mut value| plus(&mut value, by))
            }
            Act::TryLock(lock, by) => {
                self.locks[lock].try_lock().map_or(HELD, |mut value| plus(&mut value, by))
            }
            Act::LockAdd(2, by) => {
                let _held = self.parking.lock();
                self.words[0].act(Act::Add(0, by))
            }
            Act::LockAdd(lock, by) => {
                let _held = self.locks[lock].lock().unwrap();
                self.words[0].act(Act::Add(0, by))
            }
            Act::LockBoth(lock) => {
                let first = self.locks[lock].lock().unwrap();
                let mut second = self.locks[1 - lock].lock().unwrap();
                plus(&mut second, *first + 1)
            }
            Act::Read => *self.shared.read().unwrap(),
            Act::Write(by) => plus(&mut self.shared.write().unwrap(), by),
            Act::TryWrite(by) => {
                self.shared.try_write().map_or(HELD, |mut value| plus(&mut value, by))
            }
            Act::Wait => {
                let (lock, changed) = &self.condition;
                *changed.wait_while(lock.lock().unwrap(), |value| *value == 0).unwrap()
            }
            Act::Notify(by, wakes_all) => {
                let (lock, changed) = &self.condition;
                *lock.lock().unwrap() = by;
                if wakes_all {
                    changed.notify_all()
                } else {
                    changed.notify_one()
                }
                return None;
            }
            Act::Park => {
                thread::park();
                return None;
            }
            Act::Unpark(other) => {
                own.threads[other].as_ref().expect("a thread that was spawned").unpark();
                return None;
            }
            Act::Send(by) => own.sender.as_ref().expect("a sender").send(by),
            Act::Receive => own.receiver.as_ref().expect("the receiver").receive(),
            Act::TryReceive => own.receiver.as_ref().expect("the receiver").try_receive(),
            Act::Arrive => i64::from(self.barrier.wait().is_leader()),
            Act::Init(by) => *self.once.get_or_init(|| self.words[0].act(Act::Add(0, by))),
            Act::Get => self.once.get().copied().unwrap_or(NONE),
            Act::Clone => {
                let other = own.references.last().map(Arc::clone);
                own.references.extend(other);
                return None;
            }
            Act::Drop => {
                drop(own.references.pop());
                return None;
            }
            Act::Count => Arc::strong_count(own.references.last().expect("a reference")) as i64,
            Act::Upgrade => own.weak.upgrade().map_or(NONE, |_| 1),
            Act::Until(word, value, most, counter) => self.words[word].until(value, most, counter),
            Act::SpinAdd(by, yields) => {
                while self.spinning.swap(true, SeqCst) {
                    if yields { thread::yield_now() } else { spin_loop() }
                }
                self.words[0].act(Act::Add(0, by));
                self.spinning.store(false, SeqCst);
                return None;
            }
            Act::ExchangeAdd(word, by) => {
                let word = &self.words[word];
                let mut known = word.act(Act::Load(0));
                loop {
                    let seen = word.act(Act::Exchange(0, known, known.wrapping_add(by)));
                    if seen == known {
                        break known;
                    }
                    known = seen;
                }
            }
            Act::PollReceive => until_some(|| {
                let received = own.receiver.as_ref().expect("the receiver").try_receive();
                (received != EMPTY).then_some(received)
            }),
            Act::PollGet => until_some(|| self.once.get().copied()),
            Act::PollCount => {
                let reference = own.references.last().expect("a reference");
                let all = own.references.len();
                until_some(|| (Arc::strong_count(reference) == all).then_some(0));
                return None;
            }
            Act::Poll(lock) => until_some(|| {
                let value = match lock {
                    2 => *self.parking.lock(),
                    lock => *self.locks[lock].lock().unwrap(),
                };
                (value != 0).then_some(value)
            }),
            Act::TryUntil(lock, by) => {
                until_some(|| self.act(Act::TryLock(lock, by), own).filter(|value| *value != HELD))
            }
        };
        Some(value)
    }
}

impl Word {
    /// Reads the word until it has this value, at most `most` times.
    fn until(&self, value: i64, most: u32, counter: Counter) -> i64 {
        let mut left = most;
        let mut list = Box::new((VecDeque::new(), [0_u64; 64]));
        if (counter, most != ENDLESS) == (Counter::Heap, true) {
            list.0.extend(1..most);
        }
        loop {
            if self.act(Act::Load(0)) == value {
                return value;
            }
            match counter {
                _ if most == ENDLESS => {}
                Counter::Heap => {
                    if black_box(&mut list).0.pop_front().is_none() {
                        return NONE;
                    }
                }
                Counter::Local | Counter::Yielding => {
                    left -= 1;
                    if left == 0 {
                        return NONE;
                    }
                }
            }
            if counter == Counter::Yielding { thread::yield_now() } else { spin_loop() }
        }
    }
}

/// Calls `poll` until it returns a value, and yields between the calls.
fn until_some(mut poll: impl FnMut() -> Option<i64>) -> i64 {
    loop {
        if let Some(value) = poll() {
            return value;
        }
        thread::yield_now();
    }
}

fn twice(value: &mut i64, by: i64) -> i64 {
    *value = 2 * *value + by;
    *value
}

fn plus(value: &mut i64, by: i64) -> i64 {
    *value += by;
    *value
}

/// Executes a program in a run.
pub(super) fn run(program: Program) -> Outcome {
    let shared = Arc::new(Shared::new(&program));
    let (mut sender, receiver) = match program.family {
        Family::Channels => {
            let (sender, receiver) = channel(program.channel);
            (Some(sender), Some(receiver))
        }
        _ => (None, None),
    };
    // Without commands on counts, the references must make no difference.
    let counted = Some(Arc::new(()));
    let weak = counted.as_ref().map(Arc::downgrade).unwrap_or_default();
    let main = (program.family == Family::Parking).then(thread::current);
    let count = program.threads.len();
    let mut threads = vec![None; count];
    let others: Vec<_> = (1..count)
        .map(|number| {
            let own = Own {
                // The last thread gets the sender itself.
                sender: if number + 1 < count { sender.clone() } else { sender.take() },
                receiver: None,
                threads: vec![main.clone()],
                references: counted.clone().into_iter().collect(),
                weak: weak.clone(),
            };
            (number, own)
        })
        .collect();
    let others: Vec<_> = others
        .into_iter()
        .map(|(number, own)| {
            let (shared, acts) = (shared.clone(), program.threads[number].clone());
            thread::spawn(move || shared.run(&acts, own))
        })
        .collect();
    if program.family == Family::Parking {
        for (number, other) in others.iter().enumerate() {
            threads[number + 1] = Some(other.thread().clone());
        }
    }
    let own = Own { sender, receiver, threads, references: counted.into_iter().collect(), weak };
    let mut seen = vec![shared.run(&program.threads[0], own)];
    seen.extend(others.into_iter().map(|other| other.join().unwrap()));
    let words = shared.words.iter().map(|word| word.act(Act::Load(0)));
    let locks = shared.locks.iter().map(|lock| *lock.lock().unwrap());
    let rest = [
        *shared.parking.lock(),
        *shared.shared.read().unwrap(),
        *shared.condition.0.lock().unwrap(),
    ];
    Outcome { seen, last: words.chain(locks).chain(rest).collect() }
}
