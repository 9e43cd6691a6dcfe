//! Isolation of transactions, beside the judge that tries every order.

mod brute;
mod scale;

use brute::{Call, Time, Transaction, Workload};
use sim::check::Budget;
use sim::check::history::Operation;
use sim::check::transactions::{
    Anomalies, Level, ListCall, ListTransaction, TransactionOutcome, list_append,
    list_append_anomalies, rw_register, rw_register_anomalies,
};
use sim::check::verdict::{Evidence, Verdict};
use sim_tests::histories::{Draw, long};

#[test]
fn list_append_agrees_with_trying_every_order() {
    let counts = agree(Workload::List, if long() { 200_000 } else { 200 });
    assert_eq!(counts[2], 0, "with a budget like that everything small is decided");
}

#[test]
fn rw_register_agrees_with_trying_every_order() {
    let counts = agree(Workload::Register, if long() { 200_000 } else { 500 });
    assert_eq!(counts[2], 0, "with a budget like that everything small is decided");
}

/// Checks random histories at all levels. Returns the numbers of consistent, violated and unknown verdicts.
fn agree(workload: Workload, cases: usize) -> [u32; 3] {
    let mut draw = Draw(7);
    let mut counts = [[0u32; 3]; Level::ALL.len()];
    for _ in 0..cases {
        let count = 1 + draw.below(5);
        let history = brute::random(&mut draw, workload, count);
        let anomalies = anomalies(workload, &history);
        assert!(
            anomalies.findings.windows(2).all(|pair| pair[0].rules_out <= pair[1].rules_out),
            "{anomalies:?}"
        );
        let mut weaker_is_violated = false;
        for level in Level::ALL {
            let verdict = verdict(workload, &history, level);
            let kind = match &verdict {
                Verdict::Consistent(_) => 0,
                Verdict::Violated(_) => 1,
                Verdict::Unknown(_) => 2,
            };
            counts[level as usize][kind] += 1;
            let told = format!("{level} of {workload:?}: {verdict:#?}\n{history:#?}");
            let expected = judge(workload, &history, level);
            assert!(expected.is_none_or(|expected| kind == 2 || expected == (kind == 0)), "{told}");
            assert!(!(weaker_is_violated && kind == 0), "a weaker level is violated: {told}");
            weaker_is_violated |= kind == 1;
            // A level that the anomalies rule out is violated.
            assert!(!anomalies.ruled_out().contains(&level) || kind == 1, "{told}");
            match verdict {
                Verdict::Consistent(witness) => match witness.order {
                    Some(order) => {
                        let fault = brute::order_fault(workload, &history, &order, time(level));
                        assert_eq!(fault, None, "{told}");
                    }
                    None => assert!(level < Level::Serializable, "{told}"),
                },
                Verdict::Violated(evidence) => check_evidence(&evidence, &told),
                Verdict::Unknown(_) => {}
            }
        }
    }
    println!("{workload:?}: [consistent, violated, unknown] by level: {counts:?}");
    for by_level in &counts {
        assert!(by_level[0] > 0 && by_level[1] > 0, "both must happen: {counts:?}");
    }
    counts.iter().fold([0; 3], |sum, row| [sum[0] + row[0], sum[1] + row[1], sum[2] + row[2]])
}

fn verdict(workload: Workload, history: &[Transaction], level: Level) -> Verdict {
    let budget = Budget::nodes(200_000);
    match workload {
        Workload::List => list_append(&brute::lists(history), level, &budget),
        Workload::Register => rw_register(&brute::registers(history), level, &budget),
    }
    .expect("usable")
}

fn anomalies(workload: Workload, history: &[Transaction]) -> Anomalies {
    match workload {
        Workload::List => list_append_anomalies(&brute::lists(history)),
        Workload::Register => rw_register_anomalies(&brute::registers(history)),
    }
    .expect("usable")
}

fn time(level: Level) -> Time {
    match level {
        Level::StrictSerializable => Time::All,
        Level::StrongSessionSerializable => Time::Client,
        _ => Time::None,
    }
}

