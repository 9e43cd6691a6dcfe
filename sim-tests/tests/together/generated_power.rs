//! The power of generated programs. Objects with planted bugs, with the number of programs until each bug is found; and
//! correct objects that act before their first point.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sim::check::Model;
use sim::run::Failure;
use sim::run::Outcome;
use sim::{Atomic, Gen, Mutex, Ordering::SeqCst, Program, Script, Shape};
use sim_tests::seeds::{passes, runner};

/// A register, or a queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Cell {
    queue: bool,
    values: Vec<u64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Op {
    /// Writes; or puts to the end.
    Put(u64),
    /// Reads; or takes from the front.
    Get,
}
use Op::{Get, Put};

impl Model for Cell {
    type Op = Op;
    type Ret = Option<u64>;

    fn step(&mut self, op: &Op) -> Option<u64> {
        match op {
            Put(value) => {
                if !self.queue {
                    self.values.clear();
                }
                self.values.push(*value);
                None
            }
            Get if self.queue && self.values.is_empty() => None,
            Get if self.queue => Some(self.values.remove(0)),
            Get => Some(self.values.last().copied().unwrap_or(0)),
        }
    }
}

impl Program for Cell {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        if g.bool() { Put(u64::from(g.id().0) + 1) } else { Get }
    }
}

fn register() -> Cell {
    Cell::default()
}

fn queue() -> Cell {
    Cell { queue: true, values: Vec::new() }
}

/// A cached value is marked as valid, but not marked as invalid when a newer value is stored.
async fn stale_cache(shape: Shape) {
    let (value, cache, good) = (Atomic::new(0), Atomic::new(0), Atomic::new(false));
    sim::parallel(shape, register(), async |op| match op {
        Put(new) => {
            value.store(new, SeqCst).await;
            good.store(false, SeqCst).await;
            None
        }
        Get if good.load(SeqCst).await => Some(cache.load(SeqCst).await),
        Get => {
            let read = value.load(SeqCst).await;
            cache.store(read, SeqCst).await;
            good.store(true, SeqCst).await;
            Some(read)
        }
    })
    .await;
}

/// A put takes effect shortly after it has returned.
async fn late(shape: Shape) {
    let value = Arc::new(Atomic::new(0));
    sim::parallel(shape, register(), async |op| match op {
        Put(new) => {
            let value = value.clone();
            sim::spawn(async move { value.store(new, SeqCst).await }).detach();
            None
        }
        Get => Some(value.load(SeqCst).await),
    })
    .await;
}

/// Two take one value.
async fn double_take(shape: Shape) {
    let values = Mutex::new(std::collections::VecDeque::new());
    sim::parallel(shape, queue(), async |op| match op {
        Put(value) => {
            values.lock().await.push_back(value);
            None
        }
        Get => {
            let first = values.lock().await.front().copied();
            if first.is_some() {
                values.lock().await.pop_front();
            }
            first
        }
    })
    .await;
}

/// A read is of two copies, the second written later.
async fn two_copies(shape: Shape) {
    let (first, second, turn) = (Atomic::new(0), Atomic::new(0), Atomic::new(0u64));
    sim::parallel(shape, register(), async |op| match op {
        Put(new) => {
            first.store(new, SeqCst).await;
            second.store(new, SeqCst).await;
            None
        }
        Get => match turn.fetch_add(1, SeqCst).await % 2 {
            0 => Some(first.load(SeqCst).await),
            _ => Some(second.load(SeqCst).await),
        },
    })
    .await;
}

type Body = fn(Shape) -> std::pin::Pin<Box<dyn Future<Output = ()>>>;

const BUGS: [(&str, Body); 4] = [
    ("stale cache", |shape| Box::pin(stale_cache(shape))),
    ("late", |shape| Box::pin(late(shape))),
    ("double take", |shape| Box::pin(double_take(shape))),
    ("two copies", |shape| Box::pin(two_copies(shape))),
];

