//! Shrunk generated programs. No command can be removed without losing the failure. A search over all schedules of the
//! remaining commands checks this, without the shrinker.
//!
//! `UNPAUSE_LONG=1` shrinks 80 programs of each kind and shape, instead of a few. Earlier, the shrinker tried each
//! smaller program with a dozen schedules. Then 12 of these 1600 programs had one unnecessary command, and 29 had one
//! unnecessary point.

use std::pin::Pin;
use std::sync::Arc;

use sim::check::Model;
use sim::parallel::Parallel;
use sim::run::program::{CommandRecord, Fate, Part};
use sim::run::{Failure, Outcome};
use sim::{Atomic, Gen, Mutex, Ordering::SeqCst, Program, Script, Shape};
use sim_tests::histories::long;
use sim_tests::seeds::runner;

/// The number of schedules that are searched for a program without one of its commands.
const RUNS: u64 = 3000;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Register,
    Queue,
    Counter,
    /// Returns the same value to all callers.
    Constant,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thing(Kind, Vec<u64>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Op {
    Put(u64),
    Take(u64),
    Look(u64),
}
use Op::{Look, Put, Take};

impl Model for Thing {
    type Op = Op;
    type Ret = Option<u64>;

    fn step(&mut self, op: &Op) -> Option<u64> {
        let Thing(kind, values) = self;
        match (kind, op) {
            (Kind::Constant, _) => None,
            (Kind::Counter, Look(_)) => Some(values.len() as u64),
            (Kind::Counter, _) => {
                values.push(0);
                Some(values.len() as u64)
            }
            (Kind::Register, Put(value)) => {
                *values = vec![*value];
                None
            }
            (Kind::Register, _) => Some(values.last().copied().unwrap_or(0)),
            (Kind::Queue, Put(value)) => {
                values.push(*value);
                None
            }
            (Kind::Queue, Take(_)) => (!values.is_empty()).then(|| values.remove(0)),
            (Kind::Queue, Look(_)) => values.first().copied(),
        }
    }
}

impl Program for Thing {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let id = u64::from(g.id().0) + 1;
        g.choose(&[Put(id), Take(id), Look(id)])
    }
}

/// The program under test.
#[derive(Clone)]
enum What {
    Shape(Shape),
    Script(Script<Op>),
}

fn ask<'a, F>(what: What, kind: Kind, run: F) -> Parallel<'a, Thing>
where
    F: AsyncFn(Op) -> Option<u64> + Sync + 'a,
{
    match what {
        What::Shape(shape) => sim::parallel(shape, Thing(kind, Vec::new()), run),
        What::Script(script) => sim::parallel::scripted(script, Thing(kind, Vec::new()), run),
    }
}

// ---- things with planted bugs

/// Takes an item that it has seen, although the item was removed.
async fn panics(what: What) {
    let values = Mutex::new(std::collections::VecDeque::new());
    ask(what, Kind::Queue, async |op| match op {
        Put(value) => {
            values.lock().await.push_back(value);
            None
        }
        Take(_) if values.lock().await.is_empty() => None,
        Take(_) => Some(values.lock().await.pop_front().expect("it is there")),
        Look(_) => values.lock().await.front().copied(),
    })
    .await;
}

/// Takes an item twice; the check of the history finds this.
async fn double_take(what: What) {
    let values = Mutex::new(std::collections::VecDeque::new());
    ask(what, Kind::Queue, async |op| match op {
        Put(value) => {
            values.lock().await.push_back(value);
            None
        }
        Take(_) => {
            let first = values.lock().await.front().copied();
            if first.is_some() {
                values.lock().await.pop_front();
            }
            first
        }
        Look(_) => values.lock().await.front().copied(),
    })
    .await;
}

async fn late_effect(what: What) {
    let value = Arc::new(Atomic::new(0));
    ask(what, Kind::Register, async |op| match op {
        Put(new) => {
            let value = value.clone();
            sim::spawn(async move { value.store(new, SeqCst).await }).detach();
            None
        }
        _ => Some(value.load(SeqCst).await),
    })
    .await;
}

/// A transfer during which the amount is in neither account.
async fn transfer(what: What) {
    let accounts = [Mutex::new(50i64), Mutex::new(50)];
    ask(what, Kind::Constant, async |op| {
        match op {
            Put(_) | Take(_) => {
                let (from, to) = if matches!(op, Put(_)) { (0, 1) } else { (1, 0) };
                *accounts[from].lock().await -= 10;
                *accounts[to].lock().await += 10;
            }
            Look(_) => {
                let (first, second) = (accounts[0].lock().await, accounts[1].lock().await);
                assert_eq!(*first + *second, 100);
            }
        }
        None
    })
    .await;
}

