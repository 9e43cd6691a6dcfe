//! The memory cost of checkers: no more than their budget, for any history.
//!
//! This test has a file of its own, because the allocator counts allocations of the whole process.

use peak_alloc::PeakAlloc;
use unpause_check::history::Operation;
use unpause_check::models::{
    CasRegister, CasRegisterOp, CasRegisterRet, GrowSet, GrowSetOp, GrowSetRet, Queue, QueueOp,
    QueueRet, Set, SetOp, TextMap, TextMapOp, TextMapRet,
};
use unpause_check::online::{ClientEvent, Online, OnlineStatus};
use unpause_check::transactions::{Level, RegisterCall, TransactionOutcome, rw_register};
use unpause_check::verdict::{Limit, Verdict};
use unpause_check::{
    Budget, Malformed, Model, linearizable, linearizable_parallel, quiescent, sequential,
};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const MEMORY: usize = 8 << 20;

/// The bytes that a checker needs for each operation in addition: words for the operation itself, and small tables that
/// are kept.
const ELSE_EACH: usize = 400;
const ELSE: usize = 4 << 20;

/// Runs a check with an unlimited number of nodes, and prints its cost.
fn within(what: &str, operations: usize, check: impl Fn(&Budget<'_>) -> Verdict) -> Verdict {
    // The questions serve as a clock, so that no check runs for minutes.
    let asked = std::cell::Cell::new(0u32);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 30_000
    };
    let budget = Budget { memory: MEMORY, stop: Some(&stop), ..Budget::nodes(u64::MAX) };
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let verdict = check(&budget);
    let peak = HEAP.peak_usage() - before;
    let told = match &verdict {
        Verdict::Consistent(witness) => format!("consistent, {}", witness.engine),
        Verdict::Violated(evidence) => format!("violated, {}", evidence.engine),
        Verdict::Unknown(exhausted) => format!("{exhausted}"),
    };
    println!("{what}: {} MB; {told}", peak >> 20);
    assert!(peak <= MEMORY + ELSE + ELSE_EACH * operations, "{what}: {} MB: {told}", peak >> 20);
    verdict
}