#[cfg_attr(feature = "sim", test)]
fn planted_bugs_are_found() {
    let starts = if sim_tests::histories::long() { 200 } else { 4 };
    for (shape_name, shape) in [("chunks", Shape::chunks()), ("branches", Shape::branches())] {
        for (name, body) in BUGS {
            let fails = |seed: u64| {
                let run = runner("power").run_seed(seed, async || body(shape.clone()).await);
                run.outcome != Outcome::Passed
            };
            let found =
                |start: u64| (0..1000).position(|n| fails(start * 1000 + n)).unwrap_or(1000) + 1;
            let sum: usize = (0..starts).map(found).sum();
            let mean = sum as f64 / starts as f64;
            println!("{shape_name}, {name}: {mean:.1} programs");
            assert!(mean < 150.0, "{shape_name}, {name}: {mean}");
        }
    }
}

// ---- commands that act before their first point

/// Gives out numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Tickets(u64);

impl Model for Tickets {
    type Op = ();
    type Ret = u64;

    fn step(&mut self, (): &()) -> u64 {
        self.0 += 1;
        self.0
    }
}

impl Program for Tickets {
    fn generate(&self, _: &mut Gen<'_, Self>) {}
}

#[cfg_attr(feature = "sim", test)]
fn what_a_command_does_before_its_first_point_is_not_taken_for_later() {
    for shape in [Shape::chunks(), Shape::branches(), Shape::branches().timeout(0.2)] {
        // An atomic of `std`, then a point; an access; a lock.
        for then in 0..3 {
            passes("early", async || {
                let (last, seen, lock) = (AtomicU64::new(0), Atomic::new(0), Mutex::new(()));
                sim::parallel(shape.clone(), Tickets(0), async |()| {
                    let ticket = last.fetch_add(1, SeqCst) + 1;
                    match then {
                        0 => sim::task::yield_now().await,
                        1 => seen.store(ticket, SeqCst).await,
                        _ => drop(lock.lock().await),
                    }
                    ticket
                })
                .await;
            });
        }
        // The messages of this channel are received by other commands.
        passes("early_channel", async || {
            let (send, receive) = futures::channel::mpsc::unbounded();
            let (receive, looks) = (std::sync::Mutex::new(receive), Atomic::new(0));
            sim::parallel(shape.clone(), queue(), async |op| match op {
                Put(value) => {
                    send.unbounded_send(value).unwrap();
                    looks.fetch_add(1, SeqCst).await;
                    None
                }
                Get => {
                    let received = receive.lock().unwrap().try_recv().ok();
                    looks.fetch_add(1, SeqCst).await;
                    received
                }
            })
            .await;
        });
    }
}

/// Runs two writes, and a read that is wrong if it runs between them.
async fn wrong_in_between(between: bool) {
    let (value, phase) = (Atomic::new(0), Atomic::new(0));
    let script = Script::new().branch(0, 0, Put(1)).branch(0, 0, Get).branch(0, 1, Put(2));
    sim::parallel::scripted(script, register(), async |op| match op {
        Put(1) => {
            value.store(1, SeqCst).await;
            phase.store(1, SeqCst).await;
            None
        }
        Put(new) => {
            let after = phase.load(SeqCst).await == 1;
            value.store(new, SeqCst).await;
            if after {
                phase.store(2, SeqCst).await;
            }
            None
        }
        Get if phase.load(SeqCst).await == 2 && between => Some(1),
        Get => Some(value.load(SeqCst).await),
    })
    .await;
}

#[cfg_attr(feature = "sim", test)]
fn a_command_may_run_between_two_of_another_branch() {
    let search = |between| {
        let runner = runner("between").strategy("exhaustive").seeds(0..10_000);
        runner.run(async || wrong_in_between(between).await)
    };
    let found = search(true).finding.expect("the read is wrong");
    assert!(matches!(&found.run.outcome, Outcome::Failed(Failure::History { .. })));
    let right = search(false);
    assert!(right.passed() && right.searched.unwrap().is_proof());
    let fails = |seed: u64| {
        let runner = runner("between").strategy("random");
        let run = runner.run_seed(seed, async || wrong_in_between(true).await);
        run.outcome != Outcome::Passed
    };
    let failing = (0..2000).filter(|seed| fails(*seed)).count();
    assert!(failing > 5, "{failing}");
}