/// Returns the verdict by brute force; `None` for a level that is defined by its anomalies.
fn judge(workload: Workload, history: &[Transaction], level: Level) -> Option<bool> {
    match level {
        Level::ReadUncommitted => None,
        // With many keys, there are too many orders of the versions of all keys.
        Level::ReadCommitted if appends(history) > 6 => None,
        Level::ReadCommitted => Some(brute::read_committed(workload, history)),
        Level::SnapshotIsolation => Some(brute::snapshot_isolated(workload, history)),
        _ => Some(brute::serializable(workload, history, time(level))),
    }
}

fn appends(history: &[Transaction]) -> usize {
    let calls = history.iter().flat_map(|transaction| &transaction.calls);
    calls.filter(|call| matches!(call, Call::Write(..))).count()
}

fn check_evidence(evidence: &Evidence, told: &str) {
    let anomaly = evidence.anomaly.as_ref().expect("an anomaly has a name");
    assert!(!anomaly.name.is_empty(), "{told}");
    let edges = &anomaly.edges;
    for (at, edge) in edges.iter().enumerate() {
        assert_eq!(edge.to, edges[(at + 1) % edges.len()].from, "a cycle is closed: {told}");
        let names = [format!("T{}", edge.from), format!("T{}", edge.to)];
        assert!(names.iter().all(|name| edge.why.contains(name.as_str())), "{told}");
        assert!(evidence.part.contains(&edge.from), "{told}");
    }
    for transaction in &evidence.part {
        assert!(anomaly.text.contains(&format!("T{transaction}")), "{told}");
    }
    assert!(evidence.part.is_empty() || evidence.part.contains(&evidence.misfit), "{told}");
}

use ListCall::{Append, Read};
use TransactionOutcome::{Aborted, Committed};

/// A transaction on lists of the client of the same number, at its turn.
fn call(
    client: u32,
    (invoked, returned): (u64, u64),
    calls: &[ListCall<u32, u32>],
    outcome: TransactionOutcome<Vec<u32>>,
) -> ListTransaction<u32, u32> {
    Operation { client, op: calls.to_vec(), invoked, returned: Some((outcome, returned)) }
}

/// Asserts the name of the anomaly, and the weakest level that the history violates.
#[track_caller]
fn assert_anomaly(history: &[ListTransaction<u32, u32>], name: &str, level: Level) {
    let anomalies = list_append_anomalies(history).unwrap();
    let worst = anomalies.findings.first().map(|f| (f.anomaly.name.as_str(), f.rules_out));
    assert_eq!(worst, Some((name, level)), "{anomalies:#?}");
    for other in Level::ALL {
        let verdict = list_append(history, other, &Budget::default()).unwrap();
        assert_eq!(verdict.is_violated(), other >= level, "{other}: {verdict:#?}");
    }
}

#[track_caller]
fn assert_strict(history: &[ListTransaction<u32, u32>]) {
    for level in Level::ALL {
        let verdict = list_append(history, level, &Budget::default()).unwrap();
        assert!(verdict.is_consistent(), "{level}: {verdict:#?}");
    }
}

#[test]
fn mixed_writes_are_g0() {
    let mixed = |x: Vec<u32>, y: Vec<u32>| {
        [
            call(0, (1, 4), &[Append(1, 1), Append(2, 1)], Committed(vec![])),
            call(1, (2, 3), &[Append(1, 2), Append(2, 2)], Committed(vec![])),
            call(2, (5, 6), &[Read(1), Read(2)], Committed(vec![x, y])),
        ]
    };
    assert_anomaly(&mixed(vec![1, 2], vec![2, 1]), "G0", Level::ReadUncommitted);
    assert_strict(&mixed(vec![1, 2], vec![1, 2]));
}

#[test]
fn a_read_of_what_aborted_is_g1a() {
    let read = |x: Vec<u32>| {
        [call(0, (1, 3), &[Append(1, 1)], Aborted), call(1, (2, 4), &[Read(1)], Committed(vec![x]))]
    };
    assert_anomaly(&read(vec![1]), "G1a", Level::ReadCommitted);
    assert_strict(&read(vec![]));
}

