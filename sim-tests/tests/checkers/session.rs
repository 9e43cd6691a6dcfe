//! Session guarantees, beside a judge that tries every order of the versions.

use Guarantee::{MonotonicReads, MonotonicWrites, ReadYourWrites, WritesFollowReads};
use SessionCall::{Read, Write};
use SessionRet::{Value, Written};
use sim::check::history::Operation;
use sim::check::session::{Guarantee, SessionCall, SessionOperation, SessionRet, session};
use sim::check::verdict::{Evidence, Verdict};
use sim_tests::histories::{Draw, long};

type History = Vec<SessionOperation<u8, u8>>;

/// A call of a client to key 0: a write, or a read of a value (0 is nothing).
fn at(client: u32, turn: u64, op: SessionCall<u8, u8>, saw: u8) -> SessionOperation<u8, u8> {
    let ret = match op {
        Write(..) => Written,
        Read(_) => Value((saw != 0).then_some(saw)),
    };
    Operation { client, op, invoked: 2 * turn, returned: Some((ret, 2 * turn + 1)) }
}

/// Asserts that only the guarantees in `broken` fail. Each of them must also be found and named if only this guarantee
/// is checked.
#[track_caller]
fn assert_broken(history: &History, versions: &[u8], broken: &[Guarantee]) {
    let known = if versions.is_empty() { vec![] } else { vec![(0, versions.to_vec())] };
    for guarantee in Guarantee::ALL {
        let verdict = session(history, &[guarantee], &known).unwrap();
        match &verdict {
            Verdict::Violated(evidence) if broken.contains(&guarantee) => {
                let anomaly = evidence.anomaly.as_ref().unwrap();
                assert_eq!(anomaly.name, guarantee.to_string(), "{verdict:#?}");
            }
            Verdict::Consistent(_) if !broken.contains(&guarantee) => {}
            _ => panic!("{guarantee}: {verdict:#?}"),
        }
    }
}

#[test]
fn a_write_that_its_client_does_not_see_is_found() {
    let history = |saw| vec![at(0, 1, Write(0, 1), 0), at(0, 2, Read(0), saw)];
    assert_broken(&history(0), &[], &[ReadYourWrites]);
    assert_broken(&history(1), &[], &[]);
}

#[test]
fn a_read_that_goes_back_is_found() {
    let history = |saw| {
        vec![
            at(0, 1, Write(0, 1), 0),
            at(0, 2, Write(0, 2), 0),
            at(1, 3, Read(0), 2),
            at(1, 4, Read(0), saw),
        ]
    };
    assert_broken(&history(0), &[], &[MonotonicReads]);
    assert_broken(&history(1), &[1, 2], &[MonotonicReads]);
    assert_broken(&history(2), &[1, 2], &[]);
    // Version 1 is older than version 2 only if writes are monotonic, too.
    assert_broken(&history(1), &[], &[]);
    let both = session(&history(1), &[MonotonicReads, MonotonicWrites], &[]).unwrap();
    let Verdict::Violated(evidence) = both else { panic!("{both:?}") };
    let anomaly = evidence.anomaly.unwrap();
    assert_eq!(anomaly.name, "monotonic reads + monotonic writes");
    assert!(anomaly.text.contains("client 0 wrote 1 to 0 (operation 0) and then wrote 2 to 0"));
    assert!(anomaly.text.contains("client 1 read 2 of 0 (operation 2) and then read 1 of 0"));
}

#[test]
fn writes_that_change_places_are_found() {
    let history = vec![at(0, 1, Write(0, 1), 0), at(0, 2, Write(0, 2), 0)];
    assert_broken(&history, &[2, 1], &[MonotonicWrites]);
    assert_broken(&history, &[1, 2], &[]);
}

#[test]
fn a_write_before_what_its_client_read_is_found() {
    let history = vec![at(0, 1, Write(0, 1), 0), at(1, 2, Read(0), 1), at(1, 3, Write(0, 2), 0)];
    assert_broken(&history, &[2, 1], &[WritesFollowReads]);
    assert_broken(&history, &[1, 2], &[]);
    // The client reads its own write before the write.
    let early = vec![at(0, 1, Read(0), 1), at(0, 2, Write(0, 1), 0)];
    assert_broken(&early, &[], &[WritesFollowReads]);
}

