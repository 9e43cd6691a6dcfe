//! Random programs over objects that wait by `park`, beside `park` itself, and over other objects whose operations take
//! few steps in a search. The search must have the outcomes of the search in which each atomic operation is a step.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use super::any_channel::{Receiver, Sender, channel};
use super::model::{HELD, NONE, Outcome};
use super::program::{Channel, Numbers};
use super::{Tried, number, record, run_by, setting};

/// A command of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Load,
    Add(i64),
    Park,
    Unpark,
    /// Sends to the other thread, or receives from it.
    Send(i64),
    TrySend(i64),
    Receive,
    TryReceive,
    DropSender,
    DropReceiver,
    /// Runs a thread in a scope. The thread adds to the word, and unparks its owner if `true`.
    Scope(bool),
    /// Initializes the cell. The initializer adds to the word.
    Init(i64),
    Get,
    /// The same with a cell of once_cell.
    InitCell(i64),
    GetCell,
    /// Pushes to the queue with one place, or pops.
    Push(i64),
    ForcePush(i64),
    Pop,
    Length,
    /// Operations on a mutex of parking_lot, and on its condition.
    Lock(i64),
    TryLock,
    Wait,
    Notify(bool),
}

/// A generated program: the kind of its channels, and the commands of two threads.
#[derive(Clone, Debug)]
struct Program {
    kind: u64,
    threads: [Vec<Act>; 2],
}

fn generate(number: u64) -> Program {
    let mut numbers = Numbers(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 99);
    let kind = numbers.below(6);
    let set = numbers.below(4);
    let threads = [0, 1].map(|_| {
        let mut acts: Vec<_> = (0..1 + numbers.below(3)).map(|_| act(&mut numbers, set)).collect();
        // Otherwise many programs are deadlocks.
        if numbers.below(4) > 0 {
            acts.push(Act::Unpark);
        }
        acts
    });
    Program { kind, threads }
}

fn act(numbers: &mut Numbers, set: u64) -> Act {
    let by = numbers.one_of(&[1, 2, 3]);
    let (flag, of_set) = (numbers.below(2) == 0, numbers.below(3) > 0);
    let set = if of_set { set } else { numbers.below(5) };
    match set {
        0 => numbers.one_of(&[
            Act::Send(by),
            Act::TrySend(by),
            Act::Receive,
            Act::Receive,
            Act::TryReceive,
            Act::DropSender,
            Act::DropReceiver,
        ]),
        1 => numbers.one_of(&[
            Act::Scope(flag),
            Act::Init(by),
            Act::Get,
            Act::InitCell(by),
            Act::InitCell(by),
            Act::GetCell,
        ]),
        2 => numbers.one_of(&[Act::Push(by), Act::ForcePush(by), Act::Pop, Act::Pop, Act::Length]),
        3 => numbers.one_of(&[Act::Lock(by), Act::TryLock, Act::Wait, Act::Notify(flag)]),
        _ => numbers.one_of(&[Act::Load, Act::Add(by), Act::Park, Act::Park, Act::Unpark]),
    }
}

fn kind_of_channel(kind: u64) -> Channel {
    match kind {
        0 | 1 => Channel::Bounded(kind as usize),
        2 => Channel::Unbounded,
        3 => Channel::Crossbeam,
        _ => Channel::CrossbeamBounded(kind as usize - 4),
    }
}

struct Shared {
    word: AtomicI64,
    lock: OnceLock<i64>,
    cell: once_cell::sync::OnceCell<i64>,
    queue: crossbeam_queue::ArrayQueue<i64>,
    mutex: parking_lot::Mutex<i64>,
    changed: parking_lot::Condvar,
}

impl Shared {
    fn run(&self, acts: &[Act], sender: Sender, receiver: Receiver, other: &Thread) -> Vec<i64> {
        let (mut sender, mut receiver) = (Some(sender), Some(receiver));
        let mut seen = Vec::new();
        for act in acts {
            match act {
                Act::DropSender => sender = None,
                Act::DropReceiver => receiver = None,
                act => seen.extend(self.act(*act, &sender, &receiver, other)),
            }
        }
        drop(sender);
        seen
    }