/// A command that is dropped in the middle releases the lock of another command.
async fn cancel_unsafe(what: What) {
    let (busy, count) = (Atomic::new(false), Atomic::new(0));
    ask(what, Kind::Counter, async |op| {
        if matches!(op, Look(_)) {
            return Some(count.load(SeqCst).await);
        }
        assert!(!busy.swap(true, SeqCst).await || !busy.load(SeqCst).await || op == Put(0));
        let counted = count.fetch_add(1, SeqCst).await + 1;
        busy.store(false, SeqCst).await;
        Some(counted)
    })
    .await;
}

async fn lost_update(what: What) {
    let count = Atomic::new(0);
    ask(what, Kind::Counter, async |op| {
        let seen = count.load(SeqCst).await;
        if matches!(op, Look(_)) {
            return Some(seen);
        }
        count.store(seen + 1, SeqCst).await;
        Some(seen + 1)
    })
    .await;
}

/// Like [`lost_update`], but fails only for some drawn values.
async fn drawn(what: What) {
    let count = Atomic::new(0);
    ask(what, Kind::Counter, async |op| {
        if matches!(op, Look(_)) {
            return Some(count.load(SeqCst).await);
        }
        if sim::rand::below(4) < 3 {
            return Some(count.fetch_add(1, SeqCst).await + 1);
        }
        let seen = count.load(SeqCst).await;
        count.store(seen + 1, SeqCst).await;
        Some(seen + 1)
    })
    .await;
}

async fn stale_cache(what: What) {
    let (value, cache, good) = (Atomic::new(0), Atomic::new(0), Atomic::new(false));
    ask(what, Kind::Register, async |op| match op {
        Put(new) => {
            value.store(new, SeqCst).await;
            good.store(false, SeqCst).await;
            None
        }
        _ if good.load(SeqCst).await => Some(cache.load(SeqCst).await),
        _ => {
            let read = value.load(SeqCst).await;
            cache.store(read, SeqCst).await;
            good.store(true, SeqCst).await;
            Some(read)
        }
    })
    .await;
}

/// The object has room for two items. A task puts an item after it saw room, although the room may be gone.
async fn over_capacity(what: What) {
    let held = Atomic::new(0);
    ask(what, Kind::Constant, async |op| {
        match op {
            Put(_) if held.load(SeqCst).await < 2 => {
                assert!(held.fetch_add(1, SeqCst).await < 2, "too many");
            }
            Take(_) => drop(held.compare_exchange(1, 0, SeqCst, SeqCst).await),
            _ => {}
        }
        None
    })
    .await;
}

async fn deadlocks(what: What) {
    let locks = [Mutex::new(()), Mutex::new(())];
    ask(what, Kind::Constant, async |op| {
        let (first, second) = if matches!(op, Put(_)) { (0, 1) } else { (1, 0) };
        let _first = locks[first].lock().await;
        if !matches!(op, Look(_)) {
            let _second = locks[second].lock().await;
        }
        None
    })
    .await;
}

type Body = fn(What) -> Pin<Box<dyn Future<Output = ()>>>;

fn plain() -> [Shape; 2] {
    [Shape::chunks(), Shape::branches()]
}

fn dropping() -> [Shape; 2] {
    [Shape::chunks().crash(0.3), Shape::branches().crash(0.2)]
}

/// The shapes in which a bug is searched.
type Shapes = fn() -> [Shape; 2];

const BUGS: [(&str, Body, Shapes); 10] = [
    ("panics", |what| Box::pin(panics(what)), plain),
    ("double take", |what| Box::pin(double_take(what)), plain),
    ("late effect", |what| Box::pin(late_effect(what)), plain),
    ("transfer", |what| Box::pin(transfer(what)), plain),
    ("cancel unsafe", |what| Box::pin(cancel_unsafe(what)), dropping),
    ("lost update", |what| Box::pin(lost_update(what)), plain),
    ("drawn", |what| Box::pin(drawn(what)), plain),
    ("stale cache", |what| Box::pin(stale_cache(what)), plain),
    ("over capacity", |what| Box::pin(over_capacity(what)), plain),
    ("deadlocks", |what| Box::pin(deadlocks(what)), plain),
];

// ---- the check

/// The operation of a command, from its text.
fn op(command: &CommandRecord) -> Op {
    let (name, rest) = command.text.split_once('(').unwrap();
    let number = rest.split_once(')').unwrap().0.parse().unwrap();
    match name {
        "Put" => Put(number),
        "Take" => Take(number),
        _ => Look(number),
    }
}