#[test]
fn other_clients_other_keys_and_overlapping_calls_promise_nothing() {
    assert_broken(&vec![at(0, 1, Write(0, 1), 0), at(1, 2, Read(0), 0)], &[], &[]);
    assert_broken(&vec![at(0, 1, Write(0, 1), 0), at(0, 2, Read(1), 0)], &[], &[]);
    let mut overlapping = vec![at(0, 1, Write(0, 1), 0), at(0, 2, Read(0), 0)];
    overlapping[0].returned = Some((Written, 9));
    assert_broken(&overlapping, &[], &[]);
    overlapping[0].returned = None;
    assert_broken(&overlapping, &[], &[]);
}

#[test]
fn a_read_of_what_nobody_wrote_is_found() {
    let verdict = session(&[at(0, 1, Read(0), 7)], &[], &[]).unwrap();
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    assert_eq!(evidence.anomaly.unwrap().name, "garbage");
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let twice = [at(0, 1, Write(0, 1), 0), at(1, 2, Write(0, 1), 0)];
    let error = session(&twice, &[], &[]).unwrap_err();
    assert_eq!(error.operation, Some(1));
    assert_eq!(
        error.to_string(),
        "operation 1 writes 1 to 0, as operation 0 does: each value must be written to a key once"
    );
    let known = session(&twice[..1], &[], &[(0, vec![1, 3])]).unwrap_err();
    assert_eq!(known.to_string(), "nobody wrote 3 to 0, a version of it");
    let known = session(&twice[..1], &[], &[(0, vec![1, 1])]).unwrap_err();
    assert_eq!(known.to_string(), "1 is a version of 0 twice");
    let mut backwards = twice[0].clone();
    backwards.returned = Some((Written, 1));
    assert_eq!(session(&[backwards], &[], &[]).unwrap_err().operation, Some(0));
    let mut other = twice[0].clone();
    other.returned = Some((Value(None), 3));
    assert_eq!(session(&[other], &[], &[]).unwrap_err().operation, Some(0));
}

#[test]
fn verdicts_agree_with_trying_every_order_of_versions() {
    let mut draw = Draw(11);
    let mut counts = [[0u32; 2]; 16];
    for _ in 0..if long() { 500_000 } else { 400 } {
        let (history, mut known) = random(&mut draw);
        if draw.below(2) == 0 {
            known.clear();
        }
        for (choice, counts) in counts.iter_mut().enumerate() {
            let asked = Guarantee::ALL.into_iter().enumerate();
            let asked: Vec<Guarantee> =
                asked.filter(|(bit, _)| choice & (1 << bit) != 0).map(|(_, g)| g).collect();
            let verdict = session(&history, &asked, &known).unwrap();
            let expected = (0..2).all(|key| any_order(&history, key, &asked, &known));
            let told = format!("{asked:?} {known:?} {verdict:#?}\n{history:#?}");
            assert_eq!(verdict.is_consistent(), expected, "{told}");
            counts[usize::from(expected)] += 1;
            match verdict {
                Verdict::Consistent(witness) => {
                    let order = witness.order.unwrap();
                    for key in 0..2 {
                        let versions = versions_in(&history, key, &order);
                        assert!(holds(&history, key, &asked, &known, &versions), "{told}");
                    }
                }
                Verdict::Violated(evidence) => check_evidence(&history, &asked, &evidence, &told),
                Verdict::Unknown(_) => panic!("{told}"),
            }
        }
    }
    println!("[violated, consistent] by guarantees asked for: {counts:?}");
    assert!(counts[1..].iter().all(|counts| counts[0] > 0 && counts[1] > 0), "{counts:?}");
}

fn check_evidence(history: &History, asked: &[Guarantee], evidence: &Evidence, told: &str) {
    let anomaly = evidence.anomaly.as_ref().unwrap();
    let named = Guarantee::ALL.into_iter().filter(|g| anomaly.name.contains(&g.to_string()));
    assert!(named.into_iter().all(|guarantee| asked.contains(&guarantee)), "{told}");
    assert!(evidence.part.contains(&evidence.misfit), "{told}");
    let key = |i: usize| match history[i].op {
        Write(key, _) | Read(key) => key,
    };
    assert!(evidence.part.iter().all(|i| key(*i) == key(evidence.misfit)), "{told}");
    let edges = &anomaly.edges;
    if edges.len() > 1 {
        for (at, edge) in edges.iter().enumerate() {
            assert_eq!(edge.to, edges[(at + 1) % edges.len()].from, "{told}");
        }
    }
}

