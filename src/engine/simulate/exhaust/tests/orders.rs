//! Compares the call orders that one run represents with brute force. A class of interleavings must have a violated
//! history exactly if one of its interleavings has a violated history.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use super::brute::Brute;
use super::{LIMITS, effort, ends_by_a_step, place, seen};
use crate::engine::simulate::reorder::in_order;
use crate::rt::{TaskBody, Worker};
use crate::run::Run;
use crate::run::ids::{Seed, TaskId};
use crate::run::rng::Rng;
use crate::strategy::exhaustive::{ClosureVerdict, Exhaustive};
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::search::Apart;
use crate::strategy::witness::Witness;
use crate::strategy::{Chosen, LenientReplay, Search};
use crate::sync::Ordering::SeqCst;
use crate::{Atomic, History, Mutex};
use unpause_check::models::{Register, RegisterOp, RegisterRet};

/// A call of a register that is stored in two words, or whose implementation is faulty.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// Stores the value in these words, one after the other.
    Write(u64, [Option<usize>; 2]),
    /// Loads these words, one after the other, and returns the last value.
    Read(usize, Option<usize>),
}

/// The recording of a call, and its other effects.
#[derive(Clone, Copy, Debug)]
struct Way {
    explicit: bool,
    locked: bool,
    /// True if no task learns how it ended.
    lost: bool,
}

/// The calls of each task.
#[derive(Debug)]
struct Program {
    calls: Vec<Vec<(Call, Way)>>,
    /// The first task is in a node, uses its own memory before each call, and is killed by another task.
    dies: bool,
}

fn generate(rng: &mut Rng, dies: bool) -> Program {
    let mut value = 0;
    let mut call = |rng: &mut Rng| {
        let first = rng.below(2) as usize;
        let second = (rng.below(2) == 0).then_some(1 - first);
        let call = match rng.below(2) {
            0 => {
                value += 1;
                Call::Write(value, [Some(first), second])
            }
            _ => Call::Read(first, second),
        };
        let locked = rng.below(8) == 0;
        (call, Way { explicit: rng.below(3) == 0, locked, lost: rng.below(10) == 0 })
    };
    let tasks = 2 + rng.below(2);
    let each = if tasks == 2 { 2 } else { 1 + rng.below(2) };
    let each = if dies { 1 } else { each };
    Program { calls: (0..tasks).map(|_| (0..each).map(|_| call(rng)).collect()).collect(), dies }
}

struct Shared {
    words: [Atomic<u64>; 2],
    lock: Mutex<()>,
    history: History<Register>,
}

impl Shared {
    async fn perform(&self, call: Call, locked: bool) -> RegisterRet {
        let _guard = if locked { Some(self.lock.lock().await) } else { None };
        match call {
            Call::Write(value, words) => {
                for word in words.into_iter().flatten() {
                    self.words[word].store(value, SeqCst).await;
                }
                RegisterRet::Done
            }
            Call::Read(first, second) => {
                let mut value = self.words[first].load(SeqCst).await;
                if let Some(second) = second {
                    value = self.words[second].load(SeqCst).await;
                }
                RegisterRet::Value(value)
            }
        }
    }
}

/// Runs the program and has its history checked. The body always passes.
async fn body(program: &Program) {
    let shared = Arc::new(Shared {
        words: [Atomic::new(0), Atomic::new(0)],
        lock: Mutex::new(()),
        history: History::new(Register::default()),
    });
    let node = program.dies.then(|| crate::node("n"));
    let task = |(nth, calls): (usize, &Vec<(Call, Way)>)| {
        let (shared, calls) = (shared.clone(), calls.clone());
        let node = node.as_ref().filter(|_| nth == 0);
        let is_in_node = node.is_some();
        let work = async move {
            let own = is_in_node.then(|| Atomic::new(0));
            for (call, way) in calls {
                if let Some(own) = &own {
                    own.fetch_add(1, SeqCst).await;
                }
                let op = match call {
                    Call::Write(value, _) => RegisterOp::Write(value),
                    Call::Read(..) => RegisterOp::Read,
                };
                let work = shared.perform(call, way.locked);
                if way.explicit {
                    let invoked = shared.history.invoke(op);
                    let ret = work.await;
                    match way.lost {
                        true => invoked.info(),
                        false => invoked.ok(ret),
                    }
                } else {
                    shared.history.call(op, work).await;
                }
            }
        };
        match node {
            Some(node) => node.spawn(work),
            None => crate::spawn(work),
        }
    };
    let mut tasks: Vec<_> = program.calls.iter().enumerate().map(task).collect();
    if let Some(node) = node {
        tasks.push(crate::spawn(async move { node.kill() }));
    }
    for task in tasks {
        // A killed task has no result.
        drop(task.await);
    }
    shared.history.check();
}

