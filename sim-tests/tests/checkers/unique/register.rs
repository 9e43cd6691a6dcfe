//! Registers, with and without compare-and-swap.

use sim::check::history::Operation;
use sim::check::models::CasRegisterOp::{Cas, Read, Write};
use sim::check::models::CasRegisterRet::{Done, Swapped, Value};
use sim::check::models::{CasRegister, CasRegisterOp, Register, RegisterOp, RegisterRet};
use sim_tests::histories::{Draw, Recorded};

use super::{Tally, anomaly, cases, decided_alone, recorded, trade};

fn plain(draw: &mut Draw, shape: [usize; 3]) -> Recorded<Register> {
    let mut fresh = 0;
    recorded(draw, Register::new(0), shape, |draw| {
        if draw.below(2) == 0 {
            return RegisterOp::Read;
        }
        fresh += 1;
        RegisterOp::Write(fresh)
    })
}

#[test]
fn random_histories_are_judged_right() {
    let (mut draw, mut tally) = (Draw(1), Tally::default());
    for _ in 0..cases() {
        let shape = [1 + draw.below(7), 1 + draw.below(4), 2 + draw.below(8)];
        let mut history = plain(&mut draw, shape);
        for _ in 0..draw.below(3) {
            trade::<Register>(&mut draw, &mut history, |op| *op == RegisterOp::Read);
        }
        tally.check(&Register::new(0), &history);
    }
    tally.assert_decided(1.0);
}

#[test]
fn random_histories_with_swaps_are_judged_right() {
    let (mut draw, mut tally) = (Draw(2), Tally::default());
    for _ in 0..cases() {
        let shape = [1 + draw.below(7), 1 + draw.below(4), 2 + draw.below(8)];
        let mut fresh = 0u64;
        let mut history = recorded(&mut draw, CasRegister::new(0), shape, |draw| {
            let old = draw.below(fresh as usize + 1) as u64;
            fresh += 1;
            match draw.below(5) {
                0 => Write(fresh),
                1 | 2 => Cas(old.max(fresh.saturating_sub(2)), fresh),
                3 => Cas(old, fresh),
                _ => Read,
            }
        });
        for _ in 0..draw.below(3) {
            trade::<CasRegister>(&mut draw, &mut history, |op| *op == Read);
            trade::<CasRegister>(&mut draw, &mut history, |op| matches!(op, Cas(..)));
        }
        tally.check(&CasRegister::new(0), &history);
    }
    tally.assert_decided(0.95);
}

#[test]
fn a_long_history_needs_no_search() {
    for (clients, pending_one_in) in [(16, usize::MAX / 2), (64, 1000)] {
        let mut history = plain(&mut Draw(3), [100_000, clients, pending_one_in]);
        let initial = Register::new(0);
        assert!(decided_alone(&initial, &history, "unique register").is_consistent());
        let reads = |call: &&mut Operation<RegisterOp, RegisterRet>| {
            call.op == RegisterOp::Read && call.returned.is_some()
        };
        let call = history.iter_mut().skip(90_000).find(reads).unwrap();
        call.returned.as_mut().unwrap().0 = RegisterRet::Value(7);
        assert!(decided_alone(&initial, &history, "unique register").is_violated());
    }
}

fn call(
    op: CasRegisterOp,
    invoked: u64,
    ret: impl Into<Option<sim::check::models::CasRegisterRet>>,
    end: u64,
) -> Operation<CasRegisterOp, sim::check::models::CasRegisterRet> {
    Operation { client: 0, op, invoked, returned: ret.into().map(|ret| (ret, end)) }
}

#[test]
fn a_stale_read_is_told_with_the_two_writes() {
    let (name, part, text) = anomaly(
        &CasRegister::new(0),
        &[
            call(Write(1), 1, Done, 2),
            call(Read, 3, Value(1), 4),
            call(Write(2), 5, Done, 6),
            call(Read, 7, Value(2), 8),
            call(Read, 9, Value(1), 10),
        ],
    );
    assert_eq!((name.as_str(), part), ("stale read", vec![0, 2, 4]));
    assert_eq!(
        text,
        "`Read -> 1` was invoked after `Write(2) -> ok` had returned, so it cannot find a value from \
         before that; but the value it found is the earlier one, since `Write(1) -> ok` had returned \
         before `Write(2) -> ok` was invoked."
    );
}

#[test]
fn each_contradiction_has_its_name() {
    let named = |history: &[_]| {
        let (name, part, _) = anomaly(&CasRegister::new(0), history);
        (name, part)
    };
    let is = |name: &str, part: &[usize]| (name.to_owned(), part.to_vec());
    assert_eq!(
        named(&[call(Read, 1, Value(7), 2), call(Write(1), 3, Done, 4)]),
        is("read of a value never written", &[0])
    );
    assert_eq!(
        named(&[call(Read, 1, Value(1), 2), call(Write(1), 3, Done, 4)]),
        is("read before write", &[0, 1])
    );
    assert_eq!(
        named(&[
            call(Cas(0, 1), 1, Swapped(true), 5),
            call(Cas(0, 2), 2, Swapped(true), 6),
            call(Read, 7, Value(1), 8),
        ]),
        is("lost update", &[0, 1])
    );
    assert_eq!(
        named(&[
            call(Cas(1, 2), 1, Swapped(true), 5),
            call(Cas(2, 1), 2, Swapped(true), 6),
            call(Read, 7, Value(0), 8),
        ]),
        is("circle of swaps", &[0, 1])
    );
    // The write never returned, but was seen.
    assert_eq!(
        named(&[
            call(Write(1), 1, None, 0),
            call(Read, 2, Value(1), 3),
            call(Read, 4, Value(0), 5),
        ]),
        is("stale read", &[0, 1, 2])
    );
    // A value that a swap replaced is gone.
    assert_eq!(
        named(&[
            call(Write(1), 1, Done, 2),
            call(Cas(1, 2), 3, Swapped(true), 9),
            call(Read, 4, Value(2), 5),
            call(Read, 6, Value(1), 7),
        ]),
        is("stale read", &[0, 1, 2, 3])
    );
}
