//! Eventual and strong eventual consistency, beside the definitions written out.

use EventualCall::{FinalRead, Update};
use EventualRet::{Acknowledged, Contents, Refused};
use ReplicaCall::{Deliver, Observe};
use sim::check::eventual::{
    EventualCall, EventualOperation, EventualRet, ReplicaCall, ReplicaOperation, eventual,
    strong_eventual,
};
use sim::check::history::Operation;
use sim::check::verdict::Verdict;
use sim_tests::histories::Draw;

fn update(turn: u64, update: u8, ret: Option<EventualRet<u8>>) -> EventualOperation<u8> {
    let returned = ret.map(|ret| (ret, 2 * turn + 1));
    Operation { client: 0, op: Update(update), invoked: 2 * turn, returned }
}

fn read(turn: u64, replica: u32, contents: &[u8]) -> EventualOperation<u8> {
    Operation {
        client: 1,
        op: FinalRead { replica },
        invoked: 2 * turn,
        returned: Some((Contents(contents.to_vec()), 2 * turn + 1)),
    }
}

#[track_caller]
fn assert_found(history: &[EventualOperation<u8>], name: &str, text: &str, part: &[usize]) {
    let verdict = eventual(history);
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    let anomaly = evidence.anomaly.unwrap();
    assert_eq!((anomaly.name.as_str(), anomaly.text.as_str()), (name, text));
    assert_eq!(evidence.part, part);
}

#[test]
fn an_acknowledged_update_that_a_replica_lacks_is_lost() {
    let history = |held: &[u8]| {
        let add = |turn, value| update(turn, value, Some(Acknowledged));
        [add(1, 1), add(2, 2), read(3, 0, &[2, 1]), read(4, 1, held)]
    };
    let text = "replica 1 does not hold 1, 2, which were acknowledged (operations 0, 1)";
    assert_found(&history(&[]), "lost update", text, &[0, 1, 3]);
    assert!(eventual(&history(&[1, 2, 1])).is_consistent());
}

#[test]
fn replicas_that_differ_have_diverged() {
    let history =
        |held: &[u8]| [update(1, 1, None), update(2, 2, None), read(3, 0, &[1]), read(4, 1, held)];
    let text =
        "replica 1 does not hold 1, replica 0 does; replica 0 does not hold 2, replica 1 does";
    assert_found(&history(&[2]), "divergence", text, &[2, 3]);
    assert!(eventual(&history(&[1])).is_consistent());
}

#[test]
fn what_nobody_asked_for_or_was_refused_is_found() {
    let history = |held: &[u8]| [update(1, 1, Some(Refused)), read(2, 0, held)];
    assert_found(&history(&[5]), "garbage", "replica 0 holds 5, which nobody asked for", &[1]);
    let text = "replica 0 holds 1, of which some were refused or never asked for (operation 0)";
    assert_found(&history(&[1]), "refused update", text, &[0, 1]);
    assert!(eventual(&history(&[])).is_consistent());
}

#[test]
fn without_a_final_read_nothing_is_shown() {
    assert!(matches!(eventual(&[update(1, 1, Some(Acknowledged))]), Verdict::Unknown(_)));
    let nothing: [ReplicaOperation<u8, u8>; 0] = [];
    assert!(matches!(strong_eventual(&nothing), Verdict::Unknown(_)));
}