#[test]
fn an_update_of_what_aborted_is_told() {
    let history = [
        call(0, (1, 3), &[Append(1, 1)], Aborted),
        call(1, (2, 4), &[Append(1, 2)], Committed(vec![])),
        call(2, (5, 6), &[Read(1)], Committed(vec![vec![1, 2]])),
    ];
    let found = list_append_anomalies(&history).unwrap();
    let names: Vec<_> = found.findings.iter().map(|f| f.anomaly.name.as_str()).collect();
    assert_eq!(names, ["G1a", "dirty update"]);
}

#[test]
fn a_read_in_the_middle_of_a_transaction_is_g1b() {
    let read = |x: Vec<u32>| {
        [
            call(0, (1, 4), &[Append(1, 1), Append(1, 2)], Committed(vec![])),
            call(1, (2, 3), &[Read(1)], Committed(vec![x])),
        ]
    };
    assert_anomaly(&read(vec![1]), "G1b", Level::ReadCommitted);
    assert_strict(&read(vec![1, 2]));
}

#[test]
fn reads_of_each_other_are_g1c() {
    let read = |y: Vec<u32>| {
        [
            call(0, (1, 4), &[Append(1, 1), Read(2)], Committed(vec![y])),
            call(1, (2, 3), &[Append(2, 2), Read(1)], Committed(vec![vec![1]])),
        ]
    };
    assert_anomaly(&read(vec![2]), "G1c", Level::ReadCommitted);
    assert_strict(&read(vec![]));
}

#[test]
fn half_a_transaction_is_g_single() {
    let read = |y: Vec<u32>| {
        [
            call(0, (1, 4), &[Append(1, 1), Append(2, 2)], Committed(vec![])),
            call(1, (2, 3), &[Read(1), Read(2)], Committed(vec![vec![1], y])),
        ]
    };
    assert_anomaly(&read(vec![]), "G-single", Level::SnapshotIsolation);
    assert_strict(&read(vec![2]));
}

#[test]
fn a_long_fork_is_g_nonadjacent() {
    let read = |y: Vec<u32>| {
        [
            call(0, (1, 10), &[Append(1, 1)], Committed(vec![])),
            call(1, (2, 11), &[Append(2, 2)], Committed(vec![])),
            call(2, (3, 12), &[Read(1), Read(2)], Committed(vec![vec![1], vec![]])),
            call(3, (4, 13), &[Read(1), Read(2)], Committed(vec![vec![], y])),
        ]
    };
    assert_anomaly(&read(vec![2]), "G-nonadjacent", Level::SnapshotIsolation);
    assert_strict(&read(vec![]));
}

#[test]
fn a_lost_update_is_told_by_name() {
    let both = |x: Vec<u32>| {
        [
            call(0, (1, 4), &[Read(1), Append(1, 1)], Committed(vec![vec![]])),
            call(1, (2, 3), &[Read(1), Append(1, 2)], Committed(vec![x])),
        ]
    };
    assert_anomaly(&both(vec![]), "lost update", Level::SnapshotIsolation);
    assert_strict(&both(vec![1]));
}

#[test]
fn a_transaction_that_does_not_see_itself_is_internal() {
    let own = |x: Vec<u32>| [call(0, (1, 2), &[Append(1, 1), Read(1)], Committed(vec![x]))];
    assert_anomaly(&own(vec![]), "internal", Level::SnapshotIsolation);
    assert_strict(&own(vec![1]));
    let early = [call(0, (1, 2), &[Read(1), Append(1, 1)], Committed(vec![vec![1]]))];
    assert_anomaly(&early, "internal", Level::SnapshotIsolation);
}

