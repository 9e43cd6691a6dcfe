//! Sequential and quiescent consistency: against brute force on small histories, and their
//! differences from linearizability and from each other.

use sim::check::history::Operation;
use sim::check::models::*;
use sim::check::verdict::Verdict;
use sim::check::{Budget, Malformed, MalformedKind, Model, linearizable, quiescent, sequential};
use sim_tests::every_model;
use sim_tests::histories::{Draw, Recorded, every, long, random};
use sim_tests::judge::{self, History};

fn call<O, R>(client: u32, op: O, invoked: u64, returned: R, end: u64) -> Operation<O, R> {
    Operation { client, op, invoked, returned: Some((returned, end)) }
}

/// Returns `true` if one client called both, `i` first.
fn program_order<O, R>(history: &[Operation<O, R>], i: usize, j: usize) -> bool {
    history[i].client == history[j].client && history[i].invoked < history[j].invoked
}

/// Returns `true` if at some moment between `i` and `j`, directly after some return, no operation was open.
fn rest_between<O, R>(history: &[Operation<O, R>], i: usize, j: usize) -> bool {
    let is_rest = |time: u64| history.iter().all(|c| c.invoked > time || c.end() <= time);
    let mut ends = history.iter().filter_map(|call| Some(call.returned.as_ref()?.1));
    ends.any(|time| history[i].end() <= time && time < history[j].invoked && is_rest(time))
}

/// The verdicts of both checkers, after checking them against the judge.
fn verdicts<M: Model>(initial: &M, history: &History<M>) -> (Verdict, Verdict) {
    let budget = Budget::default();
    let both = (
        sequential(initial, history, &budget).expect("well-formed"),
        quiescent(initial, history, &budget).expect("well-formed"),
    );
    held(initial, history, &both.0, |i, j| program_order(history, i, j));
    held(initial, history, &both.1, |i, j| rest_between(history, i, j));
    both
}

fn held<M: Model>(
    initial: &M,
    history: &History<M>,
    verdict: &Verdict,
    before: impl Fn(usize, usize) -> bool,
) {
    let expected = judge::explicable_in(initial, history, &before);
    assert_eq!(verdict.is_consistent(), expected, "{verdict:?}\n{history:#?}");
    let fault = judge::fault_in(initial, history, verdict, before);
    assert_eq!(fault, None, "{verdict:?}\n{history:#?}");
}

/// Gives the operations to clients at random, without overlapping operations of one client.
fn shuffle_clients<O, R>(history: &mut [Operation<O, R>], draw: &mut Draw) {
    let mut by_time: Vec<usize> = (0..history.len()).collect();
    by_time.sort_by_key(|i| history[*i].invoked);
    let mut free_from: Vec<u64> = Vec::new();
    for i in by_time {
        let (invoked, end) = (history[i].invoked, history[i].end());
        let client = draw.below(3);
        let client = (client..).find(|c| free_from.get(*c).is_none_or(|from| *from < invoked));
        let client = client.expect("endless");
        free_from.resize(free_from.len().max(client + 1), 0);
        free_from[client] = end;
        history[i].client = client as u32;
    }
}

#[test]
fn all_short_histories_get_the_verdicts_of_brute_force() {
    fn fact<M: RegisteredModel>() {
        let mut draw = Draw(11);
        let sizes: &[_] = if long() { &[(2, 8), (3, 6), (4, 3)] } else { &[(1, 8), (2, 4)] };
        for (count, letters) in sizes {
            every::<M>(*count, 3, *letters, |history: &Recorded<M>| {
                let mut history = history.clone();
                shuffle_clients(&mut history, &mut draw);
                verdicts(&M::initial(), &history);
            });
        }
    }
    every_model!(fact);
}

#[test]
fn random_histories_get_the_verdicts_of_brute_force() {
    fn fact<M: RegisteredModel>() {
        let mut draw = Draw(7);
        let mut counts = [0; 4];
        for round in 0..if long() { 50_000 } else { 100 } {
            let count = 4 + round % 4;
            let mut history = random::<M>(&mut draw, count, 3, 8, round % 4);
            shuffle_clients(&mut history, &mut draw);
            let (sequential, quiescent) = verdicts(&M::initial(), &history);
            counts[0] += usize::from(sequential.is_consistent());
            counts[1] += usize::from(sequential.is_violated());
            counts[2] += usize::from(quiescent.is_consistent());
            counts[3] += usize::from(quiescent.is_violated());
            // Both conditions are weaker than linearizability.
            let linearizable = linearizable(&M::initial(), &history, &Budget::default()).unwrap();
            if linearizable.is_consistent() {
                assert!(sequential.is_consistent() && quiescent.is_consistent());
            }
        }
        assert!(counts.iter().all(|count| *count > 6), "{}: {counts:?}", M::NAME);
    }
    every_model!(fact);
}

