//! Conditions that are weaker than linearizability. Each condition is compared with brute force, and every linearizable
//! history must satisfy it.

use sim::check::history::Operation;
use sim::check::models::*;
use sim::check::verdict::Verdict;
use sim::check::{Budget, Model, quiescent, sequential};
use sim_tests::histories::{Draw, Recorded, long, random};
use sim_tests::judge;

use super::{Tally, every_model, exhaustive};

/// Checks that a linearizable history is also sequentially and quiescently consistent.
pub(crate) fn follows<M: Model>(initial: &M, history: &Recorded<M>, is_linearizable: bool) {
    if is_linearizable {
        let (sequential, quiescent) = verdicts(initial, &with_new_clients::<M>(history));
        assert!(sequential.is_consistent(), "{sequential:?}\n{history:#?}");
        assert!(quiescent.is_consistent(), "{quiescent:?}\n{history:#?}");
    }
}

/// Returns this history with one change: after a call that did not return, the client continues under another number.
fn with_new_clients<M: Model>(history: &Recorded<M>) -> Recorded<M> {
    let mut renamed = history.clone();
    for call in &mut renamed {
        let lost = |other: &&Operation<M::Op, M::Ret>| {
            other.returned.is_none() && other.client == call.client && other.invoked < call.invoked
        };
        call.client += 100 * history.iter().filter(lost).count() as u32;
    }
    renamed
}

fn verdicts<M: Model>(initial: &M, history: &Recorded<M>) -> (Verdict, Verdict) {
    let budget = Budget::default();
    let sequential = sequential(initial, history, &budget).expect("well-formed");
    (sequential, quiescent(initial, history, &budget).expect("well-formed"))
}

/// Checks both conditions against the judge. Tallies the sequentially consistent histories.
fn agree<M: Model>(tally: &mut Tally, initial: &M, history: &Recorded<M>) {
    let both = verdicts(initial, history);
    let in_order = |i: usize, j: usize| {
        history[i].client == history[j].client && history[i].invoked < history[j].invoked
    };
    // At rest after some return: all earlier calls have returned.
    let is_rest = |time: u64| history.iter().all(|call| call.invoked > time || call.end() <= time);
    let rests: Vec<u64> = history.iter().map(|call| call.end()).filter(|t| is_rest(*t)).collect();
    let rest_between = |i: usize, j: usize| {
        rests.iter().any(|time| history[i].end() <= *time && *time < history[j].invoked)
    };
    let expected = judge::explicable_in(initial, history, in_order);
    assert_eq!(both.0.is_consistent(), expected, "{both:?}\n{history:#?}");
    let is_quiescent = judge::explicable_in(initial, history, rest_between);
    assert_eq!(both.1.is_consistent(), is_quiescent, "{both:?}\n{history:#?}");
    let turn = tally.consistent + tally.violated;
    if turn % 16 == 0 {
        tally.proved += 1;
        assert_eq!(judge::fault_in(initial, history, &both.0, in_order), None, "{history:#?}");
        assert_eq!(judge::fault_in(initial, history, &both.1, rest_between), None, "{history:#?}");
    }
    *(if expected { &mut tally.consistent } else { &mut tally.violated }) += 1;
}

#[test]
fn every_small_history_gets_the_verdicts_of_brute_force() {
    fn fact<M: RegisteredModel>() -> Tally {
        let (mut draw, mut tally) = (Draw(4), Tally::default());
        for count in 0..=if long() { 4 } else { 2 } {
            exhaustive::histories::<M>(count, &mut draw, |history, is_linearizable| {
                follows(&M::initial(), history, is_linearizable);
                agree(&mut tally, &M::initial(), history);
            });
        }
        tally
    }
    every_model!(fact);
}

#[test]
fn random_histories_get_the_verdicts_of_brute_force() {
    fn fact<M: RegisteredModel>() -> Tally {
        let (mut draw, mut tally) = (Draw(5), Tally::default());
        for _ in 0..if long() { 200_000 } else { 120 } {
            let (count, clients) = (1 + draw.below(9), 1 + draw.below(4));
            let lies = draw.below(4);
            let history = random::<M>(&mut draw, count, clients, 8, lies);
            let history = with_new_clients::<M>(&history);
            let is_linearizable = judge::explicable(&M::initial(), &history);
            follows(&M::initial(), &history, is_linearizable);
            agree(&mut tally, &M::initial(), &history);
        }
        tally.assert_both(50);
        tally
    }
    every_model!(fact);
}
