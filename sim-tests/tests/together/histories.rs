//! The recorder. The tests show which histories it can record, and that histories reveal broken objects.
//!
//! Each broken object has a correct twin with the same clients. The names V41 and so on come from a list of well-known
//! small bugs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex as StdMutex;

use futures::FutureExt;
use futures::future::BoxFuture;
use sim::Ordering::SeqCst;
use sim::check::Model;
use sim::check::models::*;
use sim::check::verdict::Verdict;
use sim::run::{Failure, Outcome};
use sim::{Atomic, Cell, History, Mutex, Runner, SIMULATED};
use sim_tests::seeds::{failure, runner};

/// Seeds within which every broken object is found.
const FOUND_WITHIN: u64 = 200;
/// Seeds that its right twin passes.
const PASSES: u64 = if SIMULATED { 2000 } else { 20 };

type Task = BoxFuture<'static, ()>;

/// Runs the tasks and checks the history.
async fn judged<M>(history: History<M>, tasks: Vec<Task>)
where
    M: Model + Send + Sync + 'static,
    M::Op: Send + Sync,
    M::Ret: Send + Sync,
{
    let tasks: Vec<_> = tasks.into_iter().map(sim::spawn).collect();
    for task in tasks {
        task.await.unwrap();
    }
    history.assert_linearizable();
}

/// Checks that `broken` is reported as not linearizable, and that `right` is not reported.
#[track_caller]
fn twins(name: &str, broken: impl AsyncFn() + Sync, right: impl AsyncFn() + Sync) {
    if SIMULATED {
        let report = runner(name).seeds(0..FOUND_WITHIN).run(broken);
        let found = report.finding.unwrap_or_else(|| panic!("{name} is not found"));
        let verdict = failure(&found.run);
        let violated = matches!(&verdict, Failure::History { verdict: Verdict::Violated(_), .. });
        assert!(violated, "{name}: {verdict:?}");
    }
    let report = runner(name).seeds(0..PASSES).run(right);
    assert!(report.passed(), "{name}: {:?}", report.finding);
}

// ---- calls that can be recorded

/// A program: for each task its calls, for each call how many accesses it makes.
type Shape = &'static [&'static [u32]];

/// Pairs of calls in which the first call returned before the second was invoked. Calls are numbered task by task.
type Precedence = BTreeSet<(u64, u64)>;

/// The real-time orders of all interleavings of the accesses.
fn possible(shape: Shape) -> BTreeSet<Precedence> {
    fn go(left: &mut Vec<Vec<u64>>, order: &mut Vec<u64>, found: &mut BTreeSet<Precedence>) {
        let tasks: Vec<_> = (0..left.len()).filter(|task| !left[*task].is_empty()).collect();
        if tasks.is_empty() {
            let calls: BTreeSet<u64> = order.iter().copied().collect();
            let first = |call| order.iter().position(|other| *other == call);
            let last = |call| order.iter().rposition(|other| *other == call);
            let pairs = calls.iter().flat_map(|a| calls.iter().map(move |b| (*a, *b)));
            found.insert(pairs.filter(|(a, b)| last(*a) < first(*b)).collect());
        }
        for task in tasks {
            let access = left[task].remove(0);
            order.push(access);
            go(left, order, found);
            order.pop();
            left[task].insert(0, access);
        }
    }
    let (mut number, mut left) = (0, Vec::new());
    for calls in shape {
        let mut accesses = Vec::new();
        for count in *calls {
            accesses.extend((0..*count).map(|_| number));
            number += 1;
        }
        left.push(accesses);
    }
    let mut found = BTreeSet::new();
    go(&mut left, &mut Vec::new(), &mut found);
    found
}

