//! Random histories of up to ten operations by up to four clients, each judged by every engine.

use sim::check::models::*;
use sim_tests::histories::{Draw, long, random};
use sim_tests::judge;

use super::{Care, Tally, agree, every_model};

#[test]
fn every_engine_judges_random_histories_right() {
    fn fact<M: RegisteredModel>() -> Tally {
        let (mut draw, mut tally) = (Draw(2), Tally::default());
        let care = Care { others: 2, proof: if long() { 64 } else { 32 } };
        for _ in 0..if long() { 1_000_000 } else { 120 } {
            let (count, clients) = (1 + draw.below(10), 1 + draw.below(4));
            let (pending_one_in, lies) = (2 + draw.below(8), draw.below(4));
            let history = random::<M>(&mut draw, count, clients, pending_one_in, lies);
            let expected = judge::explicable(&M::initial(), &history);
            agree(&mut tally, &M::initial(), &history, expected, care);
        }
        tally.assert_both(20);
        tally
    }
    every_model!(fact);
}