    fn act(
        &self,
        act: Act,
        sender: &Option<Sender>,
        receiver: &Option<Receiver>,
        other: &Thread,
    ) -> Option<i64> {
        Some(match act {
            Act::Load => self.word.load(SeqCst),
            Act::Add(by) => self.word.fetch_add(by, SeqCst),
            Act::Park => {
                thread::park();
                return None;
            }
            Act::Unpark => {
                other.unpark();
                return None;
            }
            Act::Send(by) => sender.as_ref().map_or(NONE, |sender| sender.send(by)),
            Act::TrySend(by) => sender.as_ref().map_or(NONE, |sender| sender.try_send(by)),
            Act::Receive => receiver.as_ref().map_or(NONE, Receiver::receive),
            Act::TryReceive => receiver.as_ref().map_or(NONE, Receiver::try_receive),
            Act::Scope(unparks) => {
                let own = thread::current();
                let mut seen = 0;
                thread::scope(|scope| {
                    scope.spawn(|| {
                        seen = self.word.fetch_add(1, SeqCst);
                        if unparks {
                            own.unpark();
                        }
                    });
                });
                seen
            }
            Act::Init(by) => *self.lock.get_or_init(|| self.word.fetch_add(by, SeqCst)),
            Act::Get => self.lock.get().copied().unwrap_or(NONE),
            Act::InitCell(by) => *self.cell.get_or_init(|| self.word.fetch_add(by, SeqCst)),
            Act::GetCell => self.cell.get().copied().unwrap_or(NONE),
            Act::Push(by) => self.queue.push(by).map_or(HELD, |()| 0),
            Act::ForcePush(by) => self.queue.force_push(by).unwrap_or(NONE),
            Act::Pop => self.queue.pop().unwrap_or(NONE),
            Act::Length => self.queue.len() as i64,
            Act::Lock(by) => {
                let mut value = self.mutex.lock();
                *value += by;
                *value
            }
            Act::TryLock => self.mutex.try_lock().map_or(HELD, |value| *value),
            Act::Wait => {
                let mut value = self.mutex.lock();
                if *value == 0 {
                    self.changed.wait(&mut value);
                }
                *value
            }
            Act::Notify(true) => self.changed.notify_all() as i64,
            Act::Notify(false) => self.changed.notify_one().into(),
            Act::DropSender | Act::DropReceiver => unreachable!("the caller does it"),
        })
    }
}

fn execute(program: &Program) -> Outcome {
    let shared = Arc::new(Shared {
        word: AtomicI64::new(0),
        lock: OnceLock::new(),
        cell: once_cell::sync::OnceCell::new(),
        queue: crossbeam_queue::ArrayQueue::new(1),
        mutex: parking_lot::Mutex::new(0),
        changed: parking_lot::Condvar::new(),
    });
    let kind = kind_of_channel(program.kind);
    let ((sender, others), (back, receiver)) = (channel(kind), channel(kind));
    let (first, own) = (thread::current(), shared.clone());
    let acts = program.threads[1].clone();
    let other = thread::spawn(move || own.run(&acts, back, others, &first));
    let thread = other.thread().clone();
    let seen = shared.run(&program.threads[0], sender, receiver, &thread);
    Outcome { seen: vec![seen, other.join().unwrap()], last: vec![shared.word.load(SeqCst)] }
}

/// The programs of this file, among the programs of these tests.
const MIXED: &str = "mixed";

/// The body of all programs.
fn body() {
    record(MIXED, &execute(&generate(number(MIXED))));
}

/// The runs of a search, and of a search in which each atomic operation is a step.
const RUNS: [u64; 2] = [3_000, 10_000];

/// Searches a program, with each atomic operation as a step if `in_detail`.
fn search(number: u64, in_detail: bool) -> Tried {
    let runs = RUNS[usize::from(in_detail)];
    run_by((MIXED, number), "exhaustive", runs, |runner| {
        let runner = if in_detail { runner.points("all") } else { runner };
        runner.run_native(body)
    })
}

#[test]
fn a_search_with_few_steps_has_the_outcomes_of_a_search_of_instructions() {
    let is_long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (first, count) = (setting("FIRST", 0), setting("PROGRAMS", if is_long { 200 } else { 4 }));
    let (mut differences, mut counts) = (Vec::new(), BTreeMap::new());
    for number in first..first + count {
        let few = search(number, false);
        let is_decided = |tried: &Tried| tried.is_proof || tried.has_deadlock;
        if !is_decided(&few) {
            *counts.entry("undecided").or_insert(0) += 1;
            continue;
        }
        let all = search(number, true);
        let difference = match () {
            () if !is_decided(&all) => {
                *counts.entry("too large").or_insert(0) += 1;
                let more: Vec<_> = all.outcomes.difference(&few.outcomes).collect();
                (few.is_proof && !more.is_empty()).then(|| format!("only in detail: {more:?}"))
            }
            () if few.has_deadlock != all.has_deadlock => {
                Some(format!("deadlocks: {} {}", few.has_deadlock, all.has_deadlock))
            }
            () if few.has_deadlock => {
                *counts.entry("deadlocks").or_insert(0) += 1;
                None
            }
            () => {
                *counts.entry("compared").or_insert(0) += 1;
                let [more, less] = [(&all, &few), (&few, &all)]
                    .map(|(one, two)| one.outcomes.difference(&two.outcomes).collect::<Vec<_>>());
                let differs = !more.is_empty() || !less.is_empty();
                differs.then(|| format!("only in detail: {more:?}, only with few: {less:?}"))
            }
        };
        if let Some(difference) = difference {
            let text = format!("{number}: {difference}\n{:?}", generate(number));
            eprintln!("{text}");
            differences.push(text);
        }
    }
    eprintln!("{counts:?}");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}