/// For each set of seen values, `true` if a run with these values has a violated history.
type Found = BTreeMap<BTreeMap<String, Vec<String>>, bool>;

fn is_violated(run: &Run) -> bool {
    let verdict = run.histories[0].verdict.as_ref().expect("the body had it checked");
    assert!(verdict.is_consistent() || verdict.is_violated(), "there is budget enough");
    verdict.is_violated()
}

/// Executes all interleavings if their number is at most `runs_max`. Returns the findings and the number of runs.
fn by_brute_force(program: &Program, runs_max: u64) -> Option<(Found, u64)> {
    let brute = Brute::default();
    let mut worker = Worker::new(Box::new(brute.clone()));
    let mut found = Found::new();
    for runs in 1..=runs_max {
        worker.run(Seed(0), &LIMITS, place(), pin!(TaskBody::new(body(program))));
        let run = worker.extract(Seed(0), "brute force");
        worker.forget_histories();
        *found.entry(seen(&run).1).or_default() |= is_violated(&run);
        if !brute.advance() {
            return Some((found, runs));
        }
    }
    None
}

/// Executes all interleavings if their number is at most `runs_max`. Returns for each class `true` if an interleaving
/// with the same happens-before order has a violated history.
fn classes_by_brute_force(program: &Program, runs_max: u64) -> Option<BTreeMap<u64, bool>> {
    let brute = Brute::default();
    let mut worker = Worker::new(Box::new(brute.clone()));
    let mut found = BTreeMap::new();
    for _ in 0..runs_max {
        worker.run(Seed(0), &LIMITS, place(), pin!(TaskBody::new(body(program))));
        let run = worker.extract(Seed(0), "brute force");
        worker.forget_histories();
        *found.entry(brute.class(true)).or_default() |= is_violated(&run);
        if !brute.advance() {
            return Some(found);
        }
    }
    None
}

/// Watches runs of seeds. Returns for each its class, whether its own history is violated, and
/// whether it represents a violated history. The reported run exists.
fn by_seeds(program: &Program, strategy: &str, seeds: u64) -> Vec<(u64, bool, bool)> {
    let witness = Witness::default();
    let strategy = Chosen::parse(strategy).expect("it is one of ours");
    let mut worker = Worker::new(witness.watch(strategy.create()));
    for seed in 0..worker.rehearsals() {
        worker.run(Seed(seed.into()), &LIMITS, place(), pin!(TaskBody::new(body(program))));
        worker.forget_histories();
    }
    let each = |seed| {
        worker.run(Seed(seed), &LIMITS, place(), pin!(TaskBody::new(body(program))));
        let run = worker.extract(Seed(seed), strategy.name());
        let number = witness.look(true, HappensBefore::class);
        let mut holds = |history, times: &[_]| worker.history(history).unwrap().holds_at(times);
        let violated = match witness.look_at_orders(10_000, &mut holds) {
            ClosureVerdict::Consistent => false,
            ClosureVerdict::Unknown => panic!("few calls have few orders: {program:?}"),
            ClosureVerdict::Violated(tasks) => {
                assert_comes_about(program, &worker, &run, &tasks);
                true
            }
        };
        worker.forget_histories();
        (number, is_violated(&run), violated)
    };
    (0..seeds).map(each).collect()
}

