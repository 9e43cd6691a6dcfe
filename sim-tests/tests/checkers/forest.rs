//! The forest of sequential executions: counted against brute force, and how it looks.

use sim::check::history::Operation;
use sim::check::models::*;
use sim::check::{
    BranchOutcome, Budget, Forest, Malformed, MalformedKind, Model, forest, linearizable,
};
use sim_tests::histories::{Draw, every, long, random};
use sim_tests::judge::{self, History};

/// The forest, after checking its branches.
fn grown<M: Model>(initial: &M, history: &History<M>) -> Forest {
    let forest = forest(initial, history, 100_000).expect("well-formed");
    assert!(!forest.is_cut);
    assert_eq!(forest.orders, judge::orders(initial, history, 0), "{history:#?}\n{forest}");
    let verdict = linearizable(initial, history, &Budget::default()).unwrap();
    assert_eq!(verdict.is_consistent(), forest.orders > 0);
    let mut path: Vec<usize> = Vec::new();
    for branch in &forest.branches {
        path.truncate(branch.depth);
        assert_eq!(path.len(), branch.depth);
        assert!(!path.contains(&branch.operation), "twice on one path");
        path.push(branch.operation);
        match &branch.outcome {
            BranchOutcome::Accepted { is_complete: true, .. } => {
                assert_eq!(judge::witness_fault(initial, history, &path), None);
            }
            BranchOutcome::Accepted { .. } => {}
            BranchOutcome::Refused { returned, expected } => {
                assert!(!expected.is_empty() && !expected.contains(returned), "{branch:?}");
            }
        }
    }
    let text = forest.to_string();
    assert_eq!(text.lines().count(), forest.branches.len() + 2);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    forest
}

#[test]
fn a_forest_has_as_many_orders_as_brute_force_counts() {
    struct Facts;
    impl Visitor for Facts {
        fn visit<M: RegisteredModel>(&mut self) {
            // Three operations of four letters take minutes.
            let sizes: &[_] = if long() { &[(2, 4), (3, 4)] } else { &[(1, 4), (2, 3)] };
            for (count, letters) in sizes {
                every::<M>(*count, 3, *letters, |history| {
                    grown(&M::initial(), history);
                });
            }
            let mut draw = Draw(1);
            for round in 0..if long() { 5000 } else { 20 } {
                let history = random::<M>(&mut draw, 3 + round % 3, 3, 6, round % 3);
                grown(&M::initial(), &history);
            }
        }
    }
    registry(&mut Facts);
}

fn call<O, R>(client: u32, op: O, invoked: u64, returned: R, end: u64) -> Operation<O, R> {
    Operation { client, op, invoked, returned: Some((returned, end)) }
}

#[test]
fn two_increments_that_overlap_and_one_that_was_lost() {
    use {CounterOp::*, CounterRet::*};
    let history = [
        call(0, Increment, 1, Done, 4),
        call(1, Increment, 2, Done, 3),
        call(0, Get, 5, Value(1), 6),
    ];
    let forest = grown(&Counter::new(0), &history);
    assert_eq!(
        forest.to_string(),
        "\
0
├─ client 0: Increment → ok · now 1
│  └─ client 1: Increment → ok · now 2
│     └─ client 0: Get ✗ returned 1, should have been 2
└─ client 1: Increment → ok · now 1
   └─ client 0: Increment → ok · now 2
      └─ client 0: Get ✗ returned 1, should have been 2
no order explains the history
"
    );
}

#[test]
fn what_never_returned_may_be_taken_or_not() {
    use {RegisterOp::*, RegisterRet::*};
    let never = Operation { client: 1, op: Write(2), invoked: 1, returned: None };
    let forest = grown(&Register::new(0), &[never, call(0, Read, 2, Value(0), 3)]);
    assert_eq!(
        forest.to_string(),
        "\
0
├─ client 1: Write(2) → never returned · now 2
│  └─ client 0: Read ✗ returned 0, should have been 2
└─ client 0: Read → 0 · now 0 ✓
   └─ client 1: Write(2) → never returned · now 2 ✓
2 orders explain the history
"
    );
}

#[test]
fn a_forest_that_is_too_large_is_cut_and_says_so() {
    use {CounterOp::*, CounterRet::*};
    let history: Vec<_> = (0..12).map(|i| call(0, Increment, i, Done, 100 + i)).collect();
    let cut = forest(&Counter::new(0), &history, 50).unwrap();
    assert!(cut.is_cut);
    assert_eq!(cut.branches.len(), 50);
    let text = cut.to_string();
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("… and more: cut after 50 branches, with "), "{last}");
    // A limit that equals the number of branches suffices.
    let whole = forest(&Counter::new(0), &history[..3], 15).unwrap();
    assert_eq!((whole.is_cut, whole.branches.len(), whole.orders), (false, 15, 6));
    assert!(forest(&Counter::new(0), &history[..3], 14).unwrap().is_cut);
}

#[test]
fn a_long_history_neither_overflows_the_stack_nor_the_screen() {
    use {RegisterOp::*, RegisterRet::*};
    let history: Vec<_> = (0..2000).map(|i| call(0, Write(i), 2 * i, Done, 2 * i + 1)).collect();
    let forest = forest(&Register::new(0), &history, 5000).unwrap();
    assert_eq!((forest.branches.len(), forest.orders), (2000, 1));
    assert!(forest.to_string().lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn a_history_that_contradicts_itself_is_refused() {
    use {RegisterOp::*, RegisterRet::*};
    let history = [call(0, Read, 3, Value(0), 3)];
    let kind = MalformedKind::ReturnNotAfterInvocation { invoked: 3, returned: 3 };
    let error = forest(&Register::new(0), &history, 9).unwrap_err();
    assert_eq!(error, Malformed { operation: 0, kind });
}