#[test]
fn eventual_agrees_with_its_definition() {
    let mut draw = Draw(3);
    let mut counts = [0u32; 2];
    for _ in 0..20_000 {
        let mut history = Vec::new();
        for turn in 0..draw.below(4) as u64 {
            let ret = [Some(Acknowledged), Some(Acknowledged), None, Some(Refused)];
            history.push(update(turn, draw.below(5) as u8, ret[draw.below(4)].clone()));
        }
        let all = draw.below(32);
        for replica in 0..1 + draw.below(3) as u32 {
            let held = if draw.below(4) > 0 { all } else { draw.below(32) };
            let held: Vec<u8> = (0..5).filter(|value| held & (1 << value) != 0).collect();
            history.push(read(10 + u64::from(replica), replica, &held));
        }
        let contents: Vec<&Vec<u8>> = history
            .iter()
            .filter_map(|call| match &call.returned {
                Some((Contents(contents), _)) => Some(contents),
                _ => None,
            })
            .collect();
        let asked = |value: u8, ret: Option<EventualRet<u8>>| {
            let is = |call: &EventualOperation<u8>| {
                call.op == Update(value) && call.returned.as_ref().map(|(r, _)| r.clone()) == ret
            };
            history.iter().any(is)
        };
        let fine = |held: &Vec<u8>| {
            (0..5).all(|value| {
                let acknowledged = asked(value, Some(Acknowledged));
                let may = acknowledged || asked(value, None);
                if held.contains(&value) { may } else { !acknowledged }
            })
        };
        let agree = contents.iter().all(|held| held == &contents[0]);
        let expected = agree && contents.iter().all(|held| fine(held));
        assert_eq!(eventual(&history).is_consistent(), expected, "{history:?}");
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

fn step(
    replica: u32,
    turn: u64,
    op: ReplicaCall<u8>,
    state: Option<u8>,
) -> ReplicaOperation<u8, u8> {
    Operation { client: replica, op, invoked: 2 * turn, returned: Some((state, 2 * turn + 1)) }
}

#[test]
fn equal_deliveries_with_unequal_states_are_told() {
    let history = |state| {
        [
            step(0, 1, Deliver(1), None),
            step(0, 2, Deliver(2), None),
            step(1, 3, Deliver(2), None),
            step(1, 4, Observe, Some(9)),
            step(1, 5, Deliver(1), None),
            step(0, 6, Observe, Some(7)),
            step(1, 7, Observe, Some(state)),
        ]
    };
    let verdict = strong_eventual(&history(8));
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    assert_eq!(
        evidence.anomaly.unwrap().text,
        "replica 0 was in state 7 (operation 5) and replica 1 in 8 (operation 6), both after 1, 2"
    );
    assert!(strong_eventual(&history(7)).is_consistent());
}

#[test]
fn strong_eventual_agrees_with_its_definition() {
    let mut draw = Draw(4);
    let mut counts = [0u32; 2];
    for _ in 0..20_000 {
        let mut history: Vec<ReplicaOperation<u8, u8>> = Vec::new();
        for turn in 0..1 + draw.below(10) as u64 {
            let replica = draw.below(3) as u32;
            let deliver = draw.below(2) == 0;
            let op = if deliver { Deliver(draw.below(3) as u8) } else { Observe };
            // Mostly the sum of the delivered values, which is a function of the set.
            let sum = (0..3u8).filter(|update| held(&history, replica, turn).contains(update));
            let state = if draw.below(8) == 0 { 9 } else { sum.sum() };
            history.push(step(replica, turn, op, (!deliver).then_some(state)));
        }
        let seen: Vec<(Vec<u8>, u8)> = history
            .iter()
            .filter(|call| call.op == Observe)
            .map(|call| {
                let state = call.returned.as_ref().and_then(|(state, _)| *state);
                (held(&history, call.client, call.invoked / 2), state.unwrap())
            })
            .collect();
        let expected = seen.iter().all(|(a, s)| seen.iter().all(|(b, t)| a != b || s == t));
        // The list may be in any order, because times decide.
        let turn = draw.below(history.len());
        history.rotate_left(turn);
        let verdict = strong_eventual(&history);
        assert_eq!(verdict.is_violated(), !expected, "{history:?}");
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

/// The values delivered to a replica before a turn.
fn held(history: &[ReplicaOperation<u8, u8>], replica: u32, turn: u64) -> Vec<u8> {
    let is = |update: &u8| {
        let to = |call: &ReplicaOperation<u8, u8>| {
            call.client == replica && call.invoked < 2 * turn && call.op == Deliver(*update)
        };
        history.iter().any(to)
    };
    (0..3).filter(is).collect()
}