type Calls<M> = [Operation<<M as Model>::Op, <M as Model>::Ret>];
type Check<M> = fn(&M, &Calls<M>, &Budget<'_>) -> Result<Verdict, Malformed>;

/// All three conditions, each with every shape.
fn model<M: Model<Op: Sync, Ret: Sync> + Sync>(
    initial: &M,
    count: u64,
    op: impl Fn(u64) -> (M::Op, M::Ret),
    last: (M::Op, M::Ret),
) -> [usize; 2] {
    let parallel: Check<M> =
        |initial, history, budget| Ok(linearizable_parallel(initial, history, budget, 2)?.0);
    let checks: [(&str, Check<M>); 4] = [
        ("linearizable", linearizable),
        ("parallel", parallel),
        ("sequential", sequential),
        ("quiescent", quiescent),
    ];
    let mut ran_out = [0, 0];
    // The calls are all concurrent, one after the other, or never returned, each by its own client. In the last shape,
    // eight clients have eight concurrent calls.
    for shape in ["all at once", "in turn", "lost", "by eight"] {
        let mut history: Vec<Operation<M::Op, M::Ret>> = Vec::new();
        for n in 0..count {
            let (asked, told) = op(n);
            let (client, invoked, end) = match shape {
                "in turn" => (n as u32, 2 * n, Some(2 * n + 1)),
                "lost" => (n as u32, n, None),
                "by eight" => ((n % 8) as u32, n / 8 * 16 + n % 8, Some(n / 8 * 16 + 8 + n % 8)),
                _ => (n as u32, n, Some(count + n)),
            };
            let returned = end.map(|end| (told, end));
            history.push(Operation { client, op: asked, invoked, returned });
        }
        let (asked, told) = last.clone();
        let (invoked, end) = (4 * count, 4 * count + 1);
        let client = count as u32;
        history.push(Operation { client, op: asked, invoked, returned: Some((told, end)) });
        for (name, check) in checks {
            let what = format!("{} {shape} {name}", M::name());
            let verdict =
                within(&what, history.len(), |budget| check(initial, &history, budget).unwrap());
            match verdict {
                Verdict::Unknown(exhausted) if exhausted.limit == Limit::Memory => ran_out[0] += 1,
                Verdict::Unknown(exhausted) => {
                    assert_eq!(exhausted.limit, Limit::Stop, "{what}");
                    ran_out[1] += 1;
                }
                verdict => assert!(!verdict.is_consistent(), "{what}: nothing explains the last"),
            }
        }
    }
    ran_out
}

fn online(clients: u32) {
    let mut online = Online::new(Queue::<u64>::new()).memory(MEMORY);
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    for client in 0..clients {
        let op = QueueOp::Enqueue(client.into());
        assert_eq!(online.feed(ClientEvent::Invoke { client, op }), Ok(OnlineStatus::Possible));
    }
    let ret = QueueRet::Done;
    assert_eq!(online.feed(ClientEvent::Return { client: 0, ret }), Ok(OnlineStatus::Unknown));
    let peak = HEAP.peak_usage() - before;
    println!("online, {clients} clients: {} MB", peak >> 20);
    assert!(peak <= 2 * MEMORY + ELSE, "online: {} MB", peak >> 20);
    let Verdict::Unknown(exhausted) = online.finish() else { panic!() };
    println!("{exhausted}");
}

/// A read that stays open over 100,000 additions to a set. There is one possibility, but the read could have returned
/// each state of the set.
fn online_with_an_open_read() {
    const LIMIT: usize = 1 << 18;
    let mut online = Online::new(GrowSet::<u64>::new()).memory(LIMIT);
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let read = ClientEvent::Invoke { client: 1, op: GrowSetOp::Read };
    assert_eq!(online.feed(read), Ok(OnlineStatus::Possible));
    for number in 0..100_000 {
        let _ = online.feed(ClientEvent::Invoke { client: 0, op: GrowSetOp::Add(number) }).unwrap();
        let _ = online.feed(ClientEvent::Return { client: 0, ret: GrowSetRet::Done }).unwrap();
        assert_eq!(online.possibilities(), 1);
        let peak = HEAP.peak_usage() - before;
        assert!(peak <= 4 * LIMIT, "{number} additions: {peak} bytes");
    }
    let Verdict::Unknown(exhausted) = online.finish() else { panic!() };
    assert_eq!(exhausted.limit, Limit::Memory);
}

#[test]
fn no_checker_takes_more_than_its_budget() {
    const MANY: u64 = 700;
    let mut ran_out = [0, 0];
    let mut add = |more: [usize; 2]| (0..2).for_each(|n| ran_out[n] += more[n]);
    // Half of the values occur twice, so that no engine for unique values takes them.
    let twice = |n: u64| n % (MANY / 2);
    add(model(
        &Queue::new(),
        MANY,
        |n| (QueueOp::Enqueue(twice(n)), QueueRet::Done),
        (QueueOp::Dequeue, QueueRet::Item(Some(u64::MAX))),
    ));
    add(model(
        &CasRegister::new(0),
        MANY,
        |n| (CasRegisterOp::Write(n % 50), CasRegisterRet::Done),
        (CasRegisterOp::Read, CasRegisterRet::Value(u64::MAX)),
    ));
    add(model(
        &TextMap::new(),
        MANY,
        |n| (TextMapOp::Append(0, format!("{} ", n % 300)), TextMapRet::Done),
        (TextMapOp::Get(0), TextMapRet::Text("nothing like it".to_owned())),
    ));
    add(model(&Set::new(), MANY, |n| (SetOp::Insert(n), true), (SetOp::Contains(u64::MAX), true)));
    println!("out of memory {}, out of time {}", ran_out[0], ran_out[1]);
    assert!(ran_out[0] >= 10, "the test is hard enough to show something: {ran_out:?}");

    online(20);
    online(300);
    online(3000);
    online_with_an_open_read();

    // Every transaction of the second half comes after every transaction of the first half on the same
    // key, so time orders the maximum number of pairs.
    let count = 4000u64;
    let transaction = |n: u64| Operation {
        client: n as u32,
        op: vec![RegisterCall::Write("x", n)],
        invoked: if n < count / 2 { n } else { 2 * count + n },
        returned: Some((
            TransactionOutcome::Committed(vec![]),
            count + if n < count / 2 { n } else { 3 * count + n },
        )),
    };
    let history: Vec<_> = (0..count).map(transaction).collect();
    let verdict = within("rw-register", history.len(), |budget| {
        rw_register(&history, Level::StrictSerializable, budget).unwrap()
    });
    let Verdict::Unknown(exhausted) = verdict else { panic!("{verdict:?}") };
    assert_eq!(exhausted.limit, Limit::Memory);
}
