//! The suite for all models: the registered models, and a few unusual models of the tests.

use sim::check::models::{RegisteredModel, Visitor, registry};
use sim::check::{Budget, Model, linearizable};
use sim_tests::every_model;
use sim_tests::histories::{Draw, every, long, random};
use sim_tests::judge;
use sim_tests::odd_models::{Approximate, Bag, Bare};

#[test]
fn names_are_distinct_and_said_once() {
    struct Names(Vec<&'static str>);
    impl Visitor for Names {
        fn visit<M: RegisteredModel>(&mut self) {
            assert_eq!(M::name(), M::NAME);
            assert!(!M::SUMMARY.is_empty() && !M::SUMMARY.contains('\n'));
            self.0.push(M::NAME);
        }
    }
    let mut names = Names(Vec::new());
    registry(&mut names);
    let count = names.0.len();
    names.0.sort_unstable();
    names.0.dedup();
    assert_eq!(names.0.len(), count);
}

#[test]
fn an_observer_changes_no_state() {
    fn fact<M: RegisteredModel>() {
        let mut pairs = 0;
        for state in reachable::<M>() {
            for (op, rets) in M::alphabet() {
                for ret in rets.iter().filter(|ret| M::observes(&op, ret)) {
                    let mut after = Vec::new();
                    state.successors(&op, Some(ret), &mut after);
                    assert!(after.iter().all(|next| *next == state), "{op:?} in {state:?}");
                    pairs += after.len();
                }
            }
        }
        assert!(pairs > 0, "{} observes nothing in its alphabet", M::NAME);
    }
    every_model!(fact, Bag, Approximate);
}

#[test]
fn step_is_one_of_the_successors() {
    fn fact<M: RegisteredModel>() {
        for state in reachable::<M>() {
            for (op, _) in M::alphabet() {
                let mut next = state.clone();
                let ret = next.step(&op);
                for ret in [Some(&ret), None] {
                    let mut after = Vec::new();
                    state.successors(&op, ret, &mut after);
                    assert!(after.contains(&next), "{op:?} in {state:?}");
                }
                assert!(state.returns(&op).contains(&ret), "{op:?} in {state:?}");
            }
        }
    }
    every_model!(fact, Bag, Approximate);
}

#[test]
fn all_short_histories_are_judged_right() {
    fn fact<M: RegisteredModel>() {
        // `agreement` checks every history of up to six operations, but only one event order for each order of
        // precedence. This test checks every order of events.
        for count in 0..=if long() { 4 } else { 3 } {
            let letters = if count < 3 || long() { 100 } else { 4 };
            // The first four letters of every model permit a violation.
            let mut verdicts = [0u32; 2];
            every::<M>(count, 3, letters, |history| {
                verdicts[usize::from(agree(&M::initial(), history))] += 1;
            });
            println!("{}: {count} operations, [violated, consistent] = {verdicts:?}", M::NAME);
            assert!(count == 0 || verdicts.iter().all(|count| *count > 0));
        }
    }
    every_model!(fact, Bag, Approximate);
}

#[test]
fn random_histories_are_judged_right() {
    fn fact<M: RegisteredModel>() {
        let mut draw = Draw(1);
        let (cases, longest) = if long() { (200_000, 8) } else { (120, 7) };
        for _ in 0..cases {
            let (count, clients) = (1 + draw.below(longest), 1 + draw.below(4));
            let (pending_one_in, lies) = (2 + draw.below(8), draw.below(4));
            agree(&M::initial(), &random::<M>(&mut draw, count, clients, pending_one_in, lies));
        }
    }
    every_model!(fact, Bag, Approximate);
}

#[test]
fn by_key_and_with_observers_or_without_the_verdict_is_the_same() {
    fn fact<M: RegisteredModel>() {
        let mut draw = Draw(2);
        for _ in 0..if long() { 20_000 } else { 60 } {
            let (clients, lies) = (2 + draw.below(4), draw.below(3));
            let history = random::<M>(&mut draw, 20, clients, 8, lies);
            let verdict = linearizable(&M::initial(), &history, &Budget::default()).unwrap();
            let plain = linearizable(&Bare(M::initial()), &history, &Budget::default()).unwrap();
            judge::check(&M::initial(), &history, &verdict, plain.is_consistent());
            judge::check(&Bare(M::initial()), &history, &plain, verdict.is_consistent());
        }
    }
    every_model!(fact, Bag, Approximate);
}

/// Returns `true` if the history is consistent. Checks that the checker agrees.
fn agree<M: Model>(initial: &M, history: &judge::History<M>) -> bool {
    let verdict = linearizable(initial, history, &Budget::default()).expect("well-formed");
    let expected = judge::explicable(initial, history);
    judge::check(initial, history, &verdict, expected);
    expected
}

/// The states within five operations of the alphabet.
fn reachable<M: RegisteredModel>() -> Vec<M> {
    let mut states = vec![M::initial()];
    let mut start = 0;
    for _ in 0..5 {
        let end = states.len();
        for number in start..end {
            for (op, _) in M::alphabet() {
                let mut after = Vec::new();
                states[number].successors(&op, None, &mut after);
                for state in after {
                    if !states.contains(&state) {
                        states.push(state);
                    }
                }
            }
        }
        start = end;
    }
    states
}