/// The program without the command at this place.
fn without(commands: &[&CommandRecord], place: usize) -> Script<Op> {
    let rest = commands.iter().enumerate().filter(|(n, _)| *n != place).map(|(_, rest)| rest);
    rest.fold(Script::new(), |script, command| {
        let script = match command.layout.part {
            Part::Prefix => script.prefix(op(command)),
            Part::Branch { stage, branch } => script.branch(stage, branch, op(command)),
            Part::Suffix => script.suffix(op(command)),
            Part::Nemesis { .. } => panic!("a program without faults"),
        };
        let script = if command.faults.again { script.again() } else { script };
        let script = if command.faults.timeout { script.timeout() } else { script };
        command.faults.crash.into_iter().fold(script, Script::crash)
    })
}

/// The identity of a failure, independent of the origin of the program.
fn kind(failure: &Failure) -> (&'static str, String) {
    let place = match failure {
        Failure::History { .. } => String::new(),
        failure => failure.signature().place,
    };
    (failure.kind(), place)
}

#[derive(Default, Debug)]
struct Sums {
    programs: u64,
    /// The number of programs that were shrunk to the end.
    complete: u64,
    /// The number of programs that have points instead of a command.
    buried: u64,
    /// The programs that are not minimal although shrinking was complete.
    larger: Vec<(u64, String)>,
    commands: usize,
    replays: u64,
    micros: u128,
    replays_most: u32,
}

/// The first seeds that fail.
fn failing(body: Body, shape: &Shape, wanted: usize) -> Vec<u64> {
    let fails = |seed: &u64| {
        let run =
            runner("minimal").run_seed(*seed, async || body(What::Shape(shape.clone())).await);
        run.outcome != Outcome::Passed
    };
    (0..20_000).filter(fails).take(wanted).collect()
}

/// Shrinks failing programs of one kind, and searches for smaller ones.
fn measure(body: Body, shape: &Shape, seeds: Vec<u64>) -> Sums {
    let mut sums = Sums::default();
    for seed in seeds {
        let began = std::time::Instant::now();
        let one = runner("minimal").seeds(seed..seed + 1);
        let report = one.run(async || body(What::Shape(shape.clone())).await);
        sums.micros += began.elapsed().as_micros();
        let found = report.finding.expect("it fails");
        let Outcome::Failed(failure) = &found.run.outcome else { unreachable!("it fails") };
        let shrunk = found.shrunk.expect("it is replayed");
        let left = found.run.programs[0].left();
        sums.programs += 1;
        sums.commands += left.len();
        sums.replays += u64::from(shrunk.replays);
        sums.replays_most = sums.replays_most.max(shrunk.replays);
        sums.complete += u64::from(shrunk.complete);
        let buried = left.iter().any(|command| command.layout.fate != Fate::Runs);
        sums.buried += u64::from(buried);
        if !shrunk.complete || buried {
            continue;
        }
        let smaller = (0..left.len()).find(|place| {
            let script = without(&left, *place);
            let search = runner("smaller").strategy("exhaustive").seeds(0..RUNS).shrink(false);
            let report = search.run(async || body(What::Script(script.clone())).await);
            let outcome = report.finding.map(|found| found.run.outcome);
            matches!(outcome, Some(Outcome::Failed(other)) if kind(&other) == kind(failure))
        });
        if let Some(place) = smaller {
            let texts: Vec<String> = left
                .iter()
                .map(|command| format!("{} {}", command.layout.part, command.text))
                .collect();
            sums.larger.push((seed, format!("{texts:?} without {place}")));
        }
    }
    sums
}

#[cfg_attr(feature = "sim", test)]
fn no_command_of_a_shrunk_program_can_be_left_out() {
    let wanted = if long() { 80 } else { 1 };
    for (name, body, shapes) in BUGS {
        for (shape, called) in shapes().iter().zip(["chunks", "branches"]) {
            let sums = measure(body, shape, failing(body, shape, wanted));
            println!("{name}, {called}: {sums:?}");
            assert_eq!((sums.larger.len(), sums.buried), (0, 0), "{name}, {called}: {sums:?}");
            assert_eq!(sums.complete, sums.programs, "{name}, {called}: {sums:?}");
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_command_that_a_rare_schedule_does_without_is_left_out() {
    // If each smaller program were tried with only a dozen schedules, each program would keep one unnecessary command.
    let body: Body = |what| Box::pin(panics(what));
    let sums = measure(body, &Shape::chunks(), vec![86, 125, 152, 280, 404]);
    assert_eq!((sums.complete, sums.commands, sums.larger.len()), (5, 15, 0), "{sums:?}");
    let body: Body = |what| Box::pin(transfer(what));
    let sums = measure(body, &Shape::chunks(), vec![37, 113, 128, 146]);
    assert_eq!((sums.complete, sums.commands, sums.larger.len()), (4, 8, 0), "{sums:?}");
}