fn value(call: &SessionOperation<u8, u8>) -> Option<u8> {
    match (&call.op, &call.returned) {
        (Write(_, value), _) => Some(*value),
        (Read(_), Some((Value(value), _))) => *value,
        _ => None,
    }
}

fn versions_in(history: &History, key: u8, order: &[usize]) -> Vec<u8> {
    let of_key = order.iter().filter(|i| matches!(history[**i].op, Write(k, _) if k == key));
    of_key.filter_map(|i| value(&history[*i])).collect()
}

fn any_order(history: &History, key: u8, asked: &[Guarantee], known: &[(u8, Vec<u8>)]) -> bool {
    fn extend(left: &mut Vec<u8>, order: &mut Vec<u8>, good: &dyn Fn(&[u8]) -> bool) -> bool {
        if left.is_empty() {
            return good(order);
        }
        (0..left.len()).any(|i| {
            order.push(left.remove(i));
            let found = extend(left, order, good);
            left.insert(i, order.pop().unwrap());
            found
        })
    }
    let all: Vec<usize> = (0..history.len()).collect();
    let mut left = versions_in(history, key, &all);
    extend(&mut left, &mut Vec::new(), &|order| holds(history, key, asked, known, order))
}

/// The definitions, pair by pair.
fn holds(
    history: &History,
    key: u8,
    asked: &[Guarantee],
    known: &[(u8, Vec<u8>)],
    order: &[u8],
) -> bool {
    let age = |value: Option<u8>| value.map(|v| order.iter().position(|o| *o == v).unwrap());
    let ours = |call: &SessionOperation<u8, u8>| match call.op {
        Write(k, _) => k == key,
        Read(k) => k == key && call.returned.is_some(),
    };
    let good = |a: &SessionOperation<u8, u8>, b: &SessionOperation<u8, u8>| {
        if a.client != b.client || !a.precedes(b) || !ours(a) || !ours(b) {
            return true;
        }
        let (older, newer) = (age(value(a)), age(value(b)));
        let is = |call: &SessionOperation<u8, u8>| matches!(call.op, Write(..));
        match (is(a), is(b)) {
            (true, false) => !asked.contains(&ReadYourWrites) || older <= newer,
            (false, false) => !asked.contains(&MonotonicReads) || older <= newer,
            (true, true) => !asked.contains(&MonotonicWrites) || older < newer,
            (false, true) => !asked.contains(&WritesFollowReads) || older < newer,
        }
    };
    let known = known
        .iter()
        .filter(|(k, _)| *k == key)
        .all(|(_, values)| values.windows(2).all(|pair| age(Some(pair[0])) < age(Some(pair[1]))));
    known && history.iter().all(|a| history.iter().all(|b| good(a, b)))
}

/// Returns a random history of two keys, with the order in which the versions of each key were written.
fn random(draw: &mut Draw) -> (History, Vec<(u8, Vec<u8>)>) {
    let clients = 1 + draw.below(3);
    let mut history: History = Vec::new();
    let mut open: Vec<Option<usize>> = vec![None; clients];
    let mut known: Vec<(u8, Vec<u8>)> = vec![(0, vec![]), (1, vec![])];
    for turn in 1..2 + draw.below(18) {
        let client = draw.below(clients);
        let time = turn as u64;
        if let Some(index) = open[client].take() {
            let call = &mut history[index];
            if draw.below(8) == 0 {
                continue;
            }
            let versions = match call.op {
                Read(key) => &known[usize::from(key)].1,
                Write(..) => {
                    call.returned = Some((Written, time));
                    continue;
                }
            };
            let at = draw.below(versions.len() + 1);
            let saw = at.checked_sub(1).map(|at| versions[at]);
            call.returned = Some((Value(saw), time));
            continue;
        }
        let key = draw.below(2) as u8;
        let versions = &mut known[usize::from(key)].1;
        let op = if draw.below(2) == 0 && versions.len() < 4 {
            let value = 1 + versions.len() as u8;
            versions.insert(draw.below(versions.len() + 1), value);
            Write(key, value)
        } else {
            Read(key)
        };
        open[client] = Some(history.len());
        history.push(Operation { client: client as u32, op, invoked: time, returned: None });
    }
    (history, known)
}
