//! The judges agree with each other: the reference of all other tests is itself tested.

use sim::check::models::*;
use sim_tests::histories::Draw;
use sim_tests::judge;
use sim_tests::shapes::{NEVER, shapes};
use sim_tests::subsets::Letters;

use super::exhaustive::histories;
use super::{Tally, every_model};

#[test]
fn there_are_as_many_shapes_as_interval_orders() {
    // The Fishburn numbers; Bousquet-Melou, Claesson, Dukes and Kitaev 2010.
    for (count, orders) in [1, 1, 2, 5, 15, 53, 217].into_iter().enumerate() {
        let all = shapes(count, count);
        let complete = all.iter().filter(|shape| shape.iter().all(|(_, to)| *to != NEVER));
        assert_eq!(complete.count(), orders, "of {count} operations");
        let mut distinct = all.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
    }
}

#[test]
fn sets_of_operations_and_single_orders_lead_to_the_same_answer() {
    fn fact<M: RegisteredModel>() -> Tally {
        let mut tally = Tally::default();
        for count in 0..=3 {
            histories::<M>(count, &mut Draw(5), |history, expected| {
                let orders = judge::orders(&M::initial(), history, 0);
                assert_eq!(orders > 0, expected, "{history:#?}");
                assert_eq!(judge::explicable(&M::initial(), history), expected, "{history:#?}");
                let kind = if expected { &mut tally.consistent } else { &mut tally.violated };
                *kind += 1;
            });
        }
        tally
    }
    every_model!(fact);
}

#[test]
fn letters_are_those_of_the_alphabet() {
    let letters = Letters::<Register>::new(2).letters;
    assert_eq!(letters.len(), 5 + 3);
    assert_eq!(letters.iter().filter(|(_, ret)| ret.is_none()).count(), 3);
}
