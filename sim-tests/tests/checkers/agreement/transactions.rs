//! Transactions of one operation on one key are operations of one object: strict serializability is
//! then linearizability, and serializability within sessions is sequential consistency.

use sim::check::history::Operation;
use sim::check::transactions::{
    Level, ListCall, RegisterCall, TransactionOutcome, list_append, rw_register,
};
use sim::check::verdict::Verdict;
use sim::check::{Budget, Model, linearizable, sequential};
use sim_tests::histories::{Draw, Recorded, long};
use sim_tests::judge;
use sim_tests::shapes::{NEVER, shapes, times};

/// A log whose operations append a value, and read either the whole log or its end. A register is a log that is read at
/// its end.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Log {
    values: Vec<u8>,
    only_last: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum LogOp {
    Append(u8),
    Read,
}

impl Model for Log {
    type Op = LogOp;
    type Ret = Vec<u8>;

    fn step(&mut self, op: &LogOp) -> Vec<u8> {
        match op {
            LogOp::Append(value) if self.only_last => self.values = vec![*value],
            LogOp::Append(value) => self.values.push(*value),
            LogOp::Read => return self.values.clone(),
        }
        Vec::new()
    }
}

fn transactions(log: &Log, history: &Recorded<Log>, level: Level) -> Verdict {
    let budget = Budget::default();
    let committed = |call: &Operation<LogOp, Vec<u8>>| {
        let reads = if call.op == LogOp::Read { 1 } else { 0 };
        call.returned.clone().map(|(ret, end)| (vec![ret; reads], end))
    };
    if log.only_last {
        let of = |call: &Operation<LogOp, Vec<u8>>| Operation {
            client: call.client,
            op: vec![match call.op {
                LogOp::Append(value) => RegisterCall::Write((), value),
                LogOp::Read => RegisterCall::Read(()),
            }],
            invoked: call.invoked,
            returned: committed(call).map(|(reads, end)| {
                (
                    TransactionOutcome::Committed(
                        reads.iter().map(|read| read.last().copied()).collect(),
                    ),
                    end,
                )
            }),
        };
        rw_register(&history.iter().map(of).collect::<Vec<_>>(), level, &budget)
    } else {
        let of = |call: &Operation<LogOp, Vec<u8>>| Operation {
            client: call.client,
            op: vec![match call.op {
                LogOp::Append(value) => ListCall::Append((), value),
                LogOp::Read => ListCall::Read(()),
            }],
            invoked: call.invoked,
            returned: committed(call)
                .map(|(reads, end)| (TransactionOutcome::Committed(reads), end)),
        };
        list_append(&history.iter().map(of).collect::<Vec<_>>(), level, &budget)
    }
    .expect("usable")
}

/// Checks a history at the three levels for which there is an object to compare with.
fn agree(log: &Log, history: &Recorded<Log>) -> bool {
    let budget = Budget::default();
    let is_linearizable = judge::explicable(log, history);
    assert_eq!(linearizable(log, history, &budget).unwrap().is_consistent(), is_linearizable);
    let program = |i: usize, j: usize| {
        history[i].client == history[j].client && history[i].precedes(&history[j])
    };
    let is_sequential = judge::explicable_in(log, history, program);
    assert_eq!(sequential(log, history, &budget).unwrap().is_consistent(), is_sequential);
    let is_serial = judge::explicable_in(log, history, |_, _| false);
    assert!(!is_linearizable || is_sequential, "{history:#?}");
    assert!(!is_sequential || is_serial, "{history:#?}");
    for (level, expected) in [
        (Level::StrictSerializable, is_linearizable),
        (Level::StrongSessionSerializable, is_sequential),
        (Level::Serializable, is_serial),
    ] {
        let verdict = transactions(log, history, level);
        let agrees = if expected { verdict.is_consistent() } else { verdict.is_violated() };
        assert!(agrees, "{level}: not {expected}: {verdict:#?}\n{history:#?}");
    }
    is_linearizable
}

/// Returns the logs that can be built from the first values.
fn logs(values: u8) -> Vec<Vec<u8>> {
    let mut logs = vec![Vec::new()];
    let mut from = 0;
    while from < logs.len() {
        for value in (1..=values).filter(|value| !logs[from].contains(value)).collect::<Vec<_>>() {
            let longer = [&logs[from][..], &[value]].concat();
            logs.push(longer);
        }
        from += 1;
    }
    logs
}

#[test]
fn one_operation_on_one_key_is_a_transaction() {
    for only_last in [false, true] {
        let log = Log { values: Vec::new(), only_last };
        let (mut draw, mut verdicts) = (Draw(6), [0u64; 2]);
        for count in 0..=if long() { 5 } else { 3 } {
            for shape in shapes(count, 3) {
                for appends in 0u32..1 << count {
                    let values = appends.count_ones() as u8;
                    let mut reads = logs(values);
                    reads.retain(|read| !only_last || read.len() < 2);
                    let is_read = |i: &usize| appends & 1 << i == 0 && shape[*i].1 != NEVER;
                    let readers: Vec<usize> = (0..count).filter(is_read).collect();
                    for number in 0..reads.len().pow(readers.len() as u32) {
                        let (mut rest, mut next) = (number, 0);
                        let calls = times(&shape, &mut draw);
                        let operation =
                            |(i, (client, invoked, end)): (usize, (u32, u64, Option<u64>))| {
                                let mut ret = Vec::new();
                                let mut op = LogOp::Read;
                                if appends & 1 << i != 0 {
                                    next += 1;
                                    op = LogOp::Append(next);
                                } else if end.is_some() {
                                    ret = reads[rest % reads.len()].clone();
                                    rest /= reads.len();
                                }
                                Operation {
                                    client,
                                    op,
                                    invoked,
                                    returned: end.map(|end| (ret, end)),
                                }
                            };
                        let history: Recorded<Log> =
                            calls.into_iter().enumerate().map(operation).collect();
                        verdicts[usize::from(agree(&log, &history))] += 1;
                    }
                }
            }
        }
        println!("a register: {only_last}; [violated, linearizable] = {verdicts:?}");
        assert!(verdicts.iter().all(|count| *count > 50), "{verdicts:?}");
    }
}