#[test]
fn impossible_lists_are_told_by_name() {
    let read = |x: Vec<u32>, again: Vec<u32>| {
        [
            call(0, (1, 10), &[Append(1, 1)], Committed(vec![])),
            call(1, (2, 11), &[Append(1, 2)], Committed(vec![])),
            call(2, (3, 12), &[Read(1)], Committed(vec![x])),
            call(3, (4, 13), &[Read(1)], Committed(vec![again])),
        ]
    };
    assert_anomaly(&read(vec![1], vec![2]), "incompatible order", Level::ReadCommitted);
    assert_anomaly(&read(vec![1, 1], vec![1]), "duplicate", Level::ReadUncommitted);
    assert_anomaly(&read(vec![7], vec![]), "garbage", Level::ReadUncommitted);
    assert_strict(&read(vec![2], vec![2, 1]));
}

#[test]
fn an_old_read_is_a_cycle_with_time() {
    let read = |client, x: Vec<u32>| {
        [
            call(0, (1, 2), &[Append(1, 1)], Committed(vec![])),
            call(client, (3, 4), &[Read(1)], Committed(vec![x])),
        ]
    };
    assert_anomaly(&read(0, vec![]), "G-single-process", Level::StrongSessionSerializable);
    assert_anomaly(&read(1, vec![]), "G-single-realtime", Level::StrictSerializable);
    assert_strict(&read(0, vec![1]));
}

#[test]
fn who_never_returned_counts_if_it_was_seen() {
    let lost = |x: Vec<u32>| {
        let append = call(0, (1, 2), &[Append(1, 1), Append(2, 1)], Aborted);
        [
            Operation { returned: None, ..append },
            call(1, (3, 4), &[Read(1)], Committed(vec![x])),
            call(1, (5, 6), &[Read(2)], Committed(vec![vec![]])),
        ]
    };
    assert_strict(&lost(vec![]));
    assert_anomaly(&lost(vec![1]), "G-single-process", Level::StrongSessionSerializable);
    let order = |x| match list_append(&lost(x), Level::Serializable, &Budget::default()) {
        Ok(Verdict::Consistent(witness)) => witness.order.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(order(vec![]).len(), 2);
    assert_eq!(order(vec![1]), [2, 0, 1]);
}

/// The example of the paper on Elle, as in Elle's repository: T3 appends 8 to 255. T2 sees this append, and T1 does
/// not.
#[test]
fn the_example_of_the_paper_is_not_serializable() {
    let appended = [(253, 1), (253, 3), (253, 4), (255, 2), (255, 3), (255, 4), (255, 5), (256, 1)];
    let mut first: Vec<_> = appended.iter().map(|(key, value)| Append(*key, *value)).collect();
    first.push(Append(256, 2));
    let x = vec![1, 3, 4];
    let history = [
        call(1, (0, 1), &first, Committed(vec![])),
        call(1, (2, 3), &[Append(255, 8), Read(253)], Committed(vec![x.clone()])),
        call(
            1,
            (4, 5),
            &[Append(256, 4), Read(255), Read(256), Read(253)],
            Committed(vec![vec![2, 3, 4, 5, 8], vec![1, 2, 4], x.clone()]),
        ),
        call(
            1,
            (6, 7),
            &[Append(250, 10), Read(253), Read(255), Append(256, 3)],
            Committed(vec![x, vec![2, 3, 4, 5]]),
        ),
    ];
    assert_anomaly(&history, "G-single", Level::SnapshotIsolation);
}

/// From the repository of elle-cli: a cycle through appends that were never read.
#[test]
fn appends_that_nobody_read_come_last() {
    let history = [
        call(2, (1, 4), &[Append(4, 2), Append(5, 5)], Committed(vec![])),
        call(0, (2, 8), &[Read(2), Read(3), Append(4, 0)], Committed(vec![vec![], vec![]])),
        call(1, (3, 6), &[Append(3, 1), Append(2, 4), Read(4)], Committed(vec![vec![]])),
        call(2, (5, 9), &[Append(2, 8)], Committed(vec![])),
        call(1, (7, 10), &[Append(3, 7), Append(4, 10)], Committed(vec![])),
    ];
    assert_anomaly(&history, "G2-item", Level::Serializable);
}