fn recorded(shape: Shape, seed: u64) -> Precedence {
    let kept = StdMutex::new(Vec::new());
    let run = Runner::new().hermetic().run_seed(seed, async || {
        let (history, word) = (History::new(Register::new(0u64)), Arc::new(Atomic::new(0u64)));
        let (mut number, mut tasks) = (0, Vec::new());
        for calls in shape {
            let (history, word, first) = (history.clone(), word.clone(), number);
            number += calls.len() as u64;
            tasks.push(sim::spawn(async move {
                for (call, accesses) in (first..).zip(*calls) {
                    let work = async {
                        for _ in 0..*accesses {
                            word.fetch_add(1, SeqCst).await;
                        }
                        RegisterRet::Done
                    };
                    history.call(RegisterOp::Write(call), work).await;
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        *kept.lock().unwrap() = history.operations();
    });
    assert_eq!(run.outcome, Outcome::Passed);
    let calls = kept.into_inner().unwrap();
    let number = |op: &RegisterOp| match op {
        RegisterOp::Write(number) => *number,
        RegisterOp::Read => unreachable!("there are only writes"),
    };
    let pairs = calls.iter().flat_map(|a| calls.iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a.precedes(b)).map(|(a, b)| (number(&a.op), number(&b.op))).collect()
}

#[cfg_attr(feature = "sim", test)]
fn every_real_time_order_of_a_small_program_is_recorded_and_no_other() {
    const SHAPES: &[Shape] = &[
        &[&[1, 1], &[1]],
        &[&[2, 1], &[1]],
        &[&[1, 1], &[1, 1]],
        &[&[1, 2], &[2]],
        &[&[2], &[2], &[1]],
        &[&[1, 1], &[1], &[1]],
        &[&[2, 2], &[1, 1]],
        &[&[1, 1], &[1, 1], &[1]],
    ];
    for shape in SHAPES {
        let (all, mut found) = (possible(shape), BTreeSet::new());
        for seed in 0..3000 {
            found.insert(recorded(shape, seed));
            if found.len() >= all.len() {
                break;
            }
        }
        assert_eq!(found, all, "{shape:?}");
    }
}

// ---- broken objects

/// V41: a counter with two stripes, which readers sum in opposite orders. The counter is correct as long as each call
/// adds one.
fn stripes(amounts: [&'static [i64]; 2]) -> impl AsyncFn() + Sync {
    async move || {
        let (history, words) =
            (History::new(Counter::default()), Arc::new([0, 0].map(Atomic::new)));
        let mut tasks: Vec<Task> = Vec::new();
        for stripe in 0..2 {
            let (writer, words_of_writer) = (history.clone(), words.clone());
            tasks.push(Box::pin(async move {
                for amount in amounts[stripe] {
                    let work = words_of_writer[stripe].fetch_add(*amount, SeqCst);
                    writer.call(CounterOp::Add(*amount), work.map(|_| CounterRet::Done)).await;
                }
            }));
            let (reader, words) = (history.clone(), words.clone());
            tasks.push(Box::pin(async move {
                let work = async {
                    let sum = words[stripe].load(SeqCst).await;
                    CounterRet::Value(sum + words[1 - stripe].load(SeqCst).await)
                };
                reader.call(CounterOp::Get, work).await;
            }));
        }
        judged(history, tasks).await;
    }
}

#[test]
fn v41_a_counter_of_stripes_is_told_from_one_whose_steps_are_alike() {
    twins("v41", stripes([&[1], &[2]]), stripes([&[1, 1], &[1, 1]]));
}

/// V42: a register whose second read uses an outdated copy.
fn lagging(copy: usize) -> impl AsyncFn() + Sync {
    async move || {
        let (history, words) = (History::new(Register::new(0)), Arc::new([0, 0].map(Atomic::new)));
        let (reader, read) = (history.clone(), words.clone());
        let writer = history.clone();
        let tasks: Vec<Task> = vec![
            Box::pin(async move {
                let work = async {
                    words[0].store(1, SeqCst).await;
                    words[1].store(1, SeqCst).await;
                    RegisterRet::Done
                };
                writer.call(RegisterOp::Write(1), work).await;
            }),
            Box::pin(async move {
                for from in [0, copy] {
                    let work = read[from].load(SeqCst).map(RegisterRet::Value);
                    reader.call(RegisterOp::Read, work).await;
                }
            }),
        ];
        judged(history, tasks).await;
    }
}

#[test]
fn v42_a_register_with_a_lagging_copy_is_told_from_one_without() {
    twins("v42", lagging(1), lagging(0));
}

/// V43: a compare-and-swap that fails when the lock is busy.
fn busy(gives_up: bool) -> impl AsyncFn() + Sync {
    async move || {
        let history = History::new(CasRegister::new(0u64));
        let word = Arc::new((Atomic::new(false), Atomic::new(0u64)));
        let cas = |from, to| -> Task {
            let (history, word) = (history.clone(), word.clone());
            let work = async move {
                while word.0.compare_exchange(false, true, SeqCst, SeqCst).await.is_err() {
                    if gives_up {
                        return CasRegisterRet::Swapped(false);
                    }
                }
                let same = word.1.load(SeqCst).await == from;
                if same {
                    word.1.store(to, SeqCst).await;
                }
                word.0.store(false, SeqCst).await;
                CasRegisterRet::Swapped(same)
            };
            Box::pin(async move {
                history.call(CasRegisterOp::Cas(from, to), work).await;
            })
        };
        let tasks = vec![cas(5, 6), cas(0, 1)];
        judged(history, tasks).await;
    }
}

#[test]
fn v43_a_cas_that_gives_up_is_told_from_one_that_waits() {
    twins("v43", busy(true), busy(false));
}

/// V44: a set whose compaction moves a key while a search passes it, so the search misses the key.
fn compaction(locked: bool) -> impl AsyncFn() + Sync {
    async move || {
        let history = History::new(Map::from_iter([(5u64, 5u64)]));
        let set = Arc::new((Mutex::new(()), [5u64, 0].map(Atomic::new)));
        let (mover, reader) = (set.clone(), history.clone());
        let tasks: Vec<Task> = vec![
            Box::pin(async move {
                for (at, value) in [(1, 5), (0, 0), (0, 5), (1, 0)] {
                    let _guard = if locked { Some(mover.0.lock().await) } else { None };
                    mover.1[at].store(value, SeqCst).await;
                }
            }),
            Box::pin(async move {
                let work = async {
                    let _guard = if locked { Some(set.0.lock().await) } else { None };
                    for slot in &set.1 {
                        if slot.load(SeqCst).await == 5 {
                            return MapRet::Value(Some(5));
                        }
                    }
                    MapRet::Value(None)
                };
                reader.call(MapOp::Get(5), work).await;
            }),
        ];
        judged(history, tasks).await;
    }
}

#[test]
fn v44_a_set_that_is_compacted_is_told_from_one_with_a_lock() {
    twins("v44", compaction(false), compaction(true));
}

/// V45: a map whose size is updated late.
fn size(lags: bool) -> impl AsyncFn() + Sync {
    async move || {
        let (history, words) = (History::new(Map::new()), Arc::new([0u64, 0].map(Atomic::new)));
        let (writer, reader, read) = (history.clone(), history.clone(), words.clone());
        let tasks: Vec<Task> = vec![
            Box::pin(async move {
                let work = async {
                    if words[0].swap(7, SeqCst).await == 0 {
                        words[1].fetch_add(1, SeqCst).await;
                    }
                    MapRet::Value(None)
                };
                writer.call(MapOp::Put(1u64, 7u64), work).await;
            }),
            Box::pin(async move {
                let get = async {
                    let value = read[0].load(SeqCst).await;
                    MapRet::Value((value != 0).then_some(value))
                };
                reader.call(MapOp::Get(1), get).await;
                let len = async {
                    let size = read[usize::from(lags)].load(SeqCst).await;
                    MapRet::Len(usize::from(size != 0))
                };
                reader.call(MapOp::Len, len).await;
            }),
        ];
        judged(history, tasks).await;
    }
}

#[test]
fn v45_a_map_whose_size_lags_is_told_from_one_that_counts() {
    twins("v45", size(true), size(false));
}

/// Two accounts; an audit finds the same sum after every transfer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Bank;

#[derive(Clone, PartialEq, Debug)]
enum BankOp {
    Transfer,
    Audit,
}

impl Model for Bank {
    type Op = BankOp;
    type Ret = u64;

    fn step(&mut self, op: &BankOp) -> u64 {
        match op {
            BankOp::Transfer => 0,
            BankOp::Audit => 10,
        }
    }
}

/// V46: an audit that takes no lock.
fn audit(locked: bool) -> impl AsyncFn() + Sync {
    async move || {
        let history = History::new(Bank);
        let bank = Arc::new((Mutex::new(()), [10u64, 0].map(Cell::new)));
        let (mover, auditor, audited) = (history.clone(), history.clone(), bank.clone());
        let tasks: Vec<Task> = vec![
            Box::pin(async move {
                let work = async {
                    let _guard = bank.0.lock().await;
                    bank.1[0].set(bank.1[0].get().await - 4).await;
                    bank.1[1].set(bank.1[1].get().await + 4).await;
                    0
                };
                mover.call(BankOp::Transfer, work).await;
            }),
            Box::pin(async move {
                let work = async {
                    let _guard = if locked { Some(audited.0.lock().await) } else { None };
                    audited.1[1].get().await + audited.1[0].get().await
                };
                auditor.call(BankOp::Audit, work).await;
            }),
        ];
        judged(history, tasks).await;
    }
}

#[test]
fn v46_an_audit_without_a_lock_is_told_from_one_with() {
    twins("v46", audit(false), audit(true));
}

/// A client that lost the answer and records a failure.
#[test]
fn a_failed_call_that_took_effect_is_named() {
    let shows = |value: u64| {
        let report = runner("failed").seeds(0..1).run(async || {
            let history = History::new(Register::new(0u64));
            history.invoke(RegisterOp::Write(value)).fail();
            history.invoke(RegisterOp::Read).ok(RegisterRet::Value(2));
            history.assert_linearizable();
        });
        let screen = sim::report::text(&report, &Default::default());
        assert!(screen.contains("VIOLATED") || screen.contains("is not linearizable"), "{screen}");
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let remark = "These are explained if `Write(2)` by main took effect. It is recorded as failed";
    assert!(shows(2).contains(remark), "{}", shows(2));
    assert!(!shows(3).contains("took effect"), "{}", shows(3));
}
