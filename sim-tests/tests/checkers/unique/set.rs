//! Sets.

use sim::check::history::Operation;
use sim::check::models::SetOp::{Contains, Insert, Remove};
use sim::check::models::{Set, SetOp};
use sim_tests::histories::{Draw, Recorded};

use super::{Tally, anomaly, cases, decided_alone, recorded, trade};

/// Returns a random history in which each value is inserted at most once and removed at most once. Other calls look for
/// values.
fn random(draw: &mut Draw, shape: [usize; 3], members: u64) -> Recorded<Set> {
    let (mut inserted, mut removed) = (members, 0);
    recorded(draw, Set::from_iter(1..=members), shape, |draw| match draw.below(4) {
        0 => {
            inserted += 1;
            Insert(inserted)
        }
        1 => {
            removed += 1;
            Remove(removed)
        }
        _ => Contains((removed + draw.below(3) as u64).max(1)),
    })
}

#[test]
fn random_histories_are_judged_right() {
    for members in [0, 1] {
        let (mut draw, mut tally) = (Draw(1 + members), Tally::default());
        for _ in 0..cases() {
            let shape = [1 + draw.below(7), 1 + draw.below(4), 2 + draw.below(8)];
            let mut history = random(&mut draw, shape, members);
            for _ in 0..draw.below(3) {
                trade::<Set>(&mut draw, &mut history, |op| matches!(op, Contains(_)));
            }
            if draw.below(8) == 0 {
                trade::<Set>(&mut draw, &mut history, |_| true);
            }
            tally.check(&Set::from_iter(1..=members), &history);
        }
        tally.assert_decided(1.0);
    }
}

#[test]
fn a_long_history_needs_no_search() {
    let mut history = random(&mut Draw(3), [100_000, 16, usize::MAX / 2], 0);
    assert!(decided_alone(&Set::new(), &history, "unique set").is_consistent());
    let looks = |call: &&mut Operation<SetOp, bool>| matches!(call.op, Contains(50..));
    let call = history.iter_mut().skip(90_000).find(looks).unwrap();
    call.op = Contains(7);
    call.returned.as_mut().unwrap().0 = true;
    assert!(decided_alone(&Set::new(), &history, "unique set").is_violated());
}

fn call(op: SetOp, invoked: u64, ret: impl Into<Option<bool>>, end: u64) -> Operation<SetOp, bool> {
    Operation { client: 0, op, invoked, returned: ret.into().map(|ret| (ret, end)) }
}

#[test]
fn each_contradiction_has_its_name() {
    let named = |history: &[_]| {
        let (name, part, _) = anomaly(&Set::new(), history);
        (name, part)
    };
    let is = |name: &str, part: &[usize]| (name.to_owned(), part.to_vec());
    assert_eq!(
        named(&[call(Contains(1), 1, true, 2), call(Insert(2), 3, true, 4)]),
        is("value that was never added", &[0])
    );
    assert_eq!(
        named(&[call(Contains(1), 1, true, 2), call(Insert(1), 3, true, 4)]),
        is("found before it was added", &[0, 1])
    );
    let story = [call(Insert(1), 1, true, 2), call(Remove(1), 5, true, 6)];
    let with = |look| [story[0].clone(), story[1].clone(), look];
    assert_eq!(
        named(&with(call(Contains(1), 7, true, 8))),
        is("found after it was removed", &[0, 1, 2])
    );
    assert_eq!(
        named(&with(call(Contains(1), 3, false, 4))),
        is("absent while it was inside", &[0, 2, 1])
    );
}

#[test]
fn a_remove_that_never_returned_may_have_happened() {
    let inserted = call(Insert(1), 1, true, 2);
    let looks = call(Contains(1), 5, false, 6);
    let history = |at| [inserted.clone(), call(Remove(1), at, None, 0), looks.clone()];
    assert!(decided_alone(&Set::new(), &history(4), "unique set").is_consistent());
    assert_eq!(anomaly(&Set::new(), &history(7)).0, "absent while it was inside");
}
