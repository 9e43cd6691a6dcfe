//! Anomalies of transactions beyond the number of kept anomalies, and cycles in components beyond the number of shown
//! components.

#![forbid(unsafe_code)]

use unpause_check::transactions::{
    Level, ListCall, ListTransaction, RegisterCall, RegisterTransaction, TransactionOutcome,
    list_append, rw_register,
};
use unpause_check::{Budget, Operation, Verdict};

fn at<O, R>(number: usize, op: O, ret: R, time: u64) -> Operation<O, R> {
    Operation { client: number as u32, op, invoked: time, returned: Some((ret, time + 1)) }
}

/// Many lost updates, which read committed allows, do not hide a later read of an aborted write.
#[test]
fn many_lost_updates_hide_no_aborted_read() {
    let (read, write) = (RegisterCall::Read, RegisterCall::Write);
    let lost = |number: usize| {
        let outcome = TransactionOutcome::Committed(vec![None]);
        at(number, vec![read("x"), write("x", number as u64)], outcome, 2 * number as u64)
    };
    let mut history: Vec<RegisterTransaction<&str, u64>> = (0..258).map(lost).collect();
    let allowed = rw_register(&history, Level::ReadCommitted, &Budget::default()).unwrap();
    assert!(allowed.is_consistent(), "{allowed:?}");
    history.push(at(900, vec![write("y", 1)], TransactionOutcome::Aborted, 1000));
    let saw = TransactionOutcome::Committed(vec![Some(1)]);
    history.push(at(901, vec![read("y")], saw, 1002));
    let verdict = rw_register(&history, Level::ReadCommitted, &Budget::default()).unwrap();
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    assert_eq!(evidence.anomaly.unwrap().name, "G1a");
}

/// The same test on lists, with a read of an intermediate state.
#[test]
fn many_lost_updates_hide_no_intermediate_read() {
    let (read, append) = (ListCall::Read, ListCall::Append);
    let lost = |number: usize| {
        let outcome = TransactionOutcome::Committed(vec![vec![]]);
        at(number, vec![read("x"), append("x", number as u64)], outcome, 2 * number as u64)
    };
    let mut history: Vec<ListTransaction<&str, u64>> = (0..258).map(lost).collect();
    let both = vec![append("y", 1), append("y", 2)];
    history.push(at(900, both, TransactionOutcome::Committed(vec![]), 1000));
    let saw = TransactionOutcome::Committed(vec![vec![1]]);
    history.push(at(901, vec![read("y")], saw, 1002));
    let verdict = list_append(&history, Level::ReadCommitted, &Budget::default()).unwrap();
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    assert_eq!(evidence.anomaly.unwrap().name, "G1b");
}

/// Snapshot isolation allows write skews. Components with write skews must not use up the number of components that are
/// searched.
#[test]
fn many_write_skews_hide_no_read_skew() {
    let (read, append) = (ListCall::Read, ListCall::Append);
    let names: Vec<(String, String)> =
        (0..40).map(|number| (format!("x{number}"), format!("y{number}"))).collect();
    let mut history: Vec<ListTransaction<&str, u64>> = Vec::new();
    for (number, (x, y)) in names.iter().enumerate() {
        for (client, one, other) in [(0, x.as_str(), y.as_str()), (1, y.as_str(), x.as_str())] {
            let ops = vec![read(one), append(other, 1)];
            let outcome = TransactionOutcome::Committed(vec![vec![]]);
            let time = 10 * number as u64 + client as u64;
            history.push(Operation {
                client: 2 * number as u32 + client,
                op: ops,
                invoked: time,
                returned: Some((outcome, time + 5)),
            });
        }
    }
    let allowed = list_append(&history, Level::SnapshotIsolation, &Budget::default()).unwrap();
    assert!(!allowed.is_violated(), "{allowed:?}");
    let both = vec![append("p", 1), append("q", 1)];
    history.push(at(900, both, TransactionOutcome::Committed(vec![]), 1000));
    let saw = TransactionOutcome::Committed(vec![vec![1], vec![]]);
    history.push(at(901, vec![read("p"), read("q")], saw, 1002));
    let verdict = list_append(&history, Level::SnapshotIsolation, &Budget::default()).unwrap();
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    assert_eq!(evidence.anomaly.unwrap().name, "G-single");
}