/// Asserts that the last run, with its steps in this order, shows the same and violates.
fn assert_comes_about(program: &Program, worker: &Worker, run: &Run, tasks: &[TaskId]) {
    let mut other = Worker::new(Box::new(LenientReplay::new(in_order(worker.schedule(), tasks))));
    other.run(Seed(0), &LIMITS, place(), pin!(TaskBody::new(body(program))));
    let reordered = other.extract(Seed(0), "follow");
    other.forget_histories();
    assert_eq!(seen(&reordered).1, seen(run).1, "{program:?}");
    assert!(is_violated(&reordered), "{program:?}");
}

/// Searches either with a run for each order of calls, or with a check of all orders that a run represents.
fn by_search(program: &Program, strict: bool) -> (Found, u64) {
    let search = Exhaustive::default();
    if strict {
        search.tell_apart(Apart::ORDERS);
    }
    let mut worker = Worker::new(search.strategy());
    let mut found = Found::new();
    loop {
        let failure = worker.run(Seed(0), &LIMITS, place(), pin!(TaskBody::new(body(program))));
        let blocked = search.is_blocked();
        let run = worker.extract(Seed(0), "exhaustive");
        let more = search.advance(ends_by_a_step(failure.as_ref()));
        if !blocked {
            let mut violated = is_violated(&run);
            let mut holds = |history, times: &[_]| worker.history(history).unwrap().holds_at(times);
            match search.look_at_orders(&mut holds) {
                ClosureVerdict::Consistent => {
                    assert!(!violated || strict, "its own order is among them")
                }
                ClosureVerdict::Unknown => panic!("few calls have few orders: {program:?}"),
                ClosureVerdict::Violated(tasks) => {
                    violated = true;
                    assert_comes_about(program, &worker, &run, &tasks);
                }
            }
            *found.entry(seen(&run).1).or_default() |= violated;
        }
        worker.forget_histories();
        if !more {
            return (found, search.progress().runs);
        }
    }
}

#[test]
fn what_one_run_stands_for_is_what_brute_force_finds() {
    crate::engine::simulate::hook::install();
    let (programs, runs_max) = effort();
    let (programs, runs_max) = (programs / 2, 4 * runs_max);
    let (mut brute_runs, mut strict_runs, mut runs) = (0, 0, 0);
    let (mut compared, mut violated) = (0, 0);
    for seed in 0..programs {
        let program = generate(&mut Rng::new(seed), seed % 4 == 3);
        let Some((all, count)) = by_brute_force(&program, runs_max) else { continue };
        let (by_orders, few) = by_search(&program, false);
        assert_eq!(by_orders, all, "{program:?}");
        let (by_runs, many) = by_search(&program, true);
        assert_eq!(by_runs, all, "{program:?}");
        (brute_runs, strict_runs, runs) = (brute_runs + count, strict_runs + many, runs + few);
        compared += 1;
        violated += all.values().filter(|violated| **violated).count();
    }
    println!(
        "{compared} programs, {violated} results with a violated history: {brute_runs} interleavings, \
         {strict_runs} runs with one for each order of calls, {runs} without"
    );
    assert!(compared * 4 > programs && violated > programs as usize / 4);
    assert!(runs * 3 < strict_runs * 2);
}

#[test]
fn what_a_run_of_a_seed_stands_for_is_what_brute_force_finds_in_its_class() {
    crate::engine::simulate::hook::install();
    let (programs, runs_max) = effort();
    let (programs, runs_max) = ((programs / 2).max(40), 4 * runs_max);
    let (mut compared, mut runs, mut own, mut closed) = (0, 0, 0, 0);
    for seed in 0..programs {
        let program = generate(&mut Rng::new(seed), seed % 4 == 3);
        let Some(classes) = classes_by_brute_force(&program, runs_max) else { continue };
        compared += 1;
        for strategy in ["random", "portfolio"] {
            for (class, itself, violated) in by_seeds(&program, strategy, 8) {
                assert_eq!(Some(&violated), classes.get(&class), "{strategy}: {program:?}");
                assert!(violated || !itself, "its own order is among them");
                runs += 1;
                own += u64::from(itself);
                closed += u64::from(violated);
            }
        }
    }
    println!("{compared} programs, {runs} runs: {own} violated, {closed} with all their orders");
    assert!(compared * 4 > programs && own * 4 < closed * 3 && closed < runs);
}