#[test]
fn a_stale_read_is_sequential_and_not_quiescent() {
    use {RegisterOp::*, RegisterRet::*};
    let history = [call(0, Write(1), 1, Done, 2), call(1, Read, 3, Value(0), 4)];
    let (sequential, quiescent) = verdicts(&Register::new(0), &history);
    assert!(sequential.is_consistent());
    assert!(quiescent.is_violated());
    assert!(linearizable(&Register::new(0), &history, &Budget::default()).unwrap().is_violated());
}

#[test]
fn a_client_turned_around_is_quiescent_and_not_sequential() {
    use {RegisterOp::*, RegisterRet::*};
    // One write is open all the time, so no quiescent moment separates the two reads.
    let history = [
        call(0, Write(1), 1, Done, 6),
        call(1, Read, 2, Value(1), 3),
        call(1, Read, 4, Value(0), 5),
    ];
    let (sequential, quiescent) = verdicts(&Register::new(0), &history);
    let Verdict::Violated(evidence) = sequential else { panic!("{sequential:?}") };
    assert_eq!((evidence.engine.as_str(), evidence.misfit), ("sequential", 2));
    assert_eq!((evidence.partial, evidence.expected), (vec![vec![0, 1]], vec!["1".to_owned()]));
    assert!(quiescent.is_consistent());
}

#[test]
fn two_registers_can_each_be_sequential_and_together_not() {
    // The two queues of Herlihy and Wing's paper, with registers: each client writes one register and reads the other.
    use {MapOp::*, MapRet::*};
    let history = [
        call(0, Put(1, 7), 1, Value(None), 2),
        call(1, Put(2, 7), 3, Value(None), 4),
        call(0, Get(2), 5, Value(None), 6),
        call(1, Get(1), 7, Value(None), 8),
    ];
    for key in [[0, 3], [1, 2]] {
        let part = key.map(|i| history[i].clone());
        assert!(verdicts(&Map::new(), &part).0.is_consistent());
    }
    assert!(verdicts(&Map::new(), &history).0.is_violated());
}

#[test]
fn a_client_that_overlaps_itself_is_refused() {
    use {RegisterOp::*, RegisterRet::*};
    let never = Operation { client: 4, op: Write(1), invoked: 1, returned: None };
    let history = [call(4, Read, 2, Value(1), 3), never];
    let error = sequential(&Register::new(0), &history, &Budget::default()).unwrap_err();
    let kind = MalformedKind::ClientOverlaps { client: 4, other: 1 };
    assert_eq!(error, Malformed { operation: 0, kind });
    assert_eq!(
        error.to_string(),
        "client 4 invoked operation 0 before its operation 1 returned: give it another client's \
         number"
    );
    assert!(quiescent(&Register::new(0), &history, &Budget::default()).unwrap().is_consistent());
}

#[test]
fn an_exhausted_budget_is_no_verdict() {
    use {RegisterOp::*, RegisterRet::*};
    let writes = (0..8).map(|i| call(i as u32, Write(i), i, Done, 100 + i));
    let history: Vec<_> = writes.chain([call(9, Read, 50, Value(99), 99)]).collect();
    for check in [sequential, quiescent] {
        let verdict = check(&Register::new(0), &history, &Budget::nodes(10)).unwrap();
        let Verdict::Unknown(exhausted) = verdict else { panic!("{verdict:?}") };
        assert_eq!((exhausted.nodes, exhausted.operations), (10, 9));
        assert!(check(&Register::new(0), &history, &Budget::default()).unwrap().is_violated());
    }
}

#[test]
fn a_long_history_that_is_linearizable_is_found_to_be_sequential_in_steps() {
    let mut history = random::<CasRegister>(&mut Draw(5), 5000, 4, usize::MAX / 2, 0);
    let verdict = sequential(&CasRegister::new(0), &history, &Budget::nodes(50_000)).unwrap();
    assert!(verdict.is_consistent(), "{verdict:?}");
    let verdict = quiescent(&CasRegister::new(0), &history, &Budget::nodes(500_000)).unwrap();
    assert!(verdict.is_consistent(), "{verdict:?}");
    let read = history.iter_mut().rev().find(|call| call.op == CasRegisterOp::Read).unwrap();
    read.returned.as_mut().unwrap().0 = CasRegisterRet::Value(77);
    let verdict = quiescent(&CasRegister::new(0), &history, &Budget::nodes(500_000)).unwrap();
    assert!(verdict.is_violated(), "{verdict:?}");
}
