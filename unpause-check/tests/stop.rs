//! If a checker is stopped at any point, it must have no verdict or the correct verdict.

use std::cell::Cell;

use unpause_check::history::Operation;
use unpause_check::models::{Queue, QueueOp, QueueRet};
use unpause_check::transactions::{
    Level, ListCall, RegisterCall, TransactionOutcome, list_append, rw_register,
};
use unpause_check::verdict::{Limit, Verdict};
use unpause_check::{Budget, linearizable, linearizable_parallel, quiescent, sequential};

type Call = Operation<QueueOp, QueueRet>;

/// All values are enqueued concurrently and then dequeued in some order, so that some order explains the history. In
/// the wrong variant, a last dequeue takes a value that was never enqueued. Values occur several times, so only a
/// search can decide the history.
fn queue(count: u64, is_right: bool) -> Vec<Call> {
    let enqueue = |n: u64| Operation {
        client: n as u32,
        op: QueueOp::Enqueue(n % 7),
        invoked: n,
        returned: Some((QueueRet::Done, count + n)),
    };
    let dequeue = |n: u64| Operation {
        client: 0,
        op: QueueOp::Dequeue,
        invoked: 2 * count + 2 * n,
        // Another order of the same numbers.
        returned: Some((QueueRet::Item(Some(n * 5 % count % 7)), 2 * count + 2 * n + 1)),
    };
    let mut history: Vec<Call> = (0..count).map(enqueue).chain((0..count).map(dequeue)).collect();
    if !is_right {
        history.last_mut().expect("not empty").returned =
            Some((QueueRet::Item(Some(8)), 4 * count));
    }
    history
}

#[test]
fn a_search_that_is_stopped_says_nothing_wrong() {
    let initial = Queue::<u64>::new();
    let mut stopped = 0;
    for is_right in [true, false] {
        let history = queue(28, is_right);
        let full = linearizable(&initial, &history[..0], &Budget::default()).expect("no calls");
        assert!(full.is_consistent());
        for patience in (0..40).chain([100, 1000]) {
            let asked = Cell::new(0);
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() > patience
            };
            let own = Budget { stop: Some(&stop), ..Budget::nodes(300_000) };
            let scarce = Budget { memory: 10_000 * patience, ..Budget::nodes(100_000) };
            for budget in [own, scarce] {
                let parallel = linearizable_parallel(&initial, &history, &budget, 3);
                for (name, verdict) in [
                    ("linearizable", linearizable(&initial, &history, &budget)),
                    ("parallel", parallel.map(|(verdict, _)| verdict)),
                    ("sequential", sequential(&initial, &history, &budget)),
                    ("quiescent", quiescent(&initial, &history, &budget)),
                ] {
                    asked.set(0);
                    match verdict.expect("well-formed") {
                        Verdict::Unknown(_) => stopped += 1,
                        Verdict::Consistent(_) => assert!(is_right, "{name}, {patience}"),
                        Verdict::Violated(_) => assert!(!is_right, "{name}, {patience}"),
                    }
                }
            }
        }
    }
    assert!(stopped > 50, "{stopped}");
}

#[test]
fn cycles_that_were_not_looked_for_to_the_end_are_no_pass() {
    // Each pair of transactions read before the other wrote. Together, they are a write skew in many places, and around
    // one large cycle.
    let count = 3000u64;
    let transaction = |n: u64| Operation {
        client: n as u32,
        op: vec![ListCall::Read(n), ListCall::Append((n + 1) % count, n)],
        invoked: n,
        returned: Some((TransactionOutcome::Committed(vec![vec![]]), count + n)),
    };
    let history: Vec<_> = (0..count).map(transaction).collect();
    for patience in 0..6 {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > patience
        };
        let budget = Budget { stop: Some(&stop), ..Budget::default() };
        let verdict = list_append(&history, Level::Serializable, &budget).expect("usable");
        assert!(!verdict.is_consistent(), "{patience}");
    }
    let verdict = list_append(&history, Level::Serializable, &Budget::default()).expect("usable");
    assert!(verdict.is_violated());
}

#[test]
fn an_order_of_transactions_that_was_not_looked_for_to_the_end_is_no_violation() {
    // A chain of concurrent calls: each reads the write of the previous call.
    let count = 3000u64;
    let transaction = |n: u64| Operation {
        client: n as u32,
        op: vec![RegisterCall::Read(0), RegisterCall::Write(0, n + 1)],
        invoked: n,
        returned: Some((
            TransactionOutcome::Committed(vec![Some(n).filter(|n| *n > 0)]),
            count + n,
        )),
    };
    let history: Vec<_> = (0..count).map(transaction).collect();
    let mut stopped = 0;
    for level in [Level::SnapshotIsolation, Level::Serializable, Level::StrictSerializable] {
        for patience in 0..6 {
            let asked = Cell::new(0);
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() > patience
            };
            let budget = Budget { stop: Some(&stop), ..Budget::default() };
            match rw_register(&history, level, &budget).expect("usable") {
                Verdict::Unknown(exhausted) => {
                    assert_eq!(exhausted.limit, Limit::Stop);
                    stopped += 1;
                }
                verdict => assert!(verdict.is_consistent(), "{level:?}, {patience}"),
            }
        }
        let verdict = rw_register(&history, level, &Budget::default()).expect("usable");
        assert!(verdict.is_consistent(), "{level:?}");
    }
    assert!(stopped > 0);
}
